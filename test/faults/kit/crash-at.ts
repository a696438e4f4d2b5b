/**
 * Preloaded into a gateway (`NODE_OPTIONS=--import=…`): kills the process where `TURNPIKE_TEST_CRASH_AT` says, the
 * `TURNPIKE_TEST_CRASH_AFTER`-th time that it gets there, or stops it (`TURNPIKE_TEST_CRASH_SIGNAL=SIGSTOP`). The names are
 * the test's, not the product's.
 */
import { onReach } from '../../../src/lib/crash-point.ts'

const wanted = process.env['TURNPIKE_TEST_CRASH_AT']
const signal = process.env['TURNPIKE_TEST_CRASH_SIGNAL'] === 'SIGSTOP' ? 'SIGSTOP' : 'SIGKILL'
let left = Number(process.env['TURNPIKE_TEST_CRASH_AFTER'] ?? 1)
/** With it the program would start from its sources, for more than twice the CPU time. */
delete process.env['NODE_OPTIONS']

if (wanted !== undefined) {
  onReach((point) => {
    if (point !== wanted) return
    left -= 1
    if (signal === 'SIGSTOP' ? left === 0 : left <= 0) process.kill(process.pid, signal)
  })
}
