/**
 * Sessions of browsers: started at sign-in, found by their cookie, ended everywhere. The cookie's `__Host-` prefix makes
 * browsers reject it from other hosts, without TLS, and for a part of the site; localhost counts as secure.
 */
import { hash, randomBytes } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema/schema.ts'
import type { AuditEvent } from '../../domain/audit.ts'
import type { BrowserSession, Origin, SessionsPort } from '../../domain/identity/sign-in.ts'
import type { AccountId, IdSource, SessionId, UserId } from '../../domain/ids.ts'
import type { WriteAudit } from '../deps.ts'
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
/** A session that was renewed a moment ago is not written again. */
const RENEW_AFTER_MS = 60_000
export const SESSION_COOKIE = '__Host-turnpike'
const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Lax'
/** 32 bytes, base64url. */
const SECRET_PATTERN = /^[A-Za-z0-9_-]{43}$/
/** A browser sends all cookies of the host, those of others on it, too. */
const MAX_HEADER_LENGTH = 8 * 1024

export interface SessionsInput {
  readonly db: Kysely<Database>
  /** Unix milliseconds. */
  readonly now: () => number
  readonly ids: Pick<IdSource, 'session'>
  readonly writeAudit: WriteAudit
  /** Waited for after every change: when it is done, this process acts on it. */
  readonly changed: () => Promise<void>
}

export interface Sessions extends SessionsPort {
  /** Puts off the end of a session. @returns the value of `Set-Cookie`; undefined when the cookie is no session's. */
  renew(cookies: string | undefined): Promise<string | undefined>
  /** Has it act in another account of the person's. False when it is over, or the person is no member there. */
  move(session: BrowserSession, accountId: AccountId, origin: Origin): Promise<boolean>
  /** Ends a session of a person. False when there is no such session. */
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
      return sessionCookie(session.secret, Math.min(IDLE_LIFE_MS, createdAt + WHOLE_LIFE_MS - time))
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
  return sessionCookie(secret, IDLE_LIFE_MS)
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

/** @returns the cookie's secret; undefined when it is missing, could not be one of ours, or is there twice. */
export function readSessionCookie(cookies: string | undefined): string | undefined {
  if (cookies === undefined || cookies.length > MAX_HEADER_LENGTH) return undefined
  const prefix = `${SESSION_COOKIE}=`
  const values = cookies
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(prefix))
  const [secret] = values.map((pair) => pair.slice(prefix.length))
  return values.length === 1 && secret !== undefined && SECRET_PATTERN.test(secret) ? secret : undefined
}

/** The value of `Set-Cookie`. */
function sessionCookie(secret: string, lifeMs: number): string {
  return `${SESSION_COOKIE}=${secret}; Max-Age=${Math.max(0, Math.floor(lifeMs / 1000))}; ${ATTRIBUTES}`
}

/** The value of `Set-Cookie` that removes it. */
export const REMOVED_SESSION_COOKIE = sessionCookie('', 0)
