/**
 * Preloaded into a gateway (`NODE_OPTIONS=--import=…`): the first time that it gets to the point named by
 * `TURNPIKE_TEST_FAULT_AT` something is wrong there. `throw`: an exception; `reject`: a promise fails that nobody waits for;
 * `uncaught`: an exception outside of every request; `invariant`: what must hold does not.
 */
import { invariant, onReach } from '../../../src/lib/crash-point.ts'

const MESSAGE = 'the test broke it'
const point = process.env['TURNPIKE_TEST_FAULT_AT']
const kind = process.env['TURNPIKE_TEST_FAULT']

if (point !== undefined) {
  onReach((reached) => {
    if (reached !== point) return
    onReach(undefined)
    fail()
  })
}

function fail(): void {
  if (kind === 'throw') throw new Error(MESSAGE)
  if (kind === 'reject') void Promise.reject(new Error(MESSAGE))
  if (kind === 'invariant') invariant(false, MESSAGE)
  if (kind === 'uncaught') {
    setImmediate(() => {
      throw new Error(MESSAGE)
    })
  }
}
