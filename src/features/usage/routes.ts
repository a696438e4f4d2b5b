/** `/usage`: what an account has used in a period, by model. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { usdNumber } from '../../domain/money.ts'
import type { FeatureDeps } from '../deps.ts'
import { parsePeriod } from './period.ts'
import { usageByModel } from './queries.ts'

const Time = (description: string) => Type.Optional(Type.String({ description, examples: ['2026-01-01T00:00:00Z'] }))

const schema = {
  summary: 'Usage of a period',
  description: 'Tokens and cost, by model, the most expensive first. A completion is counted within a second.',
  tags: ['Usage'],
  querystring: Type.Object({
    period_start: Time('ISO 8601 UTC; default: the first of this month.'),
    period_end: Time('ISO 8601 UTC, not included; default: the first of the next month.'),
  }),
  response: {
    200: Type.Object({
      period_start: Type.String(),
      period_end: Type.String(),
      total_tokens: Type.Integer(),
      total_cost_usd: Type.Number(),
      credit_remaining_usd: Type.Unsafe<number | null>({ type: ['number', 'null'], description: 'null: no limit.' }),
      held_usd: Type.Number({ description: 'Reserved by requests in flight.' }),
      breakdown_by_model: Type.Array(
        Type.Object({ model: Type.String(), tokens: Type.Integer(), cost_usd: Type.Number() }),
      ),
    }),
  },
}

export function usageRoutes({ db, now, callerOf }: FeatureDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get('/usage', { config: { scope: 'usage:read' }, schema }, async (request) => {
      const period = parsePeriod(request.query, now())
      const models = await usageByModel(db, callerOf(request).accountId, period)
      return {
        period_start: new Date(period.start).toISOString(),
        period_end: new Date(period.end).toISOString(),
        total_tokens: models.reduce((sum, { tokens }) => sum + tokens, 0),
        total_cost_usd: usdNumber(models.reduce((sum, { costNanoUsd }) => sum + costNanoUsd, 0n)),
        credit_remaining_usd: null,
        held_usd: 0,
        breakdown_by_model: models.map(({ model, tokens, costNanoUsd }) => ({
          model,
          tokens,
          cost_usd: usdNumber(costNanoUsd),
        })),
      }
    })
  }
}
