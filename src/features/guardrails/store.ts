/** Rows of guardrails. Every change also raises the account's version of them, so that all processes read again. */
import { type Kysely, sql } from 'kysely'
import { nextChangedAt } from '../../db/changed-at.ts'
import type { Database, GuardrailTable } from '../../db/schema/schema.ts'
import { notFound } from '../../domain/errors.ts'
import type { AccountId, GuardrailId } from '../../domain/ids.ts'
import type { PageRequest } from '../../http/page.ts'

export interface GuardrailReference {
  readonly accountId: AccountId
  readonly id: GuardrailId
}

/** By creation; IDs sort by time. */
export function listGuardrails(
  db: Kysely<Database>,
  accountId: AccountId,
  { limit, order, after }: PageRequest<GuardrailId>,
): Promise<readonly GuardrailTable[]> {
  return db
    .selectFrom('guardrail')
    .selectAll()
    .where('account_id', '=', accountId)
    .$if(after !== undefined, (query) => query.where('id', order === 'asc' ? '>' : '<', after as GuardrailId))
    .orderBy('id', order)
    .limit(limit)
    .execute()
}

/** Throws 404 when it is unknown or another account's. */
export async function requireGuardrail(
  db: Kysely<Database>,
  { accountId, id }: GuardrailReference,
): Promise<GuardrailTable> {
  const row = await db
    .selectFrom('guardrail')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .executeTakeFirst()
  if (row === undefined) throw notFound('guardrail')
  return row
}

export async function countGuardrails(db: Kysely<Database>, accountId: AccountId): Promise<number> {
  const { count } = await db
    .selectFrom('guardrail')
    .select((all) => all.fn.countAll<number>().as('count'))
    .where('account_id', '=', accountId)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Raises the version of the account's guardrails, in the transaction of their change. @param now Unix milliseconds. */
export async function raiseVersion(db: Kysely<Database>, accountId: AccountId, now: number): Promise<void> {
  await db
    .updateTable('account')
    .set({ guardrails: sql<number>`coalesce(guardrails, 0) + 1`, changed_at: nextChangedAt('account', now) })
    .where('id', '=', accountId)
    .execute()
}
