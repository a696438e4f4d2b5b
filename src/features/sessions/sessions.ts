/** Browser sessions: started at sign-in, found by their cookie, ended in every process. */
import { hash, randomBytes } from 'node:crypto'
import type { AuditEvent } from '../../domain/audit.ts'
import type { BrowserSession, Origin, SessionsPort } from '../../domain/identity/sign-in.ts'
import type { AccountId, IdSource, SessionId, UserId } from '../../domain/ids.ts'
import { readCookie, renderCookie } from '../../http/request-headers.ts'
import type { FeatureDeps, WriteAudit } from '../deps.ts'
import {
  endSession,
  endSurplus,
  findSession,
  IDLE_LIFE_MS,
  insertSession,
  moveSession,
  type PersonalSession,
  renewSession,
  WHOLE_LIFE_MS,
} from './queries.ts'

const SECRET_BYTES = 32
/** Minimum time between two writes of a renewal. */
const RENEW_AFTER_MS = 60_000
export const SESSION_COOKIE = '__Host-turnpike'
/** 32 bytes, base64url. */
const SECRET_PATTERN = /^[A-Za-z0-9_-]{43}$/

export interface SessionsInput extends Pick<FeatureDeps, 'db' | 'now'> {
  readonly ids: Pick<IdSource, 'session'>
  readonly writeAudit: WriteAudit
  /** Awaited after every change: when it resolves, the change is in force in this process. */
  readonly changed: () => Promise<void>
}

export interface Sessions extends SessionsPort {
  /** Extends a session. @returns the value of `Set-Cookie`; undefined when the cookie belongs to no session. */
  renew(cookies: string | undefined): Promise<string | undefined>
  /** Switches a session to another account. False when the session has ended, or the person is not a member there. */
  move(session: BrowserSession, accountId: AccountId, origin: Origin): Promise<boolean>
  /** Ends a session. False when the person has no such session. */
  endOne(who: EndedSession, origin: Origin): Promise<boolean>
}

/** Which session ends, and who ends it. */
export interface EndedSession {
  readonly id: SessionId
  readonly userId: UserId
  readonly accountId: AccountId
  readonly actor: AuditEvent['actor']
}

export function createSessions(input: SessionsInput): Sessions {
  const { db, now, changed } = input
  const lookUp = async (cookies: string | undefined) => {
    const secret = readSessionCookie(cookies)
    if (secret === undefined) return undefined
    const found = await findSession(db, { secretHash: secretHash(secret) }, now())
    return found === undefined ? undefined : { secret, found }
  }
  const endOne = async (who: EndedSession, origin: Origin): Promise<boolean> => {
    const ended = await db.transaction().execute(async (inside) => {
      if (!(await endSession(inside, who, now()))) return false
      await input.writeAudit(inside, auditEvent('session.ended', who, origin))
      return true
    })
    if (ended) await changed()
    return ended
  }
  return {
    async find(cookies) {
      const session = await lookUp(cookies)
      return session === undefined ? undefined : toBrowserSession(session.found)
    },
    start: (who, origin) => startSession(input, who, origin),
    async end(session, origin) {
      await endOne({ ...session, actor: actorOf(session) }, origin)
      return REMOVED_SESSION_COOKIE
    },
    endOne,
    async renew(cookies) {
      const session = await lookUp(cookies)
      if (session === undefined) return undefined
      const time = now()
      const { id, createdAt, renewedAt } = session.found
      if (time - renewedAt >= RENEW_AFTER_MS) await renewSession(db, id, time)
      const lifeMs = Math.min(IDLE_LIFE_MS, createdAt + WHOLE_LIFE_MS - time)
      return renderCookie(SESSION_COOKIE, session.secret, lifeMs)
    },
    async move(session, accountId, origin) {
      const moved = await db.transaction().execute(async (inside) => {
        if (!(await moveSession(inside, { id: session.id, accountId }, now()))) return false
        const who = { ...session, accountId, actor: actorOf(session) }
        await input.writeAudit(inside, auditEvent('session.account_chosen', who, origin))
        return true
      })
      if (moved) await changed()
      return moved
    },
  }
}

async function startSession(
  { db, now, ids, writeAudit }: SessionsInput,
  who: { readonly userId: UserId; readonly accountId: AccountId },
  origin: Origin,
): Promise<string> {
  const secret = randomBytes(SECRET_BYTES).toString('base64url')
  const id = ids.session()
  await db.transaction().execute(async (inside) => {
    await insertSession(inside, { ...who, id, secretHash: secretHash(secret), origin }, now())
    await endSurplus(inside, who.userId, now())
    const person = await inside.selectFrom('person').select('email').where('id', '=', who.userId).executeTakeFirst()
    const actor = { kind: 'session', id: who.userId, name: person?.email } as const
    await writeAudit(inside, auditEvent('session.started', { ...who, id, actor }, origin))
  })
  return renderCookie(SESSION_COOKIE, secret, IDLE_LIFE_MS)
}

function secretHash(secret: string): Uint8Array {
  return hash('sha256', secret, 'buffer')
}

function actorOf({ userId, email }: BrowserSession): AuditEvent['actor'] {
  return { kind: 'session', id: userId, name: email }
}

function auditEvent(action: string, who: EndedSession, origin: Origin): AuditEvent {
  const { address, userAgent, requestId } = origin
  const { accountId, actor, id } = who
  return { accountId, actor, action, subject: id, result: 'done', address, userAgent, requestId, details: {} }
}

function toBrowserSession(session: PersonalSession): BrowserSession {
  const { id, userId, email, name, accountId, accountName, role, createdAt: signedInAt } = session
  return { id, userId, email, name, accountId, accountName, role, signedInAt }
}

/** Returns the secret of the session cookie; undefined when the cookie is missing, repeated or malformed. */
export function readSessionCookie(cookies: string | undefined): string | undefined {
  const secret = readCookie(cookies, SESSION_COOKIE)
  return secret !== undefined && SECRET_PATTERN.test(secret) ? secret : undefined
}

/** Value of `Set-Cookie` that removes the session cookie. */
export const REMOVED_SESSION_COOKIE = renderCookie(SESSION_COOKIE, '', 0)
