/**
 * Whether chats are felt to be slower while people look at the dashboard. Pairs of runs, one with somebody opening views of
 * an account of 100 000 completions and one without, in turn, so that what else the machine does meets both; beside them the
 * same number of pairs without, which tell how much two equal runs differ here. On SQLite, or with `--postgres` on that.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { AccountId } from '../src/domain/ids.ts'
import { type Gateway, startGateway } from '../test/support/gateway.ts'
import { createSchema } from '../test/support/http/schemas.ts'
import { startPostgres } from '../test/support/process/postgres-server.ts'
import { configOf } from './bench-config.ts'
import { BUDGETS } from './budgets.ts'
import { fillUsage, MODELS } from './dashboard-data.ts'
import { type Question, requestQuestions, usageQuestions } from './dashboard-views.ts'
import { pace, type Target } from './load.ts'
import { type BenchProcess, percentile, start } from './processes.ts'
import { printVerdicts, type Verdict } from './report.ts'

const quick = process.argv.includes('--quick')
/** A provider that answers sooner than any real one. With one that answers at once the p99 is the machine's noise. */
const WORK = { model: MODELS[0], stream: false }
const PAIRS = quick ? 3 : 7
const LOAD = { perSecond: 200, seconds: quick ? 1.5 : 4 }
const PEOPLE = 5
/** Until the process of the viewers has warmed up, which costs more than what it asks for. */
const LEAD_MS = 3_000
/** Of the dashboard, before anything counts: a gateway that has just begun compiles what it is asked for the first times. */
const WARM_ROUNDS = 4
const COMPLETIONS = 100_000
const MANY_COMPLETIONS = quick ? 100_000 : 1_000_000
const ROUNDS = quick ? 5 : 20

interface Stage {
  readonly gateway: Gateway
  /** Of the account that has been used. */
  readonly key: string
  /** Unix milliseconds: when its last request was. */
  readonly filledAt: number
}

/** With an account of its own that has so many completions. */
async function onStage<Result>(completions: number, act: (stage: Stage) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-dashboard-'))
  const postgres = process.argv.includes('--postgres') ? await startPostgres() : undefined
  const schema = postgres && (await createSchema(postgres.url))
  const upstream = await start('upstream.ts')
  const gateway = await startGateway({
    config: configOf(upstream.port, MODELS),
    logFile: join(folder, 'gateway.log'),
    env: {
      LOG_LEVEL: 'info',
      ...(schema && { DATABASE_URL: schema.url, TURNPIKE_SECRET: 'of the bench, which everybody may know' }),
    },
    args: schema ? ['--migrate'] : [],
  })
  try {
    const account = await gateway.cli('accounts', 'create', '--name', 'bench', '--plan', 'bench')
    const key = await gateway.key('--account', account)
    const startedAt = performance.now()
    const now = Date.now()
    const location = schema?.url ?? gateway.database
    await fillUsage({ location, accountId: account as AccountId, count: completions, now }) // as the command printed it
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
    console.log(`${completions} completions of ${MODELS.length} models written in ${seconds} s\n`)
    return await act({ gateway, key, filledAt: now })
  } finally {
    await gateway.stop()
    upstream.stop()
    await postgres?.stop()
    rmSync(folder, { recursive: true })
  }
}

async function p99({ gateway, key }: Stage): Promise<number> {
  const target: Target = { name: 'chat', port: gateway.port, pid: gateway.pid, key }
  return (await pace(target, WORK, LOAD)).p99Ms
}

async function p99BesideDashboard(stage: Stage): Promise<number> {
  const viewer = await openViews(stage)
  await sleep(LEAD_MS)
  const measured = await p99(stage)
  process.kill(viewer.pid, 0) // throws when it ended: a refused request ends it
  viewer.stop()
  await sleep(300)
  return measured
}

function openViews({ gateway, key }: Stage): Promise<BenchProcess> {
  return start('dashboard-load.ts', String(gateway.port), key, String(PEOPLE))
}

async function measure(stage: Stage): Promise<{ readonly watched: number; readonly equal: number }> {
  await p99(stage)
  for (let round = 0; round < WARM_ROUNDS; round++) await p99BesideDashboard(stage)
  const ratios = { watched: [] as number[], equal: [] as number[] }
  console.log('chat p99 of the first byte, ms, 50 of them the provider’s:')
  console.log('         alone, beside the dashboard, change | alone, alone, change')
  for (let pair = 0; pair < PAIRS; pair++) {
    // Who is first changes from pair to pair: what drifts meets both.
    const isAloneFirst = pair % 2 === 0
    const [first, second] = isAloneFirst ? [p99, p99BesideDashboard] : [p99BesideDashboard, p99]
    const times = [await first(stage), await second(stage)]
    const [alone = 0, watched = 0] = isAloneFirst ? times : times.toReversed()
    const [one, other] = [await p99(stage), await p99(stage)]
    ratios.watched.push(watched / alone)
    ratios.equal.push(other / one)
    console.log(`pair ${pair + 1}:  ${cells(alone, watched)}   | ${cells(one, other)}`)
  }
  return { watched: percentile(ratios.watched, 50), equal: percentile(ratios.equal, 50) }
}

function cells(before: number, after: number): string {
  return `${before.toFixed(2).padStart(8)} ${after.toFixed(2).padStart(8)} ${percent(after / before).padStart(8)}`
}

function percent(ratio: number): string {
  return `${ratio >= 1 ? '+' : ''}${((ratio - 1) * 100).toFixed(1)} %`
}

/** @returns whether the budget holds. */
export function benchDashboard(): Promise<boolean> {
  return onStage(COMPLETIONS, async (stage) => {
    const { watched, equal } = await measure(stage)
    console.log(`median of ${PAIRS} pairs: ${percent(watched)} beside it, ${percent(equal)} between equal runs\n`)
    const figure = `chat p99 beside ${PEOPLE} people who open a view of the dashboard a second each, ×`
    return printVerdicts([{ figure, measured: watched, budget: BUDGETS.dashboardP99Ratio }])
  })
}

async function timesOf({ gateway, key }: Stage, { path }: Question): Promise<readonly number[]> {
  const times: number[] = []
  for (let round = -1; round < ROUNDS; round++) {
    const startedAt = performance.now()
    const response = await fetch(`${gateway.url}${path}`, { headers: { authorization: `Bearer ${key}` } })
    const body = await response.text()
    if (!response.ok) throw new Error(`${response.status} for ${path}: ${body}`)
    if (round >= 0) times.push(performance.now() - startedAt)
  }
  return times
}

/** @returns the longest p95 of them, milliseconds. */
async function report(stage: Stage, questions: readonly Question[]): Promise<number> {
  const width = Math.max(...questions.map(({ name }) => name.length))
  let longest = 0
  for (const question of questions) {
    const times = await timesOf(stage, question)
    const [p50, p95] = [percentile(times, 50), percentile(times, 95)]
    console.log(
      `${question.name.padEnd(width)}  p50 ${p50.toFixed(1).padStart(7)} ms  p95 ${p95.toFixed(1).padStart(7)} ms`,
    )
    longest = Math.max(longest, p95)
  }
  console.log('')
  return longest
}

/** How long the views of Usage and Requests wait for their figures. @returns whether the budgets hold. */
export function benchDashboardQueries(): Promise<boolean> {
  return onStage(MANY_COMPLETIONS, async (stage) => {
    const now = Date.now()
    const verdict = (figure: string, measured: number): Verdict => ({
      figure,
      measured,
      budget: BUDGETS.dashboardQueryP95Ms,
    })
    return printVerdicts([
      verdict(
        `slowest view of Usage, ${MANY_COMPLETIONS} completions, p95 ms`,
        await report(stage, usageQuestions(now)),
      ),
      verdict(`slowest view of Requests, p95 ms`, await report(stage, requestQuestions(now, stage.filledAt))),
    ])
  })
}
