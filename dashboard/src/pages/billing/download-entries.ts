/** The files that there are of an invoice, as entries of a menu. */
import type { MenuEntry } from '../../ui/menu.tsx'
import { downloadInvoice, type InvoiceFormat, type InvoiceName } from './downloads.ts'

const FORMATS: readonly (readonly [format: InvoiceFormat, label: string, hint: string])[] = [
  ['csv', 'CSV', 'For spreadsheets'],
  ['json', 'JSON', 'For programs'],
  ['html', 'HTML', 'A page of its own, to keep or to print'],
]

export function downloadEntries(invoice: InvoiceName): readonly MenuEntry[] {
  return FORMATS.map(([format, label, hint]) => ({
    label,
    hint,
    onSelect: () => void downloadInvoice(invoice, format),
  }))
}
