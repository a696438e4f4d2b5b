/** `GET /usage/completions/stream`: completions as they end. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { Kysely } from 'kysely'
import { Type } from 'typebox'
import type { Database } from '../../db/schema/schema.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { Right } from '../../domain/identity/caller.ts'
import type { AccountId, CompletionId } from '../../domain/ids.ts'
import {
  type EventSource,
  type EventStreamDeps,
  type StreamEvent,
  StreamEventView,
  streamEvents,
} from '../../http/event-stream.ts'
import { ALL_TIME } from '../../http/period.ts'
import type { FeatureDeps } from '../deps.ts'
import { type CompletionRow, findCompletion, listCompletions } from './completion-list.ts'
import { FILTER_QUERY, readUntimedFilter, renderCompletion, type UntimedFilter } from './completion-shapes.ts'
import { type Names, namesOfKeys } from './names.ts'

export interface CompletionStreamDeps extends EventStreamDeps, Pick<FeatureDeps, 'db' | 'now' | 'callerOf'> {
  /** Between two reads of the database. Default: one second. */
  readonly lookEveryMs?: number
}

const LOOK_EVERY_MS = 1_000
const SCOPE = 'usage:read'
const COMPLETION_ID = /^chatcmpl-[0-9A-Za-z]{22}$/

/** Each poll reads at most this many completions, and none that started longer ago. */
const MAX_TAIL = 100
const MAX_TAIL_MS = 3_600_000
/** How long ago the completion after which a client resumes may have ended. */
const MAX_MISSED_MS = 7 * 86_400_000
/** Exceeds the usual delay before a settlement is written, and the clock difference between machines. */
const LATE_MS = 10_000
/** Slow reads are made less often, so that reading takes at most a tenth of the time. */
const REST = 10

const schema = {
  summary: 'Stream completions',
  description:
    'Sends completions as they end, as an event stream: `id` is the ID of the completion, `event` is `completion`, ' +
    '`data` is the object of the list as one line of JSON. Comments keep an idle stream open. Once a second the server ' +
    `reads the newest ${MAX_TAIL} matching completions that started within the last hour, and sends those that it has ` +
    'not sent, in the order in which they ended; later ones appear only in the list. Filters are combined with AND. ' +
    '`Last-Event-ID` resumes after that completion; completions of the seconds before it may be repeated, so compare ' +
    'their IDs. Returns 400 if it is not the ID of a completion, and 429 if ten streams are open.',
  tags: ['Usage'],
  querystring: Type.Object({
    ...FILTER_QUERY,
    after: Type.Optional(Type.String({ description: 'Same as the header `Last-Event-ID`, which takes precedence.' })),
  }),
  headers: Type.Object({
    'last-event-id': Type.Optional(Type.String({ description: 'ID of the last completion received.' })),
  }),
  response: { 200: { description: 'Completions.', content: { 'text/event-stream': { schema: StreamEventView } } } },
}

export function completionStreamRoute(deps: CompletionStreamDeps): FastifyPluginAsyncTypebox {
  const { db, now, callerOf, listeners, lookEveryMs = LOOK_EVERY_MS } = deps
  const route = { config: { scope: SCOPE }, schema, exposeHeadRoute: false } as const
  return async (app) => {
    app.addHook('preClose', async () => listeners.endAll())
    app.get('/usage/completions/stream', route, async (request, reply) => {
      const { accountId, scopes, teamId } = callerOf(request)
      const last = lastIdOf(request.headers, request.query.after)
      const filter = { ...readUntimedFilter(request.query, accountId), teamId }
      // before the response head: a client that receives the head receives everything that ends from then on
      const tail = await openCompletionTail({ db, accountId, filter, now, last, readEveryMs: lookEveryMs })
      const source = followTail(db, accountId, { tail, rights: scopes })
      return streamEvents(request, reply, { ...deps, accountId, source, pollIntervalMs: lookEveryMs, scope: SCOPE })
    })
  }
}

interface Followed {
  readonly tail: CompletionTail
  readonly rights: ReadonlySet<Right>
}

function followTail(db: Kysely<Database>, accountId: AccountId, { tail, rights }: Followed): EventSource {
  let found: readonly CompletionRow[] = []
  return {
    async read() {
      found = [...found, ...(await tail())]
      // `found` keeps the rows if the database is unavailable now
      const ids = found.map(({ key_id: id }) => id)
      const names = await namesOfKeys(db, accountId, ids)
      const events = found.map((row) => renderEvent(row, names, rights))
      found = []
      return events
    },
  }
}

function renderEvent(row: CompletionRow, names: Names, rights: ReadonlySet<Right>): StreamEvent {
  return { id: row.id, event: 'completion', data: JSON.stringify(renderCompletion(row, { names, rights })) }
}

/** The header takes precedence: a client that reconnects sends the query of its first request. */
function lastIdOf(headers: FastifyRequest['headers'], after: string | undefined): CompletionId | undefined {
  const header = headers['last-event-id']
  const value = header === undefined || header === '' ? after : header
  if (value === undefined || value === '') return undefined
  if (typeof value === 'string' && COMPLETION_ID.test(value)) return value as CompletionId
  const [code, param] =
    value === after ? (['invalid_value', 'after'] as const) : (['invalid_header', 'Last-Event-ID'] as const)
  const message = `${param} must be the id of a completion: chatcmpl- and 22 letters and digits.`
  throw new GatewayError(code, message, { param })
}

/*
 * Follows the completions of an account. Rows are inserted when a completion ends, but indexed by when it started: each poll
 * reads the newest ones, like the first page of the list, and skips those that were found before.
 */

interface CompletionTailInput extends Pick<FeatureDeps, 'db' | 'now'> {
  readonly accountId: AccountId
  readonly filter: UntimedFilter
  /**
   * The last completion that the client received. Those that ended in the seconds before it are returned again, because
   * some may have been written later. Undefined: from now on.
   */
  readonly last: CompletionId | undefined
  /** Minimum time between two reads. */
  readonly readEveryMs: number
}

/** Returns what has ended since the previous call, ordered by when it ended. */
type CompletionTail = () => Promise<readonly CompletionRow[]>

/** The tail includes everything that ends after this resolves. */
export async function openCompletionTail(input: CompletionTailInput): Promise<CompletionTail> {
  const { db, accountId, now, last, readEveryMs } = input
  const lastRow = last === undefined ? undefined : await findCompletion(db, { accountId, id: last })
  const first = await newestSince(input, firstMoment(now(), lastRow))
  let known = idsOf(first)
  let missed = last === undefined ? [] : first.filter((row) => !isReceived(row, { last, lastRow }))
  let nextAt = performance.now() + readEveryMs
  return async () => {
    const begunAt = performance.now()
    const rows = missed
    missed = []
    if (rows.length > 0 || begunAt < nextAt) return rows.toSorted(byEnd)
    const newest = await newestSince(input, now() - MAX_TAIL_MS)
    nextAt = begunAt + Math.max(readEveryMs, (performance.now() - begunAt) * REST)
    const fresh = newest.filter(({ id }) => !known.has(id))
    known = idsOf(newest) // a row that drops out of the newest never returns
    return fresh.toSorted(byEnd)
  }
}

function newestSince({ db, accountId, filter }: CompletionTailInput, start: number): Promise<readonly CompletionRow[]> {
  const period = { start: Math.max(0, start), end: ALL_TIME.end }
  return listCompletions(db, {
    accountId,
    filter: { ...filter, period },
    limit: MAX_TAIL,
    order: 'desc',
    after: undefined,
  })
}

function firstMoment(now: number, lastRow: CompletionRow | undefined): number {
  const wanted = Math.min(now, lastRow === undefined ? now : endOf(lastRow)) - MAX_TAIL_MS
  return Math.max(wanted, now - MAX_MISSED_MS)
}

interface ResumePoint {
  readonly last: CompletionId
  /** Undefined: there is no such row. */
  readonly lastRow: CompletionRow | undefined
}

/** Whether a client that received the last one has certainly received this one. */
function isReceived(row: CompletionRow, { last, lastRow }: ResumePoint): boolean {
  if (lastRow === undefined) return row.id <= last
  return row.id === last || endOf(row) < endOf(lastRow) - LATE_MS
}

function idsOf(rows: readonly CompletionRow[]): ReadonlySet<CompletionId> {
  return new Set(rows.map(({ id }) => id))
}

function byEnd(one: CompletionRow, other: CompletionRow): number {
  return endOf(one) - endOf(other) || (one.id < other.id ? -1 : 1)
}

/** Unix milliseconds. */
function endOf({ created_at: begunAt, duration_ms: durationMs }: CompletionRow): number {
  return begunAt + durationMs
}
