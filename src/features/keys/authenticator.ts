/** Authenticates requests by their API key. A cached key costs a hash and a map lookup; others wait for the database. */
import type { BatchStatement } from '../../db/database.ts'
import { createLastUsed } from '../../db/last-used.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Caller } from '../../domain/identity/caller.ts'
import { invalidCredential, missingCredential } from '../../domain/identity/credential.ts'
import { withOwner } from '../../domain/rejection.ts'
import {
  type CacheSource,
  createCredentialCache,
  type EndedIds,
  MAX_NEGATIVE_ENTRIES,
  type RowIds,
} from '../credential-cache.ts'
import { type CachedKey, checkKey, digestText, loadKey } from './active-key.ts'
import { isKeyForm } from './key.ts'

const MAX_CACHED_KEYS = 50_000
/** More than any credential has: a session's token has about 1 000 characters. */
const MAX_HEADER_LENGTH = 2_560

export interface AuthenticatorInput extends CacheSource {
  readonly batch: (statements: readonly BatchStatement[]) => Promise<void>
}

export interface Authenticator {
  /**
   * Returns synchronously for a cached key. Throws, or rejects with, `missing_credential`, `invalid_credential` (the same
   * error for unknown, malformed, expired and revoked keys), `address_not_allowed` or `database_unavailable`.
   * @param authorization The header's value.
   * @param address The client's IP address.
   */
  authenticate(authorization: string | undefined, address: string): Caller | Promise<Caller>
  /** Resolves when all earlier changes of keys and accounts are in force in this process. */
  refresh(): Promise<void>
  /** Stops following changes, and writes pending last-used times. */
  close(): Promise<void>
}

export function createAuthenticator(input: AuthenticatorInput): Authenticator {
  const { db, batch, onChange, now } = input
  const keys = createCredentialCache<CachedKey>({
    ...{ db, onChange, now, tables: ['api_key', 'team', 'account'] },
    capacity: input.capacity ?? MAX_CACHED_KEYS,
    negativeCapacity: input.negativeCapacity ?? MAX_NEGATIVE_ENTRIES,
    load: (digest) => loadKey(db, digest),
    dependsOn: ({ caller }, rows) => isBasedOn(caller, rows),
    isEndedBy: (caller, rows) => caller.kind === 'key' && isEndedBy(caller, rows),
    onEnded: input.onEnded ?? (() => {}),
  })
  const rowOf = ({ caller }: CachedKey) => [caller.accountId, caller.keyId] as const
  const lastUsed = createLastUsed<CachedKey>({ db, batch, table: 'api_key', rowOf })

  const admit = (key: CachedKey | undefined, digest: string, address: string): Caller => {
    if (key === undefined) throw invalidCredential()
    const time = now()
    try {
      checkKey(key, digest, { address, now: time })
    } catch (error) {
      throw error instanceof GatewayError ? withOwner(error, key.caller) : error
    }
    lastUsed.note(key, time)
    return key.caller
  }
  return {
    authenticate(authorization, address) {
      if (authorization === undefined || authorization === '') throw missingCredential()
      const secret = readSecret(authorization)
      const digest = digestText(secret ?? authorization) // the same work for text that cannot be a key
      if (secret === undefined) throw invalidCredential()
      const cached = keys.get(digest)
      if (cached !== undefined) return admit(cached, digest, address)
      if (!isKeyForm(secret) || keys.isMissing(digest)) throw invalidCredential()
      return keys.load(digest).then((key) => admit(key, digest, address))
    },
    refresh: keys.refresh,
    async close() {
      keys.close()
      await lastUsed.close()
    },
  }
}

function isBasedOn({ keyId, accountId, ancestors, teamId }: Caller, { api_key: keys, team, account }: RowIds): boolean {
  if (keys.has(keyId) || account.has(accountId) || (teamId !== undefined && team.has(teamId))) return true
  return ancestors?.some((above) => keys.has(above.keyId)) === true
}

function isEndedBy({ keyId, ancestors, teamId }: Caller, { api_key: keys, team, disabledKeys }: EndedIds): boolean {
  if (keys.has(keyId) || (teamId !== undefined && team.has(teamId))) return true
  return ancestors?.some((above) => disabledKeys.has(above.keyId)) === true
}

/**
 * Reads the secret of `Bearer <key>` or `Basic base64(<key>:)`, in any case (RFC 9110, 11.1; RFC 7617).
 * @returns undefined for another scheme, a non-empty password, and a header that is too long.
 */
export function readSecret(authorization: string): string | undefined {
  const bearer = readBearer(authorization)
  if (bearer !== undefined || authorization.length > MAX_HEADER_LENGTH) return bearer
  const space = authorization.indexOf(' ')
  if (authorization.slice(0, space).toLowerCase() !== 'basic') return undefined
  const pair = Buffer.from(authorization.slice(space + 1).trim(), 'base64').toString('latin1')
  return pair.indexOf(':') === pair.length - 1 ? pair.slice(0, -1) : undefined
}

/** Reads the token after `Bearer`; undefined for another scheme, and for a header of more than 2 560 characters. */
export function readBearer(authorization: string): string | undefined {
  if (authorization.length > MAX_HEADER_LENGTH) return undefined
  const space = authorization.indexOf(' ')
  const scheme = authorization.slice(0, space)
  if (scheme !== 'Bearer' && scheme.toLowerCase() !== 'bearer') return undefined
  return authorization.slice(space + 1).trim()
}
