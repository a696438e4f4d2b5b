/** Agents put together: their API and their work in the background. */
import type { FastifyInstance } from 'fastify'
import type { InstanceId } from '../domain/ids.ts'
import { clearJobs } from '../features/agents/clear.ts'
import { agentEventsRoute } from '../features/agents/event-stream.ts'
import { agentsRoutes } from '../features/agents/routes.ts'
import { agentWorkRoutes } from '../features/agents/work-routes.ts'
import type { FeatureDeps } from '../features/deps.ts'
import { onceInTransaction } from '../features/idempotency/once-in-transaction.ts'
import type { Authenticate } from '../http/caller.ts'
import { createListeners } from '../http/listeners.ts'
import { type AgentWork, type AgentWorkInput, createAgentWork } from './agent-work.ts'

export interface Agents extends Pick<AgentWork, 'jobs' | 'availability' | 'active' | 'start' | 'close'> {
  /** Below `/v1`. */
  addApiRoutes(app: FastifyInstance, deps: AgentsApiDeps): Promise<void>
  /** Those who listen to agents are to go elsewhere, and so is what runs. */
  drain(): void
}

export interface AgentsApiDeps extends FeatureDeps {
  readonly cursorKey: Uint8Array
  readonly authenticate: Authenticate
  /** Of this process. */
  readonly instanceId: InstanceId
  /** There is work in the background. */
  readonly wake: () => void
}

export function createAgents(input: AgentWorkInput): Agents {
  const { world, database, log, recordEvent } = input
  const { db } = database
  const listeners = createListeners('the agents of an account')
  const work = createAgentWork(input)
  return {
    ...work,
    jobs: { ...work.jobs, ...clearJobs({ db }) },
    async addApiRoutes(app, deps) {
      const own = {
        ...deps,
        recordEvent,
        availability: work.availability,
        once: onceInTransaction({ db, instanceId: deps.instanceId }),
        models: world.models,
        standardModel: () => world.config().agents.model,
      }
      await app.register(async (scope) => {
        // What is to be run is taken at once: by now it is committed.
        scope.addHook('onResponse', async ({ method }) => {
          if (method === 'POST') deps.wake()
        })
        await scope.register(agentsRoutes(own))
      })
      await app.register(agentWorkRoutes(own))
      await app.register(agentEventsRoute({ ...deps, listeners, log }))
    },
    drain() {
      listeners.endAll()
      work.drain()
    },
  }
}
