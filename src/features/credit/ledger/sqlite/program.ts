/**
 * The ledger's program in the database's writer thread: a batch is one transaction. Nothing on the main thread imports
 * it; `store.ts` sends it batches.
 */
import { resultCodeOf } from '../../../../db/failure.ts'
import type { ProgramConnection } from '../../../../db/sqlite/connection.ts'
import { createSteadyClock } from '../../../../lib/time.ts'
import { WriteConflict } from '../transaction.ts'
import type { Outcome, Unit } from '../unit.ts'
import { applyUnits } from './transaction.ts'
import { unitsOf, type WireBatch } from './wire.ts'

/** A batch that lost a race is carried out again on what is there now. */
const MAX_ATTEMPTS = 5

/** SQLite's primary result codes that speak of what is to be written, not of the state of the database. */
const UNIT_ERROR_CODES: ReadonlySet<number> = new Set([
  18, // TOOBIG
  19, // CONSTRAINT
  20, // MISMATCH
  25, // RANGE
])

/** SQLite's clock is this machine's. The time of a ledger never goes back, so that it must not be wrong for a moment. */
const clock = createSteadyClock(Date.now, () => performance.now())

/** Throws, with nothing committed, for everything that is not one unit's fault. */
export function run(connection: ProgramConnection, payload: unknown): readonly Outcome[] {
  const batch = payload as WireBatch // `store.ts` sends nothing else
  const units = unitsOf(batch)
  const { now = clock() } = batch
  if (units.length === 0) return probeWrite(connection)
  for (let attempt = 1; ; attempt++) {
    try {
      return inTransaction(connection, () => applyUnits(connection, units, now))
    } catch (error) {
      if (error instanceof WriteConflict && attempt < MAX_ATTEMPTS) continue
      if (!isUnitError(error)) throw error
      return inTransaction(connection, () => units.map((unit) => applyAlone(connection, unit, now)))
    }
  }
}

function inTransaction<Result>(connection: ProgramConnection, action: () => Result): Result {
  connection.begin()
  try {
    const result = action()
    connection.commit()
    return result
  } catch (error) {
    connection.rollback()
    throw error
  }
}

/** Slower, but what the database refuses of one unit is taken back alone. */
function applyAlone(connection: ProgramConnection, unit: Unit, now: number): Outcome {
  connection.savepoint()
  try {
    const [outcome] = applyUnits(connection, [unit], now)
    if (outcome === undefined) throw new Error('A unit has no outcome.')
    connection.release()
    return outcome
  } catch (error) {
    if (!isUnitError(error)) throw error
    connection.rollbackToSavepoint()
    return { kind: 'failed', message: error instanceof Error ? error.message : String(error) }
  }
}

/** What is not SQLite's is a fault of our own in carrying out one unit: it must not stop the others either. */
function isUnitError(error: unknown): boolean {
  const code = resultCodeOf(error)
  return code === undefined || UNIT_ERROR_CODES.has(code & 0xff)
}

/** An empty batch asks whether the database can be written to. A page must be written to tell: the disk may be full. */
function probeWrite(connection: ProgramConnection): readonly Outcome[] {
  inTransaction(connection, () => connection.prepare('pragma user_version = 0').run())
  return []
}
