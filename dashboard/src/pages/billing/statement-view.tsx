/** What a month began with, what moved, what it ended with, and which models it went to. */
import { useQuery } from '@tanstack/react-query'
import { ChevronLeft, ChevronRight, Download } from 'lucide-react'
import { formatUsd } from '../../lib/format.ts'
import { sumUsd } from '../../lib/money.ts'
import { monthName } from '../../lib/time.ts'
import { accountQuery } from '../../shell/lasting.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { Button, IconButton } from '../../ui/button.tsx'
import { SelectField } from '../../ui/form/select-field.tsx'
import { Card, Section } from '../../ui/page.tsx'
import { Empty, Loaded, Skeleton } from '../../ui/states.tsx'
import { type Column, Table } from '../../ui/table/table.tsx'
import { useNow } from '../../ui/time-zone.ts'
import { Tokens, Usd } from '../../ui/values.tsx'
import { saveFile } from './downloads.ts'
import { KIND_WORDS } from './ledger-view.tsx'
import { addMonths, boundsOf, monthAt, monthsBack } from './months.ts'
import { type Statement, statementQuery } from './queries.ts'
import type { LedgerKind } from './search.ts'

interface StatementViewProps {
  /** Undefined: this month. */
  readonly month: string | undefined
  readonly onMonth: (month: string) => void
}

export function StatementView({ month: chosen, onMonth }: StatementViewProps) {
  const latest = monthAt(useNow())
  const month = chosen ?? latest
  const { data: account } = useQuery(accountQuery)
  const earliest = account === undefined ? latest : monthAt(Date.parse(account.created_at))
  const query = useQuery(statementQuery(month))
  return (
    <div className="flex flex-col gap-6">
      <div className="flex flex-wrap items-center justify-between gap-3">
        <MonthPicker value={month} onChange={onMonth} latest={latest} earliest={earliest} />
        <Button icon={Download} onClick={() => void downloadUsage(month)}>
          Usage as CSV
        </Button>
      </div>
      <Loaded query={query} what="the statement" skeleton={<Skeleton className="h-72 w-full" />}>
        {(statement) => (
          <>
            <Movements statement={statement} month={month} isOpen={month === latest} />
            <ByModel statement={statement} month={month} />
          </>
        )}
      </Loaded>
    </div>
  )
}

function downloadUsage(month: string): Promise<void> {
  const { start, end } = boundsOf(month)
  const query = new URLSearchParams({ format: 'csv', group_by: 'model', period_start: start, period_end: end })
  return saveFile(`/v1/usage?${query}`, `usage-${month}.csv`)
}

interface MonthStatement {
  readonly statement: Statement
  readonly month: string
}

function Movements({ statement, month, isOpen }: MonthStatement & { readonly isOpen: boolean }) {
  const movements: readonly (readonly [LedgerKind, number])[] = [
    ['grant', statement.grants_usd],
    ['purchase', statement.purchases_usd],
    ['refund', statement.refunds_usd],
    ['debit', statement.debits_usd],
    ['charge', statement.charges_usd],
    ['expiry', statement.expiries_usd],
  ]
  return (
    <Section title={`Statement for ${monthName(month)}`} description={isOpen ? 'Month to date.' : undefined}>
      <Card className="px-0 py-1">
        <dl>
          <BalanceLine name="Opening balance" value={statement.opening_usd} />
          {movements.map(([kind, value]) => (
            <MovementLine key={kind} kind={kind} value={value} month={month} />
          ))}
          <BalanceLine name={isOpen ? 'Balance now' : 'Closing balance'} value={statement.closing_usd} />
        </dl>
      </Card>
    </Section>
  )
}

function BalanceLine({ name, value }: { readonly name: string; readonly value: number }) {
  return (
    <div className="flex justify-between gap-4 border-line px-4 py-2 font-semibold text-ink first:border-b last:border-t">
      <dt>{name}</dt>
      <dd>
        <Usd value={value} />
      </dd>
    </div>
  )
}

interface MovementLineProps {
  readonly kind: LedgerKind
  readonly value: number
  readonly month: string
}

function MovementLine({ kind, value, month }: MovementLineProps) {
  const { several, meaning } = KIND_WORDS[kind]
  return (
    <div className="flex items-baseline justify-between gap-4 px-4 py-1.5">
      <dt className="min-w-0">
        {value === 0 ? (
          <span className="text-soft">{several}</span>
        ) : (
          <AppLink
            to="/billing"
            search={{ tab: 'ledger', kind, month }}
            resetScroll={false}
            className="text-accent underline-offset-2 hover:underline"
          >
            {several}
          </AppLink>
        )}
        <span className="ml-2 hidden text-sm text-soft sm:inline">{meaning}</span>
      </dt>
      <dd className={value === 0 ? 'text-soft' : 'text-ink'}>
        <Usd value={value} signed />
      </dd>
    </div>
  )
}

type ModelLine = Statement['by_model'][number]

const COLUMNS: readonly Column<ModelLine>[] = [
  {
    id: 'model',
    header: 'Model',
    primary: true,
    cell: ({ model }) => <span className="font-mono text-sm break-all">{model}</span>,
  },
  { id: 'requests', header: 'Requests', align: 'right', cell: ({ requests }) => <Tokens value={requests} /> },
  { id: 'tokens', header: 'Tokens', align: 'right', cell: ({ tokens }) => <Tokens value={tokens} /> },
  { id: 'cost', header: 'Cost', align: 'right', cell: ({ cost_usd }) => <Usd value={cost_usd} /> },
]

function ByModel({ statement, month }: MonthStatement) {
  const { by_model: rows } = statement
  const { start, lastDay } = boundsOf(month)
  const sum = (of: (line: ModelLine) => number) => rows.reduce((total, line) => total + of(line), 0)
  const cost = sumUsd(rows.map((line) => line.cost_usd))
  return (
    <Section title="Usage by model" description={<Difference cost={cost} charges={statement.charges_usd} />}>
      <Table
        label={`Usage by model, ${monthName(month)}`}
        columns={COLUMNS}
        rows={rows}
        rowKey={({ model }) => model}
        rowHref={({ model }) => ({ to: '/requests', search: { range: 'custom', from: start, to: lastDay, model } })}
        totals={{
          requests: <Tokens value={sum(({ requests }) => requests)} />,
          tokens: <Tokens value={sum(({ tokens }) => tokens)} />,
          cost: <Usd value={cost} />,
        }}
        empty={<Empty title={`No requests in ${monthName(month)}`}>Requests appear here.</Empty>}
      />
    </Section>
  )
}

/** Why the models may add up to something else than the charges. */
function Difference({ cost, charges }: { readonly cost: number; readonly charges: number }) {
  const difference = sumUsd([-charges, -cost])
  if (difference === 0) return 'The sum equals the charges above exactly.'
  const direction = difference > 0 ? 'more' : 'less'
  return `The charges above are ${formatUsd(Math.abs(difference))} ${direction}: charges count by the end of a request, usage by its start, and corrections belong to no model.`
}

interface MonthPickerProps {
  readonly value: string
  readonly onChange: (month: string) => void
  /** This month, and the first that there is anything of. */
  readonly latest: string
  readonly earliest: string
}

function MonthPicker({ value, onChange, latest, earliest }: MonthPickerProps) {
  const months = monthsBack(value > latest ? value : latest, value < earliest ? value : earliest)
  return (
    <div className="flex items-end gap-1">
      <IconButton
        label="Previous month"
        icon={ChevronLeft}
        unavailable={value <= earliest ? 'Nothing is older.' : undefined}
        onClick={() => onChange(addMonths(value, -1))}
      />
      <SelectField
        label="Month"
        hideLabel
        className="w-44"
        value={value}
        onChange={onChange}
        options={months.map((month) => ({ value: month, label: monthName(month) }))}
      />
      <IconButton
        label="Next month"
        icon={ChevronRight}
        unavailable={value >= latest ? 'This is the latest month.' : undefined}
        onClick={() => onChange(addMonths(value, 1))}
      />
    </div>
  )
}
