/**
 * `npm run soak [-- --minutes 30]`: runs the gateway for a long time at a third of its saturation, with disconnecting
 * clients, failing providers and resumable streams. Observes memory, event loop delay, open files and holds from outside.
 * Exits with 1 if any of them grows or stalls.
 */
import { mkdtempSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { getJson } from '../test/support/client.ts'
import { type Gateway, startGateway } from '../test/support/gateway.ts'

import { configOf } from './bench-config.ts'
import { residentKib, start } from './processes.ts'
import { printVerdicts, type Verdict } from './report.ts'
import { slopeOf } from './slope.ts'
import { createSoakLoad, type SoakLoad } from './soak-load.ts'

const { values: options } = parseArgs({ options: { minutes: { type: 'string', default: '30' } } })
const MINUTES = Number(options.minutes)
const IN_FLIGHT = 64
const WARM_SECONDS = 5
const SHARE_OF_SATURATION = 1 / 3
/** Enough samples for a line, and not more scrapes than an operator's own. */
const SAMPLE_MS = Math.max(2_000, (MINUTES * 60_000) / 180)
/** The gateway keeps idle connections to providers for 30 s. */
const REST_MS = 40_000
const MODELS = ['json', 'paced-30', 'paced-300', 'fails']

const BUDGETS = {
  /** Growth of resident memory over the fitted time; garbage collection causes smaller changes. */
  growthPercent: 2,
  loopDelayMs: 200,
  /** Additional files and resources at rest afterwards, such as kept connections to the provider. */
  handles: 8,
}

interface Look {
  readonly seconds: number
  readonly rssMib: number
  readonly loopMaxMs: number
  readonly files: number
  readonly resources: number
  readonly heldUsd: number
  readonly requests: number
}

interface Watched {
  readonly gateway: Gateway
  readonly key: string
  readonly load: SoakLoad
  readonly startedAt: number
}

/** The longest delay is the one since the previous call. */
async function look({ gateway, key, load, startedAt }: Watched): Promise<Look> {
  const metrics = await (await fetch(`${gateway.url}/metrics`)).text()
  const figure = (name: string): number => Number(new RegExp(`^${name} (\\S+)`, 'm').exec(metrics)?.[1])
  const usage = getJson<{ readonly held_usd: number }>(gateway, key, '/v1/usage')
  const heldUsd = await usage.then(({ held_usd: held }) => held).catch(() => Number.NaN) // the gateway may be shedding load
  return {
    seconds: (performance.now() - startedAt) / 1000,
    rssMib: residentKib(gateway.pid) / 1024,
    loopMaxMs: figure('nodejs_eventloop_lag_max_seconds') * 1000,
    files: readdirSync(`/proc/${gateway.pid}/fd`).length,
    resources: figure('nodejs_active_resources_total'),
    heldUsd,
    requests: load.counts().requests,
  }
}

const HEADS = ['second', 'requests', 'RSS MiB', 'loop max ms', 'files', 'resources', 'held USD']

function report({ seconds, requests, rssMib, loopMaxMs, files, resources, heldUsd }: Look): void {
  const cells = [
    seconds.toFixed(0),
    requests,
    rssMib.toFixed(1),
    loopMaxMs.toFixed(1),
    files,
    resources,
    heldUsd.toFixed(6),
  ]
  console.log(cells.map((cell) => String(cell).padStart(12)).join(''))
}

/** Returns the state without load, after idle connections have closed. */
async function atRest(watched: Watched): Promise<Look> {
  await watched.load.close()
  await sleep(REST_MS)
  const rest = await look(watched)
  report(rest)
  return rest
}

async function watchLoad(watched: Watched, perSecond: number): Promise<readonly Look[]> {
  const until = performance.now() + MINUTES * 60_000
  const paced = watched.load.pace(perSecond, until)
  const looks: Look[] = []
  await look(watched) // resets the longest delay
  while (performance.now() + SAMPLE_MS < until) {
    await sleep(SAMPLE_MS)
    const seen = await look(watched)
    looks.push(seen)
    report(seen)
  }
  await paced
  return looks
}

function verdictsOf(looks: readonly Look[], rest: { readonly before: Look; readonly after: Look }): Verdict[] {
  const later = looks.slice(Math.floor(looks.length / 3))
  const { slope, margin } = slopeOf(later.map(({ seconds: x, rssMib: y }) => ({ x, y })))
  const span = (later.at(-1)?.seconds ?? 0) - (later[0]?.seconds ?? 0)
  const mean = later.reduce((sum, { rssMib }) => sum + rssMib, 0) / later.length
  const anHour = (perSecond: number): string => (perSecond * 3600).toFixed(2)
  console.log(
    `\nRSS over the last two thirds: ${anHour(slope)} ± ${anHour(margin)} MiB an hour, at ${mean.toFixed(1)} MiB`,
  )
  return [
    // The lower bound of the growth, at least zero.
    {
      figure: 'RSS, growth beyond doubt, % of it',
      measured: (Math.max(0, slope - margin) * span * 100) / mean,
      budget: BUDGETS.growthPercent,
    },
    {
      figure: 'longest delay of the event loop, ms',
      measured: Math.max(...looks.map((each) => each.loopMaxMs)),
      budget: BUDGETS.loopDelayMs,
    },
    {
      figure: 'files more than before, at rest',
      measured: rest.after.files - rest.before.files,
      budget: BUDGETS.handles,
    },
    {
      figure: 'resources more than before, at rest',
      measured: rest.after.resources - rest.before.resources,
      budget: BUDGETS.handles,
    },
    { figure: 'held at rest, USD', measured: rest.after.heldUsd, budget: 0 },
  ]
}

async function main(): Promise<boolean> {
  const upstream = await start('upstream.ts')
  const logFile = join(mkdtempSync(join(tmpdir(), 'turnpike-soak-')), 'gateway.log')
  const gateway = await startGateway({ config: configOf(upstream.port, MODELS), logFile, env: { LOG_LEVEL: 'info' } })
  try {
    const key = await gateway.key()
    const target = { name: 'gateway', port: gateway.port, pid: gateway.pid, key }
    const warm = createSoakLoad(target)
    const saturation = await warm.saturate(IN_FLIGHT, WARM_SECONDS)
    const perSecond = saturation * SHARE_OF_SATURATION
    console.log(
      `saturation ${saturation.toFixed(0)} requests a second; ${MINUTES} minutes at ${perSecond.toFixed(0)}; log: ${logFile}`,
    )
    console.log(HEADS.map((head) => head.padStart(12)).join(''))
    const startedAt = performance.now()
    const before = await atRest({ gateway, key, load: warm, startedAt })
    const load = createSoakLoad(target)
    const watched = { gateway, key, load, startedAt: performance.now() }
    const looks = await watchLoad(watched, perSecond)
    const after = await atRest(watched)
    const { requests, wrong, example } = load.counts()
    if (example !== undefined) console.log(`an answer that was not as expected: ${example}`)
    const verdicts = verdictsOf(looks, { before, after })
    return printVerdicts([
      ...verdicts,
      { figure: `answers not as expected, of ${requests}`, measured: wrong, budget: 0 },
    ])
  } finally {
    await gateway.stop()
    upstream.stop()
  }
}

process.exitCode = (await main()) ? 0 : 1
process.exit()
