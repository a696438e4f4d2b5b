import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { CRASH_POINTS } from '../../src/lib/crash-point.ts'
import { assertSound, printVerdict, startCrashLoop } from '../support/crash-loop.ts'

const PRELOAD = pathToFileURL(join(import.meta.dirname, '..', 'support', 'crash-at.ts')).href
/** How often a point is passed before the process dies there: at the first request, and in the middle of others. */
const TIMES = [1, 25]

test('F16, INV-4, INV-5, INV-6: killed at every named point, nothing is unmetered, nothing is charged twice', async (t) => {
  const loop = await startCrashLoop()
  t.after(() => loop.close())
  const crashAt = (point: string, after: number) => ({
    NODE_OPTIONS: `--import=${PRELOAD}`,
    TURNPIKE_TEST_CRASH_AT: point,
    TURNPIKE_TEST_CRASH_AFTER: String(after),
  })
  // The last is the sweeper: it gets to what the others left once they have been gone for 30 s, and dies as well.
  for (const point of CRASH_POINTS) {
    for (const after of point === 'in_sweeper' ? [1] : TIMES) await loop.round(point, { env: crashAt(point, after) })
  }
  const verdict = await loop.verify()
  printVerdict('named points', verdict)
  assertSound(verdict)
})
