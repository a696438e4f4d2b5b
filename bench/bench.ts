/**
 * `npm run bench`: compares the gateway in its production configuration with a bare forwarder, and with nginx where that is
 * installed, in turn, in front of the same upstream on loopback. Only the ratios of one run are meaningful, since the
 * machine varies between runs. docs/benchmarks.md says what is measured and what is unfair in it.
 *
 *   --quick    takes a fifth of the time
 *   --json     prints one JSON object instead of tables
 *   --plot FILE  writes a chart of CPU time, as SVG
 *   --soak     adds a million requests and measures the growth of memory
 *   --profile  prints the functions of the gateway that take most time, and keeps the profile in a temporary folder
 *
 * Each of these measures only one thing:
 *
 *   --fairness  the effect of an account at ten times its rate limit on another one
 *   --bodies    the effect of hostile request bodies on another account, and on memory
 *   --jobs      the throughput of the queue of background jobs
 *   --revocation  the time until other processes reject a revoked key
 *   --canary   whether a canary that shifts by reloads drops any of 500 requests a second
 *   --routing  the CPU time to route a request among 500 candidates
 *   --webhooks  the throughput of deliveries, and the effect of a dead endpoint on others
 *   --tracing  the CPU time that tracing or capturing every request adds, and guardrails and capture that are off
 *   --dashboard  the effect of dashboard users on the latency of chats
 *   --dashboard-queries  the latency of dashboard views over a million completions, or over as many as `--rows` says
 *   --against FOLDER  CPU time compared with another checkout, alternating every second
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Gateway, startGateway } from '../test/support/gateway.ts'
import { benchAgainst } from './against.ts'
import { CHUNKS, configOf } from './bench-config.ts'
import { BUDGETS } from './budgets.ts'
import { benchCanary } from './canary.ts'
import { topFunctions } from './cpu-profile.ts'
import { benchDashboard, benchDashboardQueries } from './dashboard.ts'
import { benchFairness } from './fairness.ts'
import { benchHostileBodies } from './hostile-bodies.ts'
import { benchJobs } from './jobs.ts'
import { APIS, type Measured, openIdleStreams, pace, saturate, type Target, type Work } from './load.ts'
import { machineText } from './machine.ts'
import { nginxVersion, startNginx } from './nginx.ts'
import { plotCpu } from './plot.ts'
import { fsyncP99Ms, percentile, residentKib, start } from './processes.ts'
import { brokenVerdicts, printTable, printVerdicts, type Row, type TargetName, type Verdict } from './report.ts'
import { benchRevocation } from './revocation.ts'
import { benchRouting } from './routing.ts'
import { benchTracing } from './tracing.ts'
import { benchWebhooks } from './webhooks.ts'

const quick = process.argv.includes('--quick')
const asJson = process.argv.includes('--json')
const SECONDS = quick ? 1 : 4
const ROUNDS = quick ? 1 : 3
/** V8 optimises over tens of thousands of requests, and a gateway runs for days. */
const WARM_SECONDS = quick ? 1 : 8
const IDLE_STREAMS = 1000
/** Opened before the count, since the young generation grows once, with the first thousand. */
const UNCOUNTED_STREAMS = 1500
const JSON_WORK: Work = { model: 'json', stream: false }
const STREAM_WORK: Work = { model: `stream-${CHUNKS}`, stream: true }

const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-'))
// What is measured is what a clone runs.
execFileSync(process.execPath, [join(import.meta.dirname, '..', 'scripts', 'bundle.ts')], { stdio: ['ignore', 2, 2] })

function startMeasured(upstreamPort: number): Promise<Gateway> {
  const profiling = `--cpu-prof --cpu-prof-dir=${folder}`
  return startGateway({
    config: configOf(upstreamPort),
    logFile: join(folder, 'gateway.log'),
    env: { LOG_LEVEL: 'info', ...(process.argv.includes('--profile') ? { NODE_OPTIONS: profiling } : {}) },
  })
}

/** Milliseconds from the start of node to a ready server, in several rounds. */
async function readyTimes(upstreamPort: number): Promise<readonly number[]> {
  const times: number[] = []
  for (let round = 0; round < (quick ? 3 : 6); round++) {
    const startedAt = performance.now()
    const gateway = await startGateway({ config: configOf(upstreamPort), logFile: join(folder, 'start.log') })
    times.push(performance.now() - startedAt)
    await gateway.stop()
  }
  return times.slice(1)
}

type Compared = Readonly<Record<'forwarder' | 'gateway', Measured> & Partial<Record<TargetName, Measured>>>

/**
 * Alternates between the targets, so that the noise of the machine affects all. Only the gateway gets other work than chat
 * completions, since the upstream speaks nothing else.
 */
async function compare(targets: Stage['targets'], work: Work, inFlight: number): Promise<Compared> {
  const workOf = ({ name }: Target): Work => (name === 'gateway' ? work : { ...work, api: 'chat' })
  const rounds = targets.map((): Measured[] => [])
  for (const target of targets) await saturate(target, workOf(target), { inFlight, seconds: WARM_SECONDS })
  for (let round = 0; round < ROUNDS; round++) {
    for (const [at, target] of targets.entries()) {
      rounds[at]?.push(await saturate(target, workOf(target), { inFlight, seconds: SECONDS }))
    }
  }
  const measured = targets.map(({ name }, at) => [name, together(rounds[at] ?? [])] as const)
  return Object.fromEntries(measured) as unknown as Compared // every stage has both
}

function together(rounds: readonly Measured[]): Measured {
  const sum = (name: keyof Measured): number => rounds.reduce((total, round) => total + round[name], 0)
  const mean = (name: keyof Measured): number => sum(name) / rounds.length
  return {
    requests: sum('requests'),
    cpuUs: sum('cpuUs'),
    perSecond: mean('perSecond'),
    p50Ms: mean('p50Ms'),
    p99Ms: mean('p99Ms'),
  }
}

const cpuEach = ({ cpuUs, requests }: Measured, parts = 1): number => cpuUs / (requests * parts)

function rowsOf(name: string, compared: Compared, parts: { count: number; unit: string }): Row[] {
  const row = (figure: string, of: (measured: Measured) => number, digits = 1): Row => {
    const values = Object.fromEntries(Object.entries(compared).map(([target, measured]) => [target, of(measured)]))
    const [bare, own] = [of(compared.forwarder), of(compared.gateway)]
    // The load generator counts whole milliseconds: smaller values cannot be compared.
    return { figure: `${name}: ${figure}`, values, digits, ratio: bare < 1 ? undefined : own / bare }
  }
  return [
    row(`CPU µs per ${parts.unit}`, (measured) => cpuEach(measured, parts.count)),
    row('requests a second', ({ perSecond }) => perSecond, 0),
    row('whole answer p50 ms', ({ p50Ms }) => p50Ms, 2),
    row('whole answer p99 ms', ({ p99Ms }) => p99Ms, 2),
  ]
}

const cpuRatio = ({ forwarder, gateway }: Compared): number => cpuEach(gateway) / cpuEach(forwarder)

interface Stage {
  /** The forwarder, the gateway, and nginx where it is installed. */
  readonly targets: readonly [Target, Target, ...Target[]]
  readonly upstream: Target
  readonly rows: Row[]
  readonly verdicts: Verdict[]
}

const request = { count: 1, unit: 'request' }
const chunk = { count: CHUNKS + 3, unit: 'chunk' }

async function measureCpu({ targets, rows, verdicts }: Stage): Promise<number> {
  const most = await compare(targets, JSON_WORK, 256)
  const many = await compare(targets, JSON_WORK, 64)
  const some = await compare(targets, JSON_WORK, 32)
  const single = await compare(targets, JSON_WORK, 1)
  const streams = await compare(targets, STREAM_WORK, 64)
  const paced = await compare(targets, { model: `paced-${CHUNKS}`, stream: true }, 64)
  rows.push(...rowsOf('JSON, 256 in flight', most, request), ...rowsOf('JSON, 64 in flight', many, request))
  rows.push(...rowsOf('JSON, 32 in flight', some, request), ...rowsOf('JSON, 1 in flight', single, request))
  rows.push(...rowsOf('stream at full speed, 64 in flight', streams, chunk))
  rows.push(...rowsOf('stream, 1 ms between chunks, 64 in flight', paced, chunk))
  verdicts.push(
    { figure: 'CPU per request, 64 in flight, ×', measured: cpuRatio(many), budget: BUDGETS.jsonCpuRatio },
    { figure: 'CPU per request, 1 in flight, ×', measured: cpuRatio(single), budget: BUDGETS.jsonCpuRatioSingle },
    { figure: 'CPU per chunk at full speed, ×', measured: cpuRatio(streams), budget: BUDGETS.chunkCpuRatio },
    { figure: 'CPU per chunk, 1 ms between chunks, ×', measured: cpuRatio(paced), budget: BUDGETS.chunkCpuRatio },
  )
  return many.gateway.perSecond
}

/** The other APIs in front of the same upstream: what translating adds. */
async function measureApis({ targets: [forwarder, gateway], rows }: Stage): Promise<void> {
  const targets = [forwarder, gateway] as const
  for (const api of APIS.filter((name) => name !== 'chat')) {
    const whole = await compare(targets, { ...JSON_WORK, api }, 64)
    const streamed = await compare(targets, { ...STREAM_WORK, api }, 64)
    rows.push(...rowsOf(`JSON, ${api} API, 64 in flight`, whole, request))
    rows.push(...rowsOf(`stream at full speed, ${api} API, 64 in flight`, streamed, chunk))
  }
}

async function measureLatency({ targets, upstream, rows, verdicts }: Stage, saturation: number): Promise<void> {
  const load = { perSecond: saturation / 2, seconds: SECONDS * 2 }
  const direct = await pace(upstream, JSON_WORK, load)
  const paced: [string, typeof direct][] = []
  for (const target of targets) paced.push([target.name, await pace(target, JSON_WORK, load)])
  const fsync = fsyncP99Ms()
  for (const name of ['p50Ms', 'p99Ms'] as const) {
    const values: Row['values'] = Object.fromEntries(paced.map(([target, at]) => [target, at[name] - direct[name]]))
    const figure = `added to the first byte at ${load.perSecond.toFixed(0)} requests a second, ${name.slice(0, 3)} ms`
    rows.push({ figure, values, digits: 2, ratio: undefined })
    const budget = name === 'p50Ms' ? BUDGETS.addedFirstByteP50Ms : BUDGETS.addedFirstByteP99Ms + 2 * fsync
    const measured = values.gateway ?? Number.NaN
    verdicts.push({ figure: `added to the first byte, ${name.slice(0, 3)}, ms`, measured, budget })
  }
}

/** Uses new processes, since reused memory of an earlier load would hide the growth. */
async function measureIdleStreams(upstreamPort: number, { rows, verdicts }: Stage): Promise<void> {
  const forwarder = await start('forwarder.ts', String(upstreamPort))
  const gateway = await startGateway({ config: configOf(upstreamPort), logFile: join(folder, 'idle.log') })
  const key = await gateway.key()
  const bare = await kibPerStream({ name: 'forwarder', port: forwarder.port, pid: forwarder.pid, key })
  const own = await kibPerStream({ name: 'gateway', port: gateway.port, pid: gateway.pid, key })
  await gateway.stop()
  forwarder.stop()
  const values = { forwarder: bare, gateway: own }
  rows.push({ figure: 'memory per open idle stream, KiB', values, digits: 1, ratio: undefined })
  verdicts.push({ figure: 'memory per open idle stream, KiB', measured: own, budget: BUDGETS.idleStreamKib })
}

async function kibPerStream(target: Target): Promise<number> {
  const closeFirst = await openIdleStreams(target, UNCOUNTED_STREAMS)
  await sleep(500)
  const before = residentKib(target.pid)
  const closeCounted = await openIdleStreams(target, IDLE_STREAMS)
  await sleep(1000)
  const grown = residentKib(target.pid) - before
  closeFirst()
  closeCounted()
  await sleep(500)
  return grown / IDLE_STREAMS
}

async function soak({ targets, verdicts }: Stage): Promise<void> {
  const [, gateway] = targets
  let requests = 0
  let settledKib = 0
  while (requests < 1_000_000) {
    requests += (await saturate(gateway, JSON_WORK, { inFlight: 64, seconds: 10 })).requests
    if (requests >= 100_000 && settledKib === 0) settledKib = residentKib(gateway.pid)
    console.log(`soak: ${requests} requests, ${(residentKib(gateway.pid) / 1024).toFixed(0)} MiB`)
  }
  const grown = (residentKib(gateway.pid) - settledKib) / 1024
  verdicts.push({
    figure: 'growth from 100 000 to 1 000 000 requests, MiB',
    measured: grown,
    budget: BUDGETS.soakGrowthMib,
  })
}

async function main(): Promise<boolean> {
  const upstream = await start('upstream.ts')
  const forwarder = await start('forwarder.ts', String(upstream.port))
  const nginx = nginxVersion() === undefined ? undefined : await startNginx(upstream.port)
  const ready = await readyTimes(upstream.port)
  const gateway = await startMeasured(upstream.port)
  await sleep(1000) // until the start has settled
  const memory = { start: memoryOf({ forwarder, gateway, nginx }) }
  const key = await gateway.key()
  const target = (name: TargetName | 'upstream', { port, pid }: { port: number; pid: number }): Target => ({
    name,
    port,
    pid,
    key,
  })
  const stage: Stage = {
    targets: [
      target('forwarder', forwarder),
      target('gateway', gateway),
      ...(nginx === undefined ? [] : [target('nginx', nginx)]),
    ],
    upstream: target('upstream', upstream),
    rows: [],
    verdicts: [],
  }
  const { rows, verdicts } = stage
  try {
    const saturation = await measureCpu(stage)
    await measureApis(stage)
    await measureLatency(stage, saturation)
    const loaded = memoryOf({ forwarder, gateway, nginx })
    await measureIdleStreams(upstream.port, stage)
    if (process.argv.includes('--soak')) await soak(stage)
    rows.push({ figure: 'RSS after start, MiB', values: memory.start, digits: 0, ratio: undefined })
    rows.push({ figure: 'RSS after the load, MiB', values: loaded, digits: 0, ratio: undefined })
    const readyMs = percentile(ready, 50)
    rows.push({ figure: 'start to ready, ms', values: { gateway: readyMs }, digits: 0, ratio: undefined })
    verdicts.push({ figure: 'RSS after start, MiB', measured: memory.start.gateway, budget: BUDGETS.startRssMib })
    verdicts.push({ figure: 'start of node to ready, ms', measured: readyMs, budget: BUDGETS.readyMs })
  } finally {
    await gateway.stop()
    for (const each of [nginx, forwarder, upstream]) each?.stop()
  }
  return report(stage)
}

type Memory = Readonly<Record<'forwarder' | 'gateway', number> & Partial<Record<TargetName, number>>>

/** MiB of resident memory. */
function memoryOf({
  forwarder,
  gateway,
  nginx,
}: Record<'forwarder' | 'gateway', Pid> & { nginx: Pid | undefined }): Memory {
  const mib = ({ pid }: Pid): number => residentKib(pid) / 1024
  return { forwarder: mib(forwarder), gateway: mib(gateway), ...(nginx && { nginx: mib(nginx) }) }
}

interface Pid {
  readonly pid: number
}

/** @returns whether all budgets hold. */
function report({ rows, verdicts }: Stage): boolean {
  const plot = process.argv.indexOf('--plot')
  if (plot !== -1) writeFileSync(resolve(process.argv[plot + 1] ?? 'bench.svg'), plotCpu(rows))
  const machine = machineText(nginxVersion())
  if (asJson) {
    console.log(JSON.stringify({ machine, rows, verdicts }, undefined, 2))
    return brokenVerdicts(verdicts).length === 0
  }
  console.log(`${machine}\n`)
  printTable(rows)
  console.log('')
  if (process.argv.includes('--profile')) console.log(`${topFunctions(folder, 30).join('\n')}\n\nprofiles: ${folder}\n`)
  return printVerdicts(verdicts)
}

const benchOf: Readonly<Record<string, () => Promise<boolean>>> = {
  '--canary': benchCanary,
  '--dashboard': benchDashboard,
  '--dashboard-queries': benchDashboardQueries,
  '--fairness': benchFairness,
  '--bodies': benchHostileBodies,
  '--jobs': benchJobs,
  '--revocation': benchRevocation,
  '--routing': benchRouting,
  '--tracing': benchTracing,
  '--webhooks': benchWebhooks,
}
const only = process.argv.find((option) => Object.hasOwn(benchOf, option))
const against = process.argv.indexOf('--against')
const holds =
  against === -1
    ? await ((only === undefined ? undefined : benchOf[only]) ?? main)()
    : await benchAgainst(process.argv[against + 1] ?? '.')
process.exitCode = holds ? 0 : 1
process.exit()
