/**
 * Measures the effect of bodies that are built to stall the gateway on another account's requests and on memory: the p99
 * alone, and beside 24 concurrent hostile bodies of 8 MiB, with a heap of 1 GiB.
 */
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Gateway, startGateway } from '../test/support/gateway.ts'
import { configOf } from './bench-config.ts'
import { BUDGETS } from './budgets.ts'
import { pace, type Work } from './load.ts'
import { start } from './processes.ts'
import { printVerdicts } from './report.ts'

const MODEL = 'json'
const WORK: Work = { model: MODEL, stream: false }
const HEAP_MIB = 1024
const LOAD = { perSecond: 50, seconds: 8 }
const ROUNDS = 3

function config(upstreamPort: number): object {
  const { providers, models } = configOf(upstreamPort, [MODEL])
  const free = { context_window: 1_000_000, pricing: { input_per_million: 0, output_per_million: 0 } }
  return { providers, models: models.map((model) => ({ ...model, ...free })) }
}

function peakMib(pid: number): number {
  return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? Number.NaN) / 1024
}

interface ThreadTimes {
  readonly ranMs: number
  /** Time ready to run, without a processor. */
  readonly waitedMs: number
}

/** Returns the times of the main thread, which runs the event loop. */
function loopTimes(pid: number): ThreadTimes {
  const [ran, waited] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ').map(Number)
  return { ranMs: (ran ?? Number.NaN) / 1e6, waitedMs: (waited ?? Number.NaN) / 1e6 }
}

/** How much of the time since `before` the event loop ran, and waited for a processor, in percent. */
function sharesSince(pid: number, before: ThreadTimes, startedAt: number): string {
  const { ranMs, waitedMs } = loopTimes(pid)
  const elapsed = performance.now() - startedAt
  const [ran, waited] = [ranMs - before.ranMs, waitedMs - before.waitedMs].map((ms) => ((100 * ms) / elapsed).toFixed())
  return `event loop: ran ${ran} %, waited for a processor ${waited} %`
}

async function measure(gateway: Gateway): Promise<number> {
  const { port, pid } = gateway
  const account = await gateway.cli('accounts', 'create', '--name', 'hostile')
  const hostileKey = await gateway.key('--account', account)
  const quiet = { name: 'quiet', port, pid, key: await gateway.key() }
  await pace(quiet, WORK, LOAD)
  const p99s: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    const alone = await pace(quiet, WORK, LOAD)
    const hostile = await start('hostile-load.ts', String(port), hostileKey, MODEL)
    await sleep(500)
    const [times, startedAt] = [loopTimes(pid), performance.now()]
    const beside = await pace(quiet, WORK, LOAD)
    const shares = sharesSince(pid, times, startedAt)
    hostile.stop()
    await sleep(1_000)
    p99s.push(beside.p99Ms)
    const cells = [alone.p50Ms, alone.p99Ms, beside.p50Ms, beside.p99Ms].map((ms) => ms.toFixed(1).padStart(8))
    console.log(`another account, ms: p50, p99 alone; p50, p99 beside hostile bodies: ${cells.join(' ')}; ${shares}`)
  }
  return Math.max(...p99s)
}

/** @returns whether the budgets hold. */
export async function benchHostileBodies(): Promise<boolean> {
  const upstream = await start('upstream.ts')
  const logFile = join(mkdtempSync(join(tmpdir(), 'turnpike-bench-')), 'gateway.log')
  const env = { NODE_OPTIONS: `--max-old-space-size=${HEAP_MIB}` }
  const gateway = await startGateway({ config: config(upstream.port), logFile, env })
  try {
    const p99Ms = await measure(gateway)
    return printVerdicts([
      { figure: 'p99 beside hostile bodies, ms', measured: p99Ms, budget: BUDGETS.hostileP99Ms },
      { figure: 'peak memory, MiB', measured: peakMib(gateway.pid), budget: BUDGETS.hostilePeakMib },
    ])
  } finally {
    await gateway.stop()
    upstream.stop()
  }
}
