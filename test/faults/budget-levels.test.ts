/** Budgets of all levels and windows against a model of them, 10 000 times. It is slow. */
import { test } from 'node:test'
import { dialect } from '../support/database.ts'
import { assertLevelsAsModelled } from '../support/ledger/budget-levels.ts'

/** A run takes several times as long on PostgreSQL. */
const RUNS = dialect === 'sqlite' ? 10_000 : 1_000

test(`INV-3, INV-11: ${RUNS} sequences of units move all levels and windows as a model of them says, on ${dialect}`, async (t) => {
  await assertLevelsAsModelled(t, RUNS)
})
