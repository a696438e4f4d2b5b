/** Which models a key or a team may use. */
import { X } from 'lucide-react'
import { Combobox } from '../../../ui/form/combobox.tsx'
import { RadioGroupField } from '../../../ui/form/toggle-fields.tsx'
import { useModelChoices } from './queries.ts'

interface ModelsDraft {
  readonly allModels: boolean
  readonly models: readonly string[]
}

interface ModelsFieldProps {
  readonly draft: ModelsDraft
  readonly set: (changes: Partial<ModelsDraft>) => void
}

/** All models, or those of a list. */
export function ModelsField({ draft, set }: ModelsFieldProps) {
  return (
    <div className="flex flex-col gap-2">
      <RadioGroupField
        label="Models"
        name="models"
        value={draft.allModels ? 'all' : 'some'}
        onChange={(choice) => set({ allModels: choice === 'all' })}
        options={[
          { value: 'all', label: 'All models, future ones included' },
          { value: 'some', label: 'Selected models' },
        ]}
      />
      {!draft.allModels && <ChosenModels draft={draft} set={set} />}
    </div>
  )
}

function ChosenModels({ draft: { models }, set }: ModelsFieldProps) {
  const { data = [] } = useModelChoices()
  const open = data.filter(({ id }) => !models.includes(id))
  return (
    <div className="ml-7 flex flex-col gap-2">
      <Combobox
        key={models.length}
        label="Add a model"
        hideLabel
        placeholder="Add a model"
        value=""
        onChange={(id) => {
          if (id !== '') set({ models: [...models, id] })
        }}
        options={open.map(({ id, name }) => ({ value: id, label: id, hint: name === id ? undefined : name }))}
      />
      {models.length > 0 && (
        <ul aria-label="Allowed models" className="flex flex-wrap gap-1.5">
          {models.map((id) => (
            <li key={id}>
              <ChosenModel id={id} onRemove={() => set({ models: models.filter((each) => each !== id) })} />
            </li>
          ))}
        </ul>
      )}
    </div>
  )
}

function ChosenModel({ id, onRemove }: { readonly id: string; readonly onRemove: () => void }) {
  return (
    <span className="inline-flex h-7 max-w-full items-center gap-1 rounded-md border border-line bg-sunken pr-0.5 pl-2 font-mono text-sm text-ink">
      <span className="truncate">{id}</span>
      <button
        type="button"
        aria-label={`Remove ${id}`}
        onClick={onRemove}
        className="flex size-6 shrink-0 items-center justify-center rounded-md text-soft hover:bg-hover hover:text-ink"
      >
        <X aria-hidden className="size-3.5" />
      </button>
    </span>
  )
}
