/** Every account of the installation: what it has, what it spends, and what its operator does for it. */
import { Plus, Wallet } from 'lucide-react'
import { useCan } from '../../../api/me.ts'
import { plural } from '../../../lib/format.ts'
import { Button } from '../../../ui/button.tsx'
import { SearchField } from '../../../ui/field.tsx'
import { Page } from '../../../ui/page.tsx'
import { LoadMore, type Pages } from '../../../ui/paged.tsx'
import { Empty, Forbidden, Loaded, SkeletonRows } from '../../../ui/states.tsx'
import { useSearchChange, useSearchOf } from '../address.ts'
import { readListSearch } from '../search.ts'
import { AccountSheet } from './account-sheet.tsx'
import { AccountsTable } from './accounts-table.tsx'
import { CreateAccount } from './create-account.tsx'
import { type Account, useAccounts } from './queries.ts'

const TITLE = 'Accounts'
/** In the place of an account's id: one that is being made. */
const NEW = 'new'

export function AccountsPage() {
  if (useCan('operator')) return <Accounts />
  return (
    <Page title={TITLE}>
      <Forbidden what="accounts" right="operator" />
    </Page>
  )
}

function Accounts() {
  const { q = '', selected, tab } = useSearchOf(readListSearch)
  const change = useSearchChange()
  const pages = useAccounts()
  const select = (id: string | undefined) => change({ selected: id, tab: undefined })
  return (
    <Page
      title={TITLE}
      description="Who is served here. Amounts are US dollars; months are UTC."
      actions={
        <Button variant="primary" icon={Plus} onClick={() => select(NEW)}>
          Create account
        </Button>
      }
      wide
    >
      <Loaded query={pages} what="accounts" skeleton={<SkeletonRows rows={8} />}>
        {(accounts) => (
          <div className="flex flex-col gap-4">
            <Filter pages={pages} q={q} onChange={(next) => change({ q: next }, { replace: true })} />
            <AccountsTable
              accounts={accounts.filter((account) => matches(account, q))}
              empty={<NoAccounts q={q} onClear={() => change({ q: undefined })} />}
            />
            <LoadMore pages={pages} noun="account" />
          </div>
        )}
      </Loaded>
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

interface FilterProps {
  readonly pages: Pages<Account>
  readonly q: string
  readonly onChange: (q: string) => void
}

function Filter({ pages, q, onChange }: FilterProps) {
  const found = pages.rows.filter((account) => matches(account, q)).length
  const part = pages.hasMore ? ' loaded so far' : ''
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-2">
      <SearchField
        label="Search accounts"
        placeholder="Search by name, plan or id"
        value={q}
        onChange={onChange}
        className="w-full sm:w-80"
      />
      <p role="status" className="text-sm text-soft tabular-nums">
        {q === '' ? plural(pages.rows.length, 'account') : `${found} of ${plural(pages.rows.length, 'account')}`}
        {part}
      </p>
    </div>
  )
}

/** Every word is somewhere in what names the account. */
function matches({ id, name, plan }: Account, q: string): boolean {
  const text = `${name} ${plan} ${id}`.toLowerCase()
  return q
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}

function NoAccounts({ q, onClear }: { readonly q: string; readonly onClear: () => void }) {
  return (
    <Empty
      icon={Wallet}
      title={`No account is called “${q}”`}
      action={<Button onClick={onClear}>Clear search</Button>}
      command="turnpike accounts create --name acme"
    >
      Names, plans and ids are searched, of the accounts that are loaded.
    </Empty>
  )
}
