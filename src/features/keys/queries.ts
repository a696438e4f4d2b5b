import { randomBytes } from 'node:crypto'
import type { ExpressionBuilder, Kysely } from 'kysely'
import { nextChangedAt } from '../../db/changed-at.ts'
import type { Database } from '../../db/schema.ts'
import { type AccountId, base62Source, type IdSource, type KeyId, type UserId } from '../../domain/ids.ts'
import { type ApiKey, type KeyRights, rightsColumns, toApiKey } from './key.ts'
import { mintSecret, secretHash } from './secret.ts'

const SHOWN_PREFIX_LENGTH = 8
const SHOWN_SUFFIX_LENGTH = 4

const randomText = base62Source(randomBytes)

export interface NewKey extends KeyRights {
  readonly accountId: AccountId
  readonly name: string
  /** The person whose rights bound its own; undefined: nobody's. */
  readonly createdBy?: UserId | undefined
}
export interface KeyReference {
  readonly accountId: AccountId
  readonly id: KeyId
}
export interface KeyUpdate {
  readonly name: string
  readonly rights: KeyRights
}

/** A key without any limit but its account's. */
export const FULL_ACCESS: KeyRights = {
  scopes: [],
  ipAllowlist: [],
  monthlyBudgetNanoUsd: undefined,
  requestsPerMinute: undefined,
  models: [],
  expiresAt: undefined,
}

/** Works inside a transaction of the caller's as well as alone. The secret is nowhere kept: only its hash is. */
export async function createKey(
  db: Kysely<Database>,
  { accountId, name, createdBy, ...rights }: NewKey,
  { now, ids }: { readonly now: () => number; readonly ids: IdSource },
): Promise<{ readonly key: ApiKey; readonly secret: string }> {
  if (!db.isTransaction) {
    return db
      .transaction()
      .execute((inside) => createKey(inside, { accountId, name, createdBy, ...rights }, { now, ids }))
  }
  const secret = mintSecret(randomText)
  const time = now()
  const id = ids.key()
  const row = await db
    .insertInto('api_key')
    .values({
      account_id: accountId,
      id,
      name,
      prefix: secret.slice(0, SHOWN_PREFIX_LENGTH),
      last4: secret.slice(-SHOWN_SUFFIX_LENGTH),
      ...rightsColumns(rights),
      created_by: createdBy ?? null,
      created_at: time,
      changed_at: nextChangedAt('api_key', time),
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  const hash = secretHash(secret)
  await db.insertInto('credential').values({ hash, account_id: accountId, kind: 'key', id }).execute()
  return { key: toApiKey(row), secret }
}

/** `active`: neither of the others. A key that ran out and was revoked then is `revoked`. */
export const KEY_STATUSES = ['active', 'revoked', 'expired'] as const
export type KeyStatus = (typeof KEY_STATUSES)[number]

export interface KeyPage {
  readonly limit: number
  readonly order: 'asc' | 'desc'
  /** The id of the last one of the page before; undefined: from the start. */
  readonly after?: string | undefined
  /** Those alone that have this status at a time in Unix milliseconds; undefined: all, revoked ones included. */
  readonly filter?: { readonly status: KeyStatus; readonly now: number } | undefined
}

/** By creation; ids sort by time. */
export async function listKeys(db: Kysely<Database>, accountId: AccountId, page: KeyPage): Promise<readonly ApiKey[]> {
  const comparison = page.order === 'asc' ? '>' : '<'
  const rows = await db
    .selectFrom('api_key')
    .selectAll()
    .where('account_id', '=', accountId)
    .where((is) => hasStatus(is, page.filter))
    .$if(page.after !== undefined, (query) => query.where('id', comparison, page.after as KeyId))
    .orderBy('id', page.order)
    .limit(page.limit)
    .execute()
  return rows.map(toApiKey)
}

function hasStatus(is: ExpressionBuilder<Database, 'api_key'>, filter: KeyPage['filter']) {
  if (filter === undefined) return is.lit(true)
  const { status, now } = filter
  if (status === 'revoked') return is('revoked_at', 'is not', null)
  const expiry = is('expires_at', 'is', null).or('expires_at', '>', now)
  return is('revoked_at', 'is', null).and(status === 'active' ? expiry : is.not(expiry))
}

/** Undefined when the key is unknown or another account's. */
export async function findKey(db: Kysely<Database>, { accountId, id }: KeyReference): Promise<ApiKey | undefined> {
  const query = db.selectFrom('api_key').selectAll().where('account_id', '=', accountId).where('id', '=', id)
  const row = await query.executeTakeFirst()
  return row === undefined ? undefined : toApiKey(row)
}

/** Undefined when the key is unknown, another account's, or revoked. `now` is Unix milliseconds. */
export async function updateKey(
  db: Kysely<Database>,
  { accountId, id, name, rights }: KeyReference & KeyUpdate,
  now: number,
): Promise<ApiKey | undefined> {
  const row = await db
    .updateTable('api_key')
    .set({ name, ...rightsColumns(rights), changed_at: nextChangedAt('api_key', now) })
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .returningAll()
    .executeTakeFirst()
  return row === undefined ? undefined : toApiKey(row)
}

/** False when the key is unknown, another account's, or already revoked. `now` is Unix milliseconds. */
export async function revokeKey(db: Kysely<Database>, key: KeyReference, now: number): Promise<boolean> {
  const result = await db
    .updateTable('api_key')
    .set({ revoked_at: now, changed_at: nextChangedAt('api_key', now) })
    .where('account_id', '=', key.accountId)
    .where('id', '=', key.id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** For operators, who know a key but not its account; reads the whole table. */
export async function findKeyAccount(db: Kysely<Database>, id: KeyId): Promise<AccountId | undefined> {
  const row = await db.selectFrom('api_key').select('account_id').where('id', '=', id).executeTakeFirst()
  return row?.account_id
}
