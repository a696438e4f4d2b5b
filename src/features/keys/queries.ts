/** Rows of API keys, their creators and their spending. */
import { randomBytes } from 'node:crypto'
import type { ExpressionBuilder, Kysely } from 'kysely'
import { nextChangedAt } from '../../db/changed-at.ts'
import { descendantsOf, disableWebhooksOf } from '../../db/lineage.ts'
import type { Database } from '../../db/schema/schema.ts'
import { countRows, type PageOf, pageBy } from '../../db/shared-queries.ts'
import { secretHash } from '../../domain/identity/credential.ts'
import {
  type AccountId,
  base62Source,
  type IdSource,
  type KeyId,
  type TeamId,
  type UserId,
  type WebhookId,
} from '../../domain/ids.ts'
import type { NanoUsd } from '../../domain/money.ts'
import { monthNumber, monthStart } from '../../lib/time.ts'
import { type ApiKey, type KeyRights, keyForm, rightsColumns, toApiKey } from './key.ts'

const SHOWN_PREFIX_LENGTH = 8
const SHOWN_SUFFIX_LENGTH = 4
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

const randomText = base62Source(randomBytes)

export interface NewKey extends KeyRights {
  readonly accountId: AccountId
  readonly name: string
  /** The person whose rights it cannot exceed; undefined: none. */
  readonly createdBy?: UserId | undefined
  /** The key that creates it; undefined: a person, or the command line. */
  readonly parentId?: KeyId | undefined
  readonly teamId?: TeamId | undefined
}

export interface KeyReference {
  readonly accountId: AccountId
  readonly id: KeyId
}

export interface KeyUpdate {
  readonly name: string
  readonly rights: KeyRights
  /** Undefined: it is enabled. */
  readonly disabledAt: number | undefined
}

/** Rights of a key without limits of its own. */
export const FULL_ACCESS: KeyRights = {
  scopes: [],
  ipAllowlist: [],
  monthlyBudgetNanoUsd: undefined,
  requestsPerMinute: undefined,
  models: [],
  dataPolicy: undefined,
  expiresAt: undefined,
}

/** Creates a key, in the caller's transaction if there is one. Only the hash of the secret is stored. */
export async function createKey(
  db: Kysely<Database>,
  key: NewKey,
  { now, ids }: KeySources,
): Promise<{ readonly key: ApiKey; readonly secret: string }> {
  if (!db.isTransaction) {
    return db.transaction().execute((inside) => createKey(inside, key, { now, ids }))
  }
  const { secret, written } = newSecret()
  return { key: await insertKey(db, { ...key, written }, { now, ids }), secret }
}

function newSecret(): { readonly secret: string; readonly written: WrittenSecret } {
  const secret = keyForm.mint(randomText)
  const prefix = secret.slice(0, SHOWN_PREFIX_LENGTH)
  return { secret, written: { hash: secretHash(secret), prefix, last4: secret.slice(-SHOWN_SUFFIX_LENGTH) } }
}

interface KeySources {
  readonly now: () => number
  readonly ids: IdSource
}

/** What is stored of a secret. */
export interface WrittenSecret {
  /** SHA-256 of the secret. */
  readonly hash: Uint8Array
  readonly prefix: string
  readonly last4: string
}

/** Inserts a key whose secret exists already, in a transaction of the caller. */
export async function insertKey(
  db: Kysely<Database>,
  key: NewKey & { readonly written: WrittenSecret },
  { now, ids }: KeySources,
): Promise<ApiKey> {
  const { accountId, name, createdBy, parentId, teamId, written, ...rights } = key
  const { hash, prefix, last4 } = written
  const time = now()
  const id = ids.key()
  const row = await db
    .insertInto('api_key')
    .values({
      account_id: accountId,
      id,
      name,
      prefix,
      last4,
      ...rightsColumns(rights),
      created_by: createdBy ?? null,
      parent_id: parentId ?? null,
      team_id: teamId ?? null,
      created_at: time,
      changed_at: nextChangedAt('api_key', time),
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  await db.insertInto('credential').values({ hash, account_id: accountId, kind: 'key', id }).execute()
  return toApiKey(row)
}

/** `active`: none of the others. Of several statuses the first of `revoked`, `expired` and `disabled` counts. */
export const KEY_STATUSES = ['active', 'disabled', 'revoked', 'expired'] as const
export type KeyStatus = (typeof KEY_STATUSES)[number]

export interface KeyPage extends PageOf {
  /** Keys with this status at a time in Unix milliseconds; undefined: all, revoked ones included. */
  readonly filter?: { readonly status: KeyStatus; readonly now: number } | undefined
  /** Only keys of these teams; undefined: of the account, too. */
  readonly teams?: readonly TeamId[] | undefined
}

/** By creation; ids sort by time. */
export async function listKeys(db: Kysely<Database>, accountId: AccountId, page: KeyPage): Promise<readonly ApiKey[]> {
  if (page.teams?.length === 0) return []
  const rows = await db
    .selectFrom('api_key')
    .selectAll()
    .where('account_id', '=', accountId)
    .where((is) => hasStatus(is, page.filter))
    .$if(page.teams !== undefined, (query) => query.where('team_id', 'in', page.teams ?? []))
    .$call(pageBy('id', page))
    .execute()
  return rows.map(toApiKey)
}

function hasStatus(is: ExpressionBuilder<Database, 'api_key'>, filter: KeyPage['filter']) {
  if (filter === undefined) return is.lit(true)
  const { status, now } = filter
  if (status === 'revoked') return is('revoked_at', 'is not', null)
  const valid = is('expires_at', 'is', null).or('expires_at', '>', now)
  const unrevoked = is('revoked_at', 'is', null)
  if (status === 'expired') return unrevoked.and(is.not(valid))
  return unrevoked.and(valid).and('disabled_at', status === 'disabled' ? 'is not' : 'is', null)
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
  { accountId, id, name, rights, disabledAt }: KeyReference & KeyUpdate,
  now: number,
): Promise<ApiKey | undefined> {
  const row = await db
    .updateTable('api_key')
    .set({ name, ...rightsColumns(rights), disabled_at: disabledAt ?? null, changed_at: nextChangedAt('api_key', now) })
    .where(({ and }) => and({ account_id: accountId, id, revoked_at: null }))
    .returningAll()
    .executeTakeFirst()
  return row === undefined ? undefined : toApiKey(row)
}

export interface Rotation {
  readonly key: ApiKey
  /** Unix milliseconds until which the present secret stays valid; not after `now`: it ends at once. */
  readonly until: number
}

/**
 * Gives a key another secret, in a transaction of the caller: an earlier previous secret ends, so that at most two are
 * valid. Undefined when the key was revoked meanwhile.
 */
export async function rotateKey(
  db: Kysely<Database>,
  { key: { accountId, id, last4: before }, until }: Rotation,
  now: number,
): Promise<{ readonly key: ApiKey; readonly secret: string } | undefined> {
  const { secret, written } = newSecret()
  const { hash, prefix, last4 } = written
  const overlaps = until > now
  const previous = { previous_last4: overlaps ? before : null, previous_until: overlaps ? until : null }
  const row = await db
    .updateTable('api_key')
    .set({ prefix, last4, ...previous, changed_at: nextChangedAt('api_key', now) })
    .where(({ and }) => and({ account_id: accountId, id, revoked_at: null }))
    .returningAll()
    .executeTakeFirst()
  if (row === undefined) return undefined
  const ofKey = { account_id: accountId, kind: 'key', id } as const
  await db
    .deleteFrom('credential')
    .where(({ and }) => and(ofKey))
    .$if(overlaps, (query) => query.where('expires_at', 'is not', null))
    .execute()
  await db
    .updateTable('credential')
    .set({ expires_at: until })
    .where(({ and }) => and(ofKey))
    .execute()
  await db
    .insertInto('credential')
    .values({ hash, ...ofKey })
    .execute()
  return { key: toApiKey(row), secret }
}

export interface Revocation extends KeyReference {
  /** Whether the keys that it created are revoked with it, and what these have created. */
  readonly cascade: boolean
}

export interface Revoked {
  /** The requested one first. */
  readonly keys: readonly KeyId[]
  /** Disabled, because these keys created them. */
  readonly webhooks: readonly WebhookId[]
}

/**
 * Revokes a key, in a transaction of the caller. Returns no keys when it is unknown, another account's, or already revoked.
 * Invitations need no change, since they are valid only while their key is. `now` is Unix milliseconds.
 */
export async function revokeKeys(
  db: Kysely<Database>,
  { accountId, id, cascade }: Revocation,
  now: number,
): Promise<Revoked> {
  if (!(await revokeOne(db, { accountId, id }, now))) return { keys: [], webhooks: [] }
  if (!cascade) return { keys: [id], webhooks: [] }
  const keys = [id]
  for (const { id: below } of await descendantsOf(db, { accountId, keyId: id })) {
    if (await revokeOne(db, { accountId, id: below }, now)) keys.push(below)
  }
  return { keys, webhooks: await disableWebhooksOf(db, { accountId, keyIds: keys }, now) }
}

async function revokeOne(db: Kysely<Database>, key: KeyReference, now: number): Promise<boolean> {
  const result = await db
    .updateTable('api_key')
    .set({ revoked_at: now, changed_at: nextChangedAt('api_key', now) })
    .where(({ and }) => and({ account_id: key.accountId, id: key.id, revoked_at: null }))
    .executeTakeFirst()
  return result.numUpdatedRows > 0n
}

/** For operators, who know a key but not its account: by its ID, or by the name of keys that are not revoked. */
export async function findKeysNamed(db: Kysely<Database>, text: string): Promise<readonly ApiKey[]> {
  const rows = await db
    .selectFrom('api_key')
    .selectAll()
    .where((is) => is('id', '=', text as KeyId).or(is('name', '=', text).and('revoked_at', 'is', null)))
    .execute()
  const byId = rows.filter(({ id }) => id === text)
  return (byId.length > 0 ? byId : rows).map(toApiKey)
}

interface KeyCreator {
  readonly user_id: UserId
  readonly email: string
  readonly name: string
}

export interface DescribedKey extends ApiKey {
  /** Undefined: no person created it. */
  readonly creator: KeyCreator | undefined
  /** In this calendar month, UTC; undefined: it has no budget. */
  readonly spentNanoUsd: NanoUsd | undefined
  /** Unix milliseconds at which the budget resets; undefined: it has none. */
  readonly resetsAt: number | undefined
}

/** Returns a function that completes each of `keys`, which are of one account. @param now Unix milliseconds. */
export async function keyDescriber(
  db: Kysely<Database>,
  keys: readonly ApiKey[],
  now: number,
): Promise<(key: ApiKey) => DescribedKey> {
  const month = monthNumber(now)
  const [creators, spending] = await Promise.all([creatorsOf(db, keys), spendingOf(db, keys, month)])
  return (key) => {
    const hasBudget = key.monthlyBudgetNanoUsd !== undefined
    return {
      ...key,
      creator: key.createdBy === undefined ? undefined : creators.get(key.createdBy),
      spentNanoUsd: hasBudget ? (spending.get(key.id) ?? 0n) : undefined,
      resetsAt: hasBudget ? monthStart(month + 1) : undefined,
    }
  }
}

async function creatorsOf(db: Kysely<Database>, keys: readonly ApiKey[]): Promise<ReadonlyMap<UserId, KeyCreator>> {
  const ids = [...new Set(keys.flatMap(({ createdBy }) => createdBy ?? []))]
  if (ids.length === 0) return new Map()
  const rows = await db.selectFrom('person').select(['id as user_id', 'email', 'name']).where('id', 'in', ids).execute()
  return new Map(rows.map((row) => [row.user_id, row]))
}

/** Returns the spending of the month. Keys without a row have the cost of their usage, as for their next request. */
async function spendingOf(
  db: Kysely<Database>,
  keys: readonly ApiKey[],
  month: number,
): Promise<ReadonlyMap<KeyId, NanoUsd>> {
  const [first, ...others] = keys.filter(({ monthlyBudgetNanoUsd }) => monthlyBudgetNanoUsd !== undefined)
  if (first === undefined) return new Map()
  const { accountId } = first
  const ids = [first, ...others].map(({ id }) => id)
  const rows = await db
    .selectFrom('key_spending')
    .select(['key_id', 'month', 'spent_nano_usd'])
    .where('account_id', '=', accountId)
    .where('key_id', 'in', ids)
    .execute()
  const stored = rows.map((row): [KeyId, NanoUsd] => [row.key_id, row.month < month ? 0n : row.spent_nano_usd])
  const known = new Map(stored)
  const unknown = ids.filter((id) => !known.has(id))
  return unknown.length === 0 ? known : new Map([...known, ...(await costsOf(db, { accountId, ids: unknown, month }))])
}

interface Costs extends Pick<KeyReference, 'accountId'> {
  readonly ids: readonly KeyId[]
  readonly month: number
}

/** The cost of each key in the month, with that of its descendants. */
async function costsOf(
  db: Kysely<Database>,
  { accountId, ids, month }: Costs,
): Promise<readonly (readonly [KeyId, NanoUsd])[]> {
  const since = monthStart(month) / DAY_MS
  return Promise.all(
    ids.map(async (id) => {
      const below = await descendantsOf(db, { accountId, keyId: id })
      const { cost } = await db
        .selectFrom('usage_rollup')
        .select(({ fn }) => fn.sum<NanoUsd | null>('cost_nano_usd').as('cost'))
        .where('account_id', '=', accountId)
        .where('day', '>=', since)
        .where('key_id', 'in', [id, ...below.map((key) => key.id)])
        .executeTakeFirstOrThrow()
      return [id, cost ?? 0n] as const
    }),
  )
}

/** Requests of a key in the last 24 hours, rounded up to the hour. @param now Unix milliseconds. */
export async function requestsOfLastDay(
  db: Kysely<Database>,
  { accountId, id }: KeyReference,
  now: number,
): Promise<number> {
  const { requests } = await db
    .selectFrom('usage_hour')
    .select(({ fn }) => fn.sum<number | null>('requests').as('requests'))
    .where('account_id', '=', accountId)
    .where('hour', '>=', Math.floor((now - DAY_MS) / HOUR_MS))
    .where('key_id', '=', id)
    .executeTakeFirstOrThrow()
  return requests ?? 0
}

/** Counts what would be revoked and disabled with a key. */
export async function createdBy(db: Kysely<Database>, { accountId, id }: KeyReference) {
  const below = await descendantsOf(db, { accountId, keyId: id })
  const webhooks = db.selectFrom('webhook').where(({ and }) => and({ account_id: accountId, disabled_at: null }))
  return {
    created_keys: below.filter(({ revoked_at }) => revoked_at === null).length,
    created_webhooks: await countRows(webhooks.where('key_id', 'in', [id, ...below.map((key) => key.id)])),
  }
}
