/** Authenticates requests by an access token of a device. A cached token costs a hash and a map lookup, as an API key does. */
import { hash } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { BatchStatement } from '../../db/database.ts'
import type { Database } from '../../db/schema/schema.ts'
import { teamRolesOf } from '../../db/shared-queries.ts'
import { storedPolicies } from '../../domain/data-policy.ts'
import { activeCapture, type Caller } from '../../domain/identity/caller.ts'
import { invalidCredential } from '../../domain/identity/credential.ts'
import type { DeviceId, KeyId } from '../../domain/ids.ts'
import {
  type CacheSource,
  createCredentialCache,
  createLastUsed,
  includesOwner,
  MAX_NEGATIVE_ENTRIES,
} from '../credential-cache.ts'
import { DATABASE_TIME, type DatabaseTime, readTime } from './authority.ts'
import { inRole, readScopes } from './scopes.ts'
import { accessForm } from './tokens.ts'

const MAX_CACHED_TOKENS = 50_000

interface TokenSource extends Pick<CacheSource, 'db' | 'now'> {
  /** Default: `DATABASE_TIME`. */
  readonly time?: DatabaseTime
  /** Monotonic milliseconds. */
  readonly clock?: () => number
}

export interface TokenAuthenticatorInput extends CacheSource, TokenSource {
  readonly batch: (statements: readonly BatchStatement[]) => Promise<void>
}

export interface TokenAuthenticator {
  /**
   * Returns synchronously for a cached token. Throws, or rejects with, `invalid_credential` (the same error for unknown,
   * malformed, expired and revoked ones) or `database_unavailable`.
   * @param token Text that begins with `tpa_`.
   */
  authenticate(token: string): Caller | Promise<Caller>
  /** Expiry in Unix milliseconds; undefined for a token that is not cached. A token is cached once authenticated. */
  expiresAt(token: string): number | undefined
  /** Resolves when all earlier changes of devices, members, people and accounts are in force in this process. */
  refresh(): Promise<void>
  /** Stops following changes, and writes pending last-used times. */
  close(): Promise<void>
}

interface CachedToken {
  /** One frozen object, the same for every request of this token. */
  readonly caller: Caller
  /** Unix milliseconds by this process's clock, corrected by its difference from the database's clock at the read. */
  readonly expiresAt: number
  /** The same in monotonic milliseconds. */
  readonly expiresAtClock: number
  /** Unix milliseconds of the last use that is not written yet; undefined: none. */
  unwrittenUseAt: number | undefined
}

export function createTokenAuthenticator(input: TokenAuthenticatorInput): TokenAuthenticator {
  const { db, batch, onChange, time = DATABASE_TIME, now, clock = monotonic } = input
  const tokens = createCredentialCache<CachedToken>({
    ...{ db, onChange, now, tables: ['device', 'member', 'person', 'account'] },
    capacity: input.capacity ?? MAX_CACHED_TOKENS,
    negativeCapacity: input.negativeCapacity ?? MAX_NEGATIVE_ENTRIES,
    load: (digest) => loadToken({ db, time, now, clock }, digest),
    dependsOn: ({ caller }, rows) => rows.device.has(caller.keyId) || includesOwner(rows, caller),
    isEndedBy: (caller, rows) =>
      caller.kind === 'token' && (rows.device.has(caller.keyId) || includesOwner(rows, caller)),
    onEnded: input.onEnded ?? (() => {}),
  })
  const rowOf = ({ caller }: CachedToken) => [caller.accountId, caller.keyId as string as DeviceId] as const
  const lastUsed = createLastUsed<CachedToken>({ db, batch, table: 'device', rowOf })

  const admit = (token: CachedToken | undefined): Caller => {
    if (token === undefined) throw invalidCredential()
    lastUsed.note(token, now())
    return token.caller
  }
  return {
    authenticate(token) {
      const digest = hash('sha256', token, 'latin1') // the same work for text that cannot be a token
      const cached = tokens.get(digest)
      // The database decides if either clock has expired the token: one may have been set, the other may have stopped.
      if (cached !== undefined && now() < cached.expiresAt && clock() < cached.expiresAtClock) return admit(cached)
      if (!accessForm.isWellFormed(token) || tokens.isMissing(digest)) throw invalidCredential()
      return tokens.load(digest).then(admit)
    },
    expiresAt: (token) => tokens.get(hash('sha256', token, 'latin1'))?.expiresAt,
    refresh: tokens.refresh,
    async close() {
      tokens.close()
      await lastUsed.close()
    },
  }
}

function monotonic(): number {
  return performance.now()
}

/** Undefined for an unknown, expired or revoked token, and one whose user is no longer a member. */
async function loadToken(source: Required<TokenSource>, digest: string): Promise<CachedToken | undefined> {
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
    teams: await teamRolesOf(source.db, { accountId: row.account_id, userId: row.user_id }),
    plan: row.plan,
    models: undefined,
    requestsPerMinute: undefined,
    monthlyBudgetNanoUsd: undefined,
    dataPolicies: storedPolicies([row.data_policy]),
    providerCredentials: row.provider_credentials ?? undefined,
    guardrails: row.guardrails ?? undefined,
    contentCapture: activeCapture(row.content_capture),
    scopes: new Set(scopes),
  })
  return {
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
    .select(['account.provider_credentials', 'account.guardrails', 'account.content_capture', 'account.data_policy'])
    .executeTakeFirst()
}
