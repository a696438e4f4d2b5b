/** Files that the gateway makes, as it makes them. */
import { fetchRaw } from '../../api/client.ts'
import { problemOf } from '../../api/problem.ts'
import { downloadText } from '../../lib/download.ts'
import { toast } from '../../ui/announcer.tsx'

/** @param name What the file is called where the gateway does not say. */
export async function downloadFile(path: string, name: string): Promise<void> {
  try {
    const response = await fetchRaw(path)
    const mime = response.headers.get('content-type') ?? 'application/octet-stream'
    const saved = namedIn(response.headers.get('content-disposition')) ?? name
    downloadText(saved, mime, await response.text())
    toast(`${saved} is downloaded`)
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

export function downloadInvoice(invoice: InvoiceName, format: InvoiceFormat): Promise<void> {
  const month = invoice.period_start.slice(0, 7)
  const path = `/v1/invoices/${encodeURIComponent(invoice.id)}?format=${format}`
  return downloadFile(path, `invoice-${month}-${invoice.number}.${format}`)
}

function namedIn(disposition: string | null): string | undefined {
  return /filename="([\w.-]+)"/.exec(disposition ?? '')?.[1]
}
