/**
 * Who a request comes from, by its access token. Like that of API keys it stands before everything else on the hot path: a
 * known token costs a hash and a look into memory, and only an unknown one waits for the database.
 */
import { hash } from 'node:crypto'
import { createLastUsed } from '../../db/last-used.ts'
import type { BatchStatement } from '../../db/open.ts'
import type { Caller } from '../../domain/caller.ts'
import { invalidCredential } from '../../domain/credential-errors.ts'
import type { KeyId } from '../../domain/ids.ts'
import { createLruCache } from '../../lib/lru-cache.ts'
import { DATABASE_TIME, type DatabaseTime } from './database-time.ts'
import { type KnownToken, loadToken, type TokenSource } from './known-token.ts'
import { followTokenChanges, type TokenChanges } from './token-changes.ts'
import { accessForm } from './tokens.ts'

const MAX_KNOWN_TOKENS = 50_000
/** Tokens of the right form that nobody has: kept for a moment, so that repeating one does not cost a query. */
const MAX_KNOWN_STRANGERS = 10_000
const STRANGER_MS = 5_000

export interface TokenAuthenticatorInput {
  readonly db: TokenSource['db']
  readonly batch: (statements: readonly BatchStatement[]) => Promise<void>
  /** Calls back when another process may have changed something; returns what ends it. */
  readonly onChange: (listener: () => void) => () => void
  /** What usage of devices is booked on whose tokens are good no longer: what still runs for them is to end. */
  readonly onRevoked?: (devices: ReadonlySet<KeyId>) => void
  /** Unix milliseconds by this process's clock. */
  readonly now: () => number
  /** Monotonic milliseconds. */
  readonly clock?: () => number
  readonly time?: DatabaseTime
  /** How much is remembered; `MAX_KNOWN_TOKENS` and `MAX_KNOWN_STRANGERS` unless set. */
  readonly memory?: Memory
}

interface Memory {
  readonly tokens: number
  readonly strangers: number
}

export interface TokenAuthenticator {
  /**
   * Answers at once for a token that is known. Throws, or rejects with, `invalid_credential` (one answer for unknown,
   * malformed, expired and revoked ones) or `database_unavailable`.
   * @param token Text that begins with `tpa_`.
   */
  authenticate(token: string): Caller | Promise<Caller>
  /** Unix milliseconds; undefined for a token that is not known by heart, as one is that was just let in. */
  expiresAt(token: string): number | undefined
  /** Resolves when all that was committed to devices, members, people and accounts before is in force here. */
  refresh(): Promise<void>
  /** Ends the following of changes and writes the last-used times. */
  close(): Promise<void>
}

export function createTokenAuthenticator(input: TokenAuthenticatorInput): TokenAuthenticator {
  const { db, batch, onChange, now, clock = monotonic } = input
  const tokens = createTokenCache({ ...input, clock })
  const rowOf = ({ accountId, deviceId }: KnownToken) => [accountId, deviceId] as const
  const lastUsed = createLastUsed<KnownToken>({ db, batch, table: 'device', rowOf })
  const unsubscribe = onChange(() => void tokens.refresh())
  void tokens.refresh()

  const admit = (token: KnownToken | undefined): Caller => {
    if (token === undefined) throw invalidCredential()
    lastUsed.note(token, now())
    return token.caller
  }
  return {
    authenticate(token) {
      const digest = hash('sha256', token, 'latin1') // the same work for what cannot be a token
      const found = tokens.find(digest)
      // What either clock has over, the database looks at again: the one may have been set, the other have slept.
      if (found !== undefined && now() < found.expiresAt && clock() < found.expiresAtClock) return admit(found)
      if (!accessForm.isWellFormed(token) || tokens.isStranger(digest)) throw invalidCredential()
      return tokens.load(digest).then(admit)
    },
    expiresAt: (token) => tokens.find(hash('sha256', token, 'latin1'))?.expiresAt,
    refresh: tokens.refresh,
    async close() {
      unsubscribe()
      tokens.close()
      await lastUsed.close()
    },
  }
}

function monotonic(): number {
  return performance.now()
}

/** Tokens by their digest, kept until something changes that they hang on. */
function createTokenCache(input: TokenAuthenticatorInput & Pick<TokenSource, 'clock'>) {
  const { db, now, clock, time = DATABASE_TIME, onRevoked = () => {} } = input
  const { tokens, strangers } = input.memory ?? { tokens: MAX_KNOWN_TOKENS, strangers: MAX_KNOWN_STRANGERS }
  const known = createLruCache<KnownToken>(tokens)
  const strangersUntil = createLruCache<number>(strangers)
  const loading = new Map<string, Promise<KnownToken | undefined>>()
  let generation = 0

  const follower = followTokenChanges(db, (changes) => {
    generation++
    strangersUntil.clear()
    for (const token of [...known.values()]) if (isChanged(token, changes)) known.delete(token.digest)
    // What usage is booked on is the device.
    if (changes.ended.size > 0) onRevoked(changes.ended as ReadonlySet<string> as ReadonlySet<KeyId>)
  })
  const loadOnce = async (digest: string) => {
    await follower.ready()
    const startedIn = generation
    const token = await loadToken({ db, time, now, clock }, digest)
    if (startedIn !== generation) return token // read before a change that may concern it: good for now, not for keeping
    if (token !== undefined) known.set(digest, token)
    else {
      known.delete(digest)
      strangersUntil.set(digest, now() + STRANGER_MS)
    }
    return token
  }
  return {
    find: known.get,
    isStranger: (digest: string) => (strangersUntil.get(digest) ?? 0) > now(),
    /** One query however many ask at the same time. */
    load(digest: string): Promise<KnownToken | undefined> {
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

function isChanged({ deviceId, userId, accountId }: KnownToken, { devices, users, accounts }: TokenChanges): boolean {
  return devices.has(deviceId) || users.has(userId) || accounts.has(accountId)
}
