/** What can be chosen of a key: the same fields for making one and for changing one. */
import type { ReactNode } from 'react'
import { useMe } from '../../../api/me.ts'
import { CheckboxGroup, RadioGroupField, SelectField, TextArea, TextField } from '../../../ui/field.tsx'
import { mayGiveAll, RIGHTS, SCOPES, type Scope } from '../members/rights.ts'
import { expiryChoices, type KeyDraft, type KeyLimits, problemsOf } from './draft.ts'
import { ModelsField } from './models-field.tsx'

export interface KeyFieldsProps {
  readonly draft: KeyDraft
  readonly onChange: (draft: KeyDraft) => void
  /** The key as it is, where one is changed. */
  readonly original?: KeyLimits | undefined
  /** What the gateway said about one of the addresses. */
  readonly addressError?: string | undefined
  readonly autoFocus?: boolean
}

interface PartProps extends KeyFieldsProps {
  readonly set: (changes: Partial<KeyDraft>) => void
}

export function KeyFields(props: KeyFieldsProps) {
  const { draft, onChange } = props
  const part: PartProps = { ...props, set: (changes) => onChange({ ...draft, ...changes }) }
  return (
    <>
      <TextField
        label="Name"
        name="name"
        description="What uses it, so that you know later what stops when you revoke it."
        placeholder="Production backend"
        value={draft.name}
        onChange={(name) => part.set({ name })}
        maxLength={100}
        autoComplete="off"
        autoFocus={props.autoFocus}
        required
      />
      <AccessFields {...part} />
      <ExpiryFields {...part} />
      <FieldsTitle>Limits</FieldsTitle>
      <LimitFields {...part} />
    </>
  )
}

function FieldsTitle({ children }: { readonly children: ReactNode }) {
  return <h3 className="-mb-1 border-t border-line pt-5 text-base font-semibold text-ink">{children}</h3>
}

function AccessFields({ draft, set, original }: PartProps) {
  const { rights } = useMe()
  const givesAll = mayGiveAll(rights)
  const isFull = original?.scopes.length === 0
  const everything = {
    value: 'full' as const,
    label: givesAll || isFull ? 'Full access' : 'Everything that I may do',
    description:
      givesAll || isFull
        ? 'Everything in this account: models, agents, webhooks, keys, billing, members and the audit log.'
        : 'All that your role allows. It never gets more than that.',
    disabled: original !== undefined && !givesAll && !isFull,
  }
  return (
    <div className="flex flex-col gap-2">
      <RadioGroupField
        label="Access"
        name="scopes"
        value={draft.access}
        onChange={(access) => set({ access })}
        options={[everything, { value: 'chosen', label: 'Only what I choose' }]}
      />
      {draft.access === 'chosen' && <ScopesField draft={draft} set={set} rights={rights} />}
    </div>
  )
}

interface ScopesFieldProps extends Pick<PartProps, 'draft' | 'set'> {
  readonly rights: ReadonlySet<string>
}

/** Never more than one's own; what a key has beyond that can only be taken away. */
function ScopesField({ draft, set, rights }: ScopesFieldProps) {
  const offered = SCOPES.filter((scope) => rights.has(scope) || draft.scopes.includes(scope))
  const options = offered.map((scope: Scope) => ({
    value: scope,
    label: RIGHTS[scope]?.label ?? scope,
    description: (
      <>
        <code className="font-mono text-xs">{scope}</code> {RIGHTS[scope]?.may}
      </>
    ),
  }))
  return (
    <CheckboxGroup
      label="Scopes"
      hideLabel
      options={options}
      value={draft.scopes}
      onChange={(scopes) => set({ scopes })}
      error={draft.scopes.length === 0 ? 'Choose at least one.' : undefined}
      className="ml-7"
    />
  )
}

function ExpiryFields({ draft, set, original }: PartProps) {
  return (
    <div className="grid gap-5 sm:grid-cols-2">
      <SelectField
        label="Expires"
        name="expires_at"
        value={draft.expiry}
        onChange={(expiry) => set({ expiry })}
        options={expiryChoices(original)}
      />
      {draft.expiry === 'date' && (
        <TextField
          label="Last day"
          type="date"
          description="Until the end of that day, UTC."
          min={new Date().toISOString().slice(0, 10)}
          value={draft.lastDay}
          onChange={(lastDay) => set({ lastDay })}
          required
        />
      )}
    </div>
  )
}

function LimitFields({ draft, set, addressError }: PartProps) {
  const problems = problemsOf(draft)
  return (
    <>
      <div className="grid gap-5 sm:grid-cols-2">
        <TextField
          label="Monthly budget"
          name="monthly_budget_usd"
          description="US dollars in a month of UTC."
          prefix="$"
          placeholder="No limit of its own"
          inputMode="decimal"
          autoComplete="off"
          value={draft.budgetUsd}
          onChange={(budgetUsd) => set({ budgetUsd })}
          error={problems.budget}
        />
        <TextField
          label="Requests per minute"
          name="requests_per_minute"
          description="Beside the limit of your plan."
          placeholder="As the plan"
          inputMode="numeric"
          autoComplete="off"
          value={draft.requestsPerMinute}
          onChange={(requestsPerMinute) => set({ requestsPerMinute })}
          error={problems.requests}
        />
      </div>
      <ModelsField draft={draft} set={set} />
      <TextArea
        label="Allowed IP addresses"
        name="ip_allowlist"
        description="One address or CIDR block a line. Empty: from anywhere."
        placeholder={'203.0.113.7\n2001:db8::/32'}
        rows={3}
        mono
        spellCheck={false}
        value={draft.addresses}
        onChange={(addresses) => set({ addresses })}
        error={addressError}
      />
    </>
  )
}
