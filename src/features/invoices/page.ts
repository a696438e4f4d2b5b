/** An invoice as a page to read and to print: one file without script, complete in itself. */
import { briefUsd, type NanoUsd, usdText } from '../../domain/money.ts'
import { escapeHtml } from '../../lib/text.ts'
import {
  billingIn,
  type InvoiceDocument,
  type InvoiceEntry,
  type InvoiceSection,
  invoiceTitle,
  type Party,
} from './document.ts'

const LOCALE = 'en-GB'
/** Made for the first page: Node.js then loads its tables of languages, which take 9 MiB. */
let made: Formats | undefined
const formats = (): Formats => {
  made ??= makeFormats()
  return made
}

type Formats = ReturnType<typeof makeFormats>
const makeFormats = () => ({
  count: new Intl.NumberFormat(LOCALE),
  day: new Intl.DateTimeFormat(LOCALE, { day: 'numeric', month: 'long', year: 'numeric', timeZone: 'UTC' }),
  shortDay: new Intl.DateTimeFormat(LOCALE, { day: 'numeric', month: 'short', timeZone: 'UTC' }),
  month: new Intl.DateTimeFormat(LOCALE, { month: 'long', year: 'numeric', timeZone: 'UTC' }),
})

const LEAST_DECIMALS = 2

export function renderInvoicePage(invoice: InvoiceDocument): string {
  const title = escapeHtml(invoiceTitle(invoice))
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Invoice ${title} – ${escapeHtml(invoice.account.name)}</title>
<style>${INVOICE_STYLE}</style>
<main>
<header>
<p class="service">Turnpike</p>
<div><h1>Invoice</h1><p class="number">${title}</p></div>
</header>
${renderParties(invoice)}
${renderFacts(invoice)}
${renderUsage(invoice)}
${renderAdjustments(invoice)}
${renderPayable(invoice)}
${renderBalance(invoice)}
<footer>All amounts in US dollars; days and months are UTC. Closed invoices do not change: corrections are on a later one. ${escapeHtml(invoice.id)}</footer>
</main>
</html>
`
}

function renderFacts({ account, period_start, period_end, closed_at }: InvoiceDocument): string {
  const lastDay = formats().day.format(period_end - 1)
  const firstDay = new Date(period_start).getUTCDate()
  const facts: readonly (readonly [string, string])[] = [
    ['Account', `${escapeHtml(account.name)}<small>${escapeHtml(account.id)}</small>`],
    ['Period', `${firstDay} – ${lastDay}`],
    ['Closed', formats().day.format(closed_at)],
  ]
  return `<dl>${facts.map(([name, value]) => `<div><dt>${name}</dt><dd>${value}</dd></div>`).join('')}</dl>`
}

/** Subtotal and taxes where there are any, and what is to be paid. */
function renderPayable(invoice: InvoiceDocument): string {
  const { subtotal_nano_usd, taxes, payable_nano_usd } = billingIn(invoice)
  const rows = taxes.map(
    ({ name, percent, amount_nano_usd }) => [`${escapeHtml(name)} ${percent} %`, amount_nano_usd] as const,
  )
  const before = rows.length === 0 ? [] : [['Subtotal', subtotal_nano_usd] as const, ...rows]
  const lines = before.map(([name, amount]) => `<tr><th scope="row">${name}</th><td>${money(amount)}</td></tr>`)
  const table = lines.length === 0 ? '' : `<table class="taxes"><tbody>${lines.join('')}</tbody></table>`
  const month = formats().month.format(invoice.period_start)
  return `${table}<p class="total"><span>Total payable for ${month}</span><strong>USD ${money(payable_nano_usd)}</strong></p>`
}

function renderParties(invoice: InvoiceDocument): string {
  const { seller, buyer } = billingIn(invoice)
  const parties = [['From', seller] as const, ['To', buyer] as const]
  const blocks = parties.flatMap(([name, party]) => (party === undefined ? [] : [renderParty(name, party)]))
  return blocks.length === 0 ? '' : `<dl class="parties">${blocks.join('')}</dl>`
}

function renderParty(title: string, { name, address, tax_id: taxId }: Party): string {
  const lines = [...(address ?? []), ...(taxId === undefined ? [] : [`Tax number ${taxId}`])]
  const details = lines.map((line) => `<small>${escapeHtml(line)}</small>`).join('')
  return `<div><dt>${title}</dt><dd>${escapeHtml(name)}${details}</dd></div>`
}

function renderUsage({ lines }: InvoiceDocument): string {
  if (lines.length === 0) return '<section><h2>Usage</h2><p class="none">No usage was charged.</p></section>'
  const rows = lines.map(
    (line) => `<tr><th scope="row">${escapeHtml(line.model)}</th><td>${formats().count.format(line.requests)}</td>
<td>${formats().count.format(line.prompt_tokens)}</td><td>${formats().count.format(line.completion_tokens)}</td>
<td>${money(line.cost_nano_usd)}</td></tr>`,
  )
  const sum = (count: (line: (typeof lines)[number]) => number) =>
    formats().count.format(lines.reduce((total, line) => total + count(line), 0))
  const cost = lines.reduce((total, line) => total + line.cost_nano_usd, 0n)
  return `<section><h2>Usage</h2><table>
<thead><tr><th scope="col">Model</th><th scope="col">Requests</th><th scope="col">Input tokens</th><th scope="col">Output tokens</th><th scope="col">USD</th></tr></thead>
<tbody>${rows.join('\n')}</tbody>
<tfoot><tr><th scope="row">All models</th><td>${sum((line) => line.requests)}</td><td>${sum((line) => line.prompt_tokens)}</td>
<td>${sum((line) => line.completion_tokens)}</td><td>${money(cost)}</td></tr></tfoot>
</table></section>`
}

function renderAdjustments({ adjustments }: InvoiceDocument): string {
  if (adjustments.listed.length === 0) return ''
  const rows = adjustments.listed.map((entry) => {
    const what = entry.kind === 'refund' ? 'Taken off an earlier charge' : 'Charged in addition'
    return renderEntry(entry, { what, about: entry.adjusts === null ? '' : `corrects ${entry.adjusts}` })
  })
  return `<section><h2>Adjustments</h2><table class="movements">
<thead><tr><th scope="col">What</th><th scope="col">Date</th><th scope="col">USD</th></tr></thead>
<tbody>${rows.join('\n')}${renderUnlisted(adjustments)}</tbody>
<tfoot><tr><th scope="row">All adjustments</th><td></td><td>${money(adjustments.total_nano_usd)}</td></tr></tfoot>
</table></section>`
}

const CREDIT_NAMES: Readonly<Record<InvoiceEntry['kind'], string>> = {
  grant: 'Credit granted',
  purchase: 'Credit purchased',
  refund: 'Refund',
  debit: 'Credit taken away',
  expiry: 'Allowance expired',
  charge: 'Charge',
}

function renderBalance(invoice: InvoiceDocument): string {
  const { credits, period_start, period_end } = invoice
  const rows = credits.listed.map((entry) => renderEntry(entry, { what: CREDIT_NAMES[entry.kind], about: '' }))
  const balance = (what: string, time: number, amount: NanoUsd) =>
    `<tr><th scope="row">${what}</th><td>${formats().shortDay.format(time)}</td><td>${money(amount)}</td></tr>`
  return `<section><h2>Credit</h2><table class="movements">
<thead><tr><th scope="col">What</th><th scope="col">Date</th><th scope="col">USD</th></tr></thead>
<tbody>${balance('Opening balance', period_start, invoice.opening_balance_nano_usd)}
${rows.join('\n')}${renderUnlisted(credits)}
<tr><th scope="row">Total of this invoice</th><td></td><td>${money(-invoice.total_nano_usd)}</td></tr></tbody>
<tfoot>${balance('Closing balance', period_end - 1, invoice.closing_balance_nano_usd)}</tfoot>
</table></section>`
}

function renderEntry(
  { created_at, amount_nano_usd, note }: InvoiceEntry,
  { what, about }: { readonly what: string; readonly about: string },
): string {
  const details = [note ?? '', about].filter((text) => text !== '').map((text) => `<small>${escapeHtml(text)}</small>`)
  return `<tr><th scope="row">${what}${details.join('')}</th><td>${formats().shortDay.format(created_at)}</td><td>${money(amount_nano_usd)}</td></tr>`
}

function renderUnlisted({ unlisted }: InvoiceSection): string {
  if (unlisted.entries === 0) return ''
  const what = `${formats().count.format(unlisted.entries)} further rows of the ledger`
  return `\n<tr><th scope="row">${what}</th><td></td><td>${money(unlisted.amount_nano_usd)}</td></tr>`
}

/** To the cent; all digits are in the title. */
function money(amount: NanoUsd): string {
  return `<span title="${usdText(amount)}">${amountText(amount)}</span>`
}

function amountText(amount: NanoUsd): string {
  const brief = briefUsd(amount)
  const [whole = '', fraction = ''] = usdText(brief < 0n ? -brief : brief).split('.')
  return `${brief < 0n ? '−' : ''}${formats().count.format(BigInt(whole))}.${fraction.padEnd(LEAST_DECIMALS, '0')}`
}

/** For screens and for paper, A4 and Letter alike. Figures stand below each other: digits are of one width. */
const INVOICE_STYLE = `
:root { color-scheme: light; --ink: #16191d; --soft: #5c6670; --line: #dfe3e7; --accent: #1f6f5c }
* { box-sizing: border-box }
body { margin: 0; background: #f3f4f5; color: var(--ink); font: 14px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; -webkit-print-color-adjust: exact; print-color-adjust: exact }
main { max-width: 800px; margin: 32px auto; padding: 56px 60px 40px; background: #fff; border-radius: 6px; box-shadow: 0 1px 3px #0002 }
p, dl, dd, h1, h2 { margin: 0 }
header { display: flex; justify-content: space-between; align-items: flex-start; padding-bottom: 24px; border-bottom: 2px solid var(--ink) }
.service { font-size: 22px; font-weight: 700; letter-spacing: -0.02em; line-height: 1.2 }
.service::before { content: ""; display: inline-block; width: 0.62em; height: 0.62em; margin-right: 0.42em; border-radius: 2px; background: var(--accent) }
header div { text-align: right }
h1 { font-size: 22px; font-weight: 600; line-height: 1.2 }
.number { color: var(--soft); font-variant-numeric: tabular-nums }
dl { display: grid; grid-template-columns: 2fr 2fr 1fr; gap: 24px; padding: 24px 0 8px }
dt, thead th { color: var(--soft); font-size: 11.5px; font-weight: 500; letter-spacing: 0.02em }
dd { font-weight: 500; overflow-wrap: anywhere }
small { display: block; color: var(--soft); font-size: 11.5px; font-weight: 400; overflow-wrap: anywhere }
section { margin-top: 32px }
h2 { font-size: 15px; font-weight: 600; break-after: avoid }
table { width: 100%; margin-top: 6px; border-collapse: collapse; font-variant-numeric: tabular-nums lining-nums }
th, td { padding: 7px 0 7px 20px; text-align: right; vertical-align: top; white-space: nowrap }
th:first-child { min-width: 150px; padding-left: 0; text-align: left; white-space: normal; overflow-wrap: anywhere }
thead th { padding-bottom: 5px; border-bottom: 1px solid var(--line) }
tbody th { font-weight: 400 }
tbody tr + tr > * { border-top: 1px solid var(--line) }
tfoot > tr > * { border-top: 1px solid var(--ink); font-weight: 400 }
tfoot th:first-child { font-weight: 600 }
.movements th:nth-child(2), .movements td:nth-child(2) { width: 110px }
.movements th:nth-child(3), .movements td:nth-child(3) { width: 190px }
.parties { grid-template-columns: 1fr 1fr; padding-bottom: 0 }
.taxes { margin-top: 24px }
.total { display: flex; justify-content: space-between; align-items: baseline; gap: 20px; margin-top: 32px; padding: 14px 18px; border-radius: 4px; background: #eef5f2; font-size: 15px; font-weight: 500; break-inside: avoid }
.total strong { font-size: 20px; font-weight: 650; font-variant-numeric: tabular-nums lining-nums }
.none { margin-top: 6px; color: var(--soft) }
footer { margin-top: 40px; padding-top: 14px; border-top: 1px solid var(--line); color: var(--soft); font-size: 11.5px }
tr { break-inside: avoid }
@media (max-width: 640px) {
  main { margin: 0; padding: 24px 18px; border-radius: 0 }
  section { overflow-x: auto }
  .movements th:nth-child(n + 2), .movements td:nth-child(n + 2) { width: auto }
  .total { flex-wrap: wrap }
  dl { grid-template-columns: 1fr; gap: 12px }
}
@page { margin: 16mm 15mm }
@media print {
  body { background: none; font-size: 10pt }
  section, .total { margin-top: 24px }
  main { max-width: none; margin: 0; padding: 0; border-radius: 0; box-shadow: none }
}
`
