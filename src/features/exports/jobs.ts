/**
 * Analytics export: writes completions to Parquet files, at least once and with a version, so that a reader can drop what was
 * replaced. It reads closed periods of `created_at`, account by account in the order of IDs; what is written or corrected
 * behind them is marked by the ledger (`ledger/rollups.ts`) and follows in files of its own. Progress is stored after each file.
 */
import { createHash } from 'node:crypto'
import { type Kysely, type RawBuilder, type Selectable, sql } from 'kysely'
import { dialectOf, readRows } from '../../db/database.ts'
import type { AnalyticsExportTable, Database } from '../../db/schema/schema.ts'
import { within } from '../../db/shared-queries.ts'
import { type AccountId, type CompletionId, completionIdFloor } from '../../domain/ids.ts'
import type { ModelKind } from '../../domain/model.ts'
import { doubling, type JobContext, type JobKind } from '../../jobs/job.ts'
import { readDatabaseTime } from '../../jobs/queue.ts'
import { createSteadyClock } from '../../lib/time.ts'
import { type CompletionFile, createCompletionFile, type ExportedRow } from './completion-file.ts'
import { createStorage, type PutFile, type SignRequest, type StorageSettings } from './storage.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
/**
 * Before now, by the database's clock. Longer than `MARKED_AFTER_MS` of the ledger by more than any of its transactions takes,
 * and than the release before, which marks nothing, runs beside the first process that exports.
 */
export const EXPORTED_AFTER_MS = 10 * MINUTE_MS
export const MAX_FILE_ROWS = 20_000
/** Rows of a read, and of a row group: what is in memory besides the file, and encoded without a pause. */
const PAGE_ROWS = 500
const FIRST_RETRY_MS = 30_000
const LAST_RETRY_MS = 15 * MINUTE_MS
/** How long an ID may have been made before, or after, the `created_at` that the ledger accepts. */
const ID_MADE_BEFORE_MS = MINUTE_MS
const ID_MADE_AFTER_MS = DAY_MS

export interface ExportSettings extends StorageSettings {
  readonly name: string
  readonly every_minutes: number
}

export interface ExportStatus {
  readonly name: string
  /** Since the start of this process. */
  readonly rows: number
  readonly failures: number
  /** Completions created before are exported. Unix milliseconds; undefined: this process has not run it. */
  readonly exportedUntil: number | undefined
}

export interface ExportsInput {
  readonly db: Kysely<Database>
  readonly exports: readonly ExportSettings[]
  readonly sign: SignRequest
  readonly kindOf: (model: string) => ModelKind
  readonly limits?: Limits
}

interface Limits {
  readonly fileRows: number
  readonly pageRows: number
}

interface Exports {
  readonly jobs: Readonly<Record<string, JobKind>>
  readonly status: () => readonly ExportStatus[]
}

/** A job for each export: one process at a time runs it, and one file at a time is in memory. */
export function createExports(input: ExportsInput): Exports {
  const all = input.exports.map((settings) => {
    const status: { -readonly [Name in keyof ExportStatus]: ExportStatus[Name] } = {
      ...{ name: settings.name, rows: 0, failures: 0, exportedUntil: undefined },
    }
    const exporter = createExporter(input, settings, (rows, until) => {
      status.rows += rows
      status.exportedUntil = until
    })
    const handler: JobKind['handler'] = async (_job, context) => {
      try {
        await exporter(context.signal)
      } catch (error) {
        if (!context.signal.aborted) {
          status.failures += 1
          await noteFailure(input.db, settings.name, error)
        }
        throw error
      }
    }
    return { status, kind: kindOfJob(settings, handler) }
  })
  return {
    jobs: Object.fromEntries(all.map(({ status, kind }) => [`exports.${status.name}`, kind])),
    status: () => all.map(({ status }) => status),
  }
}

function kindOfJob({ every_minutes: minutes }: ExportSettings, handler: JobKind['handler']): JobKind {
  return {
    handler,
    backoff: doubling(FIRST_RETRY_MS, LAST_RETRY_MS),
    maxAttempts: Number.POSITIVE_INFINITY,
    concurrency: 1,
    everyMs: minutes * MINUTE_MS,
  }
}

/** For `turnpike doctor`. The job fails with the error whether or not it can be stored. */
async function noteFailure(db: Kysely<Database>, name: string, error: unknown): Promise<void> {
  const failure = (error instanceof Error ? error.message : String(error)).slice(0, 500)
  await db
    .updateTable('analytics_export')
    .set({ failure })
    .where('name', '=', name)
    .execute()
    .catch(() => undefined)
}

/** A database whose clock is ahead for a moment must not move an export past completions that are still to come. */
function steadyDatabaseTime(db: Kysely<Database>): () => Promise<number> {
  let read = 0
  let steady: (() => number) | undefined
  return async () => {
    read = await readDatabaseTime(db)
    steady ??= createSteadyClock(
      () => read,
      () => performance.now(),
    )
    return steady()
  }
}

type Progress = Omit<Selectable<AnalyticsExportTable>, 'failure' | 'run_at'>

interface Exporter extends Limits {
  readonly db: Kysely<Database>
  readonly put: PutFile
  readonly kindOf: ExportsInput['kindOf']
  /** Where this run ends. Unix milliseconds. */
  readonly until: number
}

function createExporter(
  { db, sign, kindOf, limits = { fileRows: MAX_FILE_ROWS, pageRows: PAGE_ROWS } }: ExportsInput,
  settings: ExportSettings,
  note: (rows: number, until: number) => void,
): (signal: JobContext['signal']) => Promise<void> {
  const put = createStorage(settings, sign)
  const readTime = steadyDatabaseTime(db)
  return async (signal) => {
    const now = await readTime()
    const exporter: Exporter = { ...limits, db, put, kindOf, until: now - EXPORTED_AFTER_MS }
    let progress = await readProgress(db, settings.name, now)
    if (now - progress.begun_at < EXPORTED_AFTER_MS) return
    await deleteMarksOfNothing(db, settings.name)
    for (;;) {
      signal.throwIfAborted()
      const step = (await exportMarked(exporter, progress, signal)) ?? (await exportPeriod(exporter, progress, signal))
      note(step?.rows ?? 0, (step?.progress ?? progress).exported_until)
      if (step === undefined) break
      progress = step.progress
    }
    const { begun_at: _, ...reached } = progress
    await save(db, progress, { ...reached, failure: null, run_at: now })
  }
}

/**
 * The progress of an export, which begins with the first completion. Transactions that began before this row mark nothing for
 * it, so that it exports nothing before they have ended.
 */
async function readProgress(db: Kysely<Database>, name: string, now: number): Promise<Progress> {
  const known = await db.selectFrom('analytics_export').selectAll().where('name', '=', name).executeTakeFirst()
  if (known !== undefined) return known
  const from = Math.max(0, startOfDay(Math.min((await firstCompletion(db)) ?? now, now) - DAY_MS))
  const begun = { name, version: now, begun_at: now, exported_until: from }
  const inPeriod = { period_end: null, after_account: null, after_id: null }
  await db
    .insertInto('analytics_export')
    .values({ ...begun, ...inPeriod, run_at: now, failure: null })
    .execute()
  return { ...begun, ...inPeriod }
}

/** When the first one was created, to the tolerance of IDs. */
async function firstCompletion(db: Kysely<Database>): Promise<number | undefined> {
  const firsts = db
    .selectFrom('account')
    .select(({ selectFrom }) =>
      selectFrom('completion')
        .select('completion.created_at')
        .whereRef('completion.account_id', '=', 'account.id')
        .orderBy('completion.id')
        .limit(1)
        .as('created_at'),
    )
  const row = await db
    .selectFrom(firsts.as('first'))
    .select(({ fn }) => fn.min('created_at').as('created_at'))
    .executeTakeFirst()
  return row?.created_at ?? undefined
}

function startOfDay(ms: number): number {
  return Math.floor(ms / DAY_MS) * DAY_MS
}

/** Rejects if another process has moved it: the lease of this one has ended. */
async function save(
  db: Kysely<Database>,
  { name, version }: Pick<Progress, 'name' | 'version'>,
  next: Partial<Selectable<AnalyticsExportTable>>,
): Promise<void> {
  const saved = await db
    .updateTable('analytics_export')
    .set(next)
    .where(({ and }) => and({ name, version }))
    .executeTakeFirst()
  if (saved.numUpdatedRows !== 1n) throw new Error(`Another process has moved the export ${name}.`)
}

interface Step {
  readonly progress: Progress
  readonly rows: number
}

/** A file that is being filled. */
interface Filled {
  readonly file: CompletionFile
  readonly hash: ReturnType<typeof createHash>
  rows: number
}

async function startFile({ kindOf }: Exporter, { version }: Progress): Promise<Filled> {
  return { file: await createCompletionFile({ version, kindOf }), hash: createHash('sha256'), rows: 0 }
}

function addRows(filled: Filled, rows: readonly ExportedRow[]): void {
  for (const { account_id: account, id } of rows) filled.hash.update(`${account}/${id}\n`)
  filled.file.add(rows)
  filled.rows += rows.length
}

/**
 * The same rows at the same progress have the same path: what is repeated after a crash replaces itself. A process that has
 * lost its lease and writes other rows does not replace a file of the next one.
 */
async function storeFile(
  { put }: Exporter,
  filled: Filled,
  where: { day: number; version: number; signal: AbortSignal },
) {
  const day = new Date(where.day).toISOString().slice(0, 10)
  const name = `${where.version}-${filled.hash.digest('hex').slice(0, 16)}`
  await put(`completions/day=${day}/${name}.parquet`, filled.file.end(), where.signal)
}

/** Exports the next file of the current period, which is within a day. @returns undefined: nothing is left. */
async function exportPeriod(exporter: Exporter, progress: Progress, signal: AbortSignal): Promise<Step | undefined> {
  const { db, fileRows, pageRows } = exporter
  const { exported_until: start, version } = progress
  const end = progress.period_end ?? Math.min(startOfDay(start) + DAY_MS, exporter.until)
  if (end <= start) return undefined
  const filled = await startFile(exporter, progress)
  let after = { account: progress.after_account ?? ('' as AccountId), id: progress.after_id ?? ('' as CompletionId) }
  let isLast = false
  while (!isLast && filled.rows < fileRows) {
    signal.throwIfAborted()
    const limit = Math.min(pageRows, fileRows - filled.rows)
    const rows = await readRows<ExportedRow>(db, pageOf(db, { start, end, after, limit }))
    const last = rows.at(-1)
    if (last !== undefined) {
      addRows(filled, rows)
      after = { account: last.account_id, id: last.id }
    }
    isLast = rows.length < limit
  }
  const next = isLast
    ? { exported_until: end, period_end: null, after_account: null, after_id: null }
    : { exported_until: start, period_end: end, after_account: after.account, after_id: after.id }
  if (filled.rows === 0) return { progress: { ...progress, ...next }, rows: 0 } // stored with the next file, or the end
  await storeFile(exporter, filled, { day: startOfDay(start), version, signal })
  await save(db, progress, { ...next, version: version + 1 })
  return { progress: { ...progress, ...next, version: version + 1 }, rows: filled.rows }
}

const COLUMNS = [
  ...['account_id', 'id', 'key_id', 'model', 'provider', 'status', 'stream', 'finish_reason', 'prompt_tokens'],
  ...['completion_tokens', 'cached_tokens', 'cache_write_tokens', 'reasoning_tokens', 'cost_nano_usd', 'price_version'],
  ...['usage_source', 'created_at', 'duration_ms', 'first_byte_ms', 'attempts', 'client_request_id', 'usage_bounded'],
  ...['provider_cost_nano_usd', 'unbilled_nano_usd', 'usage_detail', 'price_rule', 'api', 'team_id', 'tags'],
  ...['session_id', 'end_user', 'request_id'],
]
const SELECTED = sql.raw(`select ${COLUMNS.map((name) => `completion.${name}`).join(', ')},
  coalesce(api_key.created_by, device.user_id,
    case when substr(completion.key_id, 1, 4) = 'usr_' then completion.key_id end) as member_id`)
const MEMBERS =
  sql.raw(`left join api_key on api_key.account_id = completion.account_id and api_key.id = completion.key_id
  left join device on device.account_id = completion.account_id and device.id = completion.key_id`)

interface PageRange {
  /** Unix milliseconds. */
  readonly start: number
  readonly end: number
  readonly after: { readonly account: AccountId; readonly id: CompletionId }
  readonly limit: number
}

/** Reads each account's part by the primary key, whatever the planner believes to know. */
function pageOf(db: Kysely<Database>, { start, end, after, limit }: PageRange): RawBuilder<ExportedRow> {
  const above = completionIdFloor(Math.max(0, start - ID_MADE_BEFORE_MS))
  const range = sql`completion.account_id = account.id
    and completion.id > case when account.id = ${after.account} then ${after.id} else ${above} end
    and completion.id < ${completionIdFloor(end + ID_MADE_AFTER_MS)} and ${within('completion.created_at', { start, end })}`
  const parts =
    dialectOf(db) === 'postgres'
      ? sql`cross join lateral (select * from completion where ${range} order by completion.id limit ${limit}) as completion`
      : sql`cross join completion on ${range}`
  return sql<ExportedRow>`${SELECTED} from account ${parts} ${MEMBERS}
    where account.id >= ${after.account} order by account.id, completion.id limit ${limit}`
}

/** Exports the oldest day of completions that were written or corrected behind the progress. */
async function exportMarked(exporter: Exporter, progress: Progress, signal: AbortSignal): Promise<Step | undefined> {
  const { db, pageRows } = exporter
  const { name, version } = progress
  const found = await readRows<ExportedRow & { readonly marks: number }>(
    db,
    sql`${SELECTED}, late.marks from analytics_export_late as late
      join completion on completion.account_id = late.account_id and completion.id = late.id ${MEMBERS}
      where late.export = ${name} order by completion.created_at, completion.account_id, completion.id limit ${pageRows}`,
  )
  const day = startOfDay(found[0]?.created_at ?? 0)
  const rows = found.filter(({ created_at: at }) => startOfDay(at) === day)
  if (rows.length === 0) return undefined
  const filled = await startFile(exporter, progress)
  addRows(filled, rows)
  await storeFile(exporter, filled, { day, version, signal })
  const keys = sql.join(rows.map(({ account_id: account, id, marks }) => sql`(${account}, ${id}, ${sql.lit(marks)})`))
  await db.transaction().execute(async (inside) => {
    await save(inside, progress, { version: version + 1 })
    // a completion that was corrected again meanwhile has another number, and stays
    await sql`delete from analytics_export_late
      where export = ${name} and (account_id, id, marks) in (values ${keys})`.execute(inside)
  })
  return { progress: { ...progress, version: version + 1 }, rows: rows.length }
}

/** Their completions are deleted by retention. */
async function deleteMarksOfNothing(db: Kysely<Database>, name: string): Promise<void> {
  await sql`delete from analytics_export_late where export = ${name} and not exists (select 1 from completion
    where completion.account_id = analytics_export_late.account_id and completion.id = analytics_export_late.id)`.execute(
    db,
  )
}
