/** What the account has, what it spends, and the papers about it. */
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { Download, FileText } from 'lucide-react'
import { useCan } from '../../api/me.ts'
import { present } from '../../lib/address.ts'
import { monthName } from '../../lib/time.ts'
import { accountQuery } from '../../shell/lasting.ts'
import { IconButton, LinkButton } from '../../ui/button.tsx'
import { Menu } from '../../ui/menu.tsx'
import { Page } from '../../ui/page.tsx'
import { Empty, Forbidden, Loaded, Skeleton } from '../../ui/states.tsx'
import { LoadMore } from '../../ui/table/paged.tsx'
import { type Column, Table } from '../../ui/table/table.tsx'
import { Tabs } from '../../ui/tabs.tsx'
import { Time, Usd } from '../../ui/values.tsx'
import { BudgetForm } from './budget-form.tsx'
import { CreditSummary } from './credit-summary.tsx'
import { downloadEntries } from './downloads.ts'
import { LedgerView } from './ledger-view.tsx'
import { PaymentsView } from './payments-view.tsx'
import { type InvoiceSummary, useInvoices } from './queries.ts'
import { BILLING_TABS, type BillingSearch, type BillingTab } from './search.ts'
import { StatementView } from './statement-view.tsx'

const TITLE = 'Billing'
const TAB_NAMES: Readonly<Record<BillingTab, string>> = {
  statement: 'Statement',
  ledger: 'Ledger',
  invoices: 'Invoices',
  payments: 'Payments',
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
    <Page title={TITLE} description="Amounts are in US dollars. Months are UTC. Corrections are new entries.">
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
        {tab === 'payments' && <PaymentsView />}
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

/** Invoices of closed months. */
function InvoicesView() {
  const pages = useInvoices()
  return (
    <Loaded query={pages} what="invoices">
      {(rows) => (
        <div>
          <Table
            label="Invoices"
            columns={COLUMNS}
            rows={rows}
            rowKey={({ id }) => id}
            rowHref={({ id }) => ({ to: '/billing/invoices/$invoiceId', params: { invoiceId: id } })}
            empty={<NoInvoices />}
          />
          <LoadMore pages={pages} noun="invoice" />
        </div>
      )}
    </Loaded>
  )
}

const COLUMNS: readonly Column<InvoiceSummary>[] = [
  { id: 'period', header: 'Period', primary: true, cell: ({ period_start }) => monthName(period_start) },
  { id: 'number', header: 'Number', cell: ({ number }) => <span className="tabular-nums">No. {number}</span> },
  { id: 'total', header: 'Total', align: 'right', cell: ({ total_usd }) => <Usd value={total_usd} /> },
  {
    id: 'balance',
    header: 'Closing balance',
    align: 'right',
    cell: ({ closing_balance_usd }) => <Usd value={closing_balance_usd} />,
  },
  { id: 'closed', header: 'Closed', hideBelow: 'lg', cell: ({ closed_at }) => <Time iso={closed_at} /> },
  { id: 'files', header: 'Files', align: 'right', cell: (invoice) => <Files invoice={invoice} /> },
]

function Files({ invoice }: { readonly invoice: InvoiceSummary }) {
  const label = `Download invoice ${invoice.number}`
  return (
    <Menu
      label={label}
      trigger={<IconButton label={label} icon={Download} size="sm" />}
      items={downloadEntries(invoice)}
    />
  )
}

function NoInvoices() {
  return (
    <Empty
      icon={FileText}
      title="No invoices yet"
      action={<LinkButton to="/billing">See this month’s statement</LinkButton>}
      command={`curl -H "Authorization: Bearer $TURNPIKE_API_KEY" ${location.origin}/v1/invoices`}
    >
      An invoice appears an hour after the end of each month with ledger entries, and never changes.
    </Empty>
  )
}
