import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { AccountId } from '../../domain/ids.ts'
import { type InvoiceDocument, readDocument } from './document.ts'

export interface InvoiceListInput {
  readonly accountId: AccountId
  readonly limit: number
  readonly order: 'asc' | 'desc'
  /** The number of the last one of the page before; undefined: from the start. */
  readonly after: number | undefined
}

/** By number, which is by month. */
export async function listInvoices(
  db: Kysely<Database>,
  { accountId, limit, order, after }: InvoiceListInput,
): Promise<readonly InvoiceDocument[]> {
  const rows = await db
    .selectFrom('invoice')
    .select('document')
    .where('account_id', '=', accountId)
    .$if(after !== undefined, (query) => query.where('number', order === 'asc' ? '>' : '<', after ?? 0))
    .orderBy('number', order)
    .limit(limit)
    .execute()
  return rows.map(({ document }) => readDocument(document))
}

/** Undefined when it is unknown or another account's. */
export async function findInvoice(
  db: Kysely<Database>,
  { accountId, id }: { readonly accountId: AccountId; readonly id: string },
): Promise<InvoiceDocument | undefined> {
  const row = await db
    .selectFrom('invoice')
    .select('document')
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .executeTakeFirst()
  return row === undefined ? undefined : readDocument(row.document)
}
