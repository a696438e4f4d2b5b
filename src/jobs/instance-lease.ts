/**
 * The lease of this process: a row that shows other processes that it runs. A process without a renewal for 30 s, by the
 * database's clock, counts as dead: its holds may be swept and its spool read.
 */

import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import type { Database } from '../db/schema/schema.ts'
import { databaseNow, databaseTimeIn } from './sql.ts'

export const LEASE_MS = 30_000
export const RENEW_EVERY_MS = 5_000
/** After a longer outage of the database every process would take all others for dead. */
export const LEASE_GAP_MS = 15_000
/** Age at which a process counts its own lease as lapsed: before others count it as dead. */
export const LAPSE_MS = 25_000
/** The longest wait of a caller for a renewal that is due. */
const RENEWAL_TIMEOUT_MS = 3_000
/** After a lapse: a sweep of another process may have begun before the renewal, and end after it. */
const CHECKS_AFTER_LAPSE = 3
/** A process that ran longer could have swept by itself. */
const SHORT_LIFE_MS = 2 * LEASE_MS
const FORGOTTEN_AFTER_MS = 24 * 3_600_000
const RENEWALS_AN_HOUR = 3_600_000 / RENEW_EVERY_MS

/** The vitals that a process writes with each renewal. */
export interface InstanceReport {
  /** CPU time of the last minute for each unit of time, of all threads: 1 is one processor. */
  readonly load: number
  /** 99th percentile of event-loop delay since the report before. */
  readonly lagMs: number
  /** Completions in flight. */
  readonly activeRequests: number
}

export interface InstanceLeaseInput {
  readonly db: Kysely<Database>
  readonly instanceId: string
  readonly version: string
  readonly role: string
  /** Address for other processes and operators; undefined: not listening yet. */
  readonly address: string | undefined
  /** Undefined: the row has no vitals. */
  readonly report?: (() => InstanceReport) | undefined
  /** Undefined: nothing of this process depends on its lease. */
  readonly guard?: LeaseGuard | undefined
  /** Monotonic milliseconds. */
  readonly clock?: () => number
  /** Unix milliseconds: the monotonic clock does not run while a machine is suspended. */
  readonly now?: () => number
  readonly log: { warn(fields: object, message: string): void }
}

/** What depends on the lease: the holds of this process, which others may sweep once it has lapsed. */
export interface LeaseGuard {
  /** The lease has lapsed and cannot be renewed, and other processes may sweep. */
  lapsed(): void
  /** The lease was renewed after a lapse: holds may have been swept meanwhile. Rejects when the database is unavailable. */
  regained(): Promise<void>
}

export interface InstanceLease {
  /** Resolves when other processes see this one; rejects when the database is unavailable. */
  start(): Promise<void>
  /** Changes the address; undefined: not reachable. Never rejects. */
  moveTo(address: string | undefined): Promise<void>
  /** Renews now, in addition to the renewal every 5 s. Never rejects. */
  renew(): Promise<void>
  /** Resolves at once unless the lease has lapsed, else after its renewal; false: it failed. Never rejects. */
  ensure(): Promise<boolean> | boolean
  /** Whether it was renewed without a gap for as long as a lease lasts: only then may others count as dead. */
  steady(): boolean
  /** Number of live processes including this one, as of the last renewal. */
  processes(): number
  /** Deletes the row, if the database is available. */
  close(): Promise<void>
}

export function createInstanceLease(input: InstanceLeaseInput): InstanceLease {
  let closed = false
  let timer: NodeJS.Timeout | undefined
  const state = newLease(input)
  const renewal = createRenewal(input, state)
  const beat = async () => {
    if (!renewal.hasLapsed()) return renewal.renew()
    if (!(await renewal.ensure()) && state.processes > 1 && !closed) input.guard?.lapsed()
  }
  return {
    processes: () => state.processes,
    async start() {
      await renewal.touch()
      timer = setInterval(() => void beat(), RENEW_EVERY_MS).unref()
    },
    async moveTo(next) {
      state.address = next
      await renewal.idle() // it may have been written with the one before
      if (!closed) await renewal.renew()
    },
    renew: renewal.renew,
    ensure: renewal.ensure,
    steady: () => state.seenAt !== undefined && state.seenAt - state.steadySince >= LEASE_MS,
    async close() {
      closed = true
      clearInterval(timer)
      await renewal.idle()
      await deleteRow(input)
    },
  }
}

interface LeaseState {
  address: string | undefined
  /** Times of the database's clock. */
  steadySince: number
  seenAt: number | undefined
  processes: number
  renewals: number
  /** Remaining checks of the holds by the guard. */
  checks: number
  /** Start of the last renewal by our own clocks: the lease lasts at least from then. */
  renewed: { readonly clock: number; readonly now: number }
}

function newLease({ address, clock = monotonic, now = Date.now }: InstanceLeaseInput): LeaseState {
  const renewed = { clock: clock(), now: now() }
  return { address, steadySince: 0, seenAt: undefined, processes: 1, renewals: 0, checks: 0, renewed }
}

const monotonic = () => performance.now()

function createRenewal(input: InstanceLeaseInput, state: LeaseState) {
  const { log, clock = monotonic, now = Date.now } = input
  let under: Promise<void> | undefined
  const hasLapsed = () => Math.max(clock() - state.renewed.clock, now() - state.renewed.now) >= LAPSE_MS
  const touch = async () => {
    const askedAt = { clock: clock(), now: now() }
    if (state.seenAt !== undefined && hasLapsed()) state.checks = CHECKS_AFTER_LAPSE
    await writeLease(input, state)
    if (state.checks > 0) await input.guard?.regained()
    state.checks = Math.max(0, state.checks - 1)
    state.renewed = askedAt
  }
  const renew = () => {
    under ??= touch()
      .catch((error: unknown) => log.warn({ error: String(error) }, 'the lease of this process was not renewed'))
      .finally(() => {
        under = undefined
      })
    return under
  }
  /** The first one may have started before the lapse, on a connection that is closed. */
  const renewInTime = async () => {
    const timer = new AbortController()
    const late = sleep(RENEWAL_TIMEOUT_MS, undefined, { signal: timer.signal, ref: false }).catch(() => undefined)
    for (let time = 0; time < 2 && hasLapsed(); time++) await Promise.race([renew(), late])
    timer.abort()
    return !hasLapsed()
  }
  return { hasLapsed, touch, renew, ensure: () => !hasLapsed() || renewInTime(), idle: async () => under }
}

/** Writes the row, and reads the state of this process and the others. */
async function writeLease(input: InstanceLeaseInput, state: LeaseState): Promise<void> {
  const { db, instanceId: own } = input
  const seen = await writeRow({ ...input, address: state.address })
  const lately = await seenLately(db)
  const { seenAt } = state
  if (seenAt === undefined || seen < seenAt || seen - seenAt > LEASE_GAP_MS)
    state.steadySince = unbrokenSince(lately, { own, now: seen })
  state.seenAt = seen
  state.processes = Math.max(1, lately.filter((each) => each.seenAt >= seen - LEASE_MS).length)
  if (state.renewals++ % RENEWALS_AN_HOUR === 0) await forgetInstances(db)
}

/** A row of a process; times by the database's clock. */
export interface SeenInstance {
  readonly id: string
  readonly startedAt: number
  readonly seenAt: number
}

/**
 * Start of the period in which renewals were written without a gap, by this process and by short-lived ones before it, so
 * that a process in a crash loop can also tell that another one is dead.
 */
export function unbrokenSince(
  instances: readonly SeenInstance[],
  { own, now }: { readonly own: string; readonly now: number },
): number {
  let since = now
  const earlier = instances
    .filter(({ id, startedAt, seenAt }) => id !== own && seenAt - startedAt < SHORT_LIFE_MS)
    .toSorted((one, other) => other.seenAt - one.seenAt)
  for (const { startedAt, seenAt } of earlier) {
    if (seenAt < since - LEASE_GAP_MS) break
    since = Math.min(since, startedAt)
  }
  return since
}

async function deleteRow({ db, instanceId, log }: InstanceLeaseInput): Promise<void> {
  await db
    .deleteFrom('instance')
    .where('id', '=', instanceId)
    .execute()
    .catch((error: unknown) => log.warn({ error: String(error) }, 'the lease of this process was not given back'))
}

/**
 * Whether another process counts as dead. None does while the own lease is not fresh: after a suspension of the machine
 * every lease has expired.
 */
export async function isGone(db: Kysely<Database>, other: string, own: string): Promise<boolean> {
  const seen = await db
    .selectFrom('instance')
    .select('id')
    .where(({ and, eb, or }) =>
      or([
        and([eb('id', '=', other), eb('seen_at', '>=', databaseTimeIn(-LEASE_MS))]),
        and([eb('id', '=', own), eb('seen_at', '>=', databaseTimeIn(-LEASE_GAP_MS))]),
      ]),
    )
    .execute()
  return seen.length === 1 && seen[0]?.id === own
}

/** Deletes rows of processes without a renewal for a day. */
export async function forgetInstances(db: Kysely<Database>): Promise<void> {
  await db.deleteFrom('instance').where('seen_at', '<', databaseTimeIn(-FORGOTTEN_AFTER_MS)).execute()
}

/** Long enough for a chain of short-lived processes as long as a lease. */
async function seenLately(db: Kysely<Database>): Promise<readonly SeenInstance[]> {
  const rows = await db
    .selectFrom('instance')
    .select(['id', 'started_at', 'seen_at'])
    .where('seen_at', '>=', databaseTimeIn(-LEASE_MS - LEASE_GAP_MS))
    .execute()
  return rows.map(({ id, started_at: startedAt, seen_at: seenAt }) => ({ id, startedAt, seenAt }))
}

/** @returns The time of the database's clock. */
async function writeRow({ db, instanceId, version, role, address, report }: InstanceLeaseInput): Promise<number> {
  const vitals = report === undefined ? {} : vitalColumns(report())
  const { seen_at: seenAt } = await db
    .insertInto('instance')
    .values({
      id: instanceId,
      version,
      role,
      address: address ?? null,
      started_at: databaseNow(),
      seen_at: databaseNow(),
      ...vitals,
    })
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet({ address: address ?? null, seen_at: databaseNow(), ...vitals }),
    )
    .returning('seen_at')
    .executeTakeFirstOrThrow()
  return seenAt
}

function vitalColumns({ load, lagMs, activeRequests }: InstanceReport) {
  return { load_permille: Math.round(load * 1_000), lag_ms: Math.round(lagMs), active_requests: activeRequests }
}

// Load and event-loop lag of this process, for its row in `instance`.

/** Readings are 5 s apart, so the load is of about a minute. */
const READINGS = 12
const RESOLUTION_MS = 10

export interface VitalsMonitor {
  /** Takes a reading; to be called by one caller, every few seconds. */
  read(): InstanceReport
  close(): void
}

interface Reading {
  readonly atMs: number
  readonly cpuMs: number
}

export interface VitalsInput {
  readonly activeRequests: () => number
  /** Monotonic milliseconds. */
  readonly clock: () => number
  /** CPU time of the process so far. Undefined: as the system counts it. */
  readonly cpuMs?: () => number
}

export function createVitalsMonitor({ activeRequests, clock, cpuMs = processCpuMs }: VitalsInput): VitalsMonitor {
  const delays = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delays.enable()
  const readings: Reading[] = [{ atMs: clock(), cpuMs: cpuMs() }]
  return {
    read() {
      const now: Reading = { atMs: clock(), cpuMs: cpuMs() }
      const [oldest = now] = readings
      readings.push(now)
      if (readings.length > READINGS) readings.shift()
      // The histogram has whole intervals, the resolution included.
      const lagMs = Math.max(0, delays.percentile(99) / 1e6 - RESOLUTION_MS)
      delays.reset()
      return { load: loadBetween(oldest, now), lagMs, activeRequests: activeRequests() }
    },
    close: () => void delays.disable(),
  }
}

function loadBetween(before: Reading, after: Reading): number {
  const passedMs = after.atMs - before.atMs
  return passedMs > 0 ? (after.cpuMs - before.cpuMs) / passedMs : 0
}

function processCpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}
