/** `/usage`: what an account has used, added up and completion by completion. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FeatureDeps } from '../deps.ts'
import { completionRoutes } from './completion-routes.ts'
import { performanceRoutes } from './performance-routes.ts'
import { type ReportDeps, reportRoutes } from './report-routes.ts'

export interface UsageDeps extends FeatureDeps, Pick<ReportDeps, 'credit' | 'unlimitedCreditUsd'> {
  /** Signs the cursors of lists. */
  readonly cursorKey: Uint8Array
}

export function usageRoutes(deps: UsageDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    await app.register(reportRoutes(deps))
    await app.register(performanceRoutes(deps))
    await app.register(completionRoutes(deps))
  }
}
