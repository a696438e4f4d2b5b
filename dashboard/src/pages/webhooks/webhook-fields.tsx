/** The form of an endpoint: the same when it is made and when it is changed. */
import { Button } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/code.tsx'
import { TextField } from '../../ui/form/field.tsx'
import { CheckboxGroup, RadioGroupField } from '../../ui/form/toggle-fields.tsx'
import { EVENT_TYPES, isEventType, type WebhookChanges } from './queries.ts'

export interface WebhookDraft {
  readonly url: string
  readonly scope: 'all' | 'chosen'
  /** Kept while `scope` is `all`. */
  readonly chosen: readonly string[]
  readonly description: string
}

export const EMPTY_DRAFT: WebhookDraft = { url: '', scope: 'all', chosen: [], description: '' }
const MAX_DESCRIPTION_LENGTH = 500

/** What is still needed, in a sentence. */
export function missingOf({ url, scope, chosen }: WebhookDraft): string | undefined {
  if (url.trim() === '') return 'Enter a URL.'
  return scope !== 'all' && chosen.length === 0 ? 'Choose an event.' : undefined
}

/** As the API takes it. */
export function bodyOf({ url, scope, chosen, description }: WebhookDraft) {
  const events = scope === 'all' ? null : chosen.filter(isEventType)
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
          { value: 'all', label: 'All events', description: 'Future types included.' },
          { value: 'chosen', label: 'Selected events' },
        ]}
      />
      {draft.scope === 'chosen' && (
        <CheckboxGroup
          label="Event types"
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
        description="An optional note."
        value={draft.description}
        onChange={(description) => change({ description })}
        maxLength={MAX_DESCRIPTION_LENGTH}
        autoComplete="off"
      />
    </>
  )
}

/** A new secret, which is available only here. Takes the focus, because its form is gone. */
export function NewSecret({ secret }: { readonly secret: string }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: it is no fieldset
    <div
      ref={takeFocus}
      role="group"
      aria-label="New secret"
      tabIndex={-1}
      className="flex flex-col gap-3 outline-none"
    >
      <p className="text-soft">
        This secret signs every delivery. It is shown only this once: store it like an API key.
      </p>
      <CodeBlock code={secret} language="Secret" label="Secret" />
      <CodeBlock code={`TURNPIKE_WEBHOOK_SECRET=${secret}`} language=".env" label="Line for an .env file" />
    </div>
  )
}

/** The only way out of the dialog that shows it. */
export function SavedButton({ onClick }: { readonly onClick: () => void }) {
  return (
    <Button variant="primary" onClick={onClick}>
      I have saved it
    </Button>
  )
}

function takeFocus(element: HTMLElement | null): void {
  element?.focus()
}
