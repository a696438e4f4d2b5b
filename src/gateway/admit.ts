/**
 * Admits a request: validates the client's JSON once into a `ChatRequest`, finds the models and candidates that can
 * answer it, computes its worst case, and reserves its share of the rate limits.
 */
import type { AccountCredentials } from '../domain/account-credential.ts'
import { type AttributionHeaders, attributionOf } from '../domain/attribution.ts'
import type { ChatRequest } from '../domain/chat.ts'
import type { DataPolicy } from '../domain/data-policy.ts'
import { GatewayError } from '../domain/errors.ts'
import type { Caller } from '../domain/identity/caller.ts'
import type { BodyFindings } from '../domain/json-body.ts'
import type { RequestTrace } from '../domain/trace.ts'
import type { ClientApi } from '../protocols/client-api.ts'
import { readRoutingHeader } from '../protocols/routing-fields.ts'
import type { AdmittedRequest, GuardedRequest, RoutedModel } from './completion.ts'
import { checkGuarded } from './guardrails/prompt.ts'
import type { Admission, GatewayPorts, StoreAnswer } from './ports.ts'
import { isOwn } from './routing/account-credentials.ts'
import { joinRoutes, routeRequest, withMember } from './routing/candidates.ts'
import type { Route } from './routing/health.ts'
import { orderModels, policiesOf, preferredRoute } from './routing/preferences.ts'
import { type RequestedModel, type RequestedModels, requestedModels, skippedModel } from './routing/requested-models.ts'
import { callsAtWorst, worstCase } from './worst-case.ts'

export interface Incoming {
  /** The API that the client uses. */
  readonly api: ClientApi
  readonly caller: Caller
  /** The parsed JSON body. */
  readonly body: unknown
  /** The client's headers that the API passes on, with lower-case names. */
  readonly headers?: Readonly<Record<string, string>> | undefined
  /** The value of the header `x-turnpike-routing`. */
  readonly routing?: string | undefined
  /** What the check of a large body found, so that nothing is measured twice. */
  readonly findings?: BodyFindings | undefined
  readonly requestId: string
  readonly clientRequestId: string | undefined
  /** The value of the header `Idempotency-Key`, already validated. */
  readonly idempotencyKey: string | undefined
  /** Monotonic milliseconds. */
  readonly receivedAt: number
  /** The last event of a resumable stream that the client received. */
  readonly lastEventId?: number | undefined
  /** Tags and session from the headers. Undefined if the headers have none. */
  readonly attribution?: AttributionHeaders | undefined
  /** Stores the answer. Undefined if the answer is not stored. */
  readonly store?: StoreAnswer | undefined
  /** Undefined if the request is not traced. */
  readonly trace?: RequestTrace | undefined
  /** The guardrails that the pipeline applied to `body`. */
  readonly guarded?: GuardedRequest | undefined
}

/**
 * Validates the request for the models that may answer it.
 * @param ignored Receives fields without effect.
 * @throws GatewayError
 */
export function parse(
  ports: Pick<GatewayPorts, 'models' | 'now' | 'provider' | 'health'>,
  { api, body, caller, headers, routing }: Pick<Incoming, 'api' | 'body' | 'caller' | 'headers' | 'routing'>,
  ignored: readonly string[] = [],
): RequestedModels {
  const parsed = withIgnored(api.parse(body, headers), ignored)
  const request = routing === undefined ? parsed : withRouting(parsed, routing)
  return requestedModels({
    book: ports.models(caller.plan),
    caller,
    request,
    kind: api.kind ?? 'chat',
    now: ports.now,
    routing: ports,
  })
}

function withIgnored(request: ChatRequest, names: readonly string[]): ChatRequest {
  return names.length === 0
    ? request
    : { ...request, ignoredParameters: [...(request.ignoredParameters ?? []), ...names] }
}

/** Applies the routing header, which overrides the same fields of the body. */
function withRouting(request: ChatRequest, header: string): ChatRequest {
  const { ignoredParameters, ...routing } = readRoutingHeader(header)
  const provider = { ...request.routing?.provider, ...routing.provider }
  return {
    ...request,
    routing: { ...request.routing, ...routing, ...(Object.keys(provider).length > 0 && { provider }) },
    ...(ignoredParameters.length > 0 && {
      ignoredParameters: [...(request.ignoredParameters ?? []), ...ignoredParameters],
    }),
  }
}

/**
 * Validates and routes a request and applies its rate limits; `holdCredit` holds the credit later. The result counts
 * within the rate limits until its `limits` are released. @throws GatewayError
 */
export function admit(ports: GatewayPorts, incoming: Incoming): AdmittedRequest | Promise<AdmittedRequest> {
  const credentials = ports.byok?.credentialsOf(incoming.caller)
  return credentials instanceof Promise
    ? credentials.then((found) => admitWith(ports, incoming, found))
    : admitWith(ports, incoming, credentials)
}

/** @param credentials The account's own credentials. Undefined if it has none. */
function admitWith(
  ports: GatewayPorts,
  incoming: Incoming,
  credentials: AccountCredentials | undefined,
): AdmittedRequest | Promise<AdmittedRequest> {
  const { api, caller, clientRequestId, requestId, receivedAt } = incoming
  const { attribution, ignored } = attributionOf({ caller, headers: incoming.attribution, body: incoming.body })
  const requested = parse(ports, incoming, ignored)
  const createdAt = ports.now()
  const byokFeePpm = credentials === undefined ? undefined : ports.byok?.feePpm(caller.plan)
  const policies = policiesOf(caller, ports.health.settings().policies)
  const weighing = { ports, incoming, createdAt, credentials, byokFeePpm, policies }
  const { first, fallbacks, route } =
    requested.fallbacks.length === 0 && requested.skipped === '' && requested.stickyKey === undefined
      ? alone(weigh(requested.first, weighing))
      : weighAll(requested, weighing)
  if (incoming.trace !== undefined) describeRequest(incoming.trace, first)
  if (incoming.guarded !== undefined) checkGuarded(incoming.guarded.guard, first.request, first.worst.likelyTokens)
  const withLimits = (limits: Admission): AdmittedRequest => ({
    id: ports.ids.completion(),
    api,
    caller,
    request: first.request,
    model: first.model,
    price: first.price,
    priceVersion: first.priceVersion,
    answersAs: first.answersAs,
    candidates: first.candidates,
    worst: first.worst,
    byokFeePpm,
    route,
    fallbacks,
    limits,
    createdAt,
    receivedAt,
    requestId,
    clientRequestId,
    attribution,
    store: incoming.store,
    trace: incoming.trace,
    guarded: incoming.guarded,
  })
  const limits = ports.admit(caller, () => worstTokens(first, fallbacks))
  return limits instanceof Promise ? limits.then(withLimits) : withLimits(limits)
}

/** Copies what the span reports: the request itself must not live as long as its trace. */
function describeRequest(trace: RequestTrace, { answersAs: model, request }: RoutedModel): void {
  const { stream, maxTokens, temperature, topP } = request
  trace.request = { model, stream, maxTokens, temperature, topP }
}

const NONE: readonly RoutedModel[] = []

interface Weighing {
  /** The data policies that apply to the caller. */
  readonly policies: readonly DataPolicy[] | undefined
  readonly ports: GatewayPorts
  readonly incoming: Pick<Incoming, 'caller' | 'findings'>
  /** Unix milliseconds. */
  readonly createdAt: number
  /** The account's own credentials. Undefined if it has none. */
  readonly credentials: AccountCredentials | undefined
  /** The share of the cost, in millionths, that the account pays for calls with its own credentials. */
  readonly byokFeePpm: number | undefined
}

interface Weighed extends RoutedModel {
  readonly route: Route
}

interface RoutedModels {
  readonly first: RoutedModel
  readonly fallbacks: readonly RoutedModel[]
  /** The candidates of all models. */
  readonly route: Route
}

function alone(first: Weighed): RoutedModels {
  return { first, fallbacks: NONE, route: first.route }
}

/** Returns a model with its candidates and the most that the request can cost there. @throws GatewayError */
function weigh({ request, model, answersAs, preferences }: RequestedModel, weighing: Weighing): Weighed {
  const { ports, incoming, createdAt, credentials, byokFeePpm } = weighing
  const { caller, findings } = incoming
  const routed = { accountId: caller.accountId, credentials, model, request }
  const { policies } = weighing
  const route =
    preferences === undefined && policies === undefined
      ? routeRequest(routed, ports)
      : preferredRoute({ ...routed, policies, preferences: preferences ?? {} }, ports)
  const { candidates } = route
  checkSentBytes(callsAtWorst(request, candidates), findings)
  const worst = worstCase({ request, model, candidates, now: createdAt, content: findings?.prompt, byokFeePpm })
  const { price, priceVersion } = model
  return { request, model, price, priceVersion, answersAs, candidates, route, worst }
}

/**
 * Excludes models for which the request is too large, or which no configured provider serves, unless that excludes all.
 * If the first model uses only the account's own credentials, so must the fallbacks: the operator's are no fallback.
 */
function weighAll({ first, fallbacks, skipped: before, stickyKey }: RequestedModels, weighing: Weighing): RoutedModels {
  const routed: Weighed[] = []
  let skipped = before
  let failure: unknown
  let ownAlone = false
  for (const each of [first, ...fallbacks]) {
    try {
      const weighed = weigh(each, weighing)
      const isOwnAlone = weighing.credentials !== undefined && weighed.candidates.every(isOwn)
      if (ownAlone && !isOwnAlone) skipped = withMember(skipped, skippedModel(each.model, 'own_credential'))
      else routed.push(weighed)
      ownAlone ||= isOwnAlone
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error
      failure ??= error
      skipped = withMember(skipped, skippedModel(each.model, error.code))
    }
  }
  const ordered = orderModels(routed, first.preferences?.sort, weighing.ports.health)
  const [best, ...others] = ordered
  if (best === undefined) throw failure
  const route = joinRoutes(
    ordered.map((each) => each.route),
    skipped,
  )
  return { first: best, fallbacks: others, route: stickyKey === undefined ? route : { ...route, stickyKey } }
}

/** Returns the tokens that count against the rate limits, once, whichever model answers. */
function worstTokens(first: RoutedModel, fallbacks: readonly RoutedModel[]): number {
  let most = tokensAtWorst(first)
  for (const each of fallbacks) most = Math.max(most, tokensAtWorst(each))
  return most
}

function tokensAtWorst({ worst, request }: RoutedModel): number {
  return worst.promptTokens + worst.outputTokens * request.n
}

/** The most bytes that all calls of one request send together. A single call may send as much as the body has. */
export const MAX_SENT_BYTES = 64 * 1024 * 1024

/** Rejects a large prompt with many choices at a provider that renders and sends the prompt once for each choice. */
function checkSentBytes(calls: number, findings: BodyFindings | undefined): void {
  if (findings === undefined || calls === 1 || calls * findings.bytes <= MAX_SENT_BYTES) return
  const message = `This model's provider returns one choice per request: ${calls} × ${findings.bytes} bytes exceed the limit of ${MAX_SENT_BYTES} bytes. Lower \`n\`.`
  throw new GatewayError('body_too_large', message, { param: 'n' })
}
