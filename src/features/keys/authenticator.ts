/**
 * Who a request comes from, by its API key. It stands before everything else on the hot path: a known key costs a hash
 * and a look into memory, and only an unknown one waits for the database.
 */
import type { Kysely } from 'kysely'
import { createLastUsed } from '../../db/last-used.ts'
import type { BatchStatement } from '../../db/open.ts'
import type { Database } from '../../db/schema.ts'
import type { Caller } from '../../domain/caller.ts'
import { invalidCredential, missingCredential } from '../../domain/credential-errors.ts'
import type { KeyId } from '../../domain/ids.ts'
import { createLruCache } from '../../lib/lru-cache.ts'
import { type Changes, followChanges } from './changes.ts'
import { readSecret } from './credential.ts'
import { checkKey, digestText, type KnownKey, loadKey } from './known-key.ts'
import { isWellFormed } from './secret.ts'

export const MAX_KNOWN_KEYS = 50_000
/** Secrets of the right form that nobody has: kept for a moment, so that repeating one does not cost a query. */
export const MAX_KNOWN_STRANGERS = 10_000
const STRANGER_MS = 5_000

export interface AuthenticatorInput {
  readonly db: Kysely<Database>
  readonly batch: (statements: readonly BatchStatement[]) => Promise<void>
  /** Calls back when another process may have changed keys or accounts; returns what ends it. */
  readonly onChange: (listener: () => void) => () => void
  /** Keys that were revoked, here or by another process: what still runs for them is to end. */
  readonly onRevoked?: (keys: ReadonlySet<KeyId>) => void
  /** Unix milliseconds. */
  readonly now: () => number
  /** How much is remembered; `MAX_KNOWN_KEYS` and `MAX_KNOWN_STRANGERS` unless set. */
  readonly memory?: Memory
}

interface Memory {
  readonly keys: number
  readonly strangers: number
}

export interface Authenticator {
  /**
   * Answers at once for a key that is known. Throws, or rejects with, `missing_credential`, `invalid_credential` (one
   * answer for unknown, malformed, expired and revoked keys), `address_not_allowed` or `database_unavailable`.
   * @param authorization The header's value.
   * @param address The client's IP address.
   */
  authenticate(authorization: string | undefined, address: string): Caller | Promise<Caller>
  /** Resolves when all that was committed to keys and accounts before is in force here. */
  refresh(): Promise<void>
  /** Ends the following of changes and writes the last-used times. */
  close(): Promise<void>
}

export function createAuthenticator({
  db,
  batch,
  onChange,
  onRevoked = () => {},
  now,
  memory = { keys: MAX_KNOWN_KEYS, strangers: MAX_KNOWN_STRANGERS },
}: AuthenticatorInput): Authenticator {
  const keys = createKeyCache({ db, now, onRevoked, memory })
  const rowOf = ({ caller }: KnownKey) => [caller.accountId, caller.keyId] as const
  const lastUsed = createLastUsed<KnownKey>({ db, batch, table: 'api_key', rowOf })
  const unsubscribe = onChange(() => void keys.refresh())
  void keys.refresh()

  const admit = (key: KnownKey | undefined, digest: string, address: string): Caller => {
    if (key === undefined) throw invalidCredential()
    const time = now()
    checkKey(key, digest, { address, now: time })
    lastUsed.note(key, time)
    return key.caller
  }
  return {
    authenticate(authorization, address) {
      if (authorization === undefined || authorization === '') throw missingCredential()
      const secret = readSecret(authorization)
      const digest = digestText(secret ?? authorization) // the same work for what cannot be a key
      if (secret === undefined) throw invalidCredential()
      const found = keys.find(digest)
      if (found !== undefined) return admit(found, digest, address)
      if (!isWellFormed(secret) || keys.isStranger(digest)) throw invalidCredential()
      return keys.load(digest).then((key) => admit(key, digest, address))
    },
    refresh: keys.refresh,
    async close() {
      unsubscribe()
      keys.close()
      await lastUsed.close()
    },
  }
}

/** Keys by the digest of their secret, kept until they change. */
function createKeyCache({ db, now, onRevoked, memory }: Required<Omit<AuthenticatorInput, 'batch' | 'onChange'>>) {
  const known = createLruCache<KnownKey>(memory.keys)
  const strangersUntil = createLruCache<number>(memory.strangers)
  const loading = new Map<string, Promise<KnownKey | undefined>>()
  let generation = 0

  const follower = followChanges(db, (changes) => {
    generation++
    strangersUntil.clear()
    for (const key of [...known.values()]) if (isChanged(key, changes)) known.delete(key.digest.toString('latin1'))
    if (changes.revokedKeys.size > 0) onRevoked(changes.revokedKeys)
  })
  const loadOnce = async (digest: string) => {
    await follower.ready()
    const startedIn = generation
    const key = await loadKey(db, digest)
    if (startedIn !== generation) return key // read before a change that may concern it: good for now, not for keeping
    if (key === undefined) strangersUntil.set(digest, now() + STRANGER_MS)
    else known.set(digest, key)
    return key
  }
  return {
    find: known.get,
    isStranger: (digest: string) => (strangersUntil.get(digest) ?? 0) > now(),
    /** One query however many ask at the same time. */
    load(digest: string): Promise<KnownKey | undefined> {
      const running = loading.get(digest)
      if (running !== undefined) return running
      const promise = loadOnce(digest).finally(() => loading.delete(digest))
      loading.set(digest, promise)
      return promise
    },
    refresh: follower.refresh,
    close: follower.close,
  }
}

function isChanged({ caller }: KnownKey, { keys, accounts }: Changes): boolean {
  return keys.has(caller.keyId) || accounts.has(caller.accountId)
}
