/** `/usage/completions`: what an account has used, completion by completion. */
import { Readable } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import type { Kysely } from 'kysely'
import { type Static, Type } from 'typebox'
import type { Database } from '../../db/schema/schema.ts'
import { readAgentReference } from '../../domain/agent.ts'
import { GatewayError, notFound } from '../../domain/errors.ts'
import { type AccountId, type CompletionId, timeOfId } from '../../domain/ids.ts'
import { usdText } from '../../domain/money.ts'
import {
  byId,
  listPage,
  PAGE_QUERY,
  type PageBinding,
  type PageRequest,
  type PageSizes,
  readPageRequest,
  renderPage,
} from '../../http/page.ts'
import { ALL_TIME, type Period, parsePeriod } from '../../http/period.ts'
import { acceptedFormat } from '../../http/request-headers.ts'
import { isoTime } from '../../http/wire-fields.ts'
import { type CsvField, harmlessText, renderCsv } from '../../lib/table.ts'
import type { ListDeps } from '../deps.ts'
import {
  type CompletionFilter,
  type CompletionListInput,
  type CompletionRow,
  findCompletion,
  listCompletions,
} from './completion-list.ts'
import {
  CompletionFileView,
  CompletionPage,
  CompletionQuery,
  readUntimedFilter,
  renderCompletion,
  renderOverview,
  renderPricing,
  WholeCompletionView,
} from './completion-shapes.ts'
import { namesOfKeys } from './names.ts'
import { overviewPeriod, readOverview } from './overview.ts'
import { pricingOf } from './pricing.ts'

/** Runs work one by one: each begins when the one before it has ended, whatever its result. */
export function createQueueOfOne(): <Result>(work: () => Promise<Result>) => Promise<Result> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const result = last.then(work)
    last = result.catch(() => undefined)
    return result
  }
}

export type CompletionDeps = Pick<ListDeps, 'db' | 'now' | 'callerOf' | 'cursorKey'>

const MAX_SEARCHED_MS = 7 * 86_400_000

const MAX_FILE_ROWS = 10_000

const ListQuery = Type.Object({
  ...CompletionQuery,
  ...PAGE_QUERY,
  limit: Type.Optional(
    Type.Union([Type.Integer({ minimum: 1, maximum: MAX_FILE_ROWS }), Type.String()], {
      description: `Items in the page: 1 to 100, by default 20. Rows of a CSV file: 1 to ${MAX_FILE_ROWS}, by default the maximum.`,
    }),
  ),
})
type ListQuery = Static<typeof ListQuery>

const LIST_TYPES = [
  ['application/json', 'json'],
  ['text/csv', 'csv'],
] as const

const config = { scope: 'usage:read' } as const
const tags = ['Usage']
const listSchema = {
  summary: 'List completions',
  description: 'Returns every completion that reached a provider, whatever its outcome. Filters are combined with AND.',
  tags,
  querystring: ListQuery,
  response: {
    200: {
      description: 'A page, or a file.',
      headers: { 'x-next-cursor': { type: 'string', description: '`next_cursor` of a file that has a next page.' } },
      content: { 'application/json': { schema: CompletionPage }, 'text/csv': { schema: CompletionFileView } },
    },
  },
}
const oneSchema = {
  summary: 'Get a completion',
  description: 'Returns what a completion used and cost, and how the cost was computed, by the `id` of its response.',
  tags,
  params: Type.Object({ id: Type.Unsafe<CompletionId>({ type: 'string' }) }),
  response: { 200: WholeCompletionView },
}

export function completionRoutes({ db, now, callerOf, cursorKey }: CompletionDeps): FastifyPluginAsyncTypebox {
  const keyNames = (accountId: AccountId, rows: readonly CompletionRow[]) =>
    namesOfKeys(
      db,
      accountId,
      rows.map(({ key_id: id }) => id),
    )
  // Several files made at once would delay the chat completions of this process.
  const oneByOne = createQueueOfOne()
  return async (app) => {
    app.get('/usage/completions', { config, schema: listSchema }, async (request, reply) => {
      const { accountId, scopes: rights, teamId } = callerOf(request)
      const filter = { ...readFilter(request.query, accountId), teamId }
      const binding = { key: cursorKey, account: accountId, list: 'usage/completions', filter: JSON.stringify(filter) }
      const format = request.query.format ?? acceptedFormat(request.headers.accept, LIST_TYPES)
      if (format === 'csv') {
        const page = readPageRequest(request.query, binding, FILE_SIZES)
        const after = page.after as CompletionId | undefined // a cursor is signed: it holds a position of this list
        const file = await oneByOne(() => readCompletionFile(db, { accountId, filter, ...page, after }))
        return sendFile(reply, file, { page, binding, name: fileName(askedPeriod(request.query)) })
      }
      const read = async (page: PageRequest<CompletionId>) => {
        const rows = await listCompletions(db, { accountId, filter, ...page })
        const names = await keyNames(accountId, rows)
        return rows.map((row) => renderCompletion(row, { names, rights }))
      }
      const listed = await listPage({ query: request.query, binding, read, position: byId, render: (view) => view })
      if (request.query.include !== 'overview') return listed
      const period = overviewPeriod(askedPeriod(request.query), now())
      return { ...listed, overview: renderOverview(await readOverview(db, accountId, { filter, period })) }
    })
    app.get('/usage/completions/:id', { config, schema: oneSchema }, async (request) => {
      const { accountId, scopes: rights, teamId } = callerOf(request)
      const row = await findCompletion(db, { accountId, id: request.params.id })
      if (row === undefined || (teamId !== undefined && row.team_id !== teamId)) throw notFound('completion')
      const pricing = renderPricing(row, await pricingOf(db, row))
      return { ...renderCompletion(row, { names: await keyNames(accountId, [row]), rights }), pricing }
    })
  }
}

interface FileOrder {
  readonly page: PageRequest
  readonly binding: PageBinding
  readonly name: string
}

/** Its pieces go out as the client takes them: a file that waits as a whole would count as one that nobody takes. */
function sendFile(
  reply: FastifyReply,
  { parts, ids }: CompletionFile,
  { page, binding, name }: FileOrder,
): FastifyReply {
  const position = (id: CompletionId) => id
  const { next_cursor: cursor } = renderPage(ids, { request: page, binding }, { position, render: position })
  if (cursor !== null) reply.header('x-next-cursor', cursor)
  return reply
    .type('text/csv; charset=utf-8')
    .header('content-disposition', `attachment; filename="${name}"`)
    .header('content-length', String(parts.reduce((bytes, part) => bytes + part.length, 0)))
    .send(Readable.from(parts))
}

function fileName({ start, end }: ReturnType<typeof askedPeriod>): string {
  const days = [start, end].flatMap((at) => (at === undefined ? [] : [new Date(at).toISOString().slice(0, 10)]))
  return `${['turnpike-requests', ...days].join('-')}.csv`
}

function readFilter(query: ListQuery, accountId: AccountId): CompletionFilter {
  const filter = readUntimedFilter(query, accountId)
  const { agentId } = filter
  const period = parsePeriod(query, periodOfRequest(filter.requestId))
  const isSearch = SEARCHES.some((name) => query[name] !== undefined)
  if (isSearch && agentId === undefined && period.end - period.start > MAX_SEARCHED_MS) {
    const names = SEARCHES.map((name) => `'${name}'`).join(', ')
    const message = `${names} need a period of at most 7 days.`
    throw new GatewayError('invalid_value', message, { param: 'period_start' })
  }
  return { period, ...filter }
}

/** Filters that neither an index nor sums serve. */
const SEARCHES = [
  'provider',
  'client_request_id',
  'tag',
  'session_id',
  'end_user',
  'outcome',
  'min_duration_ms',
  'max_duration_ms',
  'min_cost_usd',
  'max_cost_usd',
] as const

const REQUEST_MS = 3_600_000

/** A completion begins soon after its request, whose ID says when that was. */
function periodOfRequest(requestId: string | undefined): Period {
  const time = requestId === undefined ? undefined : timeOfId(requestId, 'req_')
  if (requestId !== undefined && time === undefined)
    throw new GatewayError('invalid_value', "'request_id' must be `req_` and 22 letters and digits.", {
      param: 'request_id',
    })
  return time === undefined ? ALL_TIME : { start: Math.max(0, time - REQUEST_MS), end: time + REQUEST_MS }
}

/** The bounds of the period that the query names. The period is valid: the filter was read before. */
function askedPeriod(query: ListQuery): { readonly start: number | undefined; readonly end: number | undefined } {
  const { start, end } = parsePeriod(query, ALL_TIME)
  return {
    start: query.period_start === undefined ? undefined : start,
    end: query.period_end === undefined ? undefined : end,
  }
}

const ROWS_AT_ONCE = 1_000

const FILE_SIZES: PageSizes = { usual: MAX_FILE_ROWS, most: MAX_FILE_ROWS }

interface CompletionFile {
  /** UTF-8: the header, then rows. */
  readonly parts: readonly Buffer[]
  /** Of what is in the file, and one more where it could go on. */
  readonly ids: readonly CompletionId[]
}

/** What the list has, at most `limit` rows of it. */
async function readCompletionFile(db: Kysely<Database>, list: CompletionListInput): Promise<CompletionFile> {
  const { limit } = list
  const parts = [Buffer.from(renderCsv([NAMES]))]
  const ids: CompletionId[] = []
  while (ids.length <= limit) {
    const wanted = Math.min(ROWS_AT_ONCE, limit + 1 - ids.length)
    const rows = await listCompletions(db, { ...list, limit: wanted, after: ids.at(-1) ?? list.after })
    parts.push(Buffer.from(renderCsv(rows.slice(0, limit - ids.length).map(fieldsOf))))
    ids.push(...rows.map(({ id }) => id))
    if (rows.length < wanted) break
    await setImmediate()
  }
  return { parts, ids }
}

type Column = readonly [name: string, field: (row: CompletionRow) => CsvField | null]

/** Dollars as decimal text, exact however many there are. */
const COLUMNS: readonly Column[] = [
  ['id', ({ id }) => id],
  ['created_at', (row) => isoTime(row.created_at)],
  ['model', ({ model }) => harmlessText(model)],
  ['provider', ({ provider }) => harmlessText(provider)],
  ['status', ({ status }) => status],
  ['stream', ({ stream }) => String(stream === 1)],
  ['finish_reason', (row) => row.finish_reason],
  ['key_id', (row) => row.key_id],
  ['prompt_tokens', (row) => row.prompt_tokens],
  ['cached_tokens', (row) => row.cached_tokens],
  ['cache_write_tokens', (row) => row.cache_write_tokens],
  ['completion_tokens', (row) => row.completion_tokens],
  ['reasoning_tokens', (row) => row.reasoning_tokens],
  ['cost_usd', (row) => usdText(row.cost_nano_usd)],
  ['usage_source', (row) => (row.usage_bounded === 1 ? 'bounded' : row.usage_source)],
  ['first_byte_ms', (row) => row.first_byte_ms],
  ['duration_ms', (row) => row.duration_ms],
  ['attempts', ({ attempts }) => attempts],
  ['client_request_id', clientName],
  ['unbilled_usd', (row) => usdText(row.unbilled_nano_usd ?? 0n)],
  ['api', ({ api }) => api ?? 'chat_completions'],
  ['request_id', (row) => row.request_id],
  ['tags', ({ tags }) => tags && harmlessText(tags)],
  ['session_id', (row) => row.session_id && harmlessText(row.session_id)],
  ['end_user', (row) => row.end_user],
]
const NAMES = COLUMNS.map(([name]) => name)

function fieldsOf(row: CompletionRow): readonly CsvField[] {
  return COLUMNS.map(([, field]) => field(row) ?? '')
}

/** An agent's own reference is no name that a client gave, as in the list. */
function clientName({ client_request_id: name }: CompletionRow): string | null {
  return name === null || readAgentReference(name) !== undefined ? null : harmlessText(name)
}
