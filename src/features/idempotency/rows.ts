/**
 * The table of keys: their owners, leases and outcomes. Statements only, no decisions. All times are by the database's clock,
 * so that the clocks of processes do not matter.
 */

import { type Kysely, sql } from 'kysely'
import type { BatchStatement } from '../../db/database.ts'
import type { Database, IdempotencyTable } from '../../db/schema/schema.ts'
import type { SavedAnswer } from '../../domain/credit.ts'
import type { AccountId } from '../../domain/ids.ts'
import { createBatcher } from '../../jobs/batcher.ts'
import { databaseNow } from '../../jobs/sql.ts'

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
export function renewStatements(db: Kysely<Database>, claims: readonly Claim[], leaseMs: number): BatchStatement[] {
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
