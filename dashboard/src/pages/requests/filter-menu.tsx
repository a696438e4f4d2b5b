/** The choice of filters. What can be chosen is asked for when it is opened. */
import { Popover } from '@base-ui/react/popover'
import { useQuery } from '@tanstack/react-query'
import { ListFilter } from 'lucide-react'
import { type FormEvent, useState } from 'react'
import { present } from '../../lib/address.ts'
import { groupLabel } from '../../lib/group-names.ts'
import type { Period } from '../../lib/period.ts'
import { Button } from '../../ui/button.tsx'
import { Combobox } from '../../ui/choices.tsx'
import { SelectField, TextField } from '../../ui/field.tsx'
import { useRequestsChange } from './address.ts'
import { NO_FILTERS } from './filter-chips.tsx'
import { type Completion, choicesQuery } from './queries.ts'
import { type RequestFilters, readRequestsSearch, STATUSES } from './search.ts'
import { FILTER_NAMES, STATUS_NAMES } from './words.ts'

interface FilterMenuProps {
  readonly filters: RequestFilters
  readonly period: Period
  readonly rows: readonly Completion[]
}

export function FilterMenu(props: FilterMenuProps) {
  const [open, setOpen] = useState(false)
  return (
    <Popover.Root open={open} onOpenChange={setOpen}>
      <Popover.Trigger render={<Button icon={ListFilter}>Filter</Button>} />
      <Popover.Portal>
        <Popover.Positioner sideOffset={4} align="start" className="z-50">
          <Popover.Popup className="max-h-(--available-height) w-80 max-w-(--available-width) overflow-y-auto rounded-xl border border-line bg-surface p-4 shadow-popup">
            <Popover.Title className="mb-3 font-medium text-ink">Filter requests</Popover.Title>
            <Filters {...props} onDone={() => setOpen(false)} />
          </Popover.Popup>
        </Popover.Positioner>
      </Popover.Portal>
    </Popover.Root>
  )
}

const ANY = 'any'
const STATUS_CHOICES = [
  { value: ANY, label: 'Any' },
  ...STATUSES.map((value) => ({ value, label: STATUS_NAMES[value] })),
]

type Draft = Readonly<Record<keyof RequestFilters, string>>

function Filters({ filters, period, rows, onDone }: FilterMenuProps & { readonly onDone: () => void }) {
  const change = useRequestsChange()
  const [draft, setDraft] = useState<Draft>({ ...EMPTY, ...filters })
  const set = (name: keyof Draft) => (value: string) => setDraft({ ...draft, [name]: value })
  const { models, keys, providers } = useChoices(period, rows)
  const apply = (event: FormEvent) => {
    event.preventDefault()
    const { status, model, key_id, provider, agent_id } = readRequestsSearch({ ...draft })
    onDone()
    change({ ...NO_FILTERS, ...present({ status, model, key_id, provider, agent_id }) })
  }
  return (
    <form onSubmit={apply} className="flex flex-col gap-3">
      <SelectField
        label={FILTER_NAMES.status}
        value={draft.status === '' ? ANY : draft.status}
        onChange={set('status')}
        options={STATUS_CHOICES}
      />
      <Combobox
        label={FILTER_NAMES.model}
        value={draft.model}
        onChange={set('model')}
        options={models}
        placeholder="Any"
      />
      <Combobox
        label={FILTER_NAMES.key_id}
        value={draft.key_id}
        onChange={set('key_id')}
        options={keys}
        placeholder="Any"
      />
      <Combobox
        label={FILTER_NAMES.provider}
        value={draft.provider}
        onChange={set('provider')}
        options={providers}
        placeholder="Any"
      />
      <TextField
        label="Agent ID"
        value={draft.agent_id}
        onChange={set('agent_id')}
        placeholder="agt_…"
        autoComplete="off"
        mono
      />
      <Button type="submit" variant="primary">
        Apply
      </Button>
    </form>
  )
}

const EMPTY: Draft = { status: '', model: '', key_id: '', provider: '', agent_id: '' }

/** Models and keys are those that were used in the period; providers those of the rows that are there. */
function useChoices(period: Period, rows: readonly Completion[]) {
  const { data } = useQuery(choicesQuery(period))
  return {
    models: (data?.breakdown_by_model ?? []).map(({ model }) => ({ value: model, label: model })),
    keys: (data?.groups ?? []).map((each) => ({ value: each.key, label: groupLabel('key', each) })),
    providers: [...new Set(rows.map(({ provider }) => provider))].sort().map((value) => ({ value, label: value })),
  }
}
