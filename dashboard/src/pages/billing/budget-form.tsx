/** How much a month may cost, and when to be told. */
import { Plus, X } from 'lucide-react'
import { type KeyboardEvent, useRef, useState } from 'react'
import { ApiProblem } from '../../api/problem.ts'
import { announce, toast } from '../../ui/announcer.tsx'
import { AppLink } from '../../ui/app-link.tsx'
import { Button } from '../../ui/button.tsx'
import { classNames } from '../../ui/class-names.ts'
import { NumberField } from '../../ui/form/field.tsx'
import { CONTROL, FieldFrame, useField } from '../../ui/form/field-frame.tsx'
import { Form } from '../../ui/form/form.tsx'
import { readNumber } from '../../ui/form/number-text.ts'
import { Card, Section } from '../../ui/page.tsx'
import { type Account, useChangeAccount } from './queries.ts'

export function BudgetForm({ account }: { readonly account: Account }) {
  const [budget, setBudget] = useState(account.monthly_budget_usd ?? undefined)
  const [thresholds, setThresholds] = useState<readonly number[]>(account.alert_thresholds)
  const change = useChangeAccount()
  const save = async () => {
    const changes = { monthly_budget_usd: budget ?? null, alert_thresholds: [...thresholds] }
    await change(changes).catch(aboutTheField)
    toast('Budget and alerts saved')
  }
  return (
    <Section
      title="Budget and alerts"
      description="For the whole account. Each API key can have its own budget. Owners, admins and billing members can change this."
    >
      <Card className="max-w-2xl">
        <Form onSubmit={save} submitLabel="Save">
          <NumberField
            label="Monthly budget"
            name="monthly_budget_usd"
            description="Spending limit per month (UTC). Further requests are rejected with 402. Empty: no limit."
            prefix="$"
            suffix="USD"
            min={0}
            value={budget}
            onChange={setBudget}
            placeholder="No limit"
            className="max-w-sm"
          />
          <ThresholdsField name="alert_thresholds" value={thresholds} onChange={setThresholds} />
          <p className="text-sm text-soft">
            Alerts are events of the type <code className="font-mono">usage.alert</code>.{' '}
            <AppLink to="/webhooks" className="text-accent underline underline-offset-2">
              Webhooks
            </AppLink>{' '}
            deliver them.
          </p>
        </Form>
      </Card>
    </Section>
  )
}

/** What is said of one entry of a list is said beside the list. */
function aboutTheField(error: unknown): never {
  if (!(error instanceof ApiProblem) || error.param === undefined) throw error
  const { message, ...details } = error
  throw new ApiProblem(message, { ...details, param: error.param.replace(/\[.*/, '') })
}

interface ThresholdsFieldProps {
  /** As the API calls it. */
  readonly name: string
  /** Percentages, ascending. */
  readonly value: readonly number[]
  readonly onChange: (thresholds: readonly number[]) => void
}

const MAX_PERCENT = 1_000

/** Chips that can be taken away, and a field for one more. */
function ThresholdsField({ name, value, onChange }: ThresholdsFieldProps) {
  const [text, setText] = useState('')
  const input = useRef<HTMLInputElement>(null)
  const read = readNumber(text, { min: 1, max: MAX_PERCENT, whole: true })
  const field = {
    label: 'Alert at',
    name,
    description: 'Percentage of the budget or, without one, of the month’s credit. Each alerts once a month.',
    ...(read.problem !== undefined && { error: read.problem }),
  }
  const ids = useField(field)
  const add = () => {
    if (read.value === undefined) return
    onChange([...new Set([...value, read.value])].toSorted((one, other) => one - other))
    announce(`Alert at ${read.value}% added`)
    setText('')
  }
  const remove = (threshold: number) => {
    onChange(value.filter((each) => each !== threshold))
    announce(`Alert at ${threshold}% removed`)
    input.current?.focus()
  }
  const addOnEnter = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || text === '') return
    event.preventDefault() // the form is not sent by it
    add()
  }
  return (
    <FieldFrame field={field} ids={ids}>
      <div className="flex flex-wrap items-center gap-2">
        <Chips value={value} onRemove={remove} />
        <span className="flex w-40 items-center gap-1">
          <input
            {...ids.control}
            ref={input}
            value={text}
            onChange={(event) => setText(event.target.value)}
            onKeyDown={addOnEnter}
            inputMode="numeric"
            autoComplete="off"
            placeholder="%"
            className={classNames(CONTROL, 'h-8 px-2.5')}
          />
          <Button
            size="sm"
            icon={Plus}
            className="h-8"
            unavailable={read.value === undefined ? 'Enter a percentage.' : undefined}
            onClick={add}
          >
            Add
          </Button>
        </span>
      </div>
    </FieldFrame>
  )
}

interface ChipsProps {
  readonly value: readonly number[]
  readonly onRemove: (threshold: number) => void
}

function Chips({ value, onRemove }: ChipsProps) {
  if (value.length === 0) return <span className="text-soft">No alerts</span>
  return (
    <ul aria-label="Alerts" className="flex flex-wrap gap-2">
      {value.map((threshold) => (
        <li
          key={threshold}
          className="inline-flex h-8 items-center gap-0.5 rounded-full border border-line bg-sunken pr-1 pl-3 text-ink tabular-nums"
        >
          {threshold}%
          <button
            type="button"
            aria-label={`Remove ${threshold}%`}
            onClick={() => onRemove(threshold)}
            className="flex size-6 items-center justify-center rounded-full text-soft hover:bg-hover hover:text-ink"
          >
            <X aria-hidden className="size-3.5" />
          </button>
        </li>
      ))}
    </ul>
  )
}
