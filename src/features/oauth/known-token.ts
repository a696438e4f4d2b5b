/** An access token that is in force, prepared for being checked on every request. */
import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { Caller } from '../../domain/caller.ts'
import type { AccountId, DeviceId, KeyId, UserId } from '../../domain/ids.ts'
import { type DatabaseTime, readTime } from './database-time.ts'
import { inRole, readScopes } from './scopes.ts'

export interface KnownToken {
  /** SHA-256 of the token as text of 32 Latin-1 characters. */
  readonly digest: string
  readonly accountId: AccountId
  readonly deviceId: DeviceId
  readonly userId: UserId
  /** One frozen object, the same for every request of this token. */
  readonly caller: Caller
  /** By this process's clock, Unix milliseconds: its difference from the database's was taken when the token was read. */
  readonly expiresAt: number
  /** The same in monotonic milliseconds. */
  readonly expiresAtClock: number
  /** Unix milliseconds of the last use that is not written yet; undefined: none. */
  unwrittenUseAt: number | undefined
}

export interface TokenSource {
  readonly db: Kysely<Database>
  readonly time: DatabaseTime
  /** Unix milliseconds by this process's clock. */
  readonly now: () => number
  /** Monotonic milliseconds. */
  readonly clock: () => number
}

/** Undefined when there is no such token, or it is over, revoked, or its person is no member any more. */
export async function loadToken(source: TokenSource, digest: string): Promise<KnownToken | undefined> {
  const row = await findRow(source.db, digest)
  if (row === undefined) return undefined
  const leftMs = row.expires_at - (await readTime(source.db, source.time))
  if (leftMs <= 0) return undefined
  const scopes = inRole(readScopes(row.token_scopes ?? row.device_scopes), row.role)
  const caller: Caller = Object.freeze({
    kind: 'token',
    accountId: row.account_id,
    keyId: row.device_id as string as KeyId, // what usage of a device is booked on
    userId: row.user_id,
    role: row.role,
    plan: row.plan,
    models: undefined,
    requestsPerMinute: undefined,
    monthlyBudgetNanoUsd: undefined,
    scopes: new Set(scopes),
  })
  return {
    digest,
    accountId: row.account_id,
    deviceId: row.device_id,
    userId: row.user_id,
    caller,
    expiresAt: source.now() + leftMs,
    expiresAtClock: source.clock() + leftMs,
    unwrittenUseAt: undefined,
  }
}

/** One query by the digest, whatever the answer. */
function findRow(db: Kysely<Database>, digest: string) {
  const bytes = Uint8Array.from(Buffer.from(digest, 'latin1'))
  return db
    .selectFrom('credential')
    .innerJoin('device_token', (join) =>
      join
        .onRef('device_token.account_id', '=', 'credential.account_id')
        .onRef('device_token.hash', '=', 'credential.hash'),
    )
    .innerJoin('device', (join) =>
      join.onRef('device.account_id', '=', 'device_token.account_id').onRef('device.id', '=', 'device_token.device_id'),
    )
    .innerJoin('member', (join) =>
      join.onRef('member.account_id', '=', 'device.account_id').onRef('member.user_id', '=', 'device.user_id'),
    )
    .innerJoin('person', 'person.id', 'device.user_id')
    .innerJoin('account', 'account.id', 'device.account_id')
    .whereRef('device_token.device_id', '=', 'credential.id')
    .where('credential.hash', '=', bytes)
    .where('credential.kind', '=', 'access')
    .where('device.revoked_at', 'is', null)
    .where('member.removed_at', 'is', null)
    .where('person.disabled_at', 'is', null)
    .select(['device.account_id', 'device.id as device_id', 'device.user_id', 'device.scopes as device_scopes'])
    .select(['device_token.scopes as token_scopes', 'device_token.expires_at', 'member.role', 'account.plan'])
    .executeTakeFirst()
}
