import { type ReactNode, useState } from 'react'
import { useMe } from '../../../api/me.ts'
import { useTeamOptions } from '../../../api/names.ts'
import { Combobox } from '../../../ui/form/combobox.tsx'
import { TextArea, TextField } from '../../../ui/form/field.tsx'
import { Form } from '../../../ui/form/form.tsx'
import { SelectField } from '../../../ui/form/select-field.tsx'
import { CheckboxGroup, RadioGroupField } from '../../../ui/form/toggle-fields.tsx'
import { DELEGATING_SCOPES, mayGiveAll, RIGHTS, SCOPES, type Scope } from '../members/rights.ts'
import { expiryChoices, isLimited, type KeyDraft, type KeyLimits, missingOf, problemsOf, scopesOf } from './draft.ts'
import { ModelsField } from './models-field.tsx'
import { TagFields } from './tag-fields.tsx'

interface KeyFormProps {
  readonly initial: KeyDraft
  readonly original?: KeyLimits
  readonly submitLabel: string
  readonly onSubmit: (draft: KeyDraft) => Promise<void>
  readonly onCancel: () => void
  readonly autoFocus?: boolean
}

export function KeyForm({ initial, original, submitLabel, onSubmit, onCancel, autoFocus = false }: KeyFormProps) {
  const [draft, setDraft] = useState(initial)
  return (
    <Form onSubmit={() => onSubmit(draft)} submitLabel={submitLabel} onCancel={onCancel} missing={missingOf(draft)}>
      <KeyFields draft={draft} onChange={setDraft} original={original} autoFocus={autoFocus} />
    </Form>
  )
}

interface KeyFieldsProps {
  readonly draft: KeyDraft
  readonly onChange: (draft: KeyDraft) => void
  /** The key as it is, where one is changed. */
  readonly original?: KeyLimits | undefined
  readonly autoFocus?: boolean
}

interface PartProps extends KeyFieldsProps {
  readonly set: (changes: Partial<KeyDraft>) => void
}

/** The fields of a key, to create and to edit one. */
function KeyFields(props: KeyFieldsProps) {
  const { draft, onChange } = props
  const part: PartProps = { ...props, set: (changes) => onChange({ ...draft, ...changes }) }
  return (
    <>
      <TextField
        label="Name"
        name="name"
        description="Name the program that uses it, so that you know what a revocation stops."
        placeholder="Production backend"
        value={draft.name}
        onChange={(name) => part.set({ name })}
        maxLength={100}
        autoComplete="off"
        autoFocus={props.autoFocus}
        required
      />
      {props.original === undefined && <TeamField {...part} />}
      <AccessFields {...part} />
      <ExpiryFields {...part} />
      <FieldsTitle>Limits</FieldsTitle>
      <LimitFields {...part} />
      <FieldsTitle>Cost attribution</FieldsTitle>
      <TagFields {...part} />
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
    label: givesAll || isFull ? 'Full access' : 'All my rights',
    description: accessText(givesAll || isFull, isLimited(draft)),
    disabled: original !== undefined && !givesAll && !isFull,
  }
  return (
    <div className="flex flex-col gap-2">
      <RadioGroupField
        label="Access"
        name="scopes"
        value={draft.access}
        onChange={(access) => set({ access })}
        options={[everything, { value: 'chosen', label: 'Selected scopes' }]}
      />
      {draft.access === 'chosen' && <ScopesField draft={draft} set={set} rights={rights} />}
    </div>
  )
}

function accessText(isAll: boolean, limited: boolean): string {
  const what = isAll
    ? 'Everything in this account: models, agents, webhooks, keys, billing, members and the audit log.'
    : 'Everything that your role allows.'
  return limited ? `${what} With a limit or an expiry it cannot manage keys and members.` : what
}

/** Nothing where the account has no team. The team of a key never changes. */
function TeamField({ draft, set }: PartProps) {
  const options = useTeamOptions()
  if (options.length === 0) return null
  return (
    <Combobox
      label="Team"
      name="team_id"
      description="Its limits and budgets apply as well. A key stays in its team."
      placeholder="None: it belongs to the account"
      value={draft.team}
      onChange={(team) => set({ team })}
      options={options}
    />
  )
}

interface ScopesFieldProps extends Pick<PartProps, 'draft' | 'set'> {
  readonly rights: ReadonlySet<string>
}

/** Never more than one's own; what a key has beyond that can only be taken away. */
function ScopesField({ draft, set, rights }: ScopesFieldProps) {
  const limited = isLimited(draft)
  const chosen = scopesOf(draft)
  const offered = SCOPES.filter((scope) => rights.has(scope) || draft.scopes.includes(scope))
  const options = offered.map((scope: Scope) => ({
    value: scope,
    label: RIGHTS[scope]?.label ?? scope,
    disabled: limited && DELEGATING_SCOPES.includes(scope),
    description: (
      <>
        <code className="font-mono text-xs">{scope}</code> {RIGHTS[scope]?.may}
        {limited && DELEGATING_SCOPES.includes(scope) && '. Only for keys without limits or expiry.'}
      </>
    ),
  }))
  return (
    <CheckboxGroup
      label="Scopes"
      hideLabel
      options={options}
      value={chosen}
      onChange={(scopes) => set({ scopes })}
      error={chosen.length === 0 ? 'Choose at least one.' : undefined}
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
          description="Valid until the end of that day (UTC)."
          min={new Date().toISOString().slice(0, 10)}
          value={draft.lastDay}
          onChange={(lastDay) => set({ lastDay })}
          required
        />
      )}
    </div>
  )
}

function LimitFields({ draft, set }: PartProps) {
  const problems = problemsOf(draft)
  return (
    <>
      <div className="grid gap-5 sm:grid-cols-2">
        <TextField
          label="Monthly budget"
          name="monthly_budget_usd"
          description="US dollars per month (UTC)."
          prefix="$"
          placeholder="No own limit"
          inputMode="decimal"
          autoComplete="off"
          value={draft.budgetUsd}
          onChange={(budgetUsd) => set({ budgetUsd })}
          error={problems.budget}
        />
        <TextField
          label="Requests per minute"
          name="requests_per_minute"
          description="In addition to the limit of your plan."
          placeholder="Limit of the plan"
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
        description="One address or CIDR block per line. Leave empty to allow all."
        placeholder={'203.0.113.7\n2001:db8::/32'}
        rows={3}
        mono
        spellCheck={false}
        value={draft.addresses}
        onChange={(addresses) => set({ addresses })}
      />
    </>
  )
}
