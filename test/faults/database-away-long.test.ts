/** A minute without the database is slow. Runs on one database: it starts its own PostgreSQL. */
import { test } from 'node:test'
import { survivesOutage } from './kit/database-away.ts'

test('R-F2: for a minute without the database known keys are accepted, no request is admitted, running ones continue', async () => {
  await survivesOutage(60_000)
})
