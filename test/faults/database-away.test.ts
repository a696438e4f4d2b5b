/** Runs on one database: it starts its own PostgreSQL. */
import { test } from 'node:test'
import { survivesOutage } from './kit/database-away.ts'

test('R-F2: for two seconds without the database known keys are accepted, no request is admitted, running ones continue', async () => {
  await survivesOutage(2_000)
})
