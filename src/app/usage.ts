/** Usage put together: its reports and lists, and the stream of what has just ended. */
import type { FastifyInstance } from 'fastify'
import { completionStreamRoute } from '../features/usage/completion-stream.ts'
import { type UsageDeps, usageRoutes } from '../features/usage/routes.ts'
import type { Authenticate } from '../http/caller.ts'
import { createEventStreams } from '../http/event-stream.ts'
import type { Log } from '../telemetry/log.ts'

export interface Usage {
  /** Below `/v1`. */
  addApiRoutes(app: FastifyInstance, deps: UsageApiDeps): Promise<void>
  /** Those who listen to completions are to go elsewhere. */
  drain(): void
}

export interface UsageApiDeps extends UsageDeps {
  readonly authenticate: Authenticate
}

export function createUsage({ log }: { readonly log: Log }): Usage {
  const listeners = createEventStreams()
  return {
    async addApiRoutes(app, deps) {
      await app.register(usageRoutes(deps))
      await app.register(completionStreamRoute({ ...deps, listeners, log }))
    },
    drain: listeners.endAll,
  }
}
