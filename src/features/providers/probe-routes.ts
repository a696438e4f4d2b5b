/** `/admin/providers/{name}/test`: whether a configured provider answers and accepts its key. One test at a time for each. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import { GatewayError } from '../../domain/errors.ts'
import type { ProviderProbe } from '../../domain/provider-status.ts'
import { auditOf } from '../../http/request-origin.ts'
import { nullable } from '../../http/wire-fields.ts'
import type { FeatureDeps, WriteAudit } from '../deps.ts'

/** The longest wait for a provider's answer, in milliseconds. */
export const MAX_WAIT_MS = 10_000

interface ProbeDeps extends Pick<FeatureDeps, 'db' | 'callerOf'>, ProbeInput {
  readonly writeAudit: WriteAudit
}

const ProbeView = Type.Object({
  ok: Type.Boolean({
    description: 'Whether the provider responded without rejecting the key, limiting requests or failing.',
  }),
  duration_ms: Type.Integer({ description: 'From the call to the response headers, in milliseconds.' }),
  status: nullable<number>('integer', 'HTTP status. Null: no response.'),
  message: Type.String({ description: 'Result as a sentence. It never contains the key or text of the provider.' }),
})

const schema = {
  summary: 'Test a provider',
  description:
    'Requests the provider’s list of models with its first key, for at most 10 s. The test is not charged and does not affect the provider’s health. Concurrent requests share one test. It runs in the responding process. Returns 404 if no provider has this name.',
  tags: ['Operators'],
  params: Type.Object({ name: Type.String({ description: 'Name in the configuration.' }) }),
  response: { 200: ProbeView },
}

/** `POST /admin/providers/{name}/test`. */
export function providerProbeRoute(deps: ProbeDeps): FastifyPluginAsyncTypebox {
  const { db, callerOf, writeAudit } = deps
  const testProvider = createProviderTests(deps)
  return async (app) => {
    app.post('/admin/providers/:name/test', { config: { scope: 'operator' }, schema }, async (request) => {
      const { name } = request.params
      const result = await testProvider(name)
      if (result === undefined) throw new GatewayError('not_found', 'No provider has this name.')
      const details = { provider: name, ok: result.ok, status: result.status }
      const event = { action: 'provider.tested', subject: name, result: 'done', details } as const
      await writeAudit(db, { ...auditOf(request, callerOf(request)), ...event })
      return result
    })
  }
}

interface ProbeInput {
  /** Calls the provider of that name once; undefined: there is none. Never rejects. */
  readonly probe: (name: string, waitMs: number) => Promise<ProviderProbe> | undefined
  /** Monotonic milliseconds. */
  readonly clock: () => number
  readonly waitMs?: number
}

/** Tests a provider; concurrent calls share one test. Undefined: there is no such provider. */
function createProviderTests({ probe, clock, waitMs = MAX_WAIT_MS }: ProbeInput) {
  const running = new Map<string, Promise<Static<typeof ProbeView>>>()
  return (name: string): Promise<Static<typeof ProbeView>> | undefined => {
    const same = running.get(name)
    if (same !== undefined) return same
    const startedAt = clock()
    const result = probe(name, waitMs)
      ?.then((outcome) => ({
        ok: outcome.kind === 'answered' || outcome.kind === 'built_in',
        duration_ms: Math.round(clock() - startedAt),
        status: 'status' in outcome ? outcome.status : null,
        message: messageOf(outcome, name, waitMs),
      }))
      .finally(() => running.delete(name))
    if (result !== undefined) running.set(name, result)
    return result
  }
}

function messageOf(probe: ProviderProbe, name: string, waitMs: number): string {
  switch (probe.kind) {
    case 'built_in':
      return 'The provider is built in: there is no server to call.'
    case 'no_key':
      return `The provider has no key: set ${probe.variable}, or providers.${name}.api_key.`
    case 'no_credential':
      return 'No credential available: check the credentials file or the identity of the machine.'
    case 'answered':
      return answered(probe.status)
    case 'refused':
      return `The provider rejected the key (status ${probe.status}): check providers.${name}.api_key.`
    case 'limited':
      return `The provider limits requests at the moment: status ${probe.status}.`
    case 'failing':
      return `The provider failed with status ${probe.status}.`
    case 'silent':
      return `The provider did not respond within ${waitMs / 1000} s.`
    case 'unreachable':
      return `The provider could not be reached (${probe.reason}): check providers.${name}.base_url and the network.`
  }
}

/** Some hosts have no list of models: then only a server is known to respond. */
function answered(status: number): string {
  if (status >= 200 && status < 300) return 'The provider responded and did not reject the key.'
  return `The provider responded with status ${status}; whether it accepts the key is unknown.`
}
