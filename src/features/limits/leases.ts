/**
 * Leases of this process's requests in flight at Redis: renewed while they run, and released with the unused tokens. What
 * ends in one tick of the event loop is released in one call an account. Leases of a killed process expire in a minute.
 */
import { randomBytes } from 'node:crypto'
import type { AccountId } from '../../domain/ids.ts'
import { createInFlight, type InFlight } from '../../lib/collections.ts'
import type { ScriptCall } from './redis.ts'
import { accountKey, leasesKey, SCRIPTS } from './redis-scripts.ts'

const RENEW_EVERY_MS = 20_000
/** Younger leases wait for the next time: most requests have ended by then. */
const YOUNG_MS = 15_000
/** Of one account, in one call. */
const LEASES_PER_CALL = 500
/** In one tick of the event loop. */
const CALLS_PER_TICK = 100
/** Ended leases that wait for Redis; beyond it they expire there. */
export const MAX_RETURNS = 100_000

export interface Leases {
  /** An id that is unique over all processes. */
  nextId(): string
  /** Renews a granted lease from now on. @returns stops that, before `release`. */
  track(account: AccountId, id: string): () => void
  /** @param refundMs Unused tokens, as the time in which the bucket refills by them; negative: used beyond. */
  release(account: AccountId, id: string | undefined, refundMs: number): void
  /** Undoes, once Redis is up, an admission whose reply came too late or never. */
  undo(call: ScriptCall): void
  /** After an outage: releases what waited, and renews what runs, since Redis may have lost it. */
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
  refundMs: number
  readonly ended: string[]
}

interface State extends LeasesInput {
  readonly active: InFlight<Lease>
  readonly returns: Map<AccountId, Return>
  /** Scripts that take an admission back. */
  undone: ScriptCall[]
  /** Leases in `returns`. */
  ended: number
  scheduled: boolean
}

export function createLeases(input: LeasesInput): Leases {
  const state: State = {
    ...input,
    active: createInFlight(),
    returns: new Map(),
    undone: [],
    ended: 0,
    scheduled: false,
  }
  const process = randomBytes(9).toString('base64url')
  let issued = 0
  const timer = setInterval(() => void renew(state, YOUNG_MS), RENEW_EVERY_MS)
  timer.unref()
  return {
    nextId() {
      issued += 1
      return `${process}.${issued}`
    },
    track(account, id) {
      const lease = { account, id, renewedAt: state.clock(), over: false }
      const remove = state.active.add(lease)
      return () => {
        lease.over = true
        remove()
      }
    },
    release(account, id, refundMs) {
      note(state, account, { id, refundMs })
      schedule(state)
    },
    undo(call) {
      if (state.undone.length < MAX_RETURNS) state.undone.push(call)
      schedule(state)
    },
    restore() {
      flush(state)
      void renew(state, 0)
    },
    flush: () => flush(state),
    close: () => clearInterval(timer),
  }
}

function note(state: State, account: AccountId, { id, refundMs }: { id: string | undefined; refundMs: number }): void {
  let waiting = state.returns.get(account)
  if (waiting === undefined) {
    if (state.returns.size >= MAX_RETURNS) return
    waiting = { refundMs: 0, ended: [] }
    state.returns.set(account, waiting)
  }
  waiting.refundMs += refundMs
  if (id === undefined || state.ended >= MAX_RETURNS) return
  waiting.ended.push(id)
  state.ended += 1
}

function schedule(state: State): void {
  if (state.scheduled || !state.isUp()) return
  state.scheduled = true
  setImmediate(() => {
    state.scheduled = false
    flush(state)
  })
}

function flush(state: State): void {
  if (!state.isUp()) return
  // Where it fails, the lease expires.
  for (const call of state.undone.splice(0)) state.run(call).catch(() => undefined)
  const returns = [...state.returns]
  state.returns.clear()
  state.ended = 0
  for (const [account, { refundMs, ended }] of returns) {
    for (let first = 0; first === 0 || first < ended.length; first += LEASES_PER_CALL) {
      send(state, account, { refundMs: first === 0 ? refundMs : 0, ended: ended.slice(first, first + LEASES_PER_CALL) })
    }
  }
}

function send(state: State, account: AccountId, { refundMs, ended }: Return): void {
  const keys = [accountKey(account), leasesKey(account)]
  // It may have been executed: a lease can end twice, but tokens would be refunded twice.
  const again = (): void => {
    for (const id of ended) note(state, account, { id, refundMs: 0 })
  }
  state.run({ script: SCRIPTS.release, keys, args: [refundMs, ...ended] }).catch(again)
}

/** Failures are ignored: a lease lasts for two more renewals. */
async function renew(state: State, olderThanMs: number): Promise<void> {
  if (!state.isUp()) return
  let calls = 0
  for (const [account, leases] of dueLeases(state, olderThanMs)) {
    for (let first = 0; first < leases.length; first += LEASES_PER_CALL) {
      // Some may have ended since the calls before.
      const running = leases.slice(first, first + LEASES_PER_CALL).filter(({ over }) => !over)
      if (running.length === 0) continue
      const args = running.map(({ id }) => id)
      state.run({ script: SCRIPTS.renew, keys: [leasesKey(account)], args }).catch(() => undefined)
      calls += 1
      if (calls % CALLS_PER_TICK === 0) await new Promise(setImmediate)
    }
  }
}

function dueLeases(state: State, olderThanMs: number): ReadonlyMap<AccountId, readonly Lease[]> {
  const now = state.clock()
  const due = new Map<AccountId, Lease[]>()
  for (const lease of state.active.items()) {
    if (now - lease.renewedAt < olderThanMs) continue
    lease.renewedAt = now
    const others = due.get(lease.account)
    if (others === undefined) due.set(lease.account, [lease])
    else others.push(lease)
  }
  return due
}
