/** `/admin/providers/{name}/test`: whether a configured provider answers, and takes its key. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import { GatewayError } from '../../domain/errors.ts'
import { auditOf } from '../../http/audit-origin.ts'
import type { FeatureDeps, WriteAudit } from '../deps.ts'
import { createTrials, type Trial, type TrialInput } from './trial.ts'

export interface TrialDeps extends Pick<FeatureDeps, 'db' | 'callerOf'>, TrialInput {
  readonly writeAudit: WriteAudit
}

const TrialView = Type.Object({
  ok: Type.Boolean({ description: 'It answered, and neither refused its key, nor limits requests, nor fails.' }),
  duration_ms: Type.Integer({ description: 'From the call to the head of the answer, in milliseconds.' }),
  status: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    description: 'Of its answer. Null: there was none.',
  }),
  message: Type.String({ description: 'What came of it, as a sentence. Never the key, nor a word of the provider’s.' }),
})

const schema = {
  summary: 'Test a provider',
  description:
    'Asks the provider once for its list of models, with its first key, and waits at most 10 s. It charges nobody, and ' +
    'changes nothing of how the provider fares. A test that is under way answers all who ask for it meanwhile. Each ' +
    'process has its own way to the provider: this is the one that answers. 404: none of this name is configured.',
  tags: ['Operators'],
  params: Type.Object({ name: Type.String({ description: 'By the configuration.' }) }),
  response: { 200: TrialView },
}

/** `POST /admin/providers/{name}/test`. */
export function providerTrialRoute(deps: TrialDeps): FastifyPluginAsyncTypebox {
  const { db, callerOf, writeAudit } = deps
  const tryProvider = createTrials(deps)
  return async (app) => {
    app.post('/admin/providers/:name/test', { config: { scope: 'operator' }, schema }, async (request) => {
      const { name } = request.params
      const trial = await tryProvider(name)
      if (trial === undefined) throw new GatewayError('not_found', 'No provider has this name.')
      const details = { provider: name, ok: trial.ok, status: trial.status ?? null }
      const event = { action: 'provider.tested', subject: name, result: 'done', details } as const
      await writeAudit(db, { ...auditOf(request, callerOf(request)), ...event })
      return renderTrial(trial)
    })
  }
}

function renderTrial({ ok, durationMs, status, message }: Trial): Static<typeof TrialView> {
  return { ok, duration_ms: durationMs, status: status ?? null, message }
}
