/** Whose requests a setting concerns: of the whole account, or of chosen API keys and teams. */
import { useQuery } from '@tanstack/react-query'
import { X } from 'lucide-react'
import { api, take } from '../../api/client.ts'
import { Combobox } from '../../ui/form/combobox.tsx'

export interface ScopeIds {
  /** Without keys and teams: the whole account. */
  readonly keys: readonly string[]
  readonly teams: readonly string[]
}

interface ScopeFieldsProps {
  readonly value: ScopeIds
  readonly onChange: (value: ScopeIds) => void
}

const MOST = 100

interface Choice {
  readonly id: string
  readonly name: string
}

/** The newest active ones. */
function useChoices(of: 'keys' | 'teams') {
  return useQuery({
    queryKey: [`/v1/${of}`, 'scope choices'],
    staleTime: 60_000,
    queryFn: async (): Promise<readonly Choice[]> => {
      const query = { limit: MOST, status: 'active' } as const
      const { data } =
        of === 'keys'
          ? await take(api.GET('/v1/keys', { params: { query } }))
          : await take(api.GET('/v1/teams', { params: { query } }))
      return data.map(({ id, name }) => ({ id, name }))
    },
  })
}

export function ScopeFields({ value, onChange }: ScopeFieldsProps) {
  return (
    <fieldset className="flex flex-col gap-3">
      <legend className="font-medium text-ink">Applies to</legend>
      <p className="text-sm text-soft">
        The whole account, unless keys or teams are chosen. A key stands for the keys that it created, too.
      </p>
      <Chosen of="keys" noun="an API key" ids={value.keys} onChange={(keys) => onChange({ ...value, keys })} />
      <Chosen of="teams" noun="a team" ids={value.teams} onChange={(teams) => onChange({ ...value, teams })} />
    </fieldset>
  )
}

interface ChosenProps {
  readonly of: 'keys' | 'teams'
  readonly noun: string
  readonly ids: readonly string[]
  readonly onChange: (ids: readonly string[]) => void
}

function Chosen({ of, noun, ids, onChange }: ChosenProps) {
  const { data = [] } = useChoices(of)
  const nameOf = (id: string): string => data.find((each) => each.id === id)?.name ?? id
  const open = data.filter(({ id }) => !ids.includes(id))
  return (
    <div className="flex flex-col gap-2">
      <Combobox
        key={ids.length}
        label={`Add ${noun}`}
        hideLabel
        name={of}
        placeholder={`Add ${noun}`}
        value=""
        onChange={(id) => {
          if (id !== '') onChange([...ids, id])
        }}
        options={open.map(({ id, name }) => ({ value: id, label: name }))}
      />
      {ids.length > 0 && (
        <ul aria-label={of === 'keys' ? 'Chosen API keys' : 'Chosen teams'} className="flex flex-wrap gap-1.5">
          {ids.map((id) => (
            <li
              key={id}
              className="inline-flex h-7 max-w-full items-center gap-1 rounded-md border border-line bg-sunken pr-0.5 pl-2 text-sm text-ink"
            >
              <span className="truncate">{nameOf(id)}</span>
              <button
                type="button"
                aria-label={`Remove ${nameOf(id)}`}
                onClick={() => onChange(ids.filter((each) => each !== id))}
                className="flex size-6 shrink-0 items-center justify-center rounded-md text-soft hover:bg-hover hover:text-ink"
              >
                <X aria-hidden className="size-3.5" />
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}
