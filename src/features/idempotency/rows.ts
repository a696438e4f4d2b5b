/**
 * The table of keys: who has one, until when, and what came of it. Statements and no decisions. All times are the
 * database's own, so that processes need not agree on what time it is.
 */

import { type Kysely, sql } from 'kysely'
import type { BatchStatement } from '../../db/database.ts'
import type { Database, IdempotencyTable } from '../../db/schema/schema.ts'
import type { SavedAnswer } from '../../domain/credit.ts'
import type { AccountId } from '../../domain/ids.ts'
import { createBatcher } from '../../jobs/batcher.ts'
import { databaseNow } from '../../jobs/sql.ts'

/** From the end of a request; afterwards its key may be used for anything. */
const KEPT_MS = 24 * 60 * 60 * 1000

/** Which key; it belongs to an account and an endpoint. */
export interface KeyReference {
  readonly accountId: AccountId
  readonly endpoint: string
  readonly key: string
}

/** A request that has the key, or wants it. */
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

/** A lease that is over, of a request that never came to anything. */
export type LapsedLease = Pick<KeyRow, 'subject_id' | 'lease_until'>

export interface Lease {
  readonly instanceId: string
  readonly leaseMs: number
}

/**
 * Takes a key that is new, free, or was kept long enough; one that `lapsed`, unless its lease has changed since. Does
 * nothing otherwise: whose it is then is in the row.
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

/** One statement for each claim, all with the same text. They change nothing where the key is no longer the claim's. */
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

/** Ends a running request. Changes nothing when the key is no longer the claim's. */
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

/** Takes a claim back that nobody runs. */
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
    .where('state', '=', sql.lit('running')) // a literal: the index is of running rows alone
    .executeTakeFirst()
  return row === undefined ? undefined : { accountId, ...row }
}

/** Statements of one transaction. */
const MAX_BATCH = 200

/**
 * Resolves when the statement is committed. Statements are carried out in the order of the calls. Rejects with
 * `database_unavailable` together with its whole batch, with anything else alone.
 */
export type StatementQueue = (statement: BatchStatement) => Promise<void>

/** Group commit: statements that arrive while a transaction is under way share the next one, and its wait for the disk. */
export function createStatementQueue(batch: (statements: readonly BatchStatement[]) => Promise<void>): StatementQueue {
  return createBatcher({ size: MAX_BATCH }, async (statements: readonly BatchStatement[]) => {
    await batch(statements)
    return statements.map(() => undefined)
  })
}
