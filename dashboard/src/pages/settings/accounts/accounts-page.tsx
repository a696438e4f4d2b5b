/** Every account of the installation: what it has, what it spends, and what its operator does for it. */
import { Plus, Wallet } from 'lucide-react'
import { useRef } from 'react'
import { useCan } from '../../../api/me.ts'
import { plural } from '../../../lib/format.ts'
import { Button } from '../../../ui/button.tsx'
import { Page } from '../../../ui/page.tsx'
import { LoadMore, type Pages } from '../../../ui/paged.tsx'
import { SearchBox } from '../../../ui/search-box.tsx'
import { Empty, Forbidden, Loaded, SkeletonRows } from '../../../ui/states.tsx'
import { useSearchChange, useSearchOf } from '../address.ts'
import { readAccountsSearch } from '../search.ts'
import { AccountSheet } from './account-sheet.tsx'
import { AccountsTable } from './accounts-table.tsx'
import { CreateAccount } from './create-account.tsx'
import { type Account, useAccounts, useIsSearching } from './queries.ts'

const TITLE = 'Accounts'
/** In the place of an account's id: one that is being made. */
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
      description="Who is served here. Amounts are US dollars; months are UTC."
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
          placeholder="Search by name or id"
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
      title={`No account is called “${search}”`}
      action={<Button onClick={onClear}>Clear search</Button>}
      command="turnpike accounts create --name research"
    >
      Any part of a name finds an account, and its whole id.
    </Empty>
  )
}
