/** Budgets of all levels and windows against a model of them, many times. `RUNS=10000` for a long run. It is slow. */
import { test } from 'node:test'
import { dialect } from '../support/database.ts'
import { assertLevelsAsModelled } from '../support/ledger/budget-levels.ts'

/**
 * Others each time. So many limit every level in every window about thirty times on SQLite; a sequence takes several times
 * as long on PostgreSQL.
 */
const RUNS = Number(process.env['RUNS'] ?? (dialect === 'sqlite' ? 500 : 100))

test(`INV-3, INV-11: ${RUNS} sequences of units move all levels and windows as a model of them says, on ${dialect}`, async (t) => {
  await assertLevelsAsModelled(t, RUNS)
})
