/**
 * The person's side of the device flow: a request is found by its user code, and approved or denied. Wrong codes count
 * towards the brute-force limits in both steps.
 */
import type { Selectable, Transaction } from 'kysely'
import { nextChangedAt } from '../../db/changed-at.ts'
import { acquireAdvisoryLock } from '../../db/database.ts'
import type { DeviceCodeTable, GuessTable } from '../../db/schema/identity.ts'
import type { Database } from '../../db/schema/schema.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Role, Scope } from '../../domain/identity/caller.ts'
import type {
  ActivationBlock,
  ActivationPort,
  ActivationRequest,
  BrowserSession,
  Origin,
} from '../../domain/identity/sign-in.ts'
import type { DeviceId, SessionId } from '../../domain/ids.ts'
import { addressGroup } from '../../lib/ip-address.ts'
import { type Authority, readTime } from './authority.ts'
import { formatUserCode, parseUserCode } from './device-codes.ts'
import { inRole, OFFLINE } from './scopes.ts'

export interface ActivationDeps extends Authority {
  readonly log: { warn(fields: object, message: string): void }
}

export interface Activation extends ActivationPort {
  /** Since the start of this process. */
  readonly counts: { readonly wrongCodes: number; readonly alarms: number }
}

interface Visitor {
  readonly session: BrowserSession
  readonly origin: Origin
}
type CodeRow = Selectable<DeviceCodeTable>
type Found = { readonly kind: 'found'; readonly row: CodeRow; readonly now: number }
type Attempt = Found | { readonly kind: 'unknown'; readonly isAlarm: boolean } | ActivationBlock

export function createActivation(deps: ActivationDeps): Activation {
  const counts = { wrongCodes: 0, alarms: 0 }
  const record = (attempt: Attempt) => {
    if (attempt.kind !== 'unknown') return
    counts.wrongCodes++
    if (!attempt.isAlarm) return
    counts.alarms++
    deps.log.warn({}, 'more than 100 wrong user codes within a minute: possible brute-force attack')
  }
  return {
    counts,
    async find(typed, visitor) {
      const attempt = await deps.db.transaction().execute((inside) => lookUp(deps, inside, { typed, visitor }))
      record(attempt)
      if (attempt.kind === 'found') return { kind: 'found', request: describe(deps, attempt.row) }
      return attempt.kind === 'blocked' ? attempt : { kind: 'unknown' }
    },
    async decide(typed, { approve, ...visitor }) {
      const outcome = await deps.db.transaction().execute(async (inside) => {
        const attempt = await lookUp(deps, inside, { typed, visitor })
        if (attempt.kind !== 'found') return attempt
        return approve
          ? approveDevice(deps, inside, { ...attempt, visitor })
          : deny(deps, inside, { ...attempt, visitor })
      })
      if (typeof outcome === 'object') {
        record(outcome)
        return outcome.kind === 'blocked' && outcome
      }
      if (outcome === 'role') throw insufficientRole(visitor.session.role)
      if (outcome === 'approved') await deps.changed()
      return outcome === 'approved' || outcome === 'denied'
    },
  }
}

async function lookUp(
  { time }: Authority,
  inside: Transaction<Database>,
  { typed, visitor }: { readonly typed: string; readonly visitor: Visitor },
): Promise<Attempt> {
  const { session, origin } = visitor
  const source = { sessionId: session.id, address: origin.address }
  const limits = await checkBruteForce(inside, source, await readTime(inside, time))
  if (limits.blockedMs > 0) return { kind: 'blocked', retryAfterMs: limits.blockedMs }
  const code = parseUserCode(typed)
  if (code !== undefined) await acquireAdvisoryLock(inside, `user code ${code}`)
  const row = code === undefined ? undefined : await findCode(inside, code)
  const now = await readTime(inside, time)
  if (row !== undefined && row.state === 'pending' && row.expires_at > now) return { kind: 'found', row, now }
  return { kind: 'unknown', isAlarm: await limits.countWrong() }
}

function findCode(inside: Transaction<Database>, code: string): Promise<CodeRow | undefined> {
  return inside.selectFrom('device_code').selectAll().where('user_code', '=', code).executeTakeFirst()
}

function describe({ clients }: Authority, row: CodeRow): ActivationRequest {
  return {
    userCode: formatUserCode(row.user_code),
    clientName: clients.nameOf(row.client_id),
    address: row.address ?? undefined,
    userAgent: row.user_agent ?? undefined,
    requestedAt: row.created_at,
    expiresAt: row.expires_at,
    scopes: rightsOf(row),
    offline: row.scopes.includes(OFFLINE),
  }
}

/** The scopes without `offline_access`, which is no right. */
function rightsOf({ scopes }: CodeRow): readonly Scope[] {
  return (JSON.parse(scopes) as (Scope | typeof OFFLINE)[]).filter((scope) => scope !== OFFLINE)
}

type Decision = Found & { readonly visitor: Visitor }

/** Connects the device to the person, in the account of the session. */
async function approveDevice(
  deps: Authority,
  inside: Transaction<Database>,
  { row, now, visitor }: Decision,
): Promise<'approved' | 'gone' | 'role'> {
  const { session } = visitor
  const role = await roleOf(inside, session)
  if (role === undefined) return 'gone'
  const scopes = rightsOf(row)
  const mayAny = inRole(scopes, role).length > 0
  const id = deps.ids.device()
  const subject = mayAny ? id : undefined
  await audit(deps, inside, { row, visitor, subject, action: 'device.approved', isDone: mayAny })
  if (!mayAny) return 'role'
  await inside
    .insertInto('device')
    .values({
      ...{ account_id: session.accountId, id, user_id: session.userId, client_id: row.client_id },
      ...{ scopes: JSON.stringify(scopes), address: row.address, user_agent: row.user_agent },
      ...{ created_at: now, changed_at: nextChangedAt('device', now) },
    })
    .execute()
  await settle(inside, { row, now, visitor, state: 'approved', deviceId: id })
  return 'approved'
}

async function deny(
  deps: Authority,
  inside: Transaction<Database>,
  { row, now, visitor }: Decision,
): Promise<'denied'> {
  await settle(inside, { row, now, visitor, state: 'denied', deviceId: null })
  await audit(deps, inside, { row, visitor, subject: undefined, action: 'device.denied', isDone: true })
  return 'denied'
}

interface Settlement extends Omit<Decision, 'kind'> {
  readonly state: 'approved' | 'denied'
  readonly deviceId: DeviceId | null
}

async function settle(
  inside: Transaction<Database>,
  { row, now, visitor: { session }, state, deviceId }: Settlement,
): Promise<void> {
  await inside
    .updateTable('device_code')
    .set({ state, user_id: session.userId, account_id: session.accountId, device_id: deviceId, decided_at: now })
    .where('hash', '=', row.hash)
    .execute()
}

/** The current role: the session may be older than a change. */
async function roleOf(inside: Transaction<Database>, { accountId, userId }: BrowserSession): Promise<Role | undefined> {
  const row = await inside
    .selectFrom('member')
    .select('role')
    .where(({ and }) => and({ account_id: accountId, user_id: userId, removed_at: null }))
    .executeTakeFirst()
  return row?.role
}

interface DecisionAudit {
  readonly row: CodeRow
  readonly visitor: Visitor
  readonly action: 'device.approved' | 'device.denied'
  readonly subject: DeviceId | undefined
  readonly isDone: boolean
}

function audit({ writeAudit }: Authority, inside: Transaction<Database>, noted: DecisionAudit): Promise<void> {
  const { row, visitor, action, subject, isDone } = noted
  const { session, origin } = visitor
  return writeAudit(inside, {
    accountId: session.accountId,
    actor: { kind: 'session', id: session.userId, name: session.email },
    action,
    subject,
    result: isDone ? 'done' : 'denied',
    ...origin,
    details: { client: row.client_id, scopes: rightsOf(row), device_address: row.address },
  })
}

function insufficientRole(role: Role): GatewayError {
  return new GatewayError('insufficient_scope', `The role '${role}' has none of the rights that this device requests.`)
}

/*
 * Brute-force limits of user codes, counted in the database for all processes: by session, by address, and in total
 * (DEV-2).
 */

const MINUTE_MS = 60_000

export interface BruteForceLimit {
  /** Wrong codes after which attempts are blocked. */
  readonly wrong: number
  readonly windowMs: number
  readonly blockMs: number
}

export const SESSION_LIMIT: BruteForceLimit = { wrong: 5, windowMs: 10 * MINUTE_MS, blockMs: 10 * MINUTE_MS }
export const ADDRESS_LIMIT: BruteForceLimit = { wrong: 20, windowMs: 10 * MINUTE_MS, blockMs: 10 * MINUTE_MS }
/** More in total: a distributed attack is likely. It is logged, and blocks nobody. */
export const ALARM = { wrong: 100, windowMs: MINUTE_MS } as const

export interface AttemptState {
  readonly wrong: number
  /** When the window began. Unix milliseconds by the database's clock, as is `blocked_until`. */
  readonly since: number
  readonly blocked_until: number
}

/** Returns the state after another wrong code. */
export function countWrong(before: AttemptState | undefined, limit: BruteForceLimit, now: number): AttemptState {
  const isOver = before === undefined || now >= before.since + limit.windowMs || wasBlocked(before, now)
  const { wrong, since } = isOver ? { wrong: 0, since: now } : before
  const isLast = wrong + 1 >= limit.wrong
  return { wrong: wrong + 1, since, blocked_until: isLast ? now + limit.blockMs : 0 }
}

function wasBlocked({ blocked_until: until }: AttemptState, now: number): boolean {
  return until > 0 && until <= now
}

export interface AttemptSource {
  readonly sessionId: SessionId
  readonly address: string
}

export interface BruteForceCheck {
  /** How long attempts are blocked; 0: not blocked. */
  readonly blockedMs: number
  /** Counts a wrong code. @returns whether it reaches the alarm. */
  countWrong(): Promise<boolean>
}

/** Reads the limits of a session and address, and locks them until the transaction ends. */
async function checkBruteForce(
  inside: Transaction<Database>,
  { sessionId, address }: AttemptSource,
  now: number,
): Promise<BruteForceCheck> {
  const counted = [
    { name: `session ${sessionId}`, limit: SESSION_LIMIT },
    { name: `address ${addressGroup(address)}`, limit: ADDRESS_LIMIT },
  ]
  for (const { name } of counted) await acquireAdvisoryLock(inside, `guesses of ${name}`) // always in this order
  const rows = await Promise.all(counted.map(({ name }) => findAttempts(inside, name)))
  const blockedUntil = Math.max(0, ...rows.map((row) => row?.blocked_until ?? 0))
  return {
    blockedMs: Math.max(0, blockedUntil - now),
    async countWrong() {
      for (const [index, { name, limit }] of counted.entries()) {
        await saveAttempts(inside, name, countWrong(rows[index], limit, now))
      }
      return countTotal(inside, now)
    },
  }
}

const TOTAL = 'all'

async function countTotal(inside: Transaction<Database>, now: number): Promise<boolean> {
  await acquireAdvisoryLock(inside, `guesses of ${TOTAL}`)
  const before = await findAttempts(inside, TOTAL)
  const isNewWindow = before === undefined || now >= before.since + ALARM.windowMs
  const state = isNewWindow ? { wrong: 1, since: now, blocked_until: 0 } : { ...before, wrong: before.wrong + 1 }
  await saveAttempts(inside, TOTAL, state)
  return state.wrong === ALARM.wrong + 1 // once a minute
}

function findAttempts(inside: Transaction<Database>, name: string): Promise<Selectable<GuessTable> | undefined> {
  return inside.selectFrom('guess').selectAll().where('name', '=', name).executeTakeFirst()
}

async function saveAttempts(inside: Transaction<Database>, name: string, state: AttemptState): Promise<void> {
  const { wrong, since, blocked_until } = state
  await inside
    .insertInto('guess')
    .values({ name, wrong, since, blocked_until })
    .onConflict((on) => on.column('name').doUpdateSet({ wrong, since, blocked_until }))
    .execute()
}
