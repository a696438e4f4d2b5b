/** The fields of a budget, to create and to edit one. */
import { useState } from 'react'
import { useMe } from '../../../api/me.ts'
import { type AccountNames, useAccountNames } from '../../../api/names.ts'
import { Combobox } from '../../../ui/form/combobox.tsx'
import { TextField } from '../../../ui/form/field.tsx'
import { Form } from '../../../ui/form/form.tsx'
import { SelectField } from '../../../ui/form/select-field.tsx'
import { RadioGroupField } from '../../../ui/form/toggle-fields.tsx'
import { LEVEL_NAMES, WINDOW_NAMES } from './budget-words.tsx'
import { type BudgetDraft, LEVELS, missingOf, problemsOf, WINDOWS } from './draft.ts'

interface BudgetFormProps {
  readonly initial: BudgetDraft
  /** What it is of cannot be chosen. */
  readonly isFixed?: boolean
  readonly submitLabel: string
  readonly onSubmit: (draft: BudgetDraft) => Promise<void>
  readonly onCancel: () => void
}

export function BudgetForm({ initial, isFixed = false, submitLabel, onSubmit, onCancel }: BudgetFormProps) {
  const [draft, setDraft] = useState(initial)
  const set = (changes: Partial<BudgetDraft>) => setDraft({ ...draft, ...changes })
  return (
    <Form onSubmit={() => onSubmit(draft)} submitLabel={submitLabel} onCancel={onCancel} missing={missingOf(draft)}>
      {!isFixed && <SubjectFields draft={draft} set={set} />}
      <TermFields draft={draft} set={set} />
    </Form>
  )
}

interface FieldsProps {
  readonly draft: BudgetDraft
  readonly set: (changes: Partial<BudgetDraft>) => void
}

function SubjectFields({ draft, set }: FieldsProps) {
  const names = useAccountNames()
  const { rights } = useMe()
  const levels = LEVELS.filter((level) => level !== 'key' || rights.has('keys'))
  return (
    <div className="grid gap-5 sm:grid-cols-2">
      <SelectField
        label="Budget of"
        name="level"
        value={draft.level}
        onChange={(level) => set({ level, subject: '' })}
        options={levels.map((value) => ({ value, label: LEVEL_NAMES[value], description: COUNTS[value] }))}
      />
      <SubjectField draft={draft} set={set} names={names} />
    </div>
  )
}

const COUNTS: Readonly<Record<BudgetDraft['level'], string>> = {
  account: 'All requests of the account.',
  team: 'Requests of the keys, agents and sessions of a team.',
  member: 'Requests of a person’s sessions, devices and keys.',
  key: 'Requests of a key and of all keys below it.',
  tag: 'Requests with a tag, such as customer=northwind.',
}

function SubjectField({ draft, set, names }: FieldsProps & { readonly names: AccountNames }) {
  const { level, subject } = draft
  if (level === 'account') return null
  if (level === 'tag') {
    return (
      <TextField
        label="Tag"
        name="subject"
        placeholder="customer=northwind"
        value={subject}
        onChange={(next) => set({ subject: next })}
        error={problemsOf(draft).tag}
        autoComplete="off"
        spellCheck={false}
        mono
        required
      />
    )
  }
  const lists = { team: names.teams, member: names.members, key: names.keys }
  return (
    <Combobox
      label={LEVEL_NAMES[level]}
      name="subject"
      placeholder={`Find a ${level}`}
      value={subject}
      onChange={(next) => set({ subject: next })}
      options={lists[level].filter(({ isActive }) => isActive).map(({ id, name }) => ({ value: id, label: name }))}
      required
    />
  )
}

function TermFields({ draft, set }: FieldsProps) {
  return (
    <>
      <div className="grid gap-5 sm:grid-cols-2">
        <TextField
          label="Limit"
          name="usd"
          prefix="$"
          inputMode="decimal"
          autoComplete="off"
          value={draft.usd}
          onChange={(usd) => set({ usd })}
          error={draft.usd.trim() === '' ? undefined : problemsOf(draft).usd}
          required
        />
        <SelectField
          label="For each"
          name="window"
          value={draft.window}
          onChange={(window) => set({ window })}
          options={WINDOWS.map((value) => ({ value, label: WINDOW_NAMES[value] }))}
        />
      </div>
      <div className="grid gap-5 sm:grid-cols-2">
        <Combobox
          label="Time zone"
          name="timezone"
          description="Of the start of each window."
          value={draft.timezone}
          onChange={(timezone) => set({ timezone })}
          options={timeZones()}
          required
        />
        <TextField
          label="First window starts"
          name="starts"
          type="date"
          description="Empty: with the calendar."
          value={draft.starts}
          onChange={(starts) => set({ starts })}
        />
      </div>
      <RadioGroupField
        label="When it is spent"
        name="action"
        value={draft.action}
        onChange={(action) => set({ action })}
        options={[
          { value: 'block', label: 'Block', description: 'Further requests are rejected with 402.' },
          { value: 'warn', label: 'Warn', description: 'Requests continue; alerts are sent.' },
        ]}
      />
    </>
  )
}

/** UTC and the reader's own first. */
function timeZones(): readonly { readonly value: string; readonly label: string }[] {
  const own = new Intl.DateTimeFormat().resolvedOptions().timeZone
  return [...new Set(['UTC', own, ...Intl.supportedValuesOf('timeZone')])].map((value) => ({ value, label: value }))
}
