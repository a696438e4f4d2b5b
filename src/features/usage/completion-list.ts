/**
 * Completions in pages, by id. A filter by key or model has no index of its own, which would cost every completion two
 * more writes: the sums by day and hour say when there was anything of that key or model, and only that time is read.
 */
import { type ExpressionBuilder, type Kysely, type Selectable, type SelectQueryBuilder, sql } from 'kysely'
import { type DialectName, dialectOf } from '../../db/database.ts'
import type { CompletionTable, Database } from '../../db/schema/schema.ts'
import { given, within } from '../../db/shared-queries.ts'
import { readAgentReference } from '../../domain/agent.ts'
import type { AttemptOutcome, CompletionStatus } from '../../domain/completion.ts'
import type { AccountId, AgentId, CompletionId, KeyId, TeamId } from '../../domain/ids.ts'
import { type NanoUsd, parseNanoUsd } from '../../domain/money.ts'
import type { PageRequest } from '../../http/page.ts'
import type { Period } from '../../http/period.ts'
import { DAY_MS, HOUR_MS, type IdRange, idsBornIn, rangeAfter } from './period.ts'

export type CompletionRow = Selectable<CompletionTable>

export interface CompletionFilter {
  readonly period: Period
  readonly model: string | undefined
  readonly keyId: KeyId | undefined
  readonly status: CompletionStatus | undefined
  readonly agentId: AgentId | undefined
  /** This and the next have neither index nor sums: only a short period may be read for them. */
  readonly provider: string | undefined
  readonly clientRequestId: string | undefined
  readonly requestId?: string | undefined
  /** `key=value`. */
  readonly tag?: string | undefined
  readonly sessionId?: string | undefined
  readonly endUser?: string | undefined
  /** Of an attempt at a provider that did not answer. */
  readonly outcome?: Exclude<AttemptOutcome, 'answered'> | undefined
  /** Both bounds are included. */
  readonly durationMs?: Bounds<number> | undefined
  /** USD as text, exact to the nano-dollar. */
  readonly costUsd?: Bounds<string> | undefined
  /** That the caller is limited to. */
  readonly teamId?: TeamId | undefined
}

export interface Bounds<Value> {
  readonly min: Value | undefined
  readonly max: Value | undefined
}

export interface CompletionListInput extends PageRequest<CompletionId> {
  readonly accountId: AccountId
  readonly filter: CompletionFilter
}

/** At most `limit` completions by creation, those with `after` and before it left out. */
export async function listCompletions(
  db: Kysely<Database>,
  list: CompletionListInput,
): Promise<readonly CompletionRow[]> {
  const { limit, order } = list
  const agentId = agentOf(list.filter)
  if (agentId !== undefined) return listOfAgent(db, { ...list, agentId })
  const rows: CompletionRow[] = []
  let position = list.after
  for await (const period of periodsToRead(db, list)) {
    const range = idsBornIn(period)
    const rest = rangeAfter(range, position, order)
    if (rest === undefined) continue
    const query = rowsBetween(db, { ...list, range: rest })
    rows.push(...(await query.limit(limit - rows.length).execute()))
    if (rows.length >= limit) break
    position = order === 'asc' ? range.below : range.above
  }
  return rows
}

/** Undefined when the completion is unknown or another account's. */
export async function findCompletion(
  db: Kysely<Database>,
  { accountId, id }: { readonly accountId: AccountId; readonly id: CompletionId },
): Promise<CompletionRow | undefined> {
  const query = db.selectFrom('completion').selectAll().where('account_id', '=', accountId).where('id', '=', id)
  return query.executeTakeFirst()
}

interface RowChoice extends Pick<CompletionListInput, 'accountId' | 'filter' | 'order'> {
  readonly range: IdRange
}

function rowsBetween(db: Kysely<Database>, { accountId, filter, order, range }: RowChoice) {
  const { status } = filter
  const rows = db
    .selectFrom('completion')
    .selectAll()
    .where('account_id', '=', accountId)
    .$call((query) => matching(query, filter))
  if (isIndexed(status))
    return notCompletedBetween(rows, { status, range, dialect: dialectOf(db) })
      .orderBy('status', order)
      .orderBy('id', order)
  return rows
    .where('id', '>', range.above)
    .where('id', '<', range.below)
    .where(({ and }) => and(given({ status })))
    .orderBy('id', order)
}

/** Among those of a row. The pattern has no wildcards but the outer ones. */
function hasTag(tag: string) {
  const escaped = tag.replace(/[\\%_]/g, '\\$&')
  return sql<boolean>`',' || tags || ',' like ${`%,${escaped},%`} escape '\\'`
}

/** A pattern of what `attemptLogText` writes; texts of providers are in it with escaped quotes. */
function hadOutcome(outcome: AttemptOutcome): string {
  return `%"outcome":"${outcome}"%` // `_` also stands for itself
}

function inBounds<Column extends 'duration_ms' | 'cost_nano_usd'>(
  column: Column,
  bounds: Bounds<CompletionTable[Column]> | undefined,
) {
  return ({ eb }: ExpressionBuilder<Database, 'completion'>) =>
    eb.and([
      ...(bounds?.min === undefined ? [] : [eb(column, '>=', bounds.min as never)]),
      ...(bounds?.max === undefined ? [] : [eb(column, '<=', bounds.max as never)]),
    ])
}

function nanoUsdOf(text: string | undefined): NanoUsd | undefined {
  return text === undefined ? undefined : parseNanoUsd(text)
}

type Completions<Row> = SelectQueryBuilder<Database, 'completion', Row>

/** What the filter says, but for the status and the agent, which decide what is read through. */
export function matching<Row>(rows: Completions<Row>, filter: CompletionFilter): Completions<Row> {
  const { period, model, keyId, provider, clientRequestId, requestId, tag, sessionId, endUser, teamId } = filter
  const { outcome, durationMs, costUsd } = filter
  return rows
    .where(({ and }) => and(given({ client_request_id: clientRequestId, provider, model, key_id: keyId })))
    .where(({ and }) => and(given({ request_id: requestId, session_id: sessionId, end_user: endUser })))
    .where(({ and }) => and(given({ team_id: teamId })))
    .$if(tag !== undefined, (query) => query.where(hasTag(tag ?? '')))
    .$if(outcome !== undefined, (query) => query.where('attempt_log', 'like', hadOutcome(outcome ?? 'failed')))
    .where(inBounds('duration_ms', durationMs))
    .where(inBounds('cost_nano_usd', { min: nanoUsdOf(costUsd?.min), max: nanoUsdOf(costUsd?.max) }))
    .where(within('created_at', period))
}

interface NotCompleted {
  readonly status: CompletionStatus
  readonly range: IdRange
  readonly dialect: DialectName
}

/**
 * Through the index of completions that did not complete: its own condition must stand word for word. PostgreSQL reads the
 * partitions of the range in their order; on SQLite bounds on status and id together are what the primary key cannot
 * serve.
 */
export function notCompletedBetween<Row>(
  rows: Completions<Row>,
  { status, range, dialect }: NotCompleted,
): Completions<Row> {
  const indexed = rows.where('status', '<>', sql.lit<CompletionStatus>('completed'))
  if (dialect === 'postgres')
    return indexed.where('status', '=', status).where('id', '>', range.above).where('id', '<', range.below)
  return indexed
    .where(({ eb, refTuple, tuple }) => eb(refTuple('status', 'id'), '>', tuple(status, range.above)))
    .where(({ eb, refTuple, tuple }) => eb(refTuple('status', 'id'), '<', tuple(status, range.below)))
}

/**
 * Through the index of agents' completions. Bounds on the id would lead elsewhere. SQLite searches by the first bounds:
 * the agent's own must stand before those that are only the condition of the index, and all of them before an exact
 * `client_request_id`, which would hide that condition from it.
 */
export function ofAgent<Row>(rows: Completions<Row>, agentId: AgentId): Completions<Row> {
  return rows
    .where('client_request_id', '>', `${agentId}/`)
    .where('client_request_id', '<', `${agentId}0`) // what comes after the slash
    .where('client_request_id', '>=', sql.lit('agt_')) // literals: the condition of the index
    .where('client_request_id', '<', sql.lit('agt`'))
}

/** Whose completions alone can match; undefined: anybody's. A run's reference says it without the agent's id. */
export function agentOf({ agentId, clientRequestId }: CompletionFilter): AgentId | undefined {
  if (agentId !== undefined || clientRequestId === undefined) return agentId
  return readAgentReference(clientRequestId)?.agentId
}

/** Agents make few calls: all their ids are read, and sorted here, since the index has them run by run. */
async function listOfAgent(
  db: Kysely<Database>,
  { accountId, agentId, filter, limit, order, after }: CompletionListInput & { readonly agentId: AgentId },
): Promise<readonly CompletionRow[]> {
  const { status } = filter
  const found = await ofAgent(db.selectFrom('completion').select('id').where('account_id', '=', accountId), agentId)
    .$call((query) => matching(query, filter))
    .where(({ and }) => and(given({ status })))
    .execute()
  const sign = order === 'asc' ? 1 : -1
  const compare = (one: CompletionId, other: CompletionId) => (one < other ? -sign : sign)
  const ids = found.map(({ id }) => id).filter((id) => after === undefined || compare(after, id) < 0)
  const page = ids
    .filter((id) => id !== after)
    .toSorted(compare)
    .slice(0, limit)
  if (page.length === 0) return []
  const rows = db.selectFrom('completion').selectAll().where('account_id', '=', accountId).where('id', 'in', page)
  return (await rows.execute()).toSorted((one, other) => compare(one.id, other.id))
}

function isIndexed(status: CompletionStatus | undefined): status is Exclude<CompletionStatus, 'completed'> {
  return status !== undefined && status !== 'completed'
}

/** There is no sum of what is asked for: the rows themselves must be looked at. */
export function isReadRowByRow({ period, model, keyId, status, ...others }: CompletionFilter): boolean {
  return Object.values(others).some((value) => value !== undefined)
}

/** Disjoint, in the order of the list; together they hold everything that is listed. */
async function* periodsToRead(db: Kysely<Database>, list: CompletionListInput): AsyncGenerator<Period> {
  const { period, model, keyId, status } = list.filter
  const isOfAll = model === undefined && keyId === undefined && !isReadRowByRow(list.filter)
  if (isIndexed(status) || isOfAll) {
    yield period
    return
  }
  for (const day of await daysWithUsage(db, list)) {
    const wholeDay = { start: day * DAY_MS, end: (day + 1) * DAY_MS }
    if (rangeAfter(idsBornIn(wholeDay), list.after, list.order) === undefined) continue
    for (const hours of joinRuns(await hoursWithUsage(db, list, day))) {
      const start = Math.max(hours.start * HOUR_MS, period.start)
      yield { start, end: Math.min(hours.end * HOUR_MS, period.end) }
    }
  }
}

async function daysWithUsage(db: Kysely<Database>, list: CompletionListInput): Promise<readonly number[]> {
  const { period, model, keyId } = list.filter
  const rows = await db
    .selectFrom('usage_rollup')
    .select('day')
    .distinct()
    .where('account_id', '=', list.accountId)
    .where('day', '>=', Math.floor(period.start / DAY_MS))
    .where('day', '<', Math.ceil(period.end / DAY_MS))
    .where(({ and }) => and(given({ model, key_id: keyId })))
    .orderBy('day', list.order)
    .execute()
  return rows.map(({ day }) => day)
}

async function hoursWithUsage(
  db: Kysely<Database>,
  { accountId, filter, order }: CompletionListInput,
  day: number,
): Promise<readonly number[]> {
  const { period, model, keyId } = filter
  const rows = await db
    .selectFrom('usage_hour')
    .select('hour')
    .distinct()
    .where('account_id', '=', accountId)
    .where('hour', '>=', Math.max(day * 24, Math.floor(period.start / HOUR_MS)))
    .where('hour', '<', Math.min((day + 1) * 24, Math.ceil(period.end / HOUR_MS)))
    .where(({ and }) => and(given({ model, key_id: keyId })))
    .orderBy('hour', order)
    .execute()
  return rows.map(({ hour }) => hour)
}

/** Neighbours become one: 5, 6, 7, 9 is 5 up to 8 and 9 up to 10, in the order that they come in. */
function joinRuns(hours: readonly number[]): readonly Period[] {
  const runs: Period[] = []
  for (const hour of hours) {
    const last = runs.at(-1)
    const isNext = last !== undefined && (last.end === hour || last.start === hour + 1)
    if (isNext) runs[runs.length - 1] = { start: Math.min(last.start, hour), end: Math.max(last.end, hour + 1) }
    else runs.push({ start: hour, end: hour + 1 })
  }
  return runs
}
