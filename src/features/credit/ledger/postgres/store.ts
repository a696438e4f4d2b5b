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

/** A batch that was rolled back for others' sake is carried out again on what is there then. */
const MAX_ATTEMPTS = 5
/** A lock is waited for 2 s each time; holds are refused after 5. */
const MAX_LOCK_TIMEOUTS = 2

const SERIALIZATION_FAILURE = '40001'
const DEADLOCK = '40P01'
const LOCK_TIMEOUT = '55P03'
/** Classes of SQLSTATE that speak of what is to be written, not of the state of the database. */
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

/** Slower, but what the database refuses of one unit is taken back alone. All locks come first, in their order. */
async function applySeparately(client: PostgresClient, { units, now }: Batch): Promise<readonly Outcome[]> {
  await lockAccounts(client, refsOf(units))
  return applyHalves(client, units, now)
}

/** In order, each half on what the one before it has written; what is refused is halved until it is one unit. */
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

/** An empty batch asks whether the database can be written to. A record must be written and flushed to tell. */
async function probeWrite(client: PostgresClient): Promise<readonly Outcome[]> {
  await client.query("select pg_logical_emit_message(true, 'turnpike', '')::text as position")
  return []
}

/** The answer to a commit may be lost: only what the database says it has rolled back is tried again. */
function isRolledBackForOthers(state: string | undefined): boolean {
  return state === SERIALIZATION_FAILURE || state === DEADLOCK || state === LOCK_TIMEOUT
}

/** What is not the database's is a fault of our own in carrying out one unit: it must not stop the others either. */
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
