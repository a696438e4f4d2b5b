/** Processes that die, or stop, at a named point (`src/lib/crash-point.ts`). */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { CrashPoint } from '../../../src/lib/crash-point.ts'

const CACHE = join(import.meta.dirname, '..', '..', '..', 'node_modules', '.cache', 'turnpike')
const CRASH_AT = pathToFileURL(join(import.meta.dirname, 'crash-at.ts')).href

/** Environment of a gateway process that is killed when it gets to `point` for the `times`-th time. */
export function crashAt(point: CrashPoint, times = 1): Readonly<Record<string, string>> {
  return {
    NODE_OPTIONS: `--import=${CRASH_AT}`,
    NODE_COMPILE_CACHE: CACHE,
    TURNPIKE_TEST_CRASH_AT: point,
    TURNPIKE_TEST_CRASH_AFTER: String(times),
  }
}

/** Environment of a gateway process that stops (SIGSTOP) when it gets to `point` for the first time. */
export function stopAt(point: CrashPoint): Readonly<Record<string, string>> {
  return { ...crashAt(point), TURNPIKE_TEST_CRASH_SIGNAL: 'SIGSTOP' }
}
