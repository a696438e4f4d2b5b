import type { ReactNode } from 'react'
import { type Column, Table } from '../../../ui/table.tsx'
import { Tokens, Usd } from '../../../ui/values.tsx'
import { targetWith } from '../address.ts'
import type { Account } from './queries.ts'

interface AccountsTableProps {
  readonly accounts: readonly Account[]
  readonly empty: ReactNode
}

export function AccountsTable({ accounts, empty }: AccountsTableProps) {
  return (
    <Table
      label="Accounts"
      columns={COLUMNS}
      rows={accounts}
      rowKey={({ id }) => id}
      rowHref={({ id }) => targetWith('/settings/accounts', { selected: id, tab: undefined })}
      empty={empty}
    />
  )
}

const COLUMNS: readonly Column<Account>[] = [
  {
    id: 'name',
    header: 'Account',
    primary: true,
    cell: ({ name }) => (
      <span className="block max-w-64 truncate" title={name}>
        {name}
      </span>
    ),
  },
  { id: 'plan', header: 'Plan', cell: ({ plan }) => plan },
  {
    id: 'balance',
    header: 'Balance',
    align: 'right',
    cell: ({ balance_usd }) => <Usd value={balance_usd} style="total" />,
  },
  { id: 'held', header: 'Held', align: 'right', cell: ({ held_usd }) => <Usd value={held_usd} style="total" /> },
  {
    id: 'spent',
    header: 'Spent this month',
    align: 'right',
    cell: ({ spent_this_month_usd }) => <Usd value={spent_this_month_usd} style="total" />,
  },
  { id: 'members', header: 'Members', align: 'right', cell: ({ members }) => <Tokens value={members} /> },
]
