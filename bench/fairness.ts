/**
 * OVL-4: whether an account at ten times its rate limit is felt by another one. Pairs of runs, one with the crowd and one
 * without, in turn, so that what else the machine does meets both; beside them the same number of pairs without the crowd,
 * which tell how much two equal runs differ here.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { send } from '../test/support/client.ts'
import { type Gateway, startGateway } from '../test/support/gateway.ts'
import { configOf } from './bench-config.ts'
import { BUDGETS } from './budgets.ts'
import { bodyOf, pace, type Target, type Work } from './load.ts'
import { type BenchProcess, percentile, start } from './processes.ts'
import { printVerdicts } from './report.ts'

/** A provider that answers sooner than any real one. With one that answers at once the p99 is the machine's noise. */
const MODEL = 'json-50'
const WORK: Work = { model: MODEL, stream: false }
const PAIRS = 7
const LIMIT_A_MINUTE = 3_000
const TIMES_ITS_LIMIT = 10
/** Of the account that is measured. */
const LOAD = { perSecond: 300, seconds: 4 }
/** Until the crowd has used up what a rested account may send at once, from rest and from between two runs. */
const FIRST_LEAD_MS = 8_000
const LEAD_MS = 2_500

function configWithCrowd(upstreamPort: number): object {
  const { plans, ...config } = configOf(upstreamPort, [MODEL])
  const crowd = { billing: 'postpaid', requests_per_minute: LIMIT_A_MINUTE, max_in_flight: 500 }
  return { ...config, plans: { ...plans, crowd } }
}

function crowd({ port }: Gateway, key: string): Promise<BenchProcess> {
  return start('crowd.ts', String(port), key, String((LIMIT_A_MINUTE * TIMES_ITS_LIMIT) / 60), MODEL)
}

/** Otherwise nothing is shown: nine of ten of its requests are refused. */
async function assertLimited({ gateway, crowdKey }: Stage): Promise<void> {
  for (let attempt = 0; attempt < 10; attempt++) {
    const { status } = await send(gateway, '/v1/chat/completions', { key: crowdKey, body: JSON.parse(bodyOf(WORK)) })
    if (status === 429) return
  }
  throw new Error('The crowd is not at its limit.')
}

interface Stage {
  readonly gateway: Gateway
  readonly quiet: Target
  readonly crowdKey: string
}

async function p99({ quiet }: Stage): Promise<number> {
  return (await pace(quiet, WORK, LOAD)).p99Ms
}

async function p99InACrowd(stage: Stage, leadMs = LEAD_MS): Promise<number> {
  const { stop } = await crowd(stage.gateway, stage.crowdKey)
  await sleep(leadMs)
  await assertLimited(stage)
  const measured = await p99(stage)
  stop()
  await sleep(300)
  return measured
}

async function measure(stage: Stage): Promise<{ readonly crowded: number; readonly equal: number }> {
  await p99(stage)
  await p99InACrowd(stage, FIRST_LEAD_MS)
  const ratios = { crowded: [] as number[], equal: [] as number[] }
  console.log(
    'another account’s p99 of the first byte, ms, 50 of them the provider’s: alone, in a crowd, change   | alone, alone, change',
  )
  for (let pair = 0; pair < PAIRS; pair++) {
    // Who is first changes from pair to pair: what drifts meets both.
    const order = pair % 2 === 0 ? [p99, p99InACrowd] : [p99InACrowd, p99]
    const [first = 0, second = 0] = [await order[0]?.(stage), await order[1]?.(stage)]
    const [alone, crowded] = pair % 2 === 0 ? [first, second] : [second, first]
    const [one, other] = [await p99(stage), await p99(stage)]
    ratios.crowded.push(crowded / alone)
    ratios.equal.push(other / one)
    console.log(`pair ${pair + 1}:  ${cells(alone, crowded)}   | ${cells(one, other)}`)
  }
  return { crowded: percentile(ratios.crowded, 50), equal: percentile(ratios.equal, 50) }
}

function cells(before: number, after: number): string {
  return `${before.toFixed(2).padStart(8)} ${after.toFixed(2).padStart(8)} ${percent(after / before).padStart(8)}`
}

function percent(ratio: number): string {
  return `${ratio >= 1 ? '+' : ''}${((ratio - 1) * 100).toFixed(1)} %`
}

/** @returns whether the budget holds. */
export async function benchFairness(): Promise<boolean> {
  const upstream = await start('upstream.ts')
  const logFile = join(mkdtempSync(join(tmpdir(), 'turnpike-bench-')), 'gateway.log')
  const gateway = await startGateway({ config: configWithCrowd(upstream.port), logFile, env: { LOG_LEVEL: 'info' } })
  try {
    const { port, pid } = gateway
    const account = await gateway.cli('accounts', 'create', '--name', 'crowd', '--plan', 'crowd')
    const crowdKey = await gateway.key('--account', account)
    const quiet = { name: 'quiet', port, pid, key: await gateway.key() }
    const { crowded, equal } = await measure({ gateway, quiet, crowdKey })
    console.log(`median of ${PAIRS} pairs: ${percent(crowded)} in a crowd, ${percent(equal)} between equal runs\n`)
    const figure = `p99 beside an account at ${TIMES_ITS_LIMIT} × its limit, ×`
    return printVerdicts([{ figure, measured: crowded, budget: BUDGETS.crowdedP99Ratio }])
  } finally {
    await gateway.stop()
    upstream.stop()
  }
}
