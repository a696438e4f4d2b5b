/** `/admin/providers`: the state of the configured providers, as this process sees them. No credential is shown. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import { usdNumber } from '../../domain/money.ts'
import type { BreakerState, CredentialStatus, DeploymentStatus, ProviderStatus } from '../../domain/provider-status.ts'
import { listByName, NAMED_PAGE_QUERY, pageSchema } from '../../http/page.ts'
import { isoTime, nullable, oneOf, textOrNull } from '../../http/wire-fields.ts'
import type { ListDeps } from '../deps.ts'

interface ProvidersDeps extends Pick<ListDeps, 'callerOf' | 'cursorKey'> {
  /** Of every configured provider, now. */
  readonly status: () => readonly ProviderStatus[]
}

const count = (description: string) => Type.Integer({ description })

const HEALTH = ['healthy', 'degraded', 'down'] as const
const BREAKERS = ['closed', 'open', 'half_open'] as const satisfies readonly BreakerState[]

const CredentialView = Type.Object({
  number: count('Position in the configuration, from 1.'),
  in_flight: count('Number of calls in flight with this credential.'),
  cooling: Type.Array(
    Type.Object({
      model: Type.String({ description: 'Name of the model at the provider; `*`: every model.' }),
      until: Type.String({ description: 'ISO 8601 UTC.' }),
    }),
    { description: 'Models for which the credential is in cooldown, because the provider limited or rejected it.' },
  ),
})

const FailureView = Type.Object({
  at: Type.String({ description: 'ISO 8601 UTC.' }),
  message: Type.String({ description: 'Error message.' }),
})

const DeploymentView = Type.Object({
  model: Type.String({ description: 'Name of the model at the provider.' }),
  breaker: oneOf(BREAKERS, {
    description:
      'closed: called as usual. open: failed too often, and not called until `open_until` unless all candidates are open. half_open: one request probes it.',
  }),
  open_until: textOrNull('ISO 8601 UTC. Null: the breaker is not open.'),
  failures: count('Number of consecutive failures.'),
  in_flight: count('Number of calls in flight.'),
  first_event_ms: nullable<number>('integer', 'Smoothed time to the first event of streams. Null: no stream yet.'),
  whole_answer_ms: nullable<number>(
    'integer',
    'Smoothed time to the end of answers without streaming. Null: none yet.',
  ),
  calls: count('Number of calls since this process started.'),
  failed_calls: count('Number of calls that failed because of the provider.'),
  last_failure: Type.Unsafe<Static<typeof FailureView> | null>({
    anyOf: [FailureView, { type: 'null' }],
    description: 'Last error. Null: none since this process started.',
  }),
})

const ProviderView = Type.Object({
  id: Type.String({ description: 'Name.' }),
  object: Type.Literal('provider'),
  name: Type.String({ description: 'Name in the configuration.' }),
  base_url: Type.String({ description: 'Without user, password and query.' }),
  status: oneOf(HEALTH, {
    description:
      'healthy: every breaker is closed and no credential is in cooldown. down: the breakers of all called models are open. degraded: anything between.',
  }),
  max_in_flight: nullable<number>('integer', 'Maximum number of concurrent calls from one process. Null: no limit.'),
  in_flight: count('Number of requests in flight.'),
  queued: count('Number of queued requests.'),
  credentials: Type.Array(CredentialView),
  cost_unbilled_usd: Type.Number({
    description:
      'Estimated cost, since this process started, of calls that ended before their first event. No client is charged for them.',
  }),
  deployments: Type.Array(DeploymentView, { description: 'Models that this process has called since it started.' }),
})

const schema = {
  summary: 'List providers',
  description:
    'Returns the configured providers with their health, latency and load, as the responding process has measured them in its own calls.',
  tags: ['Operators'],
  querystring: Type.Object(NAMED_PAGE_QUERY),
  response: { 200: pageSchema(ProviderView) },
}

/** `GET /admin/providers`. */
export function providersRoutes({ callerOf, cursorKey, status }: ProvidersDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get('/admin/providers', { config: { scope: 'operator' }, schema }, async (request) => {
      const binding = { key: cursorKey, account: callerOf(request).accountId, list: 'admin/providers' }
      return await listByName(status(), {
        query: request.query,
        binding,
        name: ({ name }) => name,
        render: renderProvider,
      })
    })
  }
}

function renderProvider(provider: ProviderStatus): Static<typeof ProviderView> {
  return {
    id: provider.name,
    object: 'provider',
    name: provider.name,
    base_url: withoutSecrets(provider.baseUrl),
    status: healthOf(provider),
    max_in_flight: provider.maxInFlight ?? null,
    in_flight: provider.inFlight,
    queued: provider.queued,
    credentials: provider.credentials.map(renderCredential),
    cost_unbilled_usd: usdNumber(provider.unbilledNanoUsd),
    deployments: provider.deployments.map(renderDeployment),
  }
}

function healthOf({ credentials, deployments }: ProviderStatus): (typeof HEALTH)[number] {
  if (deployments.length > 0 && deployments.every(({ breaker }) => breaker === 'open')) return 'down'
  const isCooling = credentials.some(({ coolingUntil }) => Object.keys(coolingUntil).length > 0)
  return isCooling || deployments.some(({ breaker }) => breaker !== 'closed') ? 'degraded' : 'healthy'
}

function renderCredential({ number, inFlight, coolingUntil }: CredentialStatus): Static<typeof CredentialView> {
  const cooling = Object.entries(coolingUntil).map(([model, until]) => ({ model, until: isoTime(until) }))
  return { number, in_flight: inFlight, cooling }
}

function renderDeployment(deployment: DeploymentStatus): Static<typeof DeploymentView> {
  const { openUntil, firstEventMs, wholeAnswerMs, lastFailure } = deployment
  return {
    model: deployment.model,
    breaker: deployment.breaker,
    open_until: openUntil === undefined ? null : isoTime(openUntil),
    failures: deployment.failures,
    in_flight: deployment.inFlight,
    first_event_ms: firstEventMs === undefined ? null : Math.round(firstEventMs),
    whole_answer_ms: wholeAnswerMs === undefined ? null : Math.round(wholeAnswerMs),
    calls: deployment.calls,
    failed_calls: deployment.failedCalls,
    last_failure: lastFailure === undefined ? null : { at: isoTime(lastFailure.at), message: lastFailure.message },
  }
}

/** Some hosts take a key in the address. '' for what is no address. */
function withoutSecrets(baseUrl: string): string {
  const url = URL.parse(baseUrl)
  if (url === null) return ''
  for (const part of ['username', 'password', 'search', 'hash'] as const) url[part] = ''
  return baseUrl.endsWith('/') ? url.href : url.href.replace(/\/$/, '')
}
