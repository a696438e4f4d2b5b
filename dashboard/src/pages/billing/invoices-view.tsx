/** Closed months. */
import { Download, FileText } from 'lucide-react'
import { monthName } from '../../lib/time.ts'
import { IconButton, LinkButton } from '../../ui/button.tsx'
import { Menu } from '../../ui/choices.tsx'
import { LoadMore } from '../../ui/paged.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { type Column, Table } from '../../ui/table.tsx'
import { Time, Usd } from '../../ui/values.tsx'
import { downloadEntries } from './download-entries.ts'
import { type InvoiceSummary, useInvoices } from './queries.ts'

export function InvoicesView() {
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
      command="curl -H 'Authorization: Bearer YOUR_KEY' YOUR_GATEWAY/v1/invoices"
    >
      A month in which credit moved is closed an hour after its end, and its invoice never changes from then on.
    </Empty>
  )
}
