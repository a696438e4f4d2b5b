/**
 * The ledger on PostgreSQL: each batch is one transaction of three round trips, whatever its size. The first locks the
 * batch's accounts and reads what its units need, the second writes a statement for each table, the third commits. Rare
 * units (late settlements, keys with a new budget or with parents) add reads.
 *
 * READ COMMITTED is enough: every change of an account's money, by any process, is made under the lock of its row, and
 * what is read after the lock is what its last holder has committed. Nothing of two accounts is decided together.
 */
import { DatabaseError, databaseUnavailable } from '../../../../db/failure.ts'
import type { Postgres, PostgresClient } from '../../../../db/postgres/client.ts'
import { GatewayError } from '../../../../domain/errors.ts'
import { applyBatch, WriteConflict } from '../apply-batch.ts'
import type { Batch, LedgerStore, Outcome, Unit } from '../unit.ts'
import { createMemoryTransaction } from './memory.ts'
import { lockAccounts, readBatchData, refsOf } from './reads.ts'
import { writeBatch } from './writes.ts'

/** Of a batch that the server rolled back because of other transactions. */
const MAX_ATTEMPTS = 5
/** Each waits 2 s for a lock; holds are rejected after 5 s. */
const MAX_LOCK_TIMEOUTS = 2

const SERIALIZATION_FAILURE = '40001'
const DEADLOCK = '40P01'
const LOCK_TIMEOUT = '55P03'
/** Classes of SQLSTATE caused by the rows to write, not by the state of the database. */
const UNIT_ERROR_CLASSES: ReadonlySet<string> = new Set([
  '22', // data exception
  '23', // integrity constraint violation
  '27', // triggered data change violation
  'P0', // raised by a trigger
])

export function createPostgresStore(postgres: Pick<Postgres, 'transaction'>): LedgerStore {
  return { commit: (batch) => commit(postgres, batch) }
}

async function commit({ transaction }: Pick<Postgres, 'transaction'>, batch: Batch): Promise<readonly Outcome[]> {
  let carry = batch.units.length === 0 ? probeWrite : applyTogether
  let lockTimeouts = 0
  for (let attempt = 1; ; attempt++) {
    try {
      return await transaction((client) => carry(client, batch))
    } catch (error) {
      const state = sqlStateOf(error)
      if (state === LOCK_TIMEOUT && ++lockTimeouts >= MAX_LOCK_TIMEOUTS) throw error
      if (attempt < MAX_ATTEMPTS && (error instanceof WriteConflict || isRolledBackForOthers(state))) continue
      if (carry === applySeparately || !isUnitError(error)) throw unavailable(error)
      carry = applySeparately
    }
  }
}

async function applyTogether(client: PostgresClient, { units, now }: Batch): Promise<readonly Outcome[]> {
  const facts = await readBatchData(client, refsOf(units), now)
  const memory = createMemoryTransaction(facts)
  const { outcomes, accounts } = applyBatch(memory, units)
  await writeBatch(client, { written: memory.written, accounts: accounts.values(), now: facts.now })
  return outcomes
}

/** Slower, but a unit that the database rejects is rolled back alone. Takes all locks first, in their order. */
async function applySeparately(client: PostgresClient, { units, now }: Batch): Promise<readonly Outcome[]> {
  await lockAccounts(client, refsOf(units))
  return applyHalves(client, units, now)
}

/** Applies the halves in order, and splits a half that is rejected until it is one unit. */
async function applyPart(
  client: PostgresClient,
  units: readonly Unit[],
  now: Batch['now'],
): Promise<readonly Outcome[]> {
  await client.query('savepoint part')
  try {
    const outcomes = await applyTogether(client, { units, now })
    await client.query('release savepoint part')
    return outcomes
  } catch (error) {
    if (!isUnitError(error)) throw error
    await client.query('rollback to savepoint part')
    await client.query('release savepoint part')
    if (units.length > 1) return applyHalves(client, units, now)
    return [{ kind: 'failed', message: error instanceof Error ? error.message : String(error) }]
  }
}

async function applyHalves(
  client: PostgresClient,
  units: readonly Unit[],
  now: Batch['now'],
): Promise<readonly Outcome[]> {
  const middle = Math.ceil(units.length / 2)
  const first = await applyPart(client, units.slice(0, middle), now)
  if (middle === units.length) return first
  return [...first, ...(await applyPart(client, units.slice(middle), now))]
}

/** For an empty batch: tests whether the database accepts writes, by writing and flushing a record. */
async function probeWrite(client: PostgresClient): Promise<readonly Outcome[]> {
  await client.query("select pg_logical_emit_message(true, 'turnpike', '')::text as position")
  return []
}

/** The response to a commit may be lost, so only batches that the server reports as rolled back are retried. */
function isRolledBackForOthers(state: string | undefined): boolean {
  return state === SERIALIZATION_FAILURE || state === DEADLOCK || state === LOCK_TIMEOUT
}

/** An error that is not from the database is a bug in applying one unit, and must not stop the others either. */
function isUnitError(error: unknown): boolean {
  if (error instanceof GatewayError) return false
  if (!(error instanceof DatabaseError)) return true
  return UNIT_ERROR_CLASSES.has(sqlStateOf(error)?.slice(0, 2) ?? '')
}

function sqlStateOf(error: unknown): string | undefined {
  const refusal = error instanceof GatewayError ? error.cause : error
  return refusal instanceof DatabaseError ? refusal.sqlState : undefined
}

function unavailable(error: unknown): GatewayError {
  return error instanceof GatewayError ? error : databaseUnavailable(error)
}
