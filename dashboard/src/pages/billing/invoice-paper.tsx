/** An invoice as it is printed. What is listed adds up to what is below it; exact amounts are in titles and files. */
import type { ReactNode } from 'react'
import { formatCount, plural } from '../../lib/format.ts'
import { sumUsd } from '../../lib/money.ts'
import { formatDate, formatDateTime, monthName } from '../../lib/time.ts'
import { AppLink } from '../../ui/app-link.tsx'
import { classNames } from '../../ui/class-names.ts'
import { Card, Section } from '../../ui/page.tsx'
import { Usd } from '../../ui/values.tsx'
import { KIND_WORDS, RequestLink } from './ledger-view.tsx'
import { boundsOf } from './months.ts'
import type { Invoice } from './queries.ts'

export function InvoicePaper({ invoice }: { readonly invoice: Invoice }) {
  return (
    <Card className="invoice-paper flex flex-col gap-8 p-5 sm:p-8">
      <Parties invoice={invoice} />
      <Facts invoice={invoice} />
      <InvoiceUsage invoice={invoice} />
      <InvoiceAdjustments invoice={invoice} />
      <Payable invoice={invoice} />
      <CreditOfMonth invoice={invoice} />
      <footer className="border-t border-line pt-3 text-xs break-words text-soft">
        Amounts are in US dollars; days and months are UTC. Invoices never change: corrections appear on a later one.{' '}
        {invoice.id}
      </footer>
    </Card>
  )
}

/** Who bills whom, where the operator has configured it. */
function Parties({ invoice: { seller, buyer } }: { readonly invoice: Invoice }) {
  if (seller === null && buyer === null) return null
  return (
    <dl className="grid gap-x-6 gap-y-4 sm:grid-cols-2 print:grid-cols-2">
      {seller !== null && <PartyOf title="From" party={seller} />}
      {buyer !== null && <PartyOf title="To" party={buyer} />}
    </dl>
  )
}

function PartyOf({ title, party }: { readonly title: string; readonly party: NonNullable<Invoice['seller']> }) {
  const lines = [...party.address, ...(party.tax_id === null ? [] : [`Tax number ${party.tax_id}`])]
  return (
    <div className="min-w-0 break-words">
      <dt className="text-sm text-soft">{title}</dt>
      <dd className="mt-0.5 font-medium text-ink">{party.name}</dd>
      {lines.map((line) => (
        <dd key={line} className="text-sm text-soft">
          {line}
        </dd>
      ))}
    </div>
  )
}

/** Subtotal and taxes where there are any, and what is to be paid. */
function Payable({ invoice }: { readonly invoice: Invoice }) {
  const { taxes, subtotal_usd: subtotal, payable_usd: payable } = invoice
  const taxLines = taxes.map(({ name, percent, amount_usd: amount }) => [`${name} ${percent}%`, amount] as const)
  const lines = taxes.length === 0 ? [] : [['Subtotal', subtotal] as const, ...taxLines]
  return (
    <div className="flex flex-col gap-2">
      {lines.map(([name, amount]) => (
        <p key={name} className="flex justify-between gap-4 px-4 text-ink">
          <span>{name}</span>
          <Usd value={amount} />
        </p>
      ))}
      <p className="flex flex-wrap items-baseline justify-between gap-x-4 rounded-lg border border-line bg-sunken px-4 py-3">
        <span className="font-medium">Total payable for {monthName(invoice.period_start)}</span>
        <strong className="text-xl font-semibold">
          <Usd value={payable} />
        </strong>
      </p>
    </div>
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

type Adjustment = Invoice['adjustments'][number]

function InvoiceAdjustments({ invoice }: { readonly invoice: Invoice }) {
  const { adjustments, unlisted_adjustments: unlisted } = invoice
  if (adjustments.length === 0 && unlisted.entries === 0) return null
  const total = sumUsd([...adjustments.map(({ amount_usd }) => amount_usd), unlisted.amount_usd])
  return (
    <Section title="Adjustments" description="Corrections of earlier charges.">
      <InvoiceTable
        label="Adjustments"
        columns={['What', 'Date', 'USD']}
        roomy={['Date']}
        total={
          <>
            <NameCell>All adjustments</NameCell>
            <TextCell roomy />
            <AmountCell value={total} />
          </>
        }
      >
        {adjustments.map((entry) => (
          <tr key={entry.id}>
            <NameCell note={<AboutAdjustment entry={entry} />}>
              {entry.kind === 'refund' ? 'Reduction of an earlier charge' : 'Addition to an earlier charge'}
            </NameCell>
            <TextCell roomy>{formatDate(entry.created_at, 'utc')}</TextCell>
            <AmountCell value={entry.amount_usd} />
          </tr>
        ))}
        <Unlisted unlisted={unlisted} />
      </InvoiceTable>
    </Section>
  )
}

function AboutAdjustment({ entry }: { readonly entry: Adjustment }) {
  return (
    <>
      <NarrowDate iso={entry.created_at} />
      {entry.note}
      {entry.completion_id !== null && (
        <span className="block">
          <RequestLink id={entry.completion_id} whole />
        </span>
      )}
    </>
  )
}

interface CreditRowsProps {
  readonly entries: Invoice['credits']
  readonly unlisted: Invoice['unlisted_credits']
}

function CreditRows({ entries, unlisted }: CreditRowsProps) {
  return (
    <>
      {entries.map((entry) => (
        <tr key={entry.id}>
          <NameCell
            note={
              <>
                <NarrowDate iso={entry.created_at} />
                {entry.note}
              </>
            }
          >
            {KIND_WORDS[entry.kind].one}
          </NameCell>
          <TextCell roomy>{formatDate(entry.created_at, 'utc')}</TextCell>
          <AmountCell value={entry.amount_usd} />
        </tr>
      ))}
      <Unlisted unlisted={unlisted} />
    </>
  )
}

/** Where there is no room for a column of dates. */
function NarrowDate({ iso }: { readonly iso: string }) {
  return <span className="block sm:hidden print:hidden">{formatDate(iso, 'utc')}</span>
}

function Unlisted({ unlisted: { entries, amount_usd: amount } }: Pick<CreditRowsProps, 'unlisted'>) {
  if (entries === 0) return null
  return (
    <tr>
      <NameCell>{formatCount(entries)} further rows of the ledger</NameCell>
      <TextCell roomy />
      <AmountCell value={amount} />
    </tr>
  )
}

type Line = Invoice['lines'][number]

const COUNTS = ['Requests', 'Input tokens', 'Output tokens'] as const

/** What each model cost; one press leads to the requests. */
function InvoiceUsage({ invoice }: { readonly invoice: Invoice }) {
  const { lines, period_start: start } = invoice
  if (lines.length === 0) {
    return (
      <Section title="Usage">
        <p className="text-soft">No charges.</p>
      </Section>
    )
  }
  return (
    <Section title="Usage">
      <InvoiceTable
        label="Usage"
        columns={['Model', ...COUNTS, 'USD']}
        roomy={COUNTS}
        total={<Cells line={totalOf(lines)} name="All models" />}
      >
        {lines.map((line) => (
          <tr key={line.model}>
            <Cells line={line} name={<ModelLink model={line.model} month={start.slice(0, 7)} />} />
          </tr>
        ))}
      </InvoiceTable>
    </Section>
  )
}

function Cells({ line, name }: { readonly line: Line; readonly name: ReactNode }) {
  const { requests, prompt_tokens: input, completion_tokens: output } = line
  const counts = `${plural(requests, 'request')}, ${formatCount(input)} + ${formatCount(output)} tokens`
  return (
    <>
      <NameCell note={<span className="sm:hidden print:hidden">{counts}</span>}>{name}</NameCell>
      <TextCell roomy>{formatCount(requests)}</TextCell>
      <TextCell roomy>{formatCount(input)}</TextCell>
      <TextCell roomy>{formatCount(output)}</TextCell>
      <AmountCell value={line.cost_usd} />
    </>
  )
}

function ModelLink({ model, month }: { readonly model: string; readonly month: string }) {
  const { start, lastDay } = boundsOf(month)
  return (
    <AppLink
      to="/requests"
      search={{ range: 'custom', from: start, to: lastDay, model }}
      className="font-mono text-sm break-all text-accent underline-offset-2 hover:underline"
    >
      {model}
    </AppLink>
  )
}

function totalOf(lines: readonly Line[]): Line {
  const sum = (of: (line: Line) => number) => lines.reduce((total, line) => total + of(line), 0)
  return {
    model: '',
    requests: sum(({ requests }) => requests),
    prompt_tokens: sum(({ prompt_tokens }) => prompt_tokens),
    completion_tokens: sum(({ completion_tokens }) => completion_tokens),
    cost_usd: sumUsd(lines.map(({ cost_usd }) => cost_usd)),
  }
}

interface InvoiceTableProps {
  readonly label: string
  /** The first is on the left; all others are where numbers are. */
  readonly columns: readonly string[]
  /** These columns are only where there is room: on wide screens and on paper. */
  readonly roomy?: readonly string[]
  readonly children: ReactNode
  /** The cells of the last row. */
  readonly total: ReactNode
}

const ROOMY = 'max-sm:hidden print:table-cell'

/** A table that looks the same on paper and on screen. */
function InvoiceTable({ label, columns, roomy = [], children, total }: InvoiceTableProps) {
  return (
    <table className="w-full border-collapse [&_tbody_tr]:border-b [&_tbody_tr]:border-line">
      <caption className="sr-only">{label}</caption>
      <thead>
        <tr className="border-b border-strong">
          {columns.map((column, index) => (
            <th
              key={column}
              scope="col"
              className={classNames(
                'py-1.5 text-xs font-medium text-soft',
                index === 0 ? 'pr-3 text-left' : 'pl-4 text-right whitespace-nowrap',
                roomy.includes(column) && ROOMY,
              )}
            >
              {column}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{children}</tbody>
      <tfoot className="font-semibold">
        <tr>{total}</tr>
      </tfoot>
    </table>
  )
}

function NameCell({ children, note }: { readonly children: ReactNode; readonly note?: ReactNode }) {
  return (
    <th
      scope="row"
      className="py-2 pr-3 text-left align-top font-normal wrap-anywhere text-ink in-[tfoot]:font-semibold"
    >
      {children}
      {note !== undefined && note !== '' && <span className="block text-xs font-normal text-soft">{note}</span>}
    </th>
  )
}

function TextCell({ children, roomy = false }: { readonly children?: ReactNode; readonly roomy?: boolean }) {
  return (
    <td className={classNames('py-2 pl-4 text-right align-top whitespace-nowrap text-ink', roomy && ROOMY)}>
      {children}
    </td>
  )
}

function AmountCell({ value }: { readonly value: number }) {
  return (
    <TextCell>
      <Usd value={value} />
    </TextCell>
  )
}
