/** `GET /agents/{id}/events`: streams the events of an agent. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Kysely } from 'kysely'
import { Type } from 'typebox'
import type { Database } from '../../db/schema/schema.ts'
import { AGENT_EVENT_TYPES, isEnded } from '../../domain/agent.ts'
import type { AgentId } from '../../domain/ids.ts'
import {
  type EventSource,
  type EventStreamDeps,
  type StreamEvent,
  StreamEventView,
  streamEvents,
} from '../../http/event-stream.ts'
import { parseLastEventId } from '../../http/request-headers.ts'
import { idParams } from '../../http/wire-fields.ts'
import type { FeatureDeps } from '../deps.ts'
import { type AgentReference, requireOwnTeam, unknownAgent } from './store.ts'
import { readEvents, readProgress, renderEvent } from './transcript.ts'

const POLL_INTERVAL_MS = 500
const EVENTS_AT_ONCE = 100
const SCOPE = 'agents:read'

const schema = {
  summary: 'Stream the events of an agent',
  description:
    'Sends the past and future events of an agent as an event stream: `id` is the number of the event, `event` its ' +
    `type (${AGENT_EVENT_TYPES.map((type) => `\`${type}\``).join(', ')}), \`data\` a JSON object. \`Last-Event-ID\` ` +
    'resumes after that event. When the agent has ended, `done` follows with its status, and the stream ends; with ' +
    '`follow=false` after the past events.',
  tags: ['Agents'],
  params: idParams<AgentId>(),
  querystring: Type.Object({
    follow: Type.Optional(
      Type.Unsafe<'true' | 'false'>({
        enum: ['true', 'false'],
        description: 'Whether to wait for further events. Default: `true`.',
      }),
    ),
  }),
  headers: Type.Object({
    'last-event-id': Type.Optional(
      Type.String({
        pattern: '^[0-9]{0,20}$',
        description: 'Number of the last event received.',
        examples: ['12'],
      }),
    ),
  }),
  response: { 200: { description: 'Events.', content: { 'text/event-stream': { schema: StreamEventView } } } },
}

export function agentEventsRoute(
  deps: EventStreamDeps & Pick<FeatureDeps, 'db' | 'callerOf'>,
): FastifyPluginAsyncTypebox {
  const { db, callerOf, listeners } = deps
  const route = { config: { scope: SCOPE }, schema, exposeHeadRoute: false } as const
  return async (app) => {
    app.addHook('preHandler', requireOwnTeam(deps))
    app.addHook('preClose', async () => listeners.endAll())
    app.get('/agents/:id/events', route, async (request, reply) => {
      const { accountId } = callerOf(request)
      const reference = { accountId, agentId: request.params.id }
      const last = parseLastEventId(request.headers['last-event-id'] || undefined) ?? 0
      const progress = await readProgress(db, reference)
      if (progress === undefined) throw unknownAgent()
      const until = request.query.follow === 'false' ? progress.events : undefined
      const source = followAgent(db, reference, { last: Math.min(last, progress.events), until })
      const input = { ...deps, accountId, source, pollIntervalMs: POLL_INTERVAL_MS, scope: SCOPE } as const
      return streamEvents(request, reply, input)
    })
  }
}

interface EventRange {
  /** The number of the last event that the client received. */
  readonly last: number
  /** The number of the last event to send; undefined: follows the agent until it has ended. */
  readonly until: number | undefined
}

function followAgent(db: Kysely<Database>, reference: AgentReference, { last, until }: EventRange): EventSource {
  let after = last
  let isOver = false
  const limit = (): number => Math.min(EVENTS_AT_ONCE, (until ?? Number.POSITIVE_INFINITY) - after)
  return {
    async read(): Promise<readonly StreamEvent[]> {
      if (isOver) return []
      const events = limit() > 0 ? await readEvents(db, reference, { after, limit: limit() }) : []
      after = events.at(-1)?.sequence ?? after
      if (events.length > 0)
        return events.map((row) => ({ id: String(row.sequence), event: row.type, data: renderEvent(row) }))
      const progress = await readProgress(db, reference)
      isOver = progress === undefined || until !== undefined || (isEnded(progress.status) && progress.events <= after)
      if (!isOver || progress === undefined) return []
      return [{ id: undefined, event: 'done', data: JSON.stringify({ status: progress.status }) }]
    },
    isOver: () => isOver,
  }
}
