/**
 * The table of keys: their owners, leases and outcomes. Statements only, no decisions. All times are by the database's clock,
 * so that the clocks of processes do not matter.
 */

import { setTimeout as pause } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import type { BatchStatement } from '../../db/database.ts'
import { isDatabaseUnavailable } from '../../db/failure.ts'
import type { Database, IdempotencyTable } from '../../db/schema/schema.ts'
import type { SavedAnswer } from '../../domain/credit.ts'
import type { AccountId } from '../../domain/ids.ts'
import { createBatcher } from '../../jobs/batcher.ts'
import { databaseNow } from '../../jobs/sql.ts'
import { createInFlight } from '../../lib/collections.ts'

/** How long an outcome is kept from the end of a request; then its key is free. */
const KEPT_MS = 24 * 60 * 60 * 1000

/** Identifies a key, which belongs to an account and an endpoint. */
export interface KeyReference {
  readonly accountId: AccountId
  readonly endpoint: string
  readonly key: string
}

/** A request that owns or claims the key. */
export interface Claim extends KeyReference {
  readonly fingerprint: Uint8Array
  readonly subjectId: string
}

export type KeyRow = Pick<
  IdempotencyTable,
  'fingerprint' | 'state' | 'subject_id' | 'instance_id' | 'lease_until' | 'status' | 'headers' | 'body' | 'ended_at'
> & {
  /** When the row was read. */
  readonly looked_at: number
}

/** An expired lease of a request without an outcome. */
export type LapsedLease = Pick<KeyRow, 'subject_id' | 'lease_until'>

export interface Lease {
  readonly instanceId: string
  readonly leaseMs: number
}

/**
 * Claims a key that is new, free, or past its retention; also one with the lease `lapsed`, unless that has changed. Otherwise
 * changes nothing: the row then names its owner.
 */
export function claimStatement(
  db: Kysely<Database>,
  { accountId, endpoint, key, fingerprint, subjectId }: Claim,
  { instanceId, leaseMs, lapsed }: Lease & { readonly lapsed: LapsedLease | undefined },
): BatchStatement {
  return sql`
    insert into idempotency
      (account_id, endpoint, key, fingerprint, state, subject_id, instance_id, lease_until, created_at)
    values
      (${accountId}, ${endpoint}, ${key}, ${fingerprint}, 'running', ${subjectId}, ${instanceId},
       ${databaseNow()} + ${leaseMs}, ${databaseNow()})
    on conflict (account_id, endpoint, key) do update set
      fingerprint = excluded.fingerprint, state = 'running', subject_id = excluded.subject_id,
      instance_id = excluded.instance_id, lease_until = excluded.lease_until, created_at = excluded.created_at,
      status = null, headers = null, body = null, ended_at = null
    where idempotency.state = 'freed'
      or idempotency.ended_at <= excluded.created_at - ${sql.lit(KEPT_MS)}
      or (idempotency.state = 'running' and idempotency.subject_id = ${lapsed?.subject_id ?? null}
          and idempotency.lease_until = ${lapsed?.lease_until ?? null})
  `.compile(db)
}

/** One statement for each claim, with equal text. Changes nothing if the claim no longer owns the key. */
function renewStatements(db: Kysely<Database>, claims: readonly Claim[], leaseMs: number): BatchStatement[] {
  const [first] = claims
  if (first === undefined) return []
  const renewal =
    sql`update idempotency set lease_until = ${databaseNow()} + ${leaseMs} ${whereRunning(first)}`.compile(db)
  return claims.map(({ accountId, endpoint, key, subjectId }) => ({
    sql: renewal.sql,
    parameters: [leaseMs, accountId, endpoint, key, subjectId],
  }))
}

/** Ends a running request. Changes nothing if the claim no longer owns the key. */
export function endStatement(
  db: Kysely<Database>,
  claim: KeyReference & Pick<Claim, 'subjectId'>,
  { state, answer }: { readonly state: 'kept' | 'freed'; readonly answer: SavedAnswer | undefined },
): BatchStatement {
  const headers = answer === undefined ? null : JSON.stringify(answer.headers)
  return sql`
    update idempotency set
      state = ${state}, status = ${answer?.status ?? null}, headers = ${headers}, body = ${answer?.body ?? null},
      ended_at = ${databaseNow()}
    ${whereRunning(claim)}
  `.compile(db)
}

/** Withdraws a claim that no request runs. */
export function withdrawStatement(db: Kysely<Database>, claim: Claim): BatchStatement {
  return sql`delete from idempotency ${whereRunning(claim)}`.compile(db)
}

function whereRunning({ accountId, endpoint, key, subjectId }: KeyReference & Pick<Claim, 'subjectId'>) {
  return sql`
    where account_id = ${accountId} and endpoint = ${endpoint} and key = ${key}
      and subject_id = ${subjectId} and state = 'running'
  `
}

export async function findKey(
  db: Kysely<Database>,
  { accountId, endpoint, key }: KeyReference,
): Promise<KeyRow | undefined> {
  return await db
    .selectFrom('idempotency')
    .select(['fingerprint', 'state', 'subject_id', 'instance_id', 'lease_until'])
    .select(['status', 'headers', 'body', 'ended_at'])
    .select(databaseNow().as('looked_at'))
    .where(({ and }) => and({ account_id: accountId, endpoint, key }))
    .executeTakeFirst()
}

/** The key under which a subject runs. */
export async function findKeyOfSubject(
  db: Kysely<Database>,
  accountId: AccountId,
  subjectId: string,
): Promise<KeyReference | undefined> {
  const row = await db
    .selectFrom('idempotency')
    .select(['endpoint', 'key'])
    .where(({ and }) => and({ account_id: accountId, subject_id: subjectId }))
    .where('state', '=', sql.lit('running')) // a literal: the index contains running rows only
    .executeTakeFirst()
  return row === undefined ? undefined : { accountId, ...row }
}

/** Statements of one transaction. */
const MAX_BATCH = 200

/**
 * Resolves when the statement is committed. Statements are executed in the order of the calls. Rejects with
 * `database_unavailable` together with its whole batch, with other errors individually.
 */
export type StatementQueue = (statement: BatchStatement) => Promise<void>

/** Group commit: statements that arrive during a transaction share the next one, and its wait for the disk. */
export function createStatementQueue(batch: (statements: readonly BatchStatement[]) => Promise<void>): StatementQueue {
  return createBatcher({ size: MAX_BATCH }, async (statements: readonly BatchStatement[]) => {
    await batch(statements)
    return statements.map(() => undefined)
  })
}

/** Leases renewed in one transaction, which occupies the writer. */
const RENEWED_AT_ONCE = 1_000

export interface LeaseRenewalInput {
  readonly db: Kysely<Database>
  readonly batch: (statements: readonly BatchStatement[]) => Promise<void>
  readonly log: { warn(fields: object, message: string): void }
  readonly leaseMs: number
  readonly renewMs: number
  /** Running requests. */
  readonly claims: () => readonly Claim[]
}

export interface LeaseRenewal {
  start(): void
  stop(): void
}

/** Renews the leases of all running requests together, so that none of them needs a timer. */
export function createLeaseRenewal({ db, batch, log, leaseMs, renewMs, claims }: LeaseRenewalInput): LeaseRenewal {
  let timer: NodeJS.Timeout | undefined
  let busy = false
  const renew = async () => {
    if (busy) return
    busy = true
    try {
      const due = claims()
      for (let at = 0; at < due.length; at += RENEWED_AT_ONCE) {
        await batch(renewStatements(db, due.slice(at, at + RENEWED_AT_ONCE), leaseMs))
      }
    } catch (error) {
      log.warn({ error: String(error) }, 'leases of idempotency keys were not renewed')
    }
    busy = false
  }
  return {
    start() {
      timer ??= setInterval(renew, renewMs).unref()
    },
    stop: () => clearInterval(timer),
  }
}

/** Longer answers are not passed to requests in other processes, which then run themselves. */
const MAX_SHARED_ERROR_BYTES = 64 * 1024
const FIRST_RETRY_MS = 50
const LAST_RETRY_MS = 1_000

interface KeyReleaseInput {
  readonly db: Kysely<Database>
  readonly queue: StatementQueue
  readonly log: { warn(fields: object, message: string): void }
  readonly closeTimeoutMs: number
}

export interface KeyRelease {
  /** Never throws, never waits. A key that cannot be freed is free when its lease expires. */
  free(claim: Claim, answer: SavedAnswer): void
  /** Number of keys that are not yet freed in the database. */
  readonly pending: number
  close(): Promise<void>
}

/** Frees keys, and retries while the database is unavailable. */
export function createKeyRelease({ db, queue, log, closeTimeoutMs }: KeyReleaseInput): KeyRelease {
  const pending = createInFlight<Promise<void>>()
  let isStopped = false
  const write = async (claim: Claim, answer: SavedAnswer) => {
    const kept = Buffer.byteLength(answer.body) > MAX_SHARED_ERROR_BYTES ? undefined : answer
    const statement = endStatement(db, claim, { state: 'freed', answer: kept })
    for (let delayMs = FIRST_RETRY_MS; !isStopped; delayMs = Math.min(LAST_RETRY_MS, delayMs * 2)) {
      try {
        return await queue(statement)
      } catch (error) {
        if (!isDatabaseUnavailable(error)) return log.warn({ error: String(error) }, 'an idempotency key was not freed')
        await pause(delayMs)
      }
    }
  }
  return {
    free(claim, answer) {
      const written = write(claim, answer)
      void written.then(pending.add(written))
    },
    get pending() {
      return pending.size
    },
    async close() {
      const timer = new AbortController()
      const timeout = pause(closeTimeoutMs, undefined, { signal: timer.signal }).catch(() => undefined)
      await Promise.race([Promise.all(pending.items()), timeout])
      isStopped = true
      timer.abort()
    },
  }
}
