/** `npm run bench -- --canary`: requests that are dropped while a canary is shifted by reloads, at 500 requests a second. */
import { shiftCanary } from '../test/support/canary-shift.ts'
import { BUDGETS } from './budgets.ts'
import { printVerdicts } from './report.ts'

const PER_SECOND = 500
const SECONDS = 10

/** @returns whether the budgets hold. */
export async function benchCanary(): Promise<boolean> {
  const { answers, later, perSecond, isReconciled } = await shiftCanary({ perSecond: PER_SECOND, seconds: SECONDS })
  const dropped = answers.filter(({ status }) => status !== 200).length
  const stale = later.filter(({ model }) => model !== 'canary').length
  console.log(`${answers.length} requests, ${Math.round(perSecond)} of ${PER_SECOND} a second, ${SECONDS} reloads`)
  console.log(`ledger: ${isReconciled ? 'agrees' : 'DISAGREES'}`)
  const isLoaded = printVerdicts([
    { figure: 'requests that were dropped', measured: dropped, budget: BUDGETS.canaryDropped },
    { figure: 'answers by old weights after the last reload', measured: stale, budget: BUDGETS.canaryDropped },
    {
      figure: 'milliseconds between two requests, as the machine allowed',
      measured: 1000 / perSecond,
      budget: BUDGETS.canaryIntervalMs,
    },
  ])
  return isLoaded && isReconciled
}
