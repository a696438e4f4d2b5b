import { useState } from 'react'
import { TextField } from '../../../ui/form/field.tsx'
import { Form } from '../../../ui/form/form.tsx'
import { CheckboxGroup, RadioGroupField } from '../../../ui/form/toggle-fields.tsx'
import { ModelsField } from '../keys/models-field.tsx'
import { TagFields } from '../keys/tag-fields.tsx'
import { ENDPOINT_NAMES, missingOf, rateProblem, type TeamDraft } from './draft.ts'
import type { Endpoint } from './queries.ts'

interface TeamFormProps {
  readonly initial: TeamDraft
  readonly submitLabel: string
  readonly onSubmit: (draft: TeamDraft) => Promise<void>
  readonly onCancel: () => void
}

/** To create a team and to edit one. */
export function TeamForm({ initial, submitLabel, onSubmit, onCancel }: TeamFormProps) {
  const [draft, setDraft] = useState(initial)
  const set = (changes: Partial<TeamDraft>) => setDraft({ ...draft, ...changes })
  return (
    <Form onSubmit={() => onSubmit(draft)} submitLabel={submitLabel} onCancel={onCancel} missing={missingOf(draft)}>
      <TextField
        label="Name"
        name="name"
        placeholder="Search"
        value={draft.name}
        onChange={(name) => set({ name })}
        maxLength={100}
        autoComplete="off"
        autoFocus
        required
      />
      <ModelsField draft={draft} set={set} />
      <EndpointsField draft={draft} set={set} />
      <TextField
        label="Requests per minute"
        name="requests_per_minute"
        description="Of all its requests together."
        placeholder="No limit"
        inputMode="numeric"
        autoComplete="off"
        className="sm:max-w-64"
        value={draft.requestsPerMinute}
        onChange={(requestsPerMinute) => set({ requestsPerMinute })}
        error={rateProblem(draft)}
      />
      <TagFields draft={draft} set={set} />
    </Form>
  )
}

interface EndpointsFieldProps {
  readonly draft: TeamDraft
  readonly set: (changes: Partial<TeamDraft>) => void
}

const ENDPOINTS = Object.keys(ENDPOINT_NAMES) as Endpoint[]

function EndpointsField({ draft, set }: EndpointsFieldProps) {
  return (
    <div className="flex flex-col gap-2">
      <RadioGroupField
        label="Endpoints"
        name="endpoints"
        value={draft.allEndpoints ? 'all' : 'some'}
        onChange={(choice) => set({ allEndpoints: choice === 'all' })}
        options={[
          { value: 'all', label: 'All endpoints' },
          { value: 'some', label: 'Selected endpoints' },
        ]}
      />
      {!draft.allEndpoints && (
        <CheckboxGroup
          label="Allowed endpoints"
          hideLabel
          options={ENDPOINTS.map((value) => ({ value, label: ENDPOINT_NAMES[value] }))}
          value={draft.endpoints}
          onChange={(endpoints) => set({ endpoints })}
          className="ml-7"
        />
      )}
    </div>
  )
}
