/** Every movement of credit, with what caused it. */
import { useQuery } from '@tanstack/react-query'
import { Ban, BookOpen, CircleMinus, CreditCard, Gift, type LucideIcon, Minus, Undo2 } from 'lucide-react'
import { monthName } from '../../lib/time.ts'
import { accountQuery } from '../../shell/lasting.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { Button } from '../../ui/button.tsx'
import { classNames } from '../../ui/class-names.ts'
import { Segmented } from '../../ui/form/segmented.tsx'
import { SelectField } from '../../ui/form/select-field.tsx'
import { Empty, Loaded, SkeletonRows } from '../../ui/states.tsx'
import { LoadMore } from '../../ui/table/paged.tsx'
import { type Column, Table } from '../../ui/table/table.tsx'
import { useNow } from '../../ui/time-zone.ts'
import { Dash, Time, Usd } from '../../ui/values.tsx'
import { monthAt, monthsBack } from './months.ts'
import { type LedgerEntry, useLedger } from './queries.ts'
import { type BillingSearch, LEDGER_KINDS, type LedgerKind } from './search.ts'

interface Filter {
  readonly kind: LedgerKind | undefined
  readonly month: string | undefined
}

const NO_FILTER: Filter = { kind: undefined, month: undefined }

interface LedgerViewProps {
  readonly search: BillingSearch
  readonly onChange: (filter: Filter) => void
}

export function LedgerView({ search: { kind, month }, onChange }: LedgerViewProps) {
  const pages = useLedger({ kind, month })
  const isFiltered = kind !== undefined || month !== undefined
  return (
    <div className="flex flex-col gap-4">
      <Filters filter={{ kind, month }} onChange={onChange} />
      <Loaded query={pages} what="the ledger" skeleton={<SkeletonRows rows={10} />}>
        {(rows) => (
          <div>
            <Table
              label="Ledger"
              columns={COLUMNS}
              rows={rows}
              rowKey={({ id }) => id}
              empty={<NoRows isFiltered={isFiltered} onClear={() => onChange(NO_FILTER)} />}
            />
            <LoadMore pages={pages} noun="row" />
          </div>
        )}
      </Loaded>
    </div>
  )
}

function Filters({ filter, onChange }: { readonly filter: Filter; readonly onChange: (filter: Filter) => void }) {
  const { kind, month } = filter
  const latest = monthAt(useNow())
  const { data: account } = useQuery(accountQuery)
  const earliest = account === undefined ? latest : monthAt(Date.parse(account.created_at))
  const months = monthsBack(latest, month !== undefined && month < earliest ? month : earliest)
  return (
    <div className="flex flex-wrap items-center justify-between gap-3">
      <Segmented
        label="Kind"
        value={kind ?? 'all'}
        onChange={(next) => onChange({ ...filter, kind: next === 'all' ? undefined : next })}
        options={[
          { value: 'all', label: 'All' },
          ...LEDGER_KINDS.map((value) => ({ value, label: KIND_WORDS[value].several })),
        ]}
      />
      <SelectField
        label="Month"
        hideLabel
        className="w-44"
        value={month ?? 'all'}
        onChange={(next) => onChange({ ...filter, month: next === 'all' ? undefined : next })}
        options={[{ value: 'all', label: 'All time' }, ...months.map((value) => ({ value, label: monthName(value) }))]}
      />
    </div>
  )
}

const COLUMNS: readonly Column<LedgerEntry>[] = [
  { id: 'time', header: 'Time', primary: true, cell: ({ created_at }) => <Time iso={created_at} /> },
  { id: 'kind', header: 'Kind', cell: ({ kind }) => <KindLabel kind={kind} /> },
  { id: 'amount', header: 'Amount', align: 'right', cell: ({ amount_usd }) => <Usd value={amount_usd} signed /> },
  { id: 'balance', header: 'Balance after', align: 'right', cell: ({ balance_usd }) => <Usd value={balance_usd} /> },
  { id: 'cause', header: 'Cause', cell: (entry) => <Cause entry={entry} /> },
  { id: 'note', header: 'Note', cell: ({ note }) => (note === null ? <Dash /> : <Note text={note} />) },
]

function Note({ text }: { readonly text: string }) {
  return <span className="block max-w-80 min-w-0 break-words">{text}</span>
}

/** The request, and the row that this one corrects. */
function Cause({ entry: { completion_id: request, adjusts } }: { readonly entry: LedgerEntry }) {
  if (request === null && adjusts === null) return <Dash />
  return (
    <span className="block min-w-0 text-sm">
      {adjusts !== null && (
        <span className="block text-soft" title={adjusts}>
          Corrects an earlier {request === null ? 'row' : 'charge'}
        </span>
      )}
      {request !== null && <RequestLink id={request} />}
    </span>
  )
}

interface RequestLinkProps {
  readonly id: string
  /** Shown whole, over several lines where it must be. */
  readonly whole?: boolean
}

export function RequestLink({ id, whole = false }: RequestLinkProps) {
  return (
    <AppLink
      to="/requests"
      search={{ request: id }}
      title={id}
      className={classNames(
        'inline-block py-0.5 align-bottom font-mono text-sm text-accent underline-offset-2 hover:underline',
        whole ? 'break-all' : 'max-w-52 truncate',
      )}
    >
      {id}
    </AppLink>
  )
}

function NoRows({ isFiltered, onClear }: { readonly isFiltered: boolean; readonly onClear: () => void }) {
  if (isFiltered) {
    return (
      <Empty icon={BookOpen} title="No matching entries" action={<Button onClick={onClear}>Show all rows</Button>}>
        Try another kind or month.
      </Empty>
    )
  }
  return (
    <Empty icon={BookOpen} title="No ledger entries yet" command='turnpike credits grant --usd 25 --note "welcome"'>
      Every grant, purchase and charge is an entry here, and never changes.
    </Empty>
  )
}

interface KindWords {
  readonly one: string
  readonly several: string
  readonly icon: LucideIcon
  readonly meaning: string
}

export const KIND_WORDS: Readonly<Record<LedgerKind, KindWords>> = {
  grant: { one: 'Grant', several: 'Grants', icon: Gift, meaning: 'Credit granted, monthly allowances included' },
  purchase: { one: 'Purchase', several: 'Purchases', icon: CreditCard, meaning: 'Credit bought' },
  charge: {
    one: 'Charge',
    several: 'Charges',
    icon: Minus,
    meaning: 'Requests, and corrections that increase a charge',
  },
  refund: {
    one: 'Refund',
    several: 'Refunds',
    icon: Undo2,
    meaning: 'Money returned, and corrections that reduce a charge',
  },
  debit: { one: 'Debit', several: 'Debits', icon: CircleMinus, meaning: 'Chargebacks, and other deductions' },
  expiry: { one: 'Expiry', several: 'Expiries', icon: Ban, meaning: 'The unspent rest of a monthly allowance' },
}

function KindLabel({ kind }: { readonly kind: LedgerKind }) {
  const { one, icon: Icon } = KIND_WORDS[kind]
  return (
    <span className="inline-flex items-center gap-1.5 whitespace-nowrap">
      <Icon aria-hidden className="size-3.5 text-faint" />
      {one}
    </span>
  )
}
