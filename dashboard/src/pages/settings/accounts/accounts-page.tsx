/** Every account of the installation: what it has, what it spends, and what its operator does for it. */
import { useQuery } from '@tanstack/react-query'
import { Plus, Wallet } from 'lucide-react'
import { type ReactNode, useRef, useState } from 'react'
import { useCan } from '../../../api/me.ts'
import { plural } from '../../../lib/format.ts'
import { toast } from '../../../ui/announcer.tsx'
import { Button } from '../../../ui/button.tsx'
import { Dialog } from '../../../ui/dialog.tsx'
import { TextField } from '../../../ui/form/field.tsx'
import { Form } from '../../../ui/form/form.tsx'
import { SearchBox } from '../../../ui/form/search-box.tsx'
import { RadioGroupField } from '../../../ui/form/toggle-fields.tsx'
import { Page } from '../../../ui/page.tsx'
import { Empty, Forbidden, Loaded, SkeletonRows } from '../../../ui/states.tsx'
import { LoadMore, type Pages } from '../../../ui/table/paged.tsx'
import { type Column, Table } from '../../../ui/table/table.tsx'
import { Tokens, Usd } from '../../../ui/values.tsx'
import { targetWith, useSearchChange, useSearchOf } from '../address.ts'
import { readAccountsSearch } from '../search.ts'
import { AccountSheet } from './account-sheet.tsx'
import { planText } from './plan-words.ts'
import { type Account, type Plan, plansQuery, useAccountActions, useAccounts, useIsSearching } from './queries.ts'

const TITLE = 'Accounts'
/** Value of the account id while the form creates one. */
const NEW = 'new'
const PAUSE_MS = 250

export function AccountsPage() {
  if (useCan('operator')) return <Accounts />
  return (
    <Page title={TITLE}>
      <Forbidden what="accounts" right="operator" />
    </Page>
  )
}

function Accounts() {
  const { search, selected, tab } = useSearchOf(readAccountsSearch)
  const change = useSearchChange()
  const pages = useAccounts(search)
  const select = (id: string | undefined) => change({ selected: id, tab: undefined })
  return (
    <Page
      title={TITLE}
      description="All accounts of this installation. Amounts are in US dollars; months are UTC."
      actions={
        <Button variant="primary" icon={Plus} onClick={() => select(NEW)}>
          Create account
        </Button>
      }
      wide
    >
      <AccountList pages={pages} search={search} onSearch={(next) => change({ search: next }, { replace: true })} />
      <AccountSheet
        id={selected === NEW ? undefined : selected}
        tab={tab}
        listed={pages.rows.find(({ id }) => id === selected)}
        onTab={(next) => change({ tab: next }, { replace: true })}
        onClose={() => select(undefined)}
      />
      <CreateAccount
        open={selected === NEW}
        onClose={() => select(undefined)}
        onCreated={({ id }) => change({ selected: id, tab: undefined }, { replace: true })}
      />
    </Page>
  )
}

interface AccountListProps {
  readonly pages: Pages<Account>
  readonly search: string | undefined
  readonly onSearch: (search: string | undefined) => void
}

function AccountList({ pages, search, onSearch }: AccountListProps) {
  const isSearching = useIsSearching(search)
  const filter = useRef<HTMLDivElement>(null)
  const clear = () => {
    onSearch(undefined)
    filter.current?.querySelector('input')?.focus()
  }
  return (
    <div className="flex flex-col gap-4">
      <div ref={filter} className="flex flex-wrap items-center gap-x-4 gap-y-2">
        <SearchBox
          label="Search accounts"
          placeholder="Search by name or ID"
          value={search ?? ''}
          onChange={(text) => onSearch(text === '' ? undefined : text)}
          pauseMs={PAUSE_MS}
          className="w-full sm:w-80"
        />
        <p role="status" className="text-sm text-soft tabular-nums">
          {isSearching && pages.data !== undefined ? 'Searching…' : countText(pages, search)}
        </p>
      </div>
      <Loaded query={pages} what="accounts" skeleton={<SkeletonRows rows={8} />}>
        {(accounts) =>
          isSearching && accounts.length === 0 ? (
            <SkeletonRows rows={1} />
          ) : (
            <>
              <AccountsTable accounts={accounts} empty={<NoAccounts search={search ?? ''} onClear={clear} />} />
              <LoadMore pages={pages} noun="account" />
            </>
          )
        }
      </Loaded>
    </div>
  )
}

/** Nothing where the list is not there. */
function countText({ data, hasMore }: Pages<Account>, search: string | undefined): string {
  if (data === undefined) return ''
  const found = search === undefined ? '' : ' found'
  return `${plural(data.length, 'account')}${found}${hasMore ? ' so far' : ''}`
}

function NoAccounts({ search, onClear }: { readonly search: string; readonly onClear: () => void }) {
  return (
    <Empty
      icon={Wallet}
      title={`No accounts match “${search}”`}
      action={<Button onClick={onClear}>Clear search</Button>}
      command="turnpike accounts create --name research"
    >
      Search by part of a name, or by the complete ID.
    </Empty>
  )
}

interface AccountsTableProps {
  readonly accounts: readonly Account[]
  readonly empty: ReactNode
}

function AccountsTable({ accounts, empty }: AccountsTableProps) {
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
      <span className="block max-w-52 truncate 2xl:max-w-80" title={name}>
        {name}
      </span>
    ),
  },
  { id: 'plan', header: 'Plan', cell: ({ plan }) => plan },
  {
    id: 'balance',
    header: 'Balance',
    align: 'right',
    cell: ({ balance_usd }) => <Usd value={balance_usd} />,
  },
  { id: 'held', header: 'Held', align: 'right', hideBelow: '2xl', cell: ({ held_usd }) => <Usd value={held_usd} /> },
  {
    id: 'spent',
    header: 'Spent this month',
    align: 'right',
    cell: ({ spent_this_month_usd }) => <Usd value={spent_this_month_usd} />,
  },
  {
    id: 'margin',
    header: 'Margin this month',
    align: 'right',
    hideBelow: 'lg',
    cell: ({ margin_this_month_usd }) => <Usd value={margin_this_month_usd} />,
  },
  { id: 'members', header: 'Members', align: 'right', cell: ({ members }) => <Tokens value={members} /> },
]

interface CreateAccountProps {
  readonly open: boolean
  readonly onClose: () => void
  readonly onCreated: (account: Account) => void
}

function CreateAccount({ open, onClose, onCreated }: CreateAccountProps) {
  return (
    <Dialog
      open={open}
      onOpenChange={(next) => {
        if (!next) onClose()
      }}
      title="Create account"
      description="An account has its own members, keys, usage and credit. It receives the plan’s credit for this month at once."
    >
      <CreateForm onClose={onClose} onCreated={onCreated} />
    </Dialog>
  )
}

function CreateForm({ onClose, onCreated }: Omit<CreateAccountProps, 'open'>) {
  const plans = useQuery(plansQuery)
  const [name, setName] = useState('')
  const [chosen, setChosen] = useState<string>()
  const { create } = useAccountActions()
  return (
    <Loaded query={plans} what="plans">
      {(all) => {
        const plan = chosen ?? standardOf(all)
        const submit = async () => {
          const account = await create({ name: name.trim(), ...(plan !== undefined && { plan }) })
          toast(`Account “${account.name}” created`)
          onCreated(account)
        }
        return (
          <Form
            onSubmit={submit}
            submitLabel="Create account"
            onCancel={onClose}
            missing={name.trim() === '' ? 'Enter a name.' : undefined}
          >
            <TextField
              label="Name"
              name="name"
              value={name}
              onChange={setName}
              maxLength={100}
              autoComplete="off"
              required
            />
            <RadioGroupField label="Plan" name="plan" value={plan} onChange={setChosen} options={all.map(optionOf)} />
          </Form>
        )
      }}
    </Loaded>
  )
}

function standardOf(plans: readonly Plan[]): string | undefined {
  return plans.find((plan) => plan.default)?.id
}

function optionOf(plan: Plan) {
  return { value: plan.id, label: plan.default ? `${plan.id} (default)` : plan.id, description: planText(plan) }
}
