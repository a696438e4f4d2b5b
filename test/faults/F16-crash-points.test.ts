/** Minutes, so it is slow: a gateway dies at every named point of a request, under load. */
import { test } from 'node:test'
import { CRASH_POINTS } from '../../src/lib/crash-point.ts'
import { dialect } from '../support/database.ts'
import { crashAt } from './kit/crash.ts'
import { assertSound, printVerdict, startCrashLoop } from './kit/crash-loop.ts'

/**
 * How often a point is passed before the process dies there: at the first request, and in the middle of others; on PostgreSQL
 * the latter alone, since a start costs seconds.
 */
const TIMES = dialect === 'postgres' ? [25] : [1, 25]

test('F16, INV-4, INV-5, INV-6: killed at every named point, nothing is unmetered, nothing is charged twice', async (t) => {
  const loop = await startCrashLoop()
  t.after(() => loop.close())
  // The last is the sweeper: it gets to what the others left once they have been gone for 30 s, and dies as well.
  for (const point of CRASH_POINTS) {
    for (const after of point === 'in_sweeper' ? [1] : TIMES) await loop.round(point, { env: crashAt(point, after) })
  }
  const verdict = await loop.verify()
  printVerdict('named points', verdict)
  assertSound(verdict)
})
