/**
 * A model of Turnpike: processes that share a primary database, as `src/features/credit/commit` and its stores work. A
 * process has one batch in flight; holds and settlements that arrive meanwhile form the next one.
 */
import { BATCH_SIZE } from '../../src/features/credit/commit/queue.ts'
import { percentile } from '../processes.ts'
import { createLocks, createServer, createSimulation, createThreads, type Server, type Simulation } from './events.ts'

/** Service times: microseconds of CPU, but for the flush. */
export interface ServiceTimes {
  /** Of the main thread: for each request, and for each batch. */
  readonly requestUs: number
  readonly batchUs: number
  /** Of the database: for each batch, and for each of its units. A request has two: its hold and its settlement. */
  readonly databaseBatchUs: number
  readonly databaseUnitUs: number
  /** Waiting for the disk at a commit. */
  readonly flushUs: number
}

/** How the ledger's batches reach the disk. */
export type Commit = (accounts: readonly number[], action: () => void) => void

/** The parts of a request's work on the main thread before its hold and before its call; the rest comes after the answer. */
const BEFORE_HOLD = 0.4
const BEFORE_CALL = 0.2
const SETTLEMENT_DELAY_US = 20_000

export interface Process {
  /** @param action Runs when the client has its answer. */
  request(account: number, provider: (action: () => void) => void, action: () => void): void
  batches(): number
}

interface Waiting {
  readonly account: number
  /** Undefined for settlements, which nobody waits for. */
  readonly action: (() => void) | undefined
}

export function createProcess(
  simulation: Simulation,
  { main, times, commit }: { readonly main: Server; readonly times: ServiceTimes; readonly commit: Commit },
): Process {
  let waiting: Waiting[] = []
  let [inFlight, hasTimer, batches] = [false, false, 0]
  /** A batch has what waits when it is made, not what arrives until it is sent. */
  const take = (): void => {
    const batch = waiting.slice(0, BATCH_SIZE)
    waiting = waiting.slice(BATCH_SIZE)
    batches++
    main.serve(times.batchUs / 2, () => {
      const accounts = batch.map(({ account }) => account)
      commit(accounts, () => main.serve(times.batchUs / 2, () => finish(batch)))
    })
  }
  const finish = (batch: readonly Waiting[]): void => {
    inFlight = waiting.some(({ action }) => action !== undefined)
    if (inFlight) take()
    else startLater()
    for (const { action } of batch) action?.()
  }
  const start = (): void => {
    if (inFlight || waiting.length === 0) return
    inFlight = true
    main.serve(0, take) // what the thread has to do already joins the batch
  }
  const startLater = (): void => {
    if (hasTimer || inFlight || waiting.length === 0) return
    hasTimer = true
    simulation.after(SETTLEMENT_DELAY_US, () => {
      hasTimer = false
      start()
    })
  }
  return {
    batches: () => batches,
    request(account, provider, action) {
      const settle = (): void => {
        action()
        waiting.push({ account, action: undefined })
        startLater()
      }
      const answer = (): void => main.serve(times.requestUs * (1 - BEFORE_HOLD - BEFORE_CALL), settle)
      const call = (): void => main.serve(times.requestUs * BEFORE_CALL, () => provider(answer))
      main.serve(times.requestUs * BEFORE_HOLD, () => {
        waiting.push({ account, action: call })
        start()
      })
    },
  }
}

export interface Figures {
  readonly perSecond: number
  /** Time of a request without its provider's, milliseconds. */
  readonly p50Ms: number
  readonly p99Ms: number
  /** Shares of their capacity that are used. */
  readonly mainBusy: number
  readonly databaseBusy: number
  readonly batchesPerRequest: number
}

/** What surrounds a process of the bench: client and provider, on the same machine. */
export interface Surroundings {
  readonly cores: number
  readonly clientUs: number
  readonly providerUs: number
}

/** One process with SQLite, and as many requests in flight as the bench keeps. */
export function simulateBench(times: ServiceTimes, surroundings: Surroundings, inFlight: number): Figures {
  const { cores, clientUs, providerUs } = surroundings
  const simulation = createSimulation()
  const [client, provider, main, writer] = createThreads(simulation, cores, 4) as [Server, Server, Server, Server]
  const commit: Commit = (accounts, action) =>
    writer.serve(times.databaseBatchUs + accounts.length * times.databaseUnitUs, () =>
      simulation.after(times.flushUs, action),
    )
  const gateway = createProcess(simulation, { main, times, commit })
  const counted = createCounter(simulation)
  const begin = (): void => {
    const startedUs = simulation.now()
    client.serve(clientUs / 2, () =>
      gateway.request(
        0,
        (action) => provider.serve(providerUs, action),
        () =>
          client.serve(clientUs / 2, () => {
            counted.add(simulation.now() - startedUs)
            begin()
          }),
      ),
    )
  }
  for (let each = 0; each < inFlight; each++) begin()
  return counted.run({
    seconds: 3,
    main: [main],
    database: writer,
    databasePlaces: 1,
    batches: () => gateway.batches(),
  })
}

/** An installation with a PostgreSQL primary, at a steady rate of requests. */
export interface Installation {
  readonly processes: number
  /** Of the primary's machine. */
  readonly primaryCores: number
  /** Between a process and the primary, there and back. */
  readonly roundTripUs: number
  readonly perSecond: number
  readonly accounts: number
  /** The share of all requests that are of one account. */
  readonly hotShare: number
  readonly providerMs: number
  readonly seconds: number
}

export function simulateInstallation(times: ServiceTimes, input: Installation): Figures {
  const simulation = createSimulation()
  const primary = createServer(simulation, input.primaryCores)
  const commit = commitOnPrimary(simulation, { primary, times, roundTripUs: input.roundTripUs })
  const mains = Array.from({ length: input.processes }, () => createServer(simulation, 1))
  const processes = mains.map((main) => createProcess(simulation, { main, times, commit }))
  const counted = createCounter(simulation)
  const random = createRandom()
  const providerUs = input.providerMs * 1000
  const arrive = (): void => {
    const process = processes[Math.floor(random() * processes.length)] as Process
    const account = random() < input.hotShare ? 0 : 1 + Math.floor(random() * input.accounts)
    const startedUs = simulation.now()
    process.request(
      account,
      (action) => simulation.after(providerUs, action),
      () => counted.add(simulation.now() - startedUs - providerUs),
    )
    simulation.after((-Math.log(1 - random()) * 1e6) / input.perSecond, arrive)
  }
  arrive()
  return counted.run({
    seconds: input.seconds,
    main: mains,
    database: primary,
    databasePlaces: input.primaryCores,
    batches: () => processes.reduce((sum, each) => sum + each.batches(), 0),
  })
}

interface PrimaryInput {
  readonly primary: Server
  readonly times: ServiceTimes
  readonly roundTripUs: number
}

/**
 * A batch is one transaction of three round trips: it locks the rows of its accounts, writes, and commits. Its locks are
 * held until the commit is on the disk. Commits that arrive during a flush share the next one.
 */
function commitOnPrimary(simulation: Simulation, { primary, times, roundTripUs }: PrimaryInput): Commit {
  const locks = createLocks()
  const flush = createFlush(simulation, times.flushUs)
  return (units, action) => {
    const accounts = [...new Set(units)].sort((a, b) => a - b)
    const halfUs = (times.databaseBatchUs + units.length * times.databaseUnitUs) / 2
    const finish = (): void => {
      for (const account of accounts) locks.release(account)
      simulation.after(roundTripUs / 2, action)
    }
    const write = (): void =>
      simulation.after(roundTripUs, () =>
        primary.serve(halfUs, () => simulation.after(roundTripUs, () => flush(finish))),
      )
    const lockFrom = (at: number): void => {
      const account = accounts[at]
      if (account === undefined) primary.serve(halfUs, write)
      else locks.acquire(account, () => lockFrom(at + 1))
    }
    simulation.after(roundTripUs / 2, () => lockFrom(0))
  }
}

function createFlush(simulation: Simulation, flushUs: number): (action: () => void) => void {
  let next: (() => void)[] = []
  let isRunning = false
  const start = (): void => {
    isRunning = next.length > 0
    if (!isRunning) return
    const flushed = next
    next = []
    simulation.after(flushUs, () => {
      for (const action of flushed) action()
      start()
    })
  }
  return (action) => {
    next.push(action)
    if (!isRunning) start()
  }
}

interface Counted {
  readonly seconds: number
  readonly main: readonly Server[]
  readonly database: Server
  readonly databasePlaces: number
  readonly batches: () => number
}

/** Counts after a quarter of the time, when queues have filled. */
function createCounter(simulation: Simulation) {
  let latenciesUs: number[] = []
  return {
    add: (latencyUs: number): void => void latenciesUs.push(latencyUs),
    run({ seconds, main, database, databasePlaces, batches }: Counted): Figures {
      const state = () => ({
        main: main.reduce((sum, each) => sum + each.busyUs(), 0),
        database: database.busyUs(),
        batches: batches(),
      })
      simulation.runUntil(seconds * 0.25e6)
      const before = state()
      latenciesUs = []
      simulation.runUntil(seconds * 1e6)
      const after = state()
      const countedUs = seconds * 0.75e6
      return {
        perSecond: (latenciesUs.length / countedUs) * 1e6,
        p50Ms: percentile(latenciesUs, 50) / 1000,
        p99Ms: percentile(latenciesUs, 99) / 1000,
        mainBusy: (after.main - before.main) / (countedUs * main.length),
        databaseBusy: (after.database - before.database) / (countedUs * databasePlaces),
        batchesPerRequest: (after.batches - before.batches) / latenciesUs.length,
      }
    },
  }
}

/** Numbers in [0, 1), the same in every run (Lehmer's generator). */
export function createRandom(): () => number {
  let state = 20_261
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}
