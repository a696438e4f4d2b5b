/** `GET /agents/{id}/events`: what an agent does, as it does it. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Kysely } from 'kysely'
import { Type } from 'typebox'
import type { Database } from '../../db/schema.ts'
import { AGENT_EVENT_TYPES, isEnded } from '../../domain/agent.ts'
import type { AgentId } from '../../domain/ids.ts'
import type { Authenticate } from '../../http/caller.ts'
import { type Followed, followEvents, type StreamEvent } from '../../http/followed-stream.ts'
import { parseLastEventId } from '../../http/idempotency-key.ts'
import type { Listeners } from '../../http/listeners.ts'
import type { Log } from '../../http/log.ts'
import type { FeatureDeps } from '../deps.ts'
import { unknownAgent } from './begin.ts'
import { readEvents, readStanding, renderEvent } from './events.ts'
import type { AgentReference } from './store.ts'

export interface EventStreamDeps extends Pick<FeatureDeps, 'db' | 'callerOf'> {
  readonly listeners: Listeners
  readonly authenticate: Authenticate
  readonly log: Log
  /** Between two looks into the database; half a second unless set. */
  readonly lookEveryMs?: number
}

const LOOK_EVERY_MS = 500
const EVENTS_AT_ONCE = 100
const SCOPE = 'agents:read'

const schema = {
  summary: 'Listen to an agent',
  description:
    'What it has done from the beginning, and what it does, as an event stream: `id` is the event’s number, `event` its ' +
    `type (${AGENT_EVENT_TYPES.map((type) => `\`${type}\``).join(', ')}), \`data\` a JSON object. With \`Last-Event-ID\` it ` +
    'goes on after that event. When the agent has ended and all is told, `done` comes with its status, and the stream ends; ' +
    'with `follow=false` as soon as what it has done so far is told.',
  tags: ['Agents'],
  params: Type.Object({ id: Type.Unsafe<AgentId>({ type: 'string' }) }),
  querystring: Type.Object({
    follow: Type.Optional(
      Type.Unsafe<'true' | 'false'>({
        enum: ['true', 'false'],
        description: 'Whether to wait for what it does. `true` unless said.',
      }),
    ),
  }),
  headers: Type.Object({
    'last-event-id': Type.Optional(Type.String({ description: 'The number of the last event received.' })),
  }),
  response: { 200: { description: 'Events.', content: { 'text/event-stream': { schema: Type.String() } } } },
}

export function agentEventsRoute(deps: EventStreamDeps): FastifyPluginAsyncTypebox {
  const { db, callerOf, listeners, lookEveryMs = LOOK_EVERY_MS } = deps
  const route = { config: { scope: SCOPE }, schema, exposeHeadRoute: false } as const
  return async (app) => {
    app.addHook('preClose', async () => listeners.endAll())
    app.get('/agents/:id/events', route, async (request, reply) => {
      const { accountId } = callerOf(request)
      const reference = { accountId, agentId: request.params.id }
      const last = parseLastEventId(request.headers['last-event-id'] || undefined) ?? 0
      const standing = await readStanding(db, reference)
      if (standing === undefined) throw unknownAgent()
      const until = request.query.follow === 'false' ? standing.events : undefined
      const followed = followAgent(db, reference, { last: Math.min(last, standing.events), until })
      const listener = listeners.enter(accountId)
      await followEvents(request, reply, { ...deps, followed, listener, lookEveryMs, scope: SCOPE })
      return reply
    })
  }
}

interface Stretch {
  /** The number of the last event that is known. */
  readonly last: number
  /** The number of the last event to tell; undefined: the last there will be. */
  readonly until: number | undefined
}

function followAgent(db: Kysely<Database>, reference: AgentReference, { last, until }: Stretch): Followed {
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
      const standing = await readStanding(db, reference)
      isOver = standing === undefined || until !== undefined || (isEnded(standing.status) && standing.events <= after)
      if (!isOver || standing === undefined) return []
      return [{ id: undefined, event: 'done', data: JSON.stringify({ status: standing.status }) }]
    },
    isOver: () => isOver,
  }
}
