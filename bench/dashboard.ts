/**
 * Measures whether chats are slower while people use the dashboard: pairs of runs, with and without viewers who open pages
 * of an account of 100 000 completions. Runs on SQLite, or with `--postgres` on PostgreSQL.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { migrate } from '../src/db/migrate.ts'
import type { AccountId } from '../src/domain/ids.ts'
import { sumCompletions } from '../src/features/usage/dimension-sums.ts'
import { openLocation } from '../test/support/database.ts'
import { type Gateway, startGateway } from '../test/support/gateway.ts'
import { createSchema } from '../test/support/http/schemas.ts'
import { createPartitionsSince } from '../test/support/ledger/month-partitions.ts'
import { startPostgres } from '../test/support/process/postgres-server.ts'
import { configOf } from './bench-config.ts'
import { BUDGETS } from './budgets.ts'
import { DAYS, type Filling, fillUsage, MODELS } from './dashboard-data.ts'
import { measurePages } from './dashboard-pages.ts'
import { type Question, requestQuestions, tagQuestions, usageQuestions } from './dashboard-views.ts'
import { pace, type Target } from './load.ts'
import { comparePairs } from './pairs.ts'
import { type BenchProcess, percentile, start } from './processes.ts'
import { printVerdicts, type Verdict } from './report.ts'

const quick = process.argv.includes('--quick')
/** A fast provider. With one that responds at once, the p99 would be the noise of the machine. */
const WORK = { model: MODELS[0], stream: false }
const PAIRS = quick ? 3 : 7
const LOAD = { perSecond: 200, seconds: quick ? 1.5 : 4 }
const PEOPLE = 5
/** Time for the process of the viewers to warm up, which costs more than its requests. */
const LEAD_MS = 3_000
/** Rounds before the measurement, in which the gateway compiles the code of the dashboard's requests. */
const WARM_ROUNDS = 4
const COMPLETIONS = 100_000
const MANY_COMPLETIONS = wantedRows() ?? (quick ? 100_000 : 1_000_000)
const ROUNDS = quick ? 5 : 20
const DAY_MS = 86_400_000

/** `--rows <count>`. */
function wantedRows(): number | undefined {
  const at = process.argv.indexOf('--rows')
  return at === -1 ? undefined : Number(process.argv[at + 1])
}

interface Stage {
  readonly gateway: Gateway
  /** Key of the account with completions. */
  readonly key: string
  /** Time of its last request, Unix milliseconds. */
  readonly filledAt: number
}

interface StageOptions extends Partial<Pick<Filling, 'now' | 'days' | 'hasTags'>> {
  /** The `first` account is that of the person whom `turnpike login-link` signs in. */
  readonly owner?: 'first' | 'other'
}

/** Runs an action on a gateway with an account of this many completions. */
async function onStage<Result>(
  completions: number,
  act: (stage: Stage) => Promise<Result>,
  { owner = 'other', now = Date.now(), ...rows }: StageOptions = {},
): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-dashboard-'))
  const postgres = process.argv.includes('--postgres') ? await startPostgres() : undefined
  const schema = postgres && (await createSchema(postgres.url))
  if (schema) await partitionByMonth(schema.url, now - (rows.days ?? DAYS) * DAY_MS, now)
  const upstream = await start('upstream.ts')
  const gateway = await startGateway({
    config: configOf(upstream.port, MODELS),
    logFile: join(folder, 'gateway.log'),
    env: {
      LOG_LEVEL: 'info',
      ...(schema && { DATABASE_URL: schema.url, TURNPIKE_SECRET: 'a public secret of the bench, 32 bytes' }),
    },
    args: schema ? ['--migrate'] : [],
  })
  try {
    const account = owner === 'first' ? await firstAccount(gateway) : await createAccount(gateway)
    const key = await gateway.key('--account', account)
    const startedAt = performance.now()
    const location = schema?.url ?? gateway.database
    const accountId = account as AccountId // as the command printed it
    await fillUsage({ location, accountId, count: completions, now, ...rows })
    await sumAsTheJob(location)
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

/** In an empty database, as the job has made them when completions of these times arrived. */
async function partitionByMonth(location: string, first: number, now: number): Promise<void> {
  const database = await openLocation(location)
  await migrate(database.db, Date.now)
  await createPartitionsSince(database, first, now)
  await database.close()
}

/** Months ago the job has summed them long since. */
async function sumAsTheJob(location: string): Promise<void> {
  const { db, close } = await openLocation(location)
  await sumCompletions(db) // which notes the new account
  await sumCompletions(db)
  await close()
}

function createAccount(gateway: Gateway): Promise<string> {
  return gateway.cli('accounts', 'create', '--name', 'bench', '--plan', 'bench')
}

async function firstAccount(gateway: Gateway): Promise<string> {
  const key = await gateway.key()
  const response = await fetch(`${gateway.url}/v1/account`, { headers: { authorization: `Bearer ${key}` } })
  return ((await response.json()) as { readonly id: string }).id
}

async function p99({ gateway, key }: Stage): Promise<number> {
  const target: Target = { name: 'chat', port: gateway.port, pid: gateway.pid, key }
  return (await pace(target, WORK, LOAD)).p99Ms
}

async function p99BesideDashboard(stage: Stage): Promise<number> {
  const viewer = await openViews(stage)
  await sleep(LEAD_MS)
  const measured = await p99(stage)
  process.kill(viewer.pid, 0) // throws if the process has ended, as after a rejected request
  viewer.stop()
  await sleep(300)
  return measured
}

function openViews({ gateway, key }: Stage): Promise<BenchProcess> {
  return start('dashboard-load.ts', String(gateway.port), key, String(PEOPLE))
}

/** @returns whether the budget holds. */
export function benchDashboard(): Promise<boolean> {
  return onStage(COMPLETIONS, async (stage) => {
    await p99(stage)
    for (let round = 0; round < WARM_ROUNDS; round++) await p99BesideDashboard(stage)
    const measured = await comparePairs({
      count: PAIRS,
      alone: () => p99(stage),
      beside: () => p99BesideDashboard(stage),
      load: 'beside the dashboard',
    })
    const figure = `chat p99 beside ${PEOPLE} people who open a view of the dashboard a second each, ×`
    return printVerdicts([{ figure, measured, budget: BUDGETS.dashboardP99Ratio }])
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

/** @returns the longest of this percentile, milliseconds. */
async function report(stage: Stage, questions: readonly Question[], judged: 50 | 95 = 95): Promise<number> {
  const width = Math.max(...questions.map(({ name }) => name.length))
  let longest = 0
  for (const question of questions) {
    const times = await timesOf(stage, question)
    const [p50, p95] = [percentile(times, 50), percentile(times, 95)]
    console.log(
      `${question.name.padEnd(width)}  p50 ${p50.toFixed(1).padStart(7)} ms  p95 ${p95.toFixed(1).padStart(7)} ms`,
    )
    longest = Math.max(longest, judged === 50 ? p50 : p95)
  }
  console.log('')
  return longest
}

/** Measures how long the views of Usage and Requests load. @returns whether the budgets hold. */
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

/** Measures how soon pages show their content in a browser. @returns whether the budgets hold. */
export function benchDashboardPages(): Promise<boolean> {
  return onStage(MANY_COMPLETIONS, ({ gateway }) => measurePages(gateway), { owner: 'first' })
}

/** Measures a report by a tag that had as many values in a month as there are completions. @returns whether the budget holds. */
export function benchTagValues(): Promise<boolean> {
  const today = new Date()
  const now = Date.UTC(today.getUTCFullYear(), today.getUTCMonth()) - 1 // the end of the last whole month
  return onStage(
    MANY_COMPLETIONS,
    async (stage) => {
      const figure = `report by a tag with ${MANY_COMPLETIONS} values in a month, p50 ms`
      const measured = await report(stage, tagQuestions(now), 50)
      return printVerdicts([{ figure, measured, budget: BUDGETS.tagReportP50Ms }])
    },
    { now, days: 28, hasTags: true },
  )
}
