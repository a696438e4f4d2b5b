/** The form of an endpoint: the same when it is made and when it is changed. */
import { CheckboxGroup, RadioGroupField, TextField } from '../../ui/field.tsx'
import { EVENT_TYPES } from './event-types.ts'
import type { WebhookChanges } from './queries.ts'

export interface WebhookDraft {
  readonly url: string
  readonly scope: 'all' | 'chosen'
  /** Kept while `scope` is `all`. */
  readonly chosen: readonly string[]
  readonly description: string
}

export const EMPTY_DRAFT: WebhookDraft = { url: '', scope: 'all', chosen: [], description: '' }
const MAX_DESCRIPTION_LENGTH = 500

export function isReady({ url, scope, chosen }: WebhookDraft): boolean {
  return url.trim() !== '' && (scope === 'all' || chosen.length > 0)
}

/** As the API takes it. */
export function bodyOf({ url, scope, chosen, description }: WebhookDraft) {
  const events = scope === 'all' ? null : [...chosen]
  return { url: url.trim(), events, description } satisfies WebhookChanges
}

export interface WebhookFieldsProps {
  readonly draft: WebhookDraft
  readonly onChange: (draft: WebhookDraft) => void
}

export function WebhookFields({ draft, onChange }: WebhookFieldsProps) {
  const change = (changes: Partial<WebhookDraft>) => onChange({ ...draft, ...changes })
  return (
    <>
      <TextField
        label="Endpoint URL"
        name="url"
        description="A public https address. Redirects are not followed."
        placeholder="https://example.com/turnpike"
        value={draft.url}
        onChange={(url) => change({ url })}
        inputMode="url"
        autoComplete="off"
        spellCheck={false}
        required
      />
      <RadioGroupField
        label="Events"
        name="events"
        value={draft.scope}
        onChange={(scope) => change({ scope })}
        options={[
          { value: 'all', label: 'All events', description: 'Also those that are yet to come.' },
          { value: 'chosen', label: 'Only some' },
        ]}
      />
      {draft.scope === 'chosen' && (
        <CheckboxGroup
          label="Types of events"
          hideLabel
          className="-mt-3 ml-7"
          options={EVENT_TYPES}
          value={draft.chosen}
          onChange={(chosen) => change({ chosen })}
        />
      )}
      <TextField
        label="Description"
        name="description"
        description="A note for people."
        value={draft.description}
        onChange={(description) => change({ description })}
        maxLength={MAX_DESCRIPTION_LENGTH}
        autoComplete="off"
      />
    </>
  )
}
