/** OVL-4: measures the effect of an account at ten times its rate limit on another one, in pairs of runs. */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { send } from '../test/support/client.ts'
import { type Gateway, startGateway } from '../test/support/gateway.ts'
import { configOf } from './bench-config.ts'
import { BUDGETS } from './budgets.ts'
import { bodyOf, pace, type Target, type Work } from './load.ts'
import { comparePairs } from './pairs.ts'
import { type BenchProcess, start } from './processes.ts'
import { printVerdicts } from './report.ts'

/** A fast provider. With one that responds at once, the p99 would be the noise of the machine. */
const MODEL = 'json-50'
const WORK: Work = { model: MODEL, stream: false }
const PAIRS = 7
const LIMIT_A_MINUTE = 3_000
const TIMES_ITS_LIMIT = 10
/** Load of the measured account. */
const LOAD = { perSecond: 300, seconds: 4 }
/** Time in which the crowd uses up its burst: from rest, and between two runs. */
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

/** Throws unless the gateway limits the crowd: nine of ten of its requests should be rejected. */
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
    const stage = { gateway, quiet, crowdKey }
    await p99(stage)
    await p99InACrowd(stage, FIRST_LEAD_MS)
    const measured = await comparePairs({
      count: PAIRS,
      alone: () => p99(stage),
      beside: () => p99InACrowd(stage),
      load: 'in a crowd',
    })
    const figure = `p99 beside an account at ${TIMES_ITS_LIMIT} × its limit, ×`
    return printVerdicts([{ figure, measured, budget: BUDGETS.crowdedP99Ratio }])
  } finally {
    await gateway.stop()
    upstream.stop()
  }
}
