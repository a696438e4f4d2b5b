/**
 * What was created by which key or person, shared by all features that limit what a key created by what the key is now.
 * A key's parent never changes, so neither do its ancestors.
 */
import { type Kysely, type Selectable, sql } from 'kysely'
import type { AccountId, KeyId, UserId, WebhookId } from '../domain/ids.ts'
import { readRows } from './database.ts'
import type { ApiKeyTable, Database } from './schema/schema.ts'

/** Depth of ancestors. Creation rejects more, so that authentication and holds stay cheap. */
export const MAX_ANCESTORS = 8

export interface KeyReference {
  readonly accountId: AccountId
  readonly keyId: KeyId
}

export type AncestorRow = Pick<
  Selectable<ApiKeyTable>,
  | 'id'
  | 'scopes'
  | 'ip_allowlist'
  | 'models'
  | 'requests_per_minute'
  | 'monthly_budget_nano_usd'
  | 'data_policy'
  | 'has_budgets'
  | 'expires_at'
  | 'revoked_at'
  | 'disabled_at'
> & { readonly tags: string | null; readonly require_tags: string | null }

/** The ancestors of a key, the nearest first; empty when no key created it. */
export async function ancestorsOf(
  db: Kysely<Database>,
  { accountId, keyId }: KeyReference,
): Promise<readonly AncestorRow[]> {
  const rows = await readRows<AncestorRow & { readonly depth: number }>(
    db,
    sql`with recursive above (id, depth) as (
      select parent_id, 1 from api_key where account_id = ${accountId} and id = ${keyId} and parent_id is not null
      union all select api_key.parent_id, above.depth + 1 from above
        join api_key on api_key.account_id = ${accountId} and api_key.id = above.id
        where api_key.parent_id is not null and above.depth < ${sql.lit(MAX_ANCESTORS)}
    )
    select api_key.id, scopes, ip_allowlist, models, requests_per_minute, monthly_budget_nano_usd, data_policy,
      has_budgets, expires_at, revoked_at, disabled_at, tags, require_tags, above.depth
    from above join api_key on api_key.account_id = ${accountId} and api_key.id = above.id`,
  )
  return rows.toSorted((a, b) => a.depth - b.depth)
}

/** The descendants of a key, revoked ones included. */
export async function descendantsOf(
  db: Kysely<Database>,
  { accountId, keyId }: KeyReference,
): Promise<readonly { readonly id: KeyId; readonly revoked_at: number | null }[]> {
  return readRows(
    db,
    sql`with recursive below (id, depth) as (
      select id, 1 from api_key where account_id = ${accountId} and parent_id = ${keyId}
      union all select api_key.id, below.depth + 1 from below
        join api_key on api_key.account_id = ${accountId} and api_key.parent_id = below.id
        where below.depth <= ${sql.lit(MAX_ANCESTORS)}
    )
    select api_key.id, api_key.revoked_at
    from below join api_key on api_key.account_id = ${accountId} and api_key.id = below.id order by api_key.id`,
  )
}

/** Unix milliseconds at which a key expires, by its own expiry or an ancestor's; infinite: never. */
export async function expiryOf(db: Kysely<Database>, { accountId, keyId }: KeyReference): Promise<number> {
  const own = await db
    .selectFrom('api_key')
    .select('expires_at')
    .where(({ and }) => and({ account_id: accountId, id: keyId }))
    .executeTakeFirst()
  const chain = [own, ...(await ancestorsOf(db, { accountId, keyId }))]
  return Math.min(...chain.map((key) => key?.expires_at ?? Number.POSITIVE_INFINITY))
}

interface Creators {
  readonly accountId: AccountId
  readonly userId?: UserId
  readonly keyIds?: readonly KeyId[]
}

/**
 * Disables the webhooks of creators that left, in the caller's transaction, until a member of the account enables them again.
 * @param now Unix milliseconds.
 */
export async function disableWebhooksOf(
  db: Kysely<Database>,
  { accountId, userId, keyIds = [] }: Creators,
  now: number,
): Promise<readonly WebhookId[]> {
  const rows = await db
    .updateTable('webhook')
    .set({ disabled_at: now, disabled_reason: 'by_request', creator_gone_at: now })
    .where(({ and }) => and({ account_id: accountId, disabled_at: null }))
    .where(({ eb, or }) =>
      or([
        ...(userId === undefined ? [] : [eb('created_by', '=', userId)]),
        ...(keyIds.length === 0 ? [] : [eb('key_id', 'in', keyIds)]),
      ]),
    )
    .returning('id')
    .execute()
  return rows.map(({ id }) => id).toSorted()
}
