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
      <PolicyFields draft={draft} set={set} />
      <TagFields draft={draft} set={set} />
    </Form>
  )
}

interface PartProps {
  readonly draft: TeamDraft
  readonly set: (changes: Partial<TeamDraft>) => void
}

const POLICIES = [
  { value: 'noTraining', label: 'Only deployments that do not keep data to train on' },
  { value: 'noRetention', label: 'Only deployments with zero data retention' },
] as const

function PolicyFields({ draft, set }: PartProps) {
  const chosen = POLICIES.map(({ value }) => value).filter((value) => draft[value])
  return (
    <>
      <CheckboxGroup
        label="Data policy"
        name="data_policy"
        description="Requests that no deployment fulfils are rejected with 403."
        options={POLICIES}
        value={chosen}
        onChange={(next) => set({ noTraining: next.includes('noTraining'), noRetention: next.includes('noRetention') })}
      />
      <TextField
        label="Regions"
        name="data_policy.regions"
        description="Only deployments in one of these, comma-separated."
        placeholder="All"
        autoComplete="off"
        spellCheck={false}
        className="sm:max-w-64"
        value={draft.regions}
        onChange={(regions) => set({ regions })}
      />
    </>
  )
}

const ENDPOINTS = Object.keys(ENDPOINT_NAMES) as Endpoint[]

function EndpointsField({ draft, set }: PartProps) {
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
