/** `/admin/instances`: the processes of this installation. `/admin/agents`: whether the answering process can run agents. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import { byId, listPage, PAGE_QUERY, type PageBinding, type PageRequest, pageSchema } from '../../http/page.ts'
import type { FeatureDeps } from '../deps.ts'
import { type Instance, listInstances } from './queries.ts'

export interface InstancesDeps extends FeatureDeps {
  /** Signs the cursors of lists. */
  readonly cursorKey: Uint8Array
  /** An instance that was not seen for longer counts as gone. */
  readonly goneAfterMs: number
}

const numberOrNull = (description: string) => Type.Unsafe<number | null>({ type: ['number', 'null'], description })

const InstanceView = Type.Object({
  id: Type.String(),
  object: Type.Literal('instance'),
  version: Type.String(),
  role: Type.String(),
  address: Type.Unsafe<string | null>({ type: ['string', 'null'], description: 'Where it is reached.' }),
  started_at: Type.String({ description: 'ISO 8601 UTC, by the database’s clock.' }),
  seen_at: Type.String({ description: 'When it last reported, which it does every 5 s.' }),
  load: numberOrNull('CPU time of the last minute; 1 is one processor. Null: it has not said yet.'),
  lag_ms: numberOrNull('99 of 100 turns of its event loop were late by no more than this.'),
  active_requests: numberOrNull('Completions under way.'),
})

const schema = {
  summary: 'List processes',
  description: 'Those that run and share this database. One that was killed is listed for 30 s more.',
  tags: ['Operators'],
  querystring: Type.Object(PAGE_QUERY),
  response: { 200: pageSchema(InstanceView) },
}

/** `GET /admin/instances`. */
export function instancesRoutes({ db, callerOf, cursorKey, goneAfterMs }: InstancesDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get('/admin/instances', { config: { scope: 'operator' }, schema }, async (request) => {
      const { accountId } = callerOf(request)
      const binding: PageBinding = { key: cursorKey, account: accountId, list: 'admin/instances' }
      const read = (page: PageRequest) => listInstances(db, page, goneAfterMs)
      return listPage({ query: request.query, binding, read, position: byId, render: renderInstance })
    })
  }
}

function renderInstance({ id, version, role, ...instance }: Instance): Static<typeof InstanceView> {
  return {
    id,
    object: 'instance',
    version,
    role,
    address: instance.address ?? null,
    started_at: new Date(instance.startedAt).toISOString(),
    seen_at: new Date(instance.seenAt).toISOString(),
    load: instance.load ?? null,
    lag_ms: instance.lagMs ?? null,
    active_requests: instance.activeRequests ?? null,
  }
}

export interface AgentsStateDeps {
  /** `agents.sandbox.backend` of the configuration that the process started with. */
  readonly backend: 'bubblewrap' | 'none'
  /** Undefined: this process runs no agents. */
  readonly availability:
    | (() => Promise<{ readonly ok: true } | { readonly ok: false; readonly reason: string }>)
    | undefined
  /** Agent runs in this process. */
  readonly active: () => number
}

const AgentsState = Type.Object({
  object: Type.Literal('agents_state'),
  backend: Type.Unsafe<AgentsStateDeps['backend']>({
    type: 'string',
    enum: ['bubblewrap', 'none'],
    description: 'What commands of agents run in. none: nothing keeps them from what the service itself may do.',
  }),
  available: Type.Unsafe<boolean | null>({
    type: ['boolean', 'null'],
    description: 'Whether it takes runs. Null: it does no work in the background, other processes do.',
  }),
  reason: Type.Unsafe<string | null>({
    type: ['string', 'null'],
    description: 'Why it takes none, and what to do about it. Null: nothing is wrong.',
  }),
  running: Type.Integer({ description: 'Runs under way in it.' }),
})

const agentsSchema = {
  summary: 'Get the state of agents',
  description: 'Whether agents can be run. Each process looks at its own machine: this is the one that answers.',
  tags: ['Operators'],
  response: { 200: AgentsState },
}

/** `GET /admin/agents`. */
export function agentsStateRoute({ backend, availability, active }: AgentsStateDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/admin/agents',
      { config: { scope: 'operator' }, schema: agentsSchema },
      async (): Promise<Static<typeof AgentsState>> => {
        const state = await availability?.()
        return {
          object: 'agents_state',
          backend,
          available: state?.ok ?? null,
          reason: state?.ok === false ? state.reason : null,
          running: active(),
        }
      },
    )
  }
}
