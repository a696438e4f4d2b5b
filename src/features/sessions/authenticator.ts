/**
 * Authenticates requests by the token of the dashboard. A cached token costs a hash and two map lookups. The token only
 * names the session; its person and rights are read from the database.
 */
import { hash } from 'node:crypto'
import { teamRolesOf } from '../../db/shared-queries.ts'
import { storedPolicies } from '../../domain/data-policy.ts'
import { activeCapture, type Caller, rightsOfRole } from '../../domain/identity/caller.ts'
import { invalidCredential } from '../../domain/identity/credential.ts'
import type { KeyId, SessionId } from '../../domain/ids.ts'
import { createLruCache } from '../../lib/collections.ts'
import { type CredentialCacheInput, createCredentialCache, includesOwner } from '../credential-cache.ts'
import { findSession, type PersonalSession } from './queries.ts'
import type { TokenSigner, VerifiedToken } from './token.ts'

export const MAX_CACHED_TOKENS = 10_000
const MAX_CACHED_SESSIONS = 10_000
/** Maximum age in the cache, which bounds the effect of a missed change. */
const SESSION_MAX_AGE_MS = 30_000

export interface SessionAuthenticatorInput
  extends Pick<CredentialCacheInput<unknown>, 'db' | 'onChange' | 'onEnded' | 'now'> {
  readonly signer: TokenSigner
  /** `MAX_CACHED_TOKENS` unless set. */
  readonly tokenCapacity?: number
  /** `MAX_CACHED_SESSIONS` unless set. */
  readonly sessionCapacity?: number
}

export interface SessionAuthenticator {
  /** Returns synchronously for a cached token. Throws, or rejects with, `invalid_credential` or `database_unavailable`. */
  authenticate(token: string): Caller | Promise<Caller>
  /** The session of a caller that this authenticator returned. */
  sessionOf(caller: Caller): SessionId | undefined
  /** Resolves when all earlier changes are in force in this process. */
  refresh(): Promise<void>
  close(): void
}

interface CachedSession {
  readonly id: SessionId
  /** One frozen object, the same for every request of this session. */
  readonly caller: Caller
  readonly loadedAt: number
  readonly endsAt: number
}

export function createSessionAuthenticator(input: SessionAuthenticatorInput): SessionAuthenticator {
  const { signer, now } = input
  const tokens = createLruCache<VerifiedToken>(input.tokenCapacity ?? MAX_CACHED_TOKENS)
  const sessions = createSessionCache(input)

  const admit = (token: VerifiedToken, session: CachedSession | undefined): Caller => {
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
      if (token.expiresAt <= now()) throw invalidCredential()
      const session = sessions.find(token.sessionId)
      if (session !== undefined) return admit(token, session)
      return sessions.load(token.sessionId).then((loaded) => admit(token, loaded))
    },
    sessionOf: sessions.idOf,
    refresh: sessions.refresh,
    close: sessions.close,
  }
}

/** Sessions by their id. */
function createSessionCache({ db, onChange, onEnded, now, sessionCapacity }: SessionAuthenticatorInput) {
  const ids = new WeakMap<Caller, SessionId>()
  const { get, load, refresh, close } = createCredentialCache<CachedSession>({
    ...{ db, onChange, onEnded, now, tables: ['session', 'member', 'person', 'account'] },
    capacity: sessionCapacity ?? MAX_CACHED_SESSIONS,
    negativeCapacity: 0,
    async load(id) {
      const loadedAt = now()
      const row = await findSession(db, { id: id as SessionId }, loadedAt)
      if (row === undefined) return undefined
      const teams = await teamRolesOf(db, row)
      const session = { id: row.id, caller: callerOf(row, teams), loadedAt, endsAt: row.endsAt }
      ids.set(session.caller, row.id)
      return session
    },
    dependsOn: ({ id, caller }, rows) => rows.session.has(id) || includesOwner(rows, caller),
    isEndedBy(caller, rows) {
      const id = ids.get(caller)
      return id !== undefined && (rows.session.has(id) || includesOwner(rows, caller))
    },
  })
  const find = (id: SessionId): CachedSession | undefined => {
    const session = get(id)
    if (session === undefined) return undefined
    const ageMs = now() - session.loadedAt
    return ageMs >= 0 && ageMs < SESSION_MAX_AGE_MS ? session : undefined
  }
  return { find, load, idOf: (caller: Caller) => ids.get(caller), refresh, close }
}

function callerOf(session: PersonalSession, teams: Caller['teams']): Caller {
  const { userId, accountId, role, plan, providerCredentials, dataPolicy, guardrails, contentCapture, operator } =
    session
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
    dataPolicies: storedPolicies([dataPolicy]),
    providerCredentials: providerCredentials ?? undefined,
    teams,
    guardrails: guardrails ?? undefined,
    contentCapture: activeCapture(contentCapture),
    scopes: rightsOfRole(role, { operator }),
  })
}
