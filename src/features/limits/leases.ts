/**
 * The places that requests of this process have at Redis: kept while they run, and given back with what was not used.
 * What ends in one turn of the event loop goes back in one call an account. A process that is killed renews nothing, and
 * its places are free within a minute.
 */
import { randomBytes } from 'node:crypto'
import type { AccountId } from '../../domain/ids.ts'
import { createRoster, type Roster } from '../../lib/roster.ts'
import type { ScriptCall } from './redis-connection.ts'
import { accountKey, leasesKey, SCRIPTS } from './redis-scripts.ts'

const RENEW_EVERY_MS = 20_000
/** Younger leases wait for the next time: most requests have ended by then. */
const YOUNG_MS = 15_000
/** Of one account, in one call. */
const LEASES_PER_CALL = 500
/** In one turn of the event loop. */
const CALLS_PER_TURN = 100
/** Ended leases that wait for Redis; beyond it they end by themselves there. */
export const MAX_RETURNS = 100_000

export interface Leases {
  /** An id that no other process gives. */
  nextId(): string
  /** Keeps a place that was granted. @returns lets it go again, with `giveBack`. */
  keep(account: AccountId, id: string): () => void
  /** @param lessMs By how much the account is sooner rested of its tokens; negative: later. */
  giveBack(account: AccountId, id: string | undefined, lessMs: number): void
  /** After an outage: what waited is given back, and what goes on is said again, since the server may have lost it. */
  restore(): void
  /** Sends what is waiting. */
  flush(): void
  close(): void
}

export interface LeasesInput {
  readonly run: (call: ScriptCall) => Promise<unknown>
  readonly isUp: () => boolean
  /** Monotonic milliseconds. */
  readonly clock: () => number
}

interface Lease {
  readonly account: AccountId
  readonly id: string
  renewedAt: number
  over: boolean
}

interface Return {
  lessMs: number
  readonly ended: string[]
}

interface Book extends LeasesInput {
  readonly kept: Roster<Lease>
  readonly returns: Map<AccountId, Return>
  /** Leases in `returns`. */
  ended: number
  scheduled: boolean
}

export function createLeases(input: LeasesInput): Leases {
  const book: Book = { ...input, kept: createRoster(), returns: new Map(), ended: 0, scheduled: false }
  const process = randomBytes(9).toString('base64url')
  let issued = 0
  const timer = setInterval(() => void renew(book, YOUNG_MS), RENEW_EVERY_MS)
  timer.unref()
  return {
    nextId() {
      issued += 1
      return `${process}.${issued}`
    },
    keep(account, id) {
      const lease = { account, id, renewedAt: book.clock(), over: false }
      const takeOff = book.kept.add(lease)
      return () => {
        lease.over = true
        takeOff()
      }
    },
    giveBack(account, id, lessMs) {
      note(book, account, { id, lessMs })
      schedule(book)
    },
    restore() {
      flush(book)
      void renew(book, 0)
    },
    flush: () => flush(book),
    close: () => clearInterval(timer),
  }
}

function note(book: Book, account: AccountId, { id, lessMs }: { id: string | undefined; lessMs: number }): void {
  let waiting = book.returns.get(account)
  if (waiting === undefined) {
    if (book.returns.size >= MAX_RETURNS) return
    waiting = { lessMs: 0, ended: [] }
    book.returns.set(account, waiting)
  }
  waiting.lessMs += lessMs
  if (id === undefined || book.ended >= MAX_RETURNS) return
  waiting.ended.push(id)
  book.ended += 1
}

function schedule(book: Book): void {
  if (book.scheduled || !book.isUp()) return
  book.scheduled = true
  setImmediate(() => {
    book.scheduled = false
    flush(book)
  })
}

function flush(book: Book): void {
  if (!book.isUp()) return
  const returns = [...book.returns]
  book.returns.clear()
  book.ended = 0
  for (const [account, { lessMs, ended }] of returns) {
    for (let first = 0; first === 0 || first < ended.length; first += LEASES_PER_CALL) {
      send(book, account, { lessMs: first === 0 ? lessMs : 0, ended: ended.slice(first, first + LEASES_PER_CALL) })
    }
  }
}

function send(book: Book, account: AccountId, { lessMs, ended }: Return): void {
  const keys = [accountKey(account), leasesKey(account)]
  // Whether it was carried out is not known: a lease can end twice, but tokens would count twice.
  const again = (): void => {
    for (const id of ended) note(book, account, { id, lessMs: 0 })
  }
  book.run({ script: SCRIPTS.giveBack, keys, args: [lessMs, ...ended] }).catch(again)
}

/** A failure is no harm: a lease lasts until the time after the next. */
async function renew(book: Book, olderThanMs: number): Promise<void> {
  if (!book.isUp()) return
  let calls = 0
  for (const [account, leases] of dueLeases(book, olderThanMs)) {
    for (let first = 0; first < leases.length; first += LEASES_PER_CALL) {
      // Some may have ended since the calls before.
      const going = leases.slice(first, first + LEASES_PER_CALL).filter(({ over }) => !over)
      if (going.length === 0) continue
      const args = going.map(({ id }) => id)
      book.run({ script: SCRIPTS.renew, keys: [leasesKey(account)], args }).catch(() => undefined)
      calls += 1
      if (calls % CALLS_PER_TURN === 0) await new Promise(setImmediate)
    }
  }
}

function dueLeases(book: Book, olderThanMs: number): ReadonlyMap<AccountId, readonly Lease[]> {
  const now = book.clock()
  const due = new Map<AccountId, Lease[]>()
  for (const lease of book.kept.items()) {
    if (now - lease.renewedAt < olderThanMs) continue
    lease.renewedAt = now
    const others = due.get(lease.account)
    if (others === undefined) due.set(lease.account, [lease])
    else others.push(lease)
  }
  return due
}
