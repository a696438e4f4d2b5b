/** Installations with a PostgreSQL primary, and the rate at which each ends. */
import { BATCH_SIZE } from '../../src/features/credit/commit/queue.ts'
import { type Figures, type Installation, type ServiceTimes, simulateInstallation } from './model.ts'

export interface Scenario {
  readonly name: string
  readonly installation: Pick<Installation, 'hotShare' | 'roundTripUs'>
}

/** Within a zone, and between regions. */
const NEAR_US = 500
const FAR_US = 30_000

export const SCENARIOS: readonly Scenario[] = [
  { name: 'accounts alike', installation: { hotShare: 0, roundTripUs: NEAR_US } },
  { name: '10 % of one account', installation: { hotShare: 0.1, roundTripUs: NEAR_US } },
  { name: '50 % of one account', installation: { hotShare: 0.5, roundTripUs: NEAR_US } },
  { name: 'primary in another region', installation: { hotShare: 0, roundTripUs: FAR_US } },
  { name: 'the same, 10 % of one account', installation: { hotShare: 0.1, roundTripUs: FAR_US } },
]

export interface Point extends Figures {
  readonly offeredPerSecond: number
}

export interface Prediction {
  readonly scenario: Scenario
  /** The highest rate that is kept, requests a second. */
  readonly limit: number
  readonly first: string
  readonly processes: number
  readonly points: readonly Point[]
}

/** What a disk of a data centre takes to confirm a write, microseconds: in the test's folder it takes nothing. */
const FLUSH_US = 500
/** Processes are added so that each is this busy: more is not kept when one of them ends. */
const BUSY = 0.6
const BATCHES_PER_REQUEST = 0.2
const UNITS_PER_REQUEST = 2
const RATES = [1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000]
/** Steps between the last rate that is kept and the first one that is not. */
const BISECTIONS = 5
/** A rate is kept when so much of it is answered, and when a request waits no longer than that. */
const KEPT_SHARE = 0.95
const KEPT_P99_MS = 1_000

/** @param requests Of each simulated rate. */
export function predict(scenario: Scenario, times: ServiceTimes, requests = 100_000): Prediction {
  const ofPrimary = { ...times, flushUs: FLUSH_US }
  const points: Point[] = []
  let [kept, lost] = [0, Number.POSITIVE_INFINITY]
  const tryRate = (rate: number): void => {
    const figures = simulateInstallation(ofPrimary, {
      ...installationAt(scenario, ofPrimary, rate),
      seconds: Math.max(1, Math.min(8, requests / rate)),
    })
    points.push({ ...figures, offeredPerSecond: rate })
    if (figures.perSecond >= KEPT_SHARE * rate && figures.p99Ms <= KEPT_P99_MS) kept = Math.max(kept, rate)
    else lost = Math.min(lost, rate)
  }
  for (const rate of RATES) if (lost === Number.POSITIVE_INFINITY) tryRate(rate)
  for (let step = 0; step < BISECTIONS && lost !== Number.POSITIVE_INFINITY; step++) tryRate((kept + lost) / 2)
  points.sort((a, b) => a.offeredPerSecond - b.offeredPerSecond)
  const last = points.find(({ offeredPerSecond }) => offeredPerSecond === kept)
  return { scenario, limit: kept, first: firstToEnd(last), processes: processesFor(scenario, ofPrimary, kept), points }
}

function installationAt(scenario: Scenario, times: ServiceTimes, perSecond: number): Omit<Installation, 'seconds'> {
  return {
    ...scenario.installation,
    perSecond,
    processes: processesFor(scenario, times, perSecond),
    primaryCores: 16,
    accounts: 100_000,
    providerMs: 100,
  }
}

/** As many as the CPU needs, and as the batches need: a process has one under way, of a limited size. */
function processesFor({ installation }: Scenario, times: ServiceTimes, perSecond: number): number {
  const cpuUs = times.requestUs + times.batchUs * BATCHES_PER_REQUEST
  const batchUs =
    3.5 * installation.roundTripUs + times.flushUs + times.databaseBatchUs + BATCH_SIZE * times.databaseUnitUs
  const eachUs = Math.max(cpuUs, (UNITS_PER_REQUEST * batchUs) / BATCH_SIZE)
  return Math.max(1, Math.ceil((perSecond * eachUs) / (BUSY * 1e6)))
}

function firstToEnd(point: Point | undefined): string {
  if (point === undefined) return 'nothing is kept'
  return point.databaseBusy > 0.85 ? 'the CPU of the primary' : 'locks of accounts'
}
