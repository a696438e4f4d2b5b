import { type Column, Table } from '../../../ui/table/table.tsx'
import { targetWith } from '../address.ts'
import { BudgetAction, Forecast, LEVEL_NAMES, limitText, Resets, UsedOf } from './budget-words.tsx'
import type { Budget } from './queries.ts'

interface BudgetsTableProps {
  readonly rows: readonly Budget[]
  readonly nameOf: (id: string) => string
  /** The view whose address opens a budget. */
  readonly at?: string
  /** What fills it. */
  readonly params?: Readonly<Record<string, string>>
  /** Without what they are of: all are of the same. */
  readonly isOfOne?: boolean
}

export function BudgetsTable(props: BudgetsTableProps) {
  const { rows, nameOf, at = '/settings/budgets', params, isOfOne = false } = props
  return (
    <Table
      label="Budgets"
      density="comfortable"
      columns={[isOfOne ? LIMIT : subjectColumn(nameOf), ...COLUMNS]}
      rows={rows}
      rowKey={({ id }) => id}
      rowHref={({ id }) => ({ ...targetWith(at, { budget: id }), params })}
    />
  )
}

const LIMIT: Column<Budget> = { id: 'limit', header: 'Budget', primary: true, cell: (row) => <Limit row={row} /> }

function subjectColumn(nameOf: (id: string) => string): Column<Budget> {
  return {
    id: 'subject',
    header: 'Budget',
    primary: true,
    cell: (row) => (
      <span className="block max-w-52 min-w-36 py-0.5 2xl:max-w-80">
        <span className="block truncate" title={subjectText(row, nameOf)}>
          {subjectText(row, nameOf)}
        </span>
        <span
          className="block truncate text-sm font-normal text-soft"
          title={[limitText(row), row.timezone].join(' · ')}
        >
          {row.level === 'account' ? '' : `${LEVEL_NAMES[row.level]} · `}
          <Limit row={row} />
        </span>
      </span>
    ),
  }
}

function Limit({ row }: { readonly row: Budget }) {
  return (
    <>
      {limitText(row)}
      {row.timezone !== 'UTC' && <span className="font-normal text-soft"> · {row.timezone}</span>}
    </>
  )
}

function subjectText({ level, subject }: Budget, nameOf: (id: string) => string): string {
  if (level === 'account') return 'Account'
  return level === 'tag' ? subject : nameOf(subject)
}

const COLUMNS: readonly Column<Budget>[] = [
  { id: 'used', header: 'Used', cell: (row) => <UsedOf budget={row} /> },
  { id: 'resets', header: 'Resets', cell: (row) => <Resets budget={row} /> },
  { id: 'forecast', header: 'Spent at this pace', cell: (row) => <Forecast budget={row} /> },
  { id: 'action', header: 'When spent', cell: ({ action }) => <BudgetAction action={action} /> },
]
