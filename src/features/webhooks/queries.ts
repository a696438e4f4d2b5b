/** Endpoints in the database. Whose they are comes first in every query. */
import type { Kysely } from 'kysely'
import type { Database, WebhookTable } from '../../db/schema.ts'
import type { AccountId, WebhookId } from '../../domain/ids.ts'

export interface WebhookReference {
  readonly accountId: AccountId
  readonly id: WebhookId
}

export interface ListPage<Id extends string> {
  readonly limit: number
  readonly order: 'asc' | 'desc'
  /** The last one of the page before. */
  readonly after: Id | undefined
}

/** By creation; ids sort by time. */
export async function listWebhooks(
  db: Kysely<Database>,
  accountId: AccountId,
  { limit, order, after }: ListPage<WebhookId>,
): Promise<readonly WebhookTable[]> {
  return db
    .selectFrom('webhook')
    .selectAll()
    .where('account_id', '=', accountId)
    .$if(after !== undefined, (query) => query.where('id', order === 'asc' ? '>' : '<', after as WebhookId))
    .orderBy('id', order)
    .limit(limit)
    .execute()
}

/** Undefined when it is unknown or another account's. */
export async function findWebhook(
  db: Kysely<Database>,
  { accountId, id }: WebhookReference,
): Promise<WebhookTable | undefined> {
  const query = db.selectFrom('webhook').selectAll().where('account_id', '=', accountId).where('id', '=', id)
  return query.executeTakeFirst()
}

export async function countWebhooks(db: Kysely<Database>, accountId: AccountId): Promise<number> {
  const { count } = await db
    .selectFrom('webhook')
    .select(({ fn }) => fn.countAll().as('count'))
    .where('account_id', '=', accountId)
    .executeTakeFirstOrThrow()
  return Number(count)
}

export async function insertWebhook(db: Kysely<Database>, row: WebhookTable): Promise<void> {
  await db.insertInto('webhook').values(row).execute()
}

/** Undefined when it is unknown or another account's. */
export async function updateWebhook(
  db: Kysely<Database>,
  { accountId, id }: WebhookReference,
  changes: Partial<Omit<WebhookTable, 'account_id' | 'id' | 'created_at'>>,
): Promise<WebhookTable | undefined> {
  return db
    .updateTable('webhook')
    .set(changes)
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}

/** What it was; undefined when it is unknown or another account's. */
export async function deleteWebhook(
  db: Kysely<Database>,
  { accountId, id }: WebhookReference,
): Promise<WebhookTable | undefined> {
  return db
    .deleteFrom('webhook')
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .returningAll()
    .executeTakeFirst()
}
