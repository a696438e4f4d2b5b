/** `/admin/agents`: whether the process that answers can run agents, and behind which wall. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'

export interface AgentsStateDeps {
  /** `agents.sandbox.backend` of the configuration that the process started with. */
  readonly backend: 'bubblewrap' | 'none'
  /** What the process found out about itself; undefined: it takes no runs and leaves that to others. */
  readonly availability:
    | (() => Promise<{ readonly ok: true } | { readonly ok: false; readonly reason: string }>)
    | undefined
  /** Runs under way in this process. */
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

const schema = {
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
      { config: { scope: 'operator' }, schema },
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
