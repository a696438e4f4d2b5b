/**
 * Wrong user codes are counted, in the database, so that all processes count together: by session, by address, and over
 * all (DEV-2).
 */
import type { Selectable, Transaction } from 'kysely'
import type { Database, GuessTable } from '../../db/schema.ts'
import { takeTurn } from '../../db/turn.ts'
import type { SessionId } from '../../domain/ids.ts'
import { addressGroup } from '../../lib/address-ranges.ts'

const MINUTE_MS = 60_000

export interface GuessLimit {
  /** After so many nothing is looked at for a while. */
  readonly wrong: number
  readonly windowMs: number
  readonly blockMs: number
}

export const SESSION_LIMIT: GuessLimit = { wrong: 5, windowMs: 10 * MINUTE_MS, blockMs: 10 * MINUTE_MS }
export const ADDRESS_LIMIT: GuessLimit = { wrong: 20, windowMs: 10 * MINUTE_MS, blockMs: 10 * MINUTE_MS }
/** More than this over all: somebody guesses from many places. This is told, and blocks nobody. */
export const ALARM = { wrong: 100, windowMs: MINUTE_MS } as const

export interface GuessState {
  readonly wrong: number
  /** When the window began. Unix milliseconds by the database's clock, as is `blocked_until`. */
  readonly since: number
  readonly blocked_until: number
}

/** One wrong code more. */
export function countWrong(before: GuessState | undefined, limit: GuessLimit, now: number): GuessState {
  const isOver = before === undefined || now >= before.since + limit.windowMs || wasBlocked(before, now)
  const { wrong, since } = isOver ? { wrong: 0, since: now } : before
  const isLast = wrong + 1 >= limit.wrong
  return { wrong: wrong + 1, since, blocked_until: isLast ? now + limit.blockMs : 0 }
}

function wasBlocked({ blocked_until: until }: GuessState, now: number): boolean {
  return until > 0 && until <= now
}

export interface Guesser {
  readonly sessionId: SessionId
  readonly address: string
}

export interface Standing {
  /** How long nothing is looked at; 0: not blocked. */
  readonly blockedMs: number
  /** Counts a wrong code. @returns whether this one is too many over all. */
  wrong(): Promise<boolean>
}

/** How the guesser stands. Whoever guesses from the same session or address waits until the transaction ends. */
export async function standingOf(
  inside: Transaction<Database>,
  { sessionId, address }: Guesser,
  now: number,
): Promise<Standing> {
  const counted = [
    { name: `session ${sessionId}`, limit: SESSION_LIMIT },
    { name: `address ${addressGroup(address)}`, limit: ADDRESS_LIMIT },
  ]
  for (const { name } of counted) await takeTurn(inside, `guesses of ${name}`) // always in this order
  const rows = await Promise.all(counted.map(({ name }) => findGuess(inside, name)))
  const blockedUntil = Math.max(0, ...rows.map((row) => row?.blocked_until ?? 0))
  return {
    blockedMs: Math.max(0, blockedUntil - now),
    async wrong() {
      for (const [index, { name, limit }] of counted.entries()) {
        await keepGuess(inside, name, countWrong(rows[index], limit, now))
      }
      return countOverAll(inside, now)
    },
  }
}

const OVER_ALL = 'all'

async function countOverAll(inside: Transaction<Database>, now: number): Promise<boolean> {
  await takeTurn(inside, `guesses of ${OVER_ALL}`)
  const before = await findGuess(inside, OVER_ALL)
  const isNewWindow = before === undefined || now >= before.since + ALARM.windowMs
  const state = isNewWindow ? { wrong: 1, since: now, blocked_until: 0 } : { ...before, wrong: before.wrong + 1 }
  await keepGuess(inside, OVER_ALL, state)
  return state.wrong === ALARM.wrong + 1 // once a minute
}

function findGuess(inside: Transaction<Database>, name: string): Promise<Selectable<GuessTable> | undefined> {
  return inside.selectFrom('guess').selectAll().where('name', '=', name).executeTakeFirst()
}

async function keepGuess(inside: Transaction<Database>, name: string, state: GuessState): Promise<void> {
  const { wrong, since, blocked_until } = state
  await inside
    .insertInto('guess')
    .values({ name, wrong, since, blocked_until })
    .onConflict((on) => on.column('name').doUpdateSet({ wrong, since, blocked_until }))
    .execute()
}
