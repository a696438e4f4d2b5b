/** `/admin/providers/{name}/test`: whether a configured provider answers and accepts its key. One test at a time for each. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import { GatewayError } from '../../domain/errors.ts'
import type { ProviderProbe } from '../../domain/provider-status.ts'
import { auditOf } from '../../http/request-origin.ts'
import type { FeatureDeps, WriteAudit } from '../deps.ts'

/** The longest wait for a provider's answer, in milliseconds. */
export const MAX_WAIT_MS = 10_000

export interface ProbeDeps extends Pick<FeatureDeps, 'db' | 'callerOf'>, ProbeInput {
  readonly writeAudit: WriteAudit
}

const ProbeView = Type.Object({
  ok: Type.Boolean({
    description: 'Whether the provider responded without rejecting the key, limiting requests or failing.',
  }),
  duration_ms: Type.Integer({ description: 'From the call to the response headers, in milliseconds.' }),
  status: Type.Unsafe<number | null>({
    type: ['integer', 'null'],
    description: 'HTTP status. Null: no response.',
  }),
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
      const details = { provider: name, ok: result.ok, status: result.status ?? null }
      const event = { action: 'provider.tested', subject: name, result: 'done', details } as const
      await writeAudit(db, { ...auditOf(request, callerOf(request)), ...event })
      return renderResult(result)
    })
  }
}

function renderResult({ ok, durationMs, status, message }: ProbeResult): Static<typeof ProbeView> {
  return { ok, duration_ms: durationMs, status: status ?? null, message }
}

interface ProbeInput {
  /** Calls the provider of that name once; undefined: there is none. Never rejects. */
  readonly probe: (name: string, waitMs: number) => Promise<ProviderProbe> | undefined
  /** Monotonic milliseconds. */
  readonly clock: () => number
  readonly waitMs?: number
}

interface ProbeResult {
  readonly ok: boolean
  readonly durationMs: number
  /** Undefined: there was no answer. */
  readonly status: number | undefined
  /** A sentence for people. */
  readonly message: string
}

/** Tests a provider; concurrent calls share one test. Undefined: there is no such provider. */
type TestProvider = (name: string) => Promise<ProbeResult> | undefined

function createProviderTests({ probe, clock, waitMs = MAX_WAIT_MS }: ProbeInput): TestProvider {
  const running = new Map<string, Promise<ProbeResult>>()
  return (name) => {
    const same = running.get(name)
    if (same !== undefined) return same
    const startedAt = clock()
    const result = probe(name, waitMs)
      ?.then((outcome) => ({ ...resultOf(outcome, { name, waitMs }), durationMs: Math.round(clock() - startedAt) }))
      .finally(() => running.delete(name))
    if (result !== undefined) running.set(name, result)
    return result
  }
}

interface Tested {
  readonly name: string
  readonly waitMs: number
}

function resultOf(probe: ProviderProbe, { name, waitMs }: Tested): Omit<ProbeResult, 'durationMs'> {
  const status = 'status' in probe ? probe.status : undefined
  const ok = probe.kind === 'answered' || probe.kind === 'built_in'
  return { ok, status, message: messageOf(probe, { name, waitMs }) }
}

function messageOf(probe: ProviderProbe, { name, waitMs }: Tested): string {
  switch (probe.kind) {
    case 'built_in':
      return 'It is built in: there is nobody to call.'
    case 'no_key':
      return `It has no key: set ${probe.variable}, or providers.${name}.api_key.`
    case 'no_credential':
      return 'No credential for it could be had: check the file or the identity of the machine that it comes from.'
    case 'answered':
      return answered(probe.status)
    case 'refused':
      return `It did not accept the key (status ${probe.status}): check providers.${name}.api_key.`
    case 'limited':
      return `It is there, and limits requests at the moment: status ${probe.status}.`
    case 'failing':
      return `It answered with status ${probe.status}: something is wrong on its side.`
    case 'silent':
      return `It did not answer within ${waitMs / 1000} s.`
    case 'unreachable':
      return `It could not be reached (${probe.reason}): check providers.${name}.base_url and the network between.`
  }
}

/** Some hosts have no list of models: then only a server is known to respond. */
function answered(status: number): string {
  if (status >= 200 && status < 300) return 'It answered, and did not refuse the key.'
  return `It answered with status ${status}, which does not tell whether it accepts the key.`
}
