/**
 * Preloaded into a gateway (`NODE_OPTIONS=--import=…`): kills the process where `TURNPIKE_TEST_CRASH_AT` says, the
 * `TURNPIKE_TEST_CRASH_AFTER`-th time that it gets there. The names are the test's, not the product's.
 */
import { onReach } from '../../../src/lib/crash-point.ts'

const wanted = process.env['TURNPIKE_TEST_CRASH_AT']
let left = Number(process.env['TURNPIKE_TEST_CRASH_AFTER'] ?? 1)

if (wanted !== undefined) {
  onReach((point) => {
    if (point !== wanted) return
    left -= 1
    if (left <= 0) process.kill(process.pid, 'SIGKILL')
  })
}
