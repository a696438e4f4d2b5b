/** Brute-force limits of user codes, counted in the database for all processes: by session, by address, and in total (DEV-2). */
import type { Selectable, Transaction } from 'kysely'
import { acquireAdvisoryLock } from '../../db/dialect.ts'
import type { GuessTable } from '../../db/schema/identity.ts'
import type { Database } from '../../db/schema/schema.ts'
import type { SessionId } from '../../domain/ids.ts'
import { addressGroup } from '../../lib/ip-address.ts'

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
export async function checkBruteForce(
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
