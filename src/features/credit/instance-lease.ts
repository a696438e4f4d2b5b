/**
 * The row by which other processes know that this one is there. Who was not seen for 30 s, by the database's clock, is
 * gone: its holds may be swept, its spool read.
 */
import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema.ts'
import { databaseNow, databaseTimeIn } from '../../jobs/clock.ts'

export const LEASE_MS = 30_000
export const RENEW_EVERY_MS = 5_000
/** A longer silence of the database looks to everybody as if all others were gone. */
export const LEASE_GAP_MS = 15_000
const FORGOTTEN_AFTER_MS = 24 * 3_600_000
const RENEWALS_AN_HOUR = 3_600_000 / RENEW_EVERY_MS

/** What a process says of itself with each renewal. */
export interface InstanceReport {
  /** CPU time of the last minute: 1 is one processor. */
  readonly load: number
  /** How late the event loop is. */
  readonly lagMs: number
  /** Completions under way. */
  readonly activeRequests: number
}

export interface InstanceLeaseInput {
  readonly db: Kysely<Database>
  readonly instanceId: string
  readonly version: string
  readonly role: string
  /** Where other processes and operators reach it; undefined: nowhere yet. */
  readonly address: string | undefined
  /** Undefined: it says nothing of itself. */
  readonly report?: (() => InstanceReport) | undefined
  readonly log: { warn(fields: object, message: string): void }
}

export interface InstanceLease {
  /** Resolves when other processes see this one; rejects when the database is not available. */
  start(): Promise<void>
  /** Where it is reached from now on; undefined: nowhere, though it lives. Never rejects. */
  moveTo(address: string | undefined): Promise<void>
  /** Renews now. Never rejects. Without it the lease renews itself every 5 s. */
  renew(): Promise<void>
  /** Whether it was renewed without a gap for as long as others are given: only then may others be taken for gone. */
  steady(): boolean
  /** Processes that were seen lately, this one among them, as of the last renewal. */
  processes(): number
  /** Deletes the row, if the database is there. */
  close(): Promise<void>
}

export function createInstanceLease(input: InstanceLeaseInput): InstanceLease {
  const { db, log } = input
  let { address } = input
  let closed = false
  let timer: NodeJS.Timeout | undefined
  let under: Promise<void> | undefined
  let renewals = 0
  let steadySince = 0
  let seenAt: number | undefined
  let processes = 1
  const touch = async () => {
    const now = await writeRow({ ...input, address })
    if (seenAt === undefined || now < seenAt || now - seenAt > LEASE_GAP_MS) steadySince = now
    seenAt = now
    processes = await countProcesses(db)
    if (renewals++ % RENEWALS_AN_HOUR === 0) await forgetInstances(db)
  }
  const renew = () => {
    under ??= touch()
      .catch((error: unknown) => log.warn({ error: String(error) }, 'the lease of this process was not renewed'))
      .finally(() => {
        under = undefined
      })
    return under
  }
  return {
    processes: () => processes,
    async start() {
      await touch()
      timer = setInterval(renew, RENEW_EVERY_MS).unref()
    },
    async moveTo(next) {
      address = next
      await under // it may have been written with the one before
      if (!closed) await renew()
    },
    renew,
    steady: () => seenAt !== undefined && seenAt - steadySince >= LEASE_MS,
    async close() {
      closed = true
      clearInterval(timer)
      await under
      await deleteRow(input)
    },
  }
}

async function deleteRow({ db, instanceId, log }: InstanceLeaseInput): Promise<void> {
  await db
    .deleteFrom('instance')
    .where('id', '=', instanceId)
    .execute()
    .catch((error: unknown) => log.warn({ error: String(error) }, 'the lease of this process was not given back'))
}

/**
 * Whether another process has not been seen for so long that it must be gone. Nobody is, for a process whose own lease
 * is not fresh: on a machine that was asleep every lease has run out.
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

/** Rows of processes that were not seen for a day. */
export async function forgetInstances(db: Kysely<Database>): Promise<void> {
  await db.deleteFrom('instance').where('seen_at', '<', databaseTimeIn(-FORGOTTEN_AFTER_MS)).execute()
}

async function countProcesses(db: Kysely<Database>): Promise<number> {
  const { processes } = await db
    .selectFrom('instance')
    .select(({ fn }) => fn.countAll<number>().as('processes'))
    .where('seen_at', '>=', databaseTimeIn(-LEASE_MS))
    .executeTakeFirstOrThrow()
  return Math.max(1, processes)
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
