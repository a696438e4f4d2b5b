/** Files that the gateway makes, as it makes them. */
import { downloadFile } from '../../api/download.ts'
import { problemOf } from '../../api/problem.ts'
import { toast } from '../../ui/announcer.tsx'
import type { MenuEntry } from '../../ui/menu.tsx'

/** @param fallback What the file is called where the gateway does not say. */
export async function saveFile(path: string, fallback: string): Promise<void> {
  try {
    const { name } = await downloadFile(path, fallback)
    toast(`Downloaded ${name}`)
  } catch (error) {
    toast(`The file could not be downloaded. ${problemOf(error).message}`, { tone: 'bad' })
  }
}

export type InvoiceFormat = 'csv' | 'json' | 'html'

/** What names an invoice. */
export interface InvoiceName {
  readonly id: string
  readonly number: number
  readonly period_start: string
}

function downloadInvoice(invoice: InvoiceName, format: InvoiceFormat): Promise<void> {
  const month = invoice.period_start.slice(0, 7)
  const path = `/v1/invoices/${encodeURIComponent(invoice.id)}?format=${format}`
  return saveFile(path, `invoice-${month}-${invoice.number}.${format}`)
}

const FORMATS: readonly (readonly [format: InvoiceFormat, label: string, hint: string])[] = [
  ['csv', 'CSV', 'For spreadsheets'],
  ['json', 'JSON', 'For programs'],
  ['html', 'HTML', 'A document to archive or print'],
]

export function downloadEntries(invoice: InvoiceName): readonly MenuEntry[] {
  return FORMATS.map(([format, label, hint]) => ({
    label,
    hint,
    onSelect: () => void downloadInvoice(invoice, format),
  }))
}
