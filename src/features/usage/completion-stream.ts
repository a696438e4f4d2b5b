/** `GET /usage/completions/stream`: completions as they end. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { Kysely } from 'kysely'
import { Type } from 'typebox'
import type { Database } from '../../db/schema.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { AccountId, CompletionId } from '../../domain/ids.ts'
import type { Authenticate } from '../../http/caller.ts'
import { type Followed, followEvents, type StreamEvent } from '../../http/followed-stream.ts'
import type { Listeners } from '../../http/listeners.ts'
import type { Log } from '../../http/log.ts'
import type { FeatureDeps } from '../deps.ts'
import { FILTER_QUERY, readUntimedFilter } from './completion-filter.ts'
import type { CompletionRow } from './completion-list.ts'
import { renderCompletion } from './completion-shapes.ts'
import { type CompletionTail, MAX_TAIL, openCompletionTail } from './completion-tail.ts'
import { type Names, namesOfKeys } from './names.ts'

export interface CompletionStreamDeps extends Pick<FeatureDeps, 'db' | 'now' | 'callerOf'> {
  readonly listeners: Listeners
  readonly authenticate: Authenticate
  readonly log: Log
  /** Between two looks into the database; a second unless set. */
  readonly lookEveryMs?: number
}

const LOOK_EVERY_MS = 1_000
const SCOPE = 'usage:read'
const COMPLETION_ID = /^chatcmpl-[0-9A-Za-z]{22}$/

const schema = {
  summary: 'Listen to completions',
  description:
    'Completions as they end, as an event stream: `id` is the completion’s, `event` is `completion`, `data` one line of ' +
    'JSON, the object that the list has. A comment keeps it open while there are none. Once a second it looks at the ' +
    `newest ${MAX_TAIL} that match and began within the last hour, and tells those that it did not find before, by when ` +
    'they ended: what ends later than that is in the list alone. Filters add up. With `Last-Event-ID` it goes on after ' +
    'that completion; those that ended in the seconds before it may come again, so look at their ids. 400 where that is ' +
    'no id of a completion, 429 where ten already listen.',
  tags: ['Usage'],
  querystring: Type.Object({
    ...FILTER_QUERY,
    after: Type.Optional(
      Type.String({ description: 'As the header `Last-Event-ID`, which counts where both are given.' }),
    ),
  }),
  headers: Type.Object({
    'last-event-id': Type.Optional(Type.String({ description: 'The id of the last completion received.' })),
  }),
  response: { 200: { description: 'Completions.', content: { 'text/event-stream': { schema: Type.String() } } } },
}

export function completionStreamRoute(deps: CompletionStreamDeps): FastifyPluginAsyncTypebox {
  const { db, now, callerOf, listeners, lookEveryMs = LOOK_EVERY_MS } = deps
  const route = { config: { scope: SCOPE }, schema, exposeHeadRoute: false } as const
  return async (app) => {
    app.addHook('preClose', async () => listeners.endAll())
    app.get('/usage/completions/stream', route, async (request, reply) => {
      const { accountId } = callerOf(request)
      const last = lastIdOf(request.headers, request.query.after)
      const filter = readUntimedFilter(request.query)
      // before the answer begins: who sees its head is told of everything that ends from then on
      const tail = await openCompletionTail({ db, accountId, filter, now, last, readEveryMs: lookEveryMs })
      const followed = followTail(db, accountId, tail)
      const listener = listeners.enter(accountId)
      await followEvents(request, reply, { ...deps, followed, listener, lookEveryMs, scope: SCOPE })
      return reply
    })
  }
}

function followTail(db: Kysely<Database>, accountId: AccountId, tail: CompletionTail): Followed {
  let found: readonly CompletionRow[] = []
  return {
    async read() {
      found = [...found, ...(await tail())]
      // a database that is away by now has not lost them
      const ids = found.map(({ key_id: id }) => id)
      const names = await namesOfKeys(db, accountId, ids)
      const events = found.map((row) => renderEvent(row, names))
      found = []
      return events
    },
  }
}

function renderEvent(row: CompletionRow, names: Names): StreamEvent {
  return { id: row.id, event: 'completion', data: JSON.stringify(renderCompletion(row, names)) }
}

/** The header is newer: whoever connects again by itself asks with the query of the first time. */
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
