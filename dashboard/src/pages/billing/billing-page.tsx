/** What the account has, what it spends, and the papers about it. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useCan } from '../../api/me.ts'
import { present } from '../../lib/address.ts'
import { Tabs } from '../../ui/choices.tsx'
import { Page } from '../../ui/page.tsx'
import { Forbidden, Loaded, Skeleton } from '../../ui/states.tsx'
import { BudgetForm } from './budget-form.tsx'
import { CreditSummary } from './credit-summary.tsx'
import { InvoicesView } from './invoices-view.tsx'
import { LedgerView } from './ledger-view.tsx'
import { accountQuery } from './queries.ts'
import { BILLING_TABS, type BillingSearch, type BillingTab } from './search.ts'
import { StatementView } from './statement-view.tsx'

const TITLE = 'Billing'
const TAB_NAMES: Readonly<Record<BillingTab, string>> = {
  statement: 'Statement',
  ledger: 'Ledger',
  invoices: 'Invoices',
  budget: 'Budget and alerts',
}

export function BillingPage() {
  if (useCan('billing')) return <Billing />
  return (
    <Page title={TITLE}>
      <Forbidden what="credit and invoices" right="billing" />
    </Page>
  )
}

const route = getRouteApi('/billing')

function Billing() {
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const { tab = 'statement' } = search
  const go = (next: BillingSearch) => void navigate({ search: next, resetScroll: false })
  return (
    <Page title={TITLE} description="Amounts are US dollars. Months are UTC. Corrections are new dated lines.">
      <CreditSummary />
      <Tabs
        label="Billing"
        value={tab}
        onChange={(next) => go(next === 'statement' ? {} : { tab: next })}
        items={BILLING_TABS.map((value) => ({ value, label: TAB_NAMES[value] }))}
      >
        {tab === 'statement' && <StatementView month={search.month} onMonth={(month) => go({ month })} />}
        {tab === 'ledger' && (
          <LedgerView search={search} onChange={(filter) => go({ tab: 'ledger', ...present({ ...filter }) })} />
        )}
        {tab === 'invoices' && <InvoicesView />}
        {tab === 'budget' && <Budget />}
      </Tabs>
    </Page>
  )
}

function Budget() {
  return (
    <Loaded query={useQuery(accountQuery)} what="the budget" skeleton={<Skeleton className="h-72 w-full" />}>
      {(account) => <BudgetForm account={account} />}
    </Loaded>
  )
}
