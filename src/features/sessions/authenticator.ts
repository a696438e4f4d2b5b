/**
 * Who a request comes from, by the token of the dashboard. A token that was seen before costs a hash and two looks into
 * memory. What it says of the person is not believed: whose it is and what they may is what the rows say now.
 */
import { hash } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { Caller } from '../../domain/caller.ts'
import { invalidCredential } from '../../domain/credential-errors.ts'
import type { KeyId, SessionId } from '../../domain/ids.ts'
import { rightsOfRole } from '../../domain/rights.ts'
import { createLruCache } from '../../lib/lru-cache.ts'
import { type Change, followChanges } from './changes.ts'
import { findSession, type PersonalSession } from './queries.ts'
import type { TokenSigner, VerifiedToken } from './token.ts'

export const MAX_KNOWN_TOKENS = 10_000
export const MAX_KNOWN_SESSIONS = 10_000
/** Changes are followed; this is for those that were not heard of. */
const KNOWN_FOR_MS = 30_000

export interface SessionAuthenticatorInput {
  readonly db: Kysely<Database>
  readonly signer: TokenSigner
  /** Calls back when another process may have changed sessions; returns what ends it. */
  readonly onChange: (listener: () => void) => () => void
  /** Sessions that are over, here or by another process: what still runs for such callers is to end. */
  readonly onOver: (isOver: (caller: Caller) => boolean) => void
  /** Unix milliseconds. */
  readonly now: () => number
  /** How much is remembered; `MAX_KNOWN_TOKENS` and `MAX_KNOWN_SESSIONS` unless set. */
  readonly memory?: Memory
}

interface Memory {
  readonly tokens: number
  readonly sessions: number
}

export interface SessionAuthenticator {
  /** Answers at once for a token that is known. Throws, or rejects with, `invalid_credential` or `database_unavailable`. */
  authenticate(token: string): Caller | Promise<Caller>
  /** The session behind a caller that came from here. */
  sessionOf(caller: Caller): SessionId | undefined
  /** Resolves when all that was committed before is in force here. */
  refresh(): Promise<void>
  close(): void
}

interface KnownSession {
  readonly id: SessionId
  /** One frozen object, the same for every request of this session. */
  readonly caller: Caller
  readonly loadedAt: number
  readonly endsAt: number
}

export function createSessionAuthenticator(input: SessionAuthenticatorInput): SessionAuthenticator {
  const { signer, onChange, now, memory = { tokens: MAX_KNOWN_TOKENS, sessions: MAX_KNOWN_SESSIONS } } = input
  const tokens = createLruCache<VerifiedToken>(memory.tokens)
  const sessions = createSessionCache(input, memory.sessions)
  const unsubscribe = onChange(() => void sessions.refresh())
  void sessions.refresh()

  const admit = (token: VerifiedToken, session: KnownSession | undefined): Caller => {
    if (session?.caller.userId !== token.userId || session.endsAt <= now()) throw invalidCredential()
    return session.caller
  }
  const verify = async (text: string, digest: string): Promise<Caller> => {
    const token = await signer.verify(text)
    if (token === undefined) throw invalidCredential()
    tokens.set(digest, token)
    return admit(token, sessions.find(token.sessionId) ?? (await sessions.load(token.sessionId)))
  }
  return {
    authenticate(text) {
      const digest = hash('sha256', text, 'latin1')
      const token = tokens.get(digest)
      if (token === undefined) return verify(text, digest)
      if (token.refusedFrom <= now()) throw invalidCredential()
      const session = sessions.find(token.sessionId)
      if (session !== undefined) return admit(token, session)
      return sessions.load(token.sessionId).then((loaded) => admit(token, loaded))
    },
    sessionOf: sessions.idOf,
    refresh: sessions.refresh,
    close() {
      unsubscribe()
      sessions.close()
    },
  }
}

/** Sessions by their id, kept until something about them changes. */
function createSessionCache({ db, onOver, now }: SessionAuthenticatorInput, capacity: number) {
  const known = createLruCache<KnownSession>(capacity)
  const ids = new WeakMap<Caller, SessionId>()
  const loading = new Map<SessionId, Promise<KnownSession | undefined>>()
  let generation = 0

  const follower = followChanges(db, (changes) => {
    generation++
    for (const session of [...known.values()]) {
      if (changes.some((change) => concerns(change, session.caller, session.id))) known.delete(session.id)
    }
    const overs = changes.filter(({ isOver }) => isOver)
    if (overs.length === 0) return
    onOver((caller) => {
      const id = ids.get(caller)
      return id !== undefined && overs.some((change) => concerns(change, caller, id))
    })
  })
  const loadOnce = async (id: SessionId) => {
    await follower.ready()
    const startedIn = generation
    const time = now()
    const row = await findSession(db, { id }, time)
    if (row === undefined) return undefined
    const session: KnownSession = { id, caller: callerOf(row), loadedAt: time, endsAt: row.endsAt }
    ids.set(session.caller, id)
    if (startedIn === generation) known.set(id, session) // else good for now, not for keeping
    return session
  }
  return {
    find(id: SessionId): KnownSession | undefined {
      const session = known.get(id)
      if (session === undefined) return undefined
      const ageMs = now() - session.loadedAt
      return ageMs >= 0 && ageMs < KNOWN_FOR_MS ? session : undefined
    },
    /** One query however many ask at the same time. */
    load(id: SessionId): Promise<KnownSession | undefined> {
      const running = loading.get(id)
      if (running !== undefined) return running
      const promise = loadOnce(id).finally(() => loading.delete(id))
      loading.set(id, promise)
      return promise
    },
    idOf: (caller: Caller) => ids.get(caller),
    refresh: follower.refresh,
    close: follower.close,
  }
}

function concerns({ kind, id, userId }: Change, caller: Caller, sessionId: SessionId): boolean {
  switch (kind) {
    case 'session':
      return id === sessionId
    case 'member':
      return id === caller.accountId && userId === caller.userId
    case 'person':
      return userId === caller.userId
    case 'account':
      return id === caller.accountId
  }
}

function callerOf({ userId, accountId, role, plan, operator }: PersonalSession): Caller {
  return Object.freeze({
    kind: 'session',
    accountId,
    keyId: userId as string as KeyId, // what usage is booked on, as `Caller` says
    userId,
    role,
    plan,
    models: undefined,
    requestsPerMinute: undefined,
    monthlyBudgetNanoUsd: undefined,
    scopes: rightsOfRole(role, { operator }),
  })
}
