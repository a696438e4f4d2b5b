import { acceptedFormat as acceptedOf } from '../../http/accepted-format.ts'

/** What an invoice may be asked for as. */
export const FORMATS = ['json', 'html', 'csv'] as const
export type InvoiceFormat = (typeof FORMATS)[number]

/** By an `Accept` header, of equals JSON before HTML before CSV. JSON also where nothing of ours is accepted. */
export function acceptedFormat(accept: string | undefined): InvoiceFormat {
  return acceptedOf<InvoiceFormat>(accept, [
    ['application/json', 'json'],
    ['text/html', 'html'],
    ['text/csv', 'csv'],
  ])
}
