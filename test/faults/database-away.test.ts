/** Runs on one database: it starts its own PostgreSQL. */
import { test } from 'node:test'
import { survivesOutage } from './kit/database-away.ts'

test('R-F2: for two seconds without the database known keys are let in, nothing is admitted, what runs goes on', async () => {
  await survivesOutage(2_000)
})
