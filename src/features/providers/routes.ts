/**
 * `/admin/providers`: the configured providers, with the calls of all processes over the last 24 hours and the state
 * of the responding process; `/admin/provider_kinds`: those that can be configured. No credential is shown.
 */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import { GatewayError } from '../../domain/errors.ts'
import { usdNumber } from '../../domain/money.ts'
import type {
  BreakerState,
  CredentialStatus,
  DeploymentStatus,
  ProviderProbe,
  ProviderStatus,
} from '../../domain/provider-status.ts'
import { listByName, NAMED_PAGE_QUERY, pageSchema } from '../../http/page.ts'
import { auditOf } from '../../http/request-origin.ts'
import { isoTime, nullable, oneOf, textOrNull } from '../../http/wire-fields.ts'
import type { FeatureDeps, ListDeps, WriteAudit } from '../deps.ts'
import { currentProblem, failureName, healthOfCalls, type RecentCalls } from './recent-calls.ts'

interface ProvidersDeps extends Pick<ListDeps, 'callerOf' | 'cursorKey'> {
  /** Of every configured provider, now. */
  readonly status: () => readonly ProviderStatus[]
  /** Reads the calls of all processes over the last 24 hours, by provider. */
  readonly recentCalls: () => Promise<ReadonlyMap<string, RecentCalls>>
  /** Names and addresses of configured providers that are disabled. */
  readonly disabled: () => readonly Pick<ProviderStatus, 'name' | 'baseUrl'>[]
  readonly sourceOf: (provider: string) => ProviderSource
}

const SOURCES = ['configuration', 'database', 'built_in'] as const
export type ProviderSource = (typeof SOURCES)[number]

const count = (description: string) => Type.Integer({ description })

const HEALTH = ['healthy', 'degraded', 'down', 'disabled'] as const
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

const RecentFailureView = Type.Object({
  at: Type.String({ description: 'ISO 8601 UTC.' }),
  model: Type.String({ description: 'Name of the model at the provider.' }),
  status: nullable<number>('integer', 'HTTP status of the provider. Null: no response.'),
  reason: Type.String({ description: 'Reason in words, such as `Key refused (401)` or `Rate limited (429)`.' }),
})

const HourView = Type.Object({
  at: Type.String({ description: 'Start of the hour, ISO 8601 UTC.' }),
  calls: count('Number of calls.'),
  failures: count('Number of failed calls.'),
})

const RecentView = Type.Object(
  {
    calls: count('Number of calls.'),
    failures: count(
      'Number of calls that failed because of the provider or its credential: 401, 403, 404, 429, 5xx, no response.',
    ),
    last_answer_at: textOrNull('Time of the last answered call, ISO 8601 UTC. Null: none.'),
    last_failure: Type.Unsafe<Static<typeof RecentFailureView> | null>({
      anyOf: [RecentFailureView, { type: 'null' }],
      description: 'The last failed call. Null: none.',
    }),
    hours: Type.Array(HourView, { description: 'Hours with calls, the oldest first.' }),
  },
  {
    description:
      'Calls of all processes in the current hour and the 23 before it, except those with credentials of accounts.',
  },
)

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
      'By the calls of all processes, as `last_24h`. down: the provider refused the credential of the last call and has answered none since, or at least five calls failed since the last hour in which one did not. degraded: more than 5 % of the calls failed. healthy: none of these. disabled: it is not called. Breakers and cooldowns are of the responding process and change nothing.',
  }),
  source: oneOf(SOURCES, {
    description:
      'configuration: the configuration file or the environment, which have precedence. database: stored by an operator.',
  }),
  problem: textOrNull('Reason of the last failure, if no call was answered since. Null: none.'),
  last_24h: RecentView,
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
    'Returns the configured providers with their health over the last 24 hours, and with the latency and load that the responding process has measured in its own calls.',
  tags: ['Operators'],
  querystring: Type.Object(NAMED_PAGE_QUERY),
  response: { 200: pageSchema(ProviderView) },
}

/** `GET /admin/providers`. */
export function providersRoutes(deps: ProvidersDeps): FastifyPluginAsyncTypebox {
  const { callerOf, cursorKey, status, recentCalls } = deps
  return async (app) => {
    app.get('/admin/providers', { config: { scope: 'operator' }, schema }, async (request) => {
      const binding = { key: cursorKey, account: callerOf(request).accountId, list: 'admin/providers' }
      const recent = await recentCalls()
      const disabled = deps.disabled().map((each) => ({ ...NEVER_CALLED, ...each, isDisabled: true }))
      const providers: readonly (ProviderStatus & { readonly isDisabled?: boolean })[] = [...status(), ...disabled]
      return await listByName(providers, {
        query: request.query,
        binding,
        name: ({ name }) => name,
        render: (provider) => ({
          ...renderProvider(provider, recent.get(provider.name) ?? NO_CALLS),
          source: deps.sourceOf(provider.name),
          ...(provider.isDisabled === true && { status: 'disabled' as const }),
        }),
      })
    })
  }
}

const IDLE = { maxInFlight: undefined, inFlight: 0, queued: 0, unbilledNanoUsd: 0n } as const
const NEVER_CALLED = { ...IDLE, credentials: [], deployments: [] }
const NO_CALLS: RecentCalls = { calls: 0, failures: 0, lastFailure: undefined, lastAnswerAt: undefined, hours: [] }

function renderProvider(provider: ProviderStatus, recent: RecentCalls): Omit<Static<typeof ProviderView>, 'source'> {
  return {
    id: provider.name,
    object: 'provider',
    name: provider.name,
    base_url: withoutSecrets(provider.baseUrl),
    status: healthOfCalls(recent),
    problem: currentProblem(recent) ?? null,
    last_24h: renderRecent(recent),
    max_in_flight: provider.maxInFlight ?? null,
    in_flight: provider.inFlight,
    queued: provider.queued,
    credentials: provider.credentials.map(renderCredential),
    cost_unbilled_usd: usdNumber(provider.unbilledNanoUsd),
    deployments: provider.deployments.map(renderDeployment),
  }
}

function renderRecent({ calls, failures, lastFailure, lastAnswerAt, hours }: RecentCalls): Static<typeof RecentView> {
  const failure = lastFailure && {
    at: isoTime(lastFailure.at),
    model: lastFailure.model,
    status: lastFailure.status,
    reason: failureName(lastFailure),
  }
  return {
    calls,
    failures,
    last_answer_at: lastAnswerAt === undefined ? null : isoTime(lastAnswerAt),
    last_failure: failure ?? null,
    hours: hours.map(({ at, ...counts }) => ({ at: isoTime(at), ...counts })),
  }
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

/* `/admin/provider_kinds`: the built-in providers that an operator can configure. */

export interface ProviderKind {
  /** Name in the configuration. */
  readonly id: string
  /** For people. */
  readonly name: string
  /** Undefined: the operator gives one. */
  readonly baseUrl: string | undefined
  readonly keyVariable: string | undefined
  /** Further settings of its entry, such as `region`. */
  readonly settings: readonly string[]
  /** Of the catalogue. */
  readonly models: number
}

interface KindsDeps extends Pick<ListDeps, 'callerOf' | 'cursorKey'> {
  readonly kinds: () => readonly ProviderKind[]
}

const KindView = Type.Object({
  id: Type.String({ description: 'Name of a provider in the configuration.' }),
  object: Type.Literal('provider_kind'),
  name: Type.String({ description: 'Name of the provider.' }),
  base_url: textOrNull('Address of its API. Null: `base_url` is required.'),
  key_variable: textOrNull('Environment variable of its key. Null: it has none.'),
  settings: Type.Array(Type.String(), { description: 'Further settings that it knows, such as `region`.' }),
  models: Type.Integer({ description: 'Number of models in the catalogue, with prices.' }),
})

const kindsSchema = {
  summary: 'List provider kinds',
  description: 'Returns the built-in providers, each of which `PUT /v1/admin/providers/{name}` can configure.',
  tags: ['Operators'],
  querystring: Type.Object(NAMED_PAGE_QUERY),
  response: { 200: pageSchema(KindView) },
}

/** `GET /admin/provider_kinds`. */
export function providerKindsRoute({ callerOf, cursorKey, kinds }: KindsDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get('/admin/provider_kinds', { config: { scope: 'operator' }, schema: kindsSchema }, async (request) => {
      const binding = { key: cursorKey, account: callerOf(request).accountId, list: 'admin/provider_kinds' }
      const render = ({ id, name, baseUrl, keyVariable, settings, models }: ProviderKind) => ({
        id,
        object: 'provider_kind' as const,
        name,
        base_url: baseUrl ?? null,
        key_variable: keyVariable ?? null,
        settings: [...settings],
        models,
      })
      return await listByName(kinds(), { query: request.query, binding, name: ({ id }) => id, render })
    })
  }
}

// `/admin/providers/{name}/test`: whether a configured provider answers and accepts its key. One test at a time for each.

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

const probeSchema = {
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
    app.post('/admin/providers/:name/test', { config: { scope: 'operator' }, schema: probeSchema }, async (request) => {
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
