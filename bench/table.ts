/** `npm run bench`: one table of what each gateway costs, and whether Turnpike's figures are within their budgets. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type PostgresServer, startPostgres } from '../test/support/process/postgres-server.ts'
import { CHUNKS } from './bench-config.ts'
import { BUDGETS } from './budgets.ts'
import {
  type Compared,
  type Comparison,
  compare,
  cpuVerdict,
  type Parts,
  rowOf,
  rowsOf,
  type Timing,
} from './compare.ts'
import { topFunctions } from './cpu-profile.ts'
import { APIS, abortStreams, openIdleStreams, pace, saturate, type Target, type Work } from './load.ts'
import { machineText } from './machine.ts'
import { installedPeers, namedGateway } from './peers.ts'
import { plotCpu } from './plot.ts'
import { fsyncP99Ms, residentKib, start } from './processes.ts'
import {
  brokenVerdicts,
  FORWARDER,
  printTable,
  printVerdicts,
  type Row,
  TURNPIKE,
  type Verdict,
  withTolerance,
} from './report.ts'
import { ANY_KEY, ownCandidates, type StartedTarget, startTimed } from './targets.ts'

export interface TableOptions {
  readonly quick: boolean
  readonly guard: boolean
  readonly peers: boolean
  /** `NAME=COMMAND` */
  readonly gateways: readonly string[]
  readonly soak: boolean
  readonly profile: boolean
  readonly json: boolean
  /** Where the chart is written. */
  readonly plot: string | undefined
}

const TIMING: Timing = { roundSeconds: 2, rounds: 3, firstWarmSeconds: 20, warmSeconds: 2 }
const QUICK_TIMING: Timing = { roundSeconds: 1, rounds: 1, firstWarmSeconds: 1, warmSeconds: 1 }
const PACED_SECONDS = 4
const ABORTS = 10
const IDLE_STREAMS = 1000
/** Opened before the count, since the young generation grows once, with the first thousand. */
const UNCOUNTED_STREAMS = 1500
const JSON_WORK: Work = { model: 'json', stream: false }
const STREAM_WORK: Work = { model: `stream-${CHUNKS}`, stream: true }
const PACED_WORK: Work = { model: `paced-${CHUNKS}`, stream: true }
const PER_REQUEST: Parts = { count: 1, unit: 'request' }
const PER_CHUNK: Parts = { count: CHUNKS + 3, unit: 'chunk' }

const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-'))

interface Stage {
  readonly targets: readonly StartedTarget[]
  readonly upstream: Target
  readonly timing: Timing
  readonly rows: Row[]
  readonly verdicts: Verdict[]
  /** What could not be measured, and why. */
  readonly failures: string[]
}

/** @returns whether all budgets hold. */
export async function benchTable(options: TableOptions): Promise<boolean> {
  const upstream = await start('upstream.ts')
  const postgres = options.guard ? undefined : await postgresOrUndefined()
  const targets: StartedTarget[] = []
  const stage: Stage = {
    targets,
    upstream: { ...upstream, name: 'provider', key: 'sk-up' },
    timing: options.quick ? QUICK_TIMING : TIMING,
    rows: [],
    verdicts: [],
    failures: [],
  }
  try {
    await startTargets(options, { stage, targets, postgres })
    await (options.guard ? measureCpu(stage) : measureAll(options, stage))
  } finally {
    for (const target of targets) await target.stop()
    await postgres?.stop()
    upstream.stop()
  }
  return report(options, stage)
}

async function postgresOrUndefined(): Promise<PostgresServer | undefined> {
  try {
    return await startPostgres()
  } catch (error) {
    console.error(`Without PostgreSQL: ${(error as Error).message}`)
    return undefined
  }
}

interface StartInput {
  readonly stage: Stage
  readonly targets: StartedTarget[]
  readonly postgres: PostgresServer | undefined
}

/** A peer that does not start is left out. */
async function startTargets(options: TableOptions, { stage, targets, postgres }: StartInput): Promise<void> {
  const upstreamPort = stage.upstream.port
  const env = options.profile ? { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${folder}` } : undefined
  const own = ownCandidates({ upstreamPort, postgres, ...(env && { env }) })
  for (const candidate of own) {
    if (!options.guard || [FORWARDER, TURNPIKE].includes(candidate.name)) targets.push(await startTimed(candidate))
  }
  const peers = [
    ...(options.peers ? installedPeers(upstreamPort) : []),
    ...options.gateways.map((option) => namedGateway(option, upstreamPort)),
  ]
  for (const peer of peers) {
    const started = await attempt(stage, 'start', () => startTimed(peer))
    if (started !== undefined) targets.push(started)
  }
  await sleep(1000) // until the starts have settled
}

/** Records a failure instead of losing the other figures. */
async function attempt<T>({ failures }: Stage, figure: string, step: () => Promise<T>): Promise<T | undefined> {
  try {
    return await step()
  } catch (error) {
    failures.push(`${figure}: ${(error as Error).message}`)
    return undefined
  }
}

async function measureAll(options: TableOptions, stage: Stage): Promise<void> {
  const { rows, targets, verdicts } = stage
  const rssOf = (figure: string): Row => valuesOf(figure, targets, ({ pid }) => residentKib(pid) / 1024)
  const rssBefore = rssOf('RSS after start, MiB')
  const saturation = await measureCpu(stage)
  await measureApis(stage)
  await measureFirstByte(stage, saturation)
  await measureAborts(stage)
  const rssAfter = rssOf('RSS after the load, MiB')
  await measureIdleStreams(stage)
  if (options.soak) await soak(stage)
  rows.push(
    rssBefore,
    rssAfter,
    valuesOf('start to ready, ms', targets, ({ startMs }) => startMs),
  )
  const own = targets.find(({ name }) => name === TURNPIKE)
  const rssMib = rssBefore.values[TURNPIKE] ?? Number.NaN
  verdicts.push({ figure: 'RSS after start, MiB', measured: rssMib, budget: BUDGETS.startRssMib })
  verdicts.push({ figure: 'start to ready, ms', measured: own?.startMs ?? Number.NaN, budget: BUDGETS.readyMs })
}

function valuesOf(figure: string, targets: readonly StartedTarget[], of: (target: StartedTarget) => number): Row {
  return { figure, values: Object.fromEntries(targets.map((target) => [target.name, of(target)])), digits: 0 }
}

/** @returns what was measured with 32 requests in flight. */
async function measureCpu(stage: Stage): Promise<Compared> {
  const some = await measureJson(stage, { name: 'JSON, 32 in flight', work: JSON_WORK, inFlight: 32, isFirst: true })
  await measureJson(stage, { name: 'JSON, 256 in flight', work: JSON_WORK, inFlight: 256 })
  await measureAlone(stage, { name: 'JSON, 1 in flight', work: JSON_WORK, inFlight: 1 })
  await measureStreams(stage, { name: 'stream at full speed', work: STREAM_WORK, inFlight: 32, isFirst: true })
  await measureStreams(stage, { name: 'stream, 1 ms between chunks', work: PACED_WORK, inFlight: 32 })
  return some
}

type JsonComparison = Comparison & { readonly inFlight: keyof typeof BUDGETS.jsonCpuRatio }

async function measureJson(stage: Stage, comparison: JsonComparison): Promise<Compared> {
  const { name, inFlight } = comparison
  const compared = await compare(stage.targets, comparison, stage)
  stage.rows.push(...rowsOf(name, compared, PER_REQUEST))
  stage.rows.push(rowOf(`${name}: whole answer p99 ms`, compared, ({ p99Ms }) => p99Ms))
  stage.verdicts.push(cpuVerdict(name, compared, BUDGETS.jsonCpuRatio[inFlight]))
  return compared
}

/** One after the other, the mean latency is what is left of a second; the provider's own is deducted. */
async function measureAlone(stage: Stage, comparison: JsonComparison): Promise<void> {
  const { targets, upstream, rows, verdicts } = stage
  const { name, inFlight } = comparison
  const all = await compare([...targets, upstream], comparison, stage)
  const directMs = 1000 / (all.get(upstream.name)?.perSecond ?? Number.NaN)
  const compared: Compared = new Map([...all].filter(([target]) => target !== upstream.name))
  rows.push(...rowsOf(name, compared, PER_REQUEST))
  rows.push(rowOf(`${name}: added latency, mean ms`, compared, ({ perSecond }) => 1000 / perSecond - directMs, 2))
  verdicts.push(cpuVerdict(name, compared, BUDGETS.jsonCpuRatio[inFlight]))
}

async function measureStreams(stage: Stage, comparison: Comparison): Promise<void> {
  const { name } = comparison
  const compared = await compare(stage.targets, comparison, stage)
  stage.rows.push(...rowsOf(name, compared, PER_CHUNK))
  stage.verdicts.push(cpuVerdict(name, compared, BUDGETS.chunkCpuRatio))
}

/** The other APIs in front of the same provider, of which the forwarder gets chat completions: what translating adds. */
async function measureApis(stage: Stage): Promise<void> {
  const targets = stage.targets.filter(({ name }) => name === FORWARDER || name === TURNPIKE)
  for (const api of APIS.filter((name) => name !== 'chat')) {
    for (const [kind, work, parts] of [
      ['JSON', JSON_WORK, PER_REQUEST],
      ['stream', STREAM_WORK, PER_CHUNK],
    ] as const) {
      const name = `${kind}, ${api} API`
      const workOf = (target: string): Work => (target === TURNPIKE ? { ...work, api } : work)
      const compared = await compare(targets, { name, work: workOf, inFlight: 32, isFirst: true }, stage)
      stage.rows.push(...rowsOf(name, compared, parts))
    }
  }
}

/** Each target at half of its own saturation, the fast ones at half of Turnpike's. */
async function measureFirstByte(stage: Stage, saturation: Compared): Promise<void> {
  console.error('measuring: first byte')
  const mostPerSecond = (saturation.get(TURNPIKE)?.perSecond ?? Number.NaN) / 2
  const load = { perSecond: mostPerSecond, seconds: PACED_SECONDS }
  const direct = await pace(stage.upstream, JSON_WORK, load)
  const added = new Map<string, typeof direct>()
  for (const target of stage.targets) {
    const { perSecond } = saturation.get(target.name) ?? {}
    if (perSecond === undefined) continue
    const rate = { ...load, perSecond: Math.min(perSecond / 2, mostPerSecond) }
    const paced = await attempt(stage, 'first byte', () => pace(target, JSON_WORK, rate))
    if (paced === undefined) continue
    added.set(target.name, { p50Ms: paced.p50Ms - direct.p50Ms, p99Ms: paced.p99Ms - direct.p99Ms })
  }
  const budgets = { p50Ms: BUDGETS.addedFirstByteP50Ms, p99Ms: BUDGETS.addedFirstByteP99Ms + 2 * fsyncP99Ms() }
  for (const name of ['p50Ms', 'p99Ms'] as const) {
    const values = Object.fromEntries([...added].map(([target, at]) => [target, at[name]]))
    const figure = `added to the first byte at half load, ${name.slice(0, 3)} ms`
    stage.rows.push({ figure, values, digits: 2 })
    stage.verdicts.push({ figure, measured: values[TURNPIKE] ?? Number.NaN, budget: budgets[name] })
  }
}

async function measureAborts(stage: Stage): Promise<void> {
  const figure = `aborts that reach the provider, of ${ABORTS}`
  const values: Record<string, number> = {}
  for (const target of stage.targets) {
    const seen = await attempt(stage, figure, () => abortStreams(target, stage.upstream, ABORTS))
    if (seen !== undefined) values[target.name] = seen
  }
  stage.rows.push({ figure, values, digits: 0 })
}

/** Uses new processes, since reused memory of an earlier load would hide the growth. */
async function measureIdleStreams(stage: Stage): Promise<void> {
  console.error('measuring: idle streams')
  const figure = 'memory per open idle stream, KiB'
  const values: Record<string, number> = {}
  for (const { name, start: begin } of ownCandidates({ upstreamPort: stage.upstream.port, postgres: undefined })) {
    if (name !== FORWARDER && name !== TURNPIKE) continue
    const started = await begin()
    const key = (await started.key?.()) ?? ANY_KEY
    const kib = await attempt(stage, figure, () => kibPerStream({ ...started, name, key }))
    if (kib !== undefined) values[name] = kib
    await started.stop()
  }
  stage.rows.push({ figure, values, digits: 1 })
  stage.verdicts.push({ figure, measured: values[TURNPIKE] ?? Number.NaN, budget: BUDGETS.idleStreamKib })
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
  const gateway = targets.find(({ name }) => name === TURNPIKE)
  if (gateway === undefined) return
  let requests = 0
  let settledKib = 0
  while (requests < 1_000_000) {
    requests += (await saturate(gateway, JSON_WORK, { inFlight: 64, seconds: 10 })).requests
    if (requests >= 100_000 && settledKib === 0) settledKib = residentKib(gateway.pid)
    console.error(`soak: ${requests} requests, ${(residentKib(gateway.pid) / 1024).toFixed(0)} MiB`)
  }
  const measured = (residentKib(gateway.pid) - settledKib) / 1024
  verdicts.push({ figure: 'growth from 100 000 to 1 000 000 requests, MiB', measured, budget: BUDGETS.soakGrowthMib })
}

/** @returns whether all budgets hold, those of `--guard` with its tolerance. */
function report({ guard, json, plot, profile }: TableOptions, stage: Stage): boolean {
  const { rows, failures, targets } = stage
  const names = targets.map(({ name }) => name)
  const verdicts = guard ? withTolerance(stage.verdicts) : stage.verdicts
  if (plot !== undefined) writeFileSync(resolve(plot), plotCpu(rows, names))
  const machine = machineText(names)
  if (json) {
    console.log(JSON.stringify({ machine, rows, verdicts, failures }, undefined, 2))
    return brokenVerdicts(verdicts).length === 0
  }
  console.log(`${machine}\n`)
  printTable(rows, names)
  console.log(['', ...failures.map((failure) => `not measured: ${failure}`), ''].join('\n'))
  if (profile) console.log(`${topFunctions(folder, 30).join('\n')}\n\nprofiles: ${folder}\n`)
  return printVerdicts(verdicts)
}
