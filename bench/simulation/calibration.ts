/** Measures the service times of a running gateway, so that the model needs no figure that was made up. */
import { readdirSync, readFileSync } from 'node:fs'
import { saturate, type Target, type Work } from '../load.ts'
import { type ServiceTimes, type Surroundings, simulateBench } from './model.ts'

const WORK: Work = { model: 'json', stream: false }
const WARM_SECONDS = 10
const SECONDS = 4
const ROUNDS = 3
/** What calibrates the model; it has to predict the figures of the others. */
const CALIBRATED_AT = [1, 64] as const
const PREDICTED_AT = [8, 32, 256] as const
/** Batches become larger as the model learns what they cost, which makes them cheaper. */
const FITS = 8

export interface Measurement {
  readonly inFlight: number
  readonly perSecond: number
  /** Microseconds of CPU per request: of the gateway's main thread, the database, the client and the provider. */
  readonly mainUs: number
  readonly databaseUs: number
  readonly clientUs: number
  readonly providerUs: number
}

export interface Calibration {
  readonly times: ServiceTimes
  readonly measured: readonly (Measurement & { readonly predictedPerSecond: number })[]
}

export interface Measured {
  readonly target: Target
  readonly providerPid: number
  /** PostgreSQL's main process; without it, the database is the gateway's other threads. */
  readonly postgresPid: number | undefined
  readonly cores: number
}

export async function calibrate(measured: Measured): Promise<Calibration> {
  const { target, cores } = measured
  await saturate(target, WORK, { inFlight: 64, seconds: WARM_SECONDS })
  const rounds = new Map<number, Measurement[]>([...CALIBRATED_AT, ...PREDICTED_AT].map((inFlight) => [inFlight, []]))
  for (let round = 0; round < ROUNDS; round++) {
    for (const [inFlight, all] of rounds) all.push(await measure(measured, inFlight))
  }
  const figures = [...rounds.values()].map(meanOf).sort((a, b) => a.inFlight - b.inFlight)
  const [single, many] = CALIBRATED_AT.map((count) => figures.find(({ inFlight }) => inFlight === count))
  if (single === undefined || many === undefined) throw new Error('A measurement is missing.')
  const times = fit(single, many, cores)
  const predicted = (figure: Measurement) => simulateBench(times, around(figure, cores), figure.inFlight).perSecond
  return { times, measured: figures.map((figure) => ({ ...figure, predictedPerSecond: predicted(figure) })) }
}

async function measure({ target, providerPid, postgresPid }: Measured, inFlight: number): Promise<Measurement> {
  const start = cpuOf([target.pid, process.pid, providerPid, ...childrenOf(postgresPid)])
  const main = threadUs(target.pid, target.pid)
  const { requests, perSecond } = await saturate(target, WORK, { inFlight, seconds: SECONDS })
  const each = (us: number): number => us / requests
  const mainUs = each(threadUs(target.pid, target.pid) - main)
  const gatewayUs = each(start.since(target.pid))
  const databaseUs =
    postgresPid === undefined ? gatewayUs - mainUs : each(sum(childrenOf(postgresPid).map(start.since)))
  const [clientUs, providerUs] = [each(start.since(process.pid)), each(start.since(providerPid))]
  return { inFlight, perSecond, mainUs, databaseUs, clientUs, providerUs }
}

function meanOf(rounds: readonly Measurement[]): Measurement {
  const mean = (name: keyof Measurement): number => sum(rounds.map((round) => round[name])) / rounds.length
  return {
    inFlight: mean('inFlight'),
    perSecond: mean('perSecond'),
    mainUs: mean('mainUs'),
    databaseUs: mean('databaseUs'),
    clientUs: mean('clientUs'),
    providerUs: mean('providerUs'),
  }
}

function around({ clientUs, providerUs }: Measurement, cores: number): Surroundings {
  return { cores, clientUs, providerUs }
}

/** CPU time with one and with many in flight, and how many batches the model makes of both, give the cost of a batch. */
function fit(single: Measurement, many: Measurement, cores: number): ServiceTimes {
  let times: ServiceTimes = {
    requestUs: many.mainUs,
    batchUs: 0,
    databaseBatchUs: 0,
    databaseUnitUs: many.databaseUs / 2,
    flushUs: 0,
  }
  for (let round = 0; round < FITS; round++) {
    const ofOne = simulateBench(times, around(single, cores), 1)
    const ofMany = simulateBench(times, around(many, cores), many.inFlight)
    const batches = Math.max(0.01, ofOne.batchesPerRequest - ofMany.batchesPerRequest)
    const batchUs = Math.max(0, (single.mainUs - many.mainUs) / batches)
    const databaseBatchUs = Math.max(0, (single.databaseUs - many.databaseUs) / batches)
    times = {
      batchUs,
      databaseBatchUs,
      requestUs: many.mainUs - batchUs * ofMany.batchesPerRequest,
      databaseUnitUs: (many.databaseUs - databaseBatchUs * ofMany.batchesPerRequest) / 2,
      flushUs: Math.max(0, times.flushUs + 1e6 / single.perSecond - 1e6 / ofOne.perSecond),
    }
  }
  return times
}

/** CPU time of processes, in microseconds. One that began later counts from its start; one that has ended does not count. */
function cpuOf(pids: readonly number[]) {
  const before = new Map(pids.map((pid) => [pid, processUs(pid)]))
  return { since: (pid: number): number => processUs(pid) - (before.get(pid) ?? 0) }
}

function processUs(pid: number): number {
  try {
    return sum(readdirSync(`/proc/${pid}/task`).map((thread) => threadUs(pid, Number(thread))))
  } catch {
    return 0 // a worker of PostgreSQL that has ended
  }
}

function threadUs(pid: number, thread: number): number {
  return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]) / 1000
}

function childrenOf(pid: number | undefined): readonly number[] {
  if (pid === undefined) return []
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
