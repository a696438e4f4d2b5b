/** Measures several targets under the same load, in turn, so that the noise of the machine affects all. */
import { type Load, type Measured, saturate, type Target, type Work } from './load.ts'
import { cpuMicroseconds } from './processes.ts'
import { type Row, ratioOf, type Verdict } from './report.ts'
import type { StartedTarget } from './targets.ts'

export interface Timing {
  /** Of one round of one target. */
  readonly roundSeconds: number
  readonly rounds: number
  /** V8 optimises over tens of thousands of requests, and a gateway runs for days. */
  readonly firstWarmSeconds: number
  /** Of code that has been warmed up by another load. */
  readonly warmSeconds: number
}

/** A target whose rounds take longer than planned by this factor gets no more of them. */
const PATIENCE = 3

export interface Comparison {
  /** `JSON, 32 in flight` */
  readonly name: string
  /** Of each target by its name, if they differ. */
  readonly work: Work | ((target: string) => Work)
  readonly inFlight: number
  /** Whether this is the first load of its kind. */
  readonly isFirst?: boolean
}

/** What was measured of one target, over all rounds. */
export interface Total extends Measured {
  /** CPU of the database server that works for the target alone. */
  readonly databaseCpuUs: number | undefined
}

export type Compared = ReadonlyMap<string, Total>

interface Run {
  readonly target: Target & Partial<StartedTarget>
  readonly rounds: Total[]
  /** Of a round. */
  requests: number
  seconds: number
}

/** @param failures Gets a line for each target that fails; it has no figures then. */
export async function compare(
  targets: readonly Run['target'][],
  comparison: Comparison,
  { timing, failures }: { readonly timing: Timing; readonly failures: string[] },
): Promise<Compared> {
  console.error(`measuring: ${comparison.name}`)
  const seconds = comparison.isFirst ? timing.firstWarmSeconds : timing.warmSeconds
  const runs: Run[] = targets.map((target) => ({ target, rounds: [], requests: 0, seconds: 0 }))
  const failed = new Set<Run>()
  const attempt = async (run: Run, step: () => Promise<void>): Promise<void> => {
    if (failed.has(run)) return
    await step().catch((error: Error) => {
      failed.add(run)
      failures.push(`${comparison.name}: ${error.message}`)
    })
  }
  for (const run of runs) await attempt(run, () => warmUp(run, comparison, { seconds, timing }))
  const mostSeconds = PATIENCE * timing.rounds * timing.roundSeconds
  for (let round = 0; round < timing.rounds; round++) {
    for (const run of runs) {
      if (run.seconds < mostSeconds) await attempt(run, () => measureRound(run, comparison))
    }
  }
  return new Map(runs.filter((run) => !failed.has(run)).map(({ target, rounds }) => [target.name, together(rounds)]))
}

const workOf = ({ target }: Run, work: Comparison['work']): Work =>
  work instanceof Function ? work(target.name) : work

async function warmUp(
  run: Run,
  { work, inFlight }: Comparison,
  { seconds, timing }: { readonly seconds: number; readonly timing: Timing },
): Promise<void> {
  const { perSecond } = await saturate(run.target, workOf(run, work), { inFlight, seconds })
  run.requests = Math.max(inFlight, Math.round(perSecond * timing.roundSeconds))
}

/** Ends with its last answer: what a slow target has begun is neither lost nor left to the next round. */
async function measureRound(run: Run, { work, inFlight }: Comparison): Promise<void> {
  const load: Load = { inFlight, seconds: 0, requests: run.requests }
  const { databasePid } = run.target
  const databaseUs = () => (databasePid === undefined ? undefined : cpuMicroseconds(databasePid))
  const [before, startedAt] = [databaseUs(), performance.now()]
  const measured = await saturate(run.target, workOf(run, work), load)
  run.seconds += (performance.now() - startedAt) / 1000
  const after = databaseUs()
  run.rounds.push({ ...measured, databaseCpuUs: after === undefined ? undefined : after - (before ?? 0) })
}

function together(rounds: readonly Total[]): Total {
  const sum = (of: (round: Total) => number): number => rounds.reduce((total, round) => total + of(round), 0)
  const mean = (of: (round: Total) => number): number => sum(of) / rounds.length
  const hasDatabase = rounds.some(({ databaseCpuUs }) => databaseCpuUs !== undefined)
  return {
    requests: sum(({ requests }) => requests),
    cpuUs: sum(({ cpuUs }) => cpuUs),
    databaseCpuUs: hasDatabase ? sum(({ databaseCpuUs = 0 }) => databaseCpuUs) : undefined,
    perSecond: mean(({ perSecond }) => perSecond),
    p50Ms: mean(({ p50Ms }) => p50Ms),
    p99Ms: mean(({ p99Ms }) => p99Ms),
  }
}

/** What the CPU time of an answer is divided by. */
export interface Parts {
  readonly count: number
  readonly unit: string
}

/** @param of Undefined: the target has no such figure. */
export function rowOf(figure: string, compared: Compared, of: (total: Total) => number | undefined, digits = 1): Row {
  const measured = [...compared].flatMap(([name, total]) => {
    const value = of(total)
    return value === undefined ? [] : [[name, value] as const]
  })
  return { figure, values: Object.fromEntries(measured), digits }
}

/** CPU of the target and of its database server, and answers a second. */
export function rowsOf(name: string, compared: Compared, { count, unit }: Parts): readonly Row[] {
  const database = rowOf(`${name}: CPU µs per ${unit} in the database server`, compared, (total) =>
    total.databaseCpuUs === undefined ? undefined : total.databaseCpuUs / (total.requests * count),
  )
  return [
    rowOf(`${name}: CPU µs per ${unit}`, compared, ({ cpuUs, requests }) => cpuUs / (requests * count)),
    ...(Object.keys(database.values).length === 0 ? [] : [database]),
    rowOf(`${name}: requests a second`, compared, ({ perSecond }) => perSecond, 0),
  ]
}

/** The CPU time of Turnpike over that of the forwarder; NaN if one of them failed. */
export function cpuVerdict(name: string, compared: Compared, budget: number): Verdict {
  const ratio = ratioOf(rowOf(name, compared, ({ cpuUs, requests }) => cpuUs / requests))
  return { figure: `${name}: CPU, × the forwarder's`, measured: ratio ?? Number.NaN, budget }
}
