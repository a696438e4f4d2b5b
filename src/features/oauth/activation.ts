/**
 * The person's side of the device flow: a request is found by its user code, and approved or denied. Wrong codes count
 * towards the brute-force limits in both steps.
 */
import type { Selectable, Transaction } from 'kysely'
import { nextChangedAt } from '../../db/changed-at.ts'
import { acquireAdvisoryLock } from '../../db/dialect.ts'
import type { DeviceCodeTable } from '../../db/schema/identity.ts'
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
import type { DeviceId } from '../../domain/ids.ts'
import { type Authority, readTime } from './authority.ts'
import { checkBruteForce } from './brute-force.ts'
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
