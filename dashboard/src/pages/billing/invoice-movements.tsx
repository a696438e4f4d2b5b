/** Rows of the ledger on an invoice: corrections of charges, and credit that came or went. */
import { formatCount } from '../../lib/format.ts'
import { sumUsd } from '../../lib/money.ts'
import { formatDate } from '../../lib/time.ts'
import { Section } from '../../ui/page.tsx'
import { AmountCell, InvoiceTable, NameCell, TextCell } from './invoice-table.tsx'
import { RequestLink } from './ledger-view.tsx'
import { KIND_WORDS } from './ledger-words.tsx'
import type { Invoice } from './queries.ts'

type Adjustment = Invoice['adjustments'][number]

export function InvoiceAdjustments({ invoice }: { readonly invoice: Invoice }) {
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
              {entry.kind === 'refund' ? 'Taken off an earlier charge' : 'Charged in addition'}
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

export function CreditRows({ entries, unlisted }: CreditRowsProps) {
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
