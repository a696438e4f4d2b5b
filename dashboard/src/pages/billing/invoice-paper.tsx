/** An invoice as it is printed. Amounts are exact; what is listed adds up to what is below it. */
import { formatUsd } from '../../lib/format.ts'
import { sumUsd } from '../../lib/money.ts'
import { formatDate, formatDateTime, monthName } from '../../lib/time.ts'
import { Card, Section } from '../../ui/page.tsx'
import { CreditRows, InvoiceAdjustments } from './invoice-movements.tsx'
import { AmountCell, InvoiceTable, NameCell, TextCell } from './invoice-table.tsx'
import { InvoiceUsage } from './invoice-usage.tsx'
import type { Invoice } from './queries.ts'

export function InvoicePaper({ invoice }: { readonly invoice: Invoice }) {
  return (
    <Card className="invoice-paper flex flex-col gap-8 p-5 sm:p-8">
      <Facts invoice={invoice} />
      <InvoiceUsage invoice={invoice} />
      <InvoiceAdjustments invoice={invoice} />
      <p className="flex flex-wrap items-baseline justify-between gap-x-4 rounded-lg border border-line bg-sunken px-4 py-3">
        <span className="font-medium">Total for {monthName(invoice.period_start)}</span>
        <strong className="text-xl font-semibold tabular-nums">{formatUsd(invoice.total_usd)}</strong>
      </p>
      <CreditOfMonth invoice={invoice} />
      <footer className="border-t border-line pt-3 text-xs break-words text-soft">
        All amounts in US dollars; days and months are UTC. A closed invoice does not change: corrections are on a later
        one. {invoice.id}
      </footer>
    </Card>
  )
}

function Facts({ invoice }: { readonly invoice: Invoice }) {
  const lastDay = new Date(Date.parse(invoice.period_end) - 1).toISOString()
  const facts = [
    ['Number', `No. ${invoice.number}`, undefined],
    ['Account', invoice.account.name, invoice.account.id],
    ['Period', `${formatDate(invoice.period_start, 'utc')} – ${formatDate(lastDay, 'utc')}`, undefined],
    ['Closed', formatDateTime(invoice.closed_at, 'utc'), undefined],
  ] as const
  return (
    <dl className="grid gap-x-6 gap-y-4 sm:grid-cols-2 lg:grid-cols-4 print:grid-cols-4">
      {facts.map(([name, value, detail]) => (
        <div key={name} className="min-w-0 break-words">
          <dt className="text-sm text-soft">{name}</dt>
          <dd className="mt-0.5 font-medium text-ink">{value}</dd>
          {detail !== undefined && <dd className="text-xs text-soft">{detail}</dd>}
        </div>
      ))}
    </dl>
  )
}

function CreditOfMonth({ invoice }: { readonly invoice: Invoice }) {
  return (
    <Section title="Credit">
      <InvoiceTable
        label="Credit"
        columns={['What', 'Date', 'USD']}
        roomy={['Date']}
        total={
          <>
            <NameCell>Closing balance</NameCell>
            <TextCell roomy />
            <AmountCell value={invoice.closing_balance_usd} />
          </>
        }
      >
        <tr>
          <NameCell>Opening balance</NameCell>
          <TextCell roomy />
          <AmountCell value={invoice.opening_balance_usd} />
        </tr>
        <CreditRows entries={invoice.credits} unlisted={invoice.unlisted_credits} />
        <tr>
          <NameCell>Total of this invoice</NameCell>
          <TextCell roomy />
          <AmountCell value={sumUsd([-invoice.total_usd])} />
        </tr>
      </InvoiceTable>
    </Section>
  )
}
