/**
 * Preloaded into a gateway (`NODE_OPTIONS=--import=…`): each SIGUSR2 arms the next of `TURNPIKE_TEST_FAULTS`
 * (`throw:after_hold,reject:after_send`), and something is wrong the next time that the process gets to that point.
 * `throw`: an exception; `reject`: a promise fails that nobody waits for; `uncaught`: an exception outside of every request;
 * `invariant`: what must hold does not.
 */
import { invariant, onReach } from '../../../src/lib/crash-point.ts'

/** With it the program would start from its sources, for more than twice the CPU time. */
delete process.env['NODE_OPTIONS']

const MESSAGE = 'the test broke it'
const faults = (process.env['TURNPIKE_TEST_FAULTS'] ?? '').split(',').values()

process.on('SIGUSR2', () => {
  const { value: fault = '' } = faults.next()
  const [kind, point] = fault.split(':')
  onReach((reached) => {
    if (reached !== point) return
    onReach(undefined)
    fail(kind)
  })
  console.log(`armed: ${fault}`)
})

function fail(kind: string | undefined): void {
  if (kind === 'throw') throw new Error(MESSAGE)
  if (kind === 'reject') void Promise.reject(new Error(MESSAGE))
  if (kind === 'invariant') invariant(false, MESSAGE)
  if (kind === 'uncaught') {
    setImmediate(() => {
      throw new Error(MESSAGE)
    })
  }
}
