/**
 * `npm run bench -- --against FOLDER`: the CPU time of this checkout against that of another one, second by second in
 * turn before the same upstream. The noise of a machine lasts longer than a second and so meets both. Two processes of
 * the same code differ by up to 15 %, too, so both are started several times, each first in
 * turn, and the medians are compared.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { startGateway } from '../test/support/gateway.ts'
import { CHUNKS, configOf } from './bench-config.ts'
import { saturate, type Target, type Work } from './load.ts'
import { type BenchProcess, cpuMicroseconds, percentile, start } from './processes.ts'

const STARTS = 8
/** After 4 s the engine still compiles: more code looks slower than it is. */
const WARM_SECONDS = 15
const ROUNDS = 6
const SETTLE_MS = 1000
const BUDGET = 1.03

interface ComparedWork {
  readonly figure: string
  readonly work: Work
  readonly inFlight: number
}

const WORKS: readonly ComparedWork[] = [
  { figure: 'JSON, 64 in flight', work: { model: 'json', stream: false }, inFlight: 64 },
  { figure: 'JSON, 1 in flight', work: { model: 'json', stream: false }, inFlight: 1 },
  { figure: 'stream at full speed, 64 in flight', work: { model: `stream-${CHUNKS}`, stream: true }, inFlight: 64 },
]

/** CPU time of a request in one start of both, µs. */
interface Compared {
  readonly other: number
  readonly own: number
}

export type Start = typeof startGateway

/** @returns whether no figure is worse by more than 3 %. */
export async function benchAgainst(folder: string): Promise<boolean> {
  const support = pathToFileURL(join(resolve(folder), 'test/support/gateway.ts')).href
  const others = (await import(support)) as { startGateway: Start }
  const upstream = await start('upstream.ts')
  const results = WORKS.map((): Compared[] => [])
  try {
    for (let time = 0; time < STARTS; time++) {
      const starts = [others.startGateway, startGateway] as const
      const compared = await compareStarts(starts, { upstream, ownFirst: time % 2 === 1, works: WORKS })
      for (const [index, each] of compared.entries()) results[index]?.push(each)
    }
  } finally {
    upstream.stop()
  }
  return WORKS.map(({ figure }, index) => report(figure, results[index] ?? [])).every(Boolean)
}

interface Comparison {
  readonly upstream: BenchProcess
  readonly ownFirst: boolean
  readonly works: readonly ComparedWork[]
}

/** Starts both gateways, the other one first unless `ownFirst`, and compares them for each of the works. */
export async function compareStarts(
  starts: readonly [Start, Start],
  { upstream, ownFirst, works }: Comparison,
): Promise<Compared[]> {
  const logFile = join(mkdtempSync(join(tmpdir(), 'turnpike-against-')), 'gateways.log')
  const options = { config: configOf(upstream.port), logFile, env: { LOG_LEVEL: 'info' } }
  const first = await starts[ownFirst ? 1 : 0](options)
  const second = await starts[ownFirst ? 0 : 1](options)
  const gateways = ownFirst ? [second, first] : [first, second]
  try {
    const [other, own] = await Promise.all(
      gateways.map(async ({ port, pid, key }): Promise<Target> => ({ name: `${port}`, port, pid, key: await key() })),
    )
    const compared: Compared[] = []
    if (other === undefined || own === undefined) return compared
    for (const { work, inFlight } of works) compared.push(await compareRounds([other, own], work, inFlight))
    return compared
  } finally {
    for (const gateway of gateways) await gateway.stop()
  }
}

/**
 * Whose second comes first changes with the round. CPU time is that of the whole time, the other's seconds included: a
 * gateway may leave work (writing, collecting garbage) until it is idle.
 */
async function compareRounds(targets: readonly [Target, Target], work: Work, inFlight: number): Promise<Compared> {
  for (const target of targets) await saturate(target, work, { inFlight, seconds: WARM_SECONDS })
  const before = targets.map(({ pid }) => cpuMicroseconds(pid))
  const requests: [number, number] = [0, 0]
  for (let round = 0; round < ROUNDS; round++) {
    const order = round % 2 === 0 ? ([0, 1] as const) : ([1, 0] as const)
    for (const index of order) {
      requests[index] += (await saturate(targets[index], work, { inFlight, seconds: 1 })).requests
    }
  }
  await sleep(SETTLE_MS)
  const cpuOf = (index: 0 | 1) => (cpuMicroseconds(targets[index].pid) - (before[index] ?? 0)) / requests[index]
  return { other: cpuOf(0), own: cpuOf(1) }
}

/** The median of the starts. */
function report(figure: string, compared: readonly Compared[]): boolean {
  const median = (values: readonly number[]) => percentile(values, 50)
  const ratios = compared.map(({ other, own }) => own / other)
  const before = median(compared.map(({ other }) => other)).toFixed(1)
  const after = median(compared.map(({ own }) => own)).toFixed(1)
  const single = ratios.map((ratio) => ratio.toFixed(3)).join(', ')
  console.log(
    `${figure}: CPU µs a request ${before} → ${after}, ratio ${median(ratios).toFixed(3)} (starts: ${single})`,
  )
  return median(ratios) <= BUDGET
}
