/**
 * The health of providers, deployments and credentials as this process observes it, and their candidates: one object
 * per gateway, which survives reloads. Only configured names have entries. The other files of this folder decide by
 * them.
 */
import type { FallbackReason } from '../../domain/completion.ts'
import type { DataPolicy } from '../../domain/data-policy.ts'
import type { ProviderCredentialId } from '../../domain/ids.ts'
import type { Model } from '../../domain/model.ts'
import type { NanoUsd } from '../../domain/money.ts'
import type { DeploymentStatus, ProviderStatus } from '../../domain/provider-status.ts'
import { createLruCache } from '../../lib/collections.ts'
import { trimEndOf } from '../../lib/text.ts'
import type { ConfiguredProvider, Target, UpstreamProvider } from '../upstream/transport.ts'
import { createOutputMeasure, type OutputMeasure } from '../usage/hidden-reasoning.ts'
import { type Affinity, createAffinity, MAX_REMEMBERED, type PromptPrefix } from './affinity.ts'
import {
  type Breaker,
  type BreakerSettings,
  breakerState,
  type ConcurrencyLimiter,
  createBreaker,
  createConcurrencyLimiter,
  createRetryBudget,
  type RetryBudget,
} from './breaker.ts'
import { type CredentialHealth, createCredentialHealth } from './credentials.ts'
import { createMeasurements, type Measurements } from './measurements.ts'

export interface RoutingSettings {
  /** The retries at a provider, as a share of its requests. */
  readonly retryBudget: number
  readonly breaker: BreakerSettings
  /** The failures for which another model may answer. Undefined means all. */
  readonly fallbackOn?: Readonly<Record<FallbackReason, boolean>> | undefined
  /** Undefined if there are no policies. */
  readonly policies?: readonly RoutingPolicy[] | undefined
}

/** The operator's requirements for every deployment that answers these callers. A missing list means all callers. */
export interface RoutingPolicy extends DataPolicy {
  readonly accounts?: readonly string[] | undefined
  readonly keys?: readonly string[] | undefined
  readonly plans?: readonly string[] | undefined
}

/** The health of one model at one provider. */
export interface DeploymentHealth {
  /** The provider's own name of the model. */
  readonly model: string
  readonly breaker: Breaker
  inFlight: number
  /**
   * Smoothed milliseconds to the first event of streams and to the end of whole answers. Undefined before the first.
   */
  firstEventMs: number | undefined
  wholeAnswerMs: number | undefined
  readonly output: OutputMeasure
  readonly measurements: Measurements
  calls: number
  failedCalls: number
  /** `at` is in Unix milliseconds. */
  lastFailure: { readonly at: number; readonly message: string } | undefined
}

export interface ProviderHealth {
  readonly name: string
  readonly baseUrl: string
  readonly limiter: ConcurrencyLimiter
  readonly budget: RetryBudget
  /** By the credential itself: its health survives a change of the list. */
  readonly credentials: Map<string, CredentialHealth>
  readonly deployments: Map<string, DeploymentHealth>
  /** The estimated cost of attempts that the operator pays because no client is charged. */
  unbilledNanoUsd: NanoUsd
}

/** A deployment with one of its provider's credentials. */
export interface KeyedTarget extends Target {
  readonly health: CredentialHealth
  /** A hash that orders targets identically in all processes. */
  readonly seed: number
  /** The account's own credential. Undefined if the operator's is used. */
  readonly ownCredential?: ProviderCredentialId
}

export interface Candidate {
  /** The model of the deployment. */
  readonly of: Model
  readonly upstream: UpstreamProvider
  /** The provider's own name of the model. */
  readonly model: string
  readonly priority: number
  readonly weight: number
  /** The weight in relation to the mean of its priority. */
  readonly share: number
  /** At least one target. */
  readonly targets: readonly KeyedTarget[]
  readonly provider: ProviderHealth
  readonly deployment: DeploymentHealth
  /** The names of the provider that requests may use, in lower case. */
  readonly names: readonly string[]
  readonly facts: DeploymentFacts
  /** The name of the candidate in `x-turnpike-route`. */
  readonly label: string
  /** Clients script this provider, so its failures do not count. */
  readonly scripted: boolean
}

/** The provider's handling of data. */
export interface DeploymentFacts {
  readonly dataCollection: 'allow' | 'deny'
  /** Zero data retention. */
  readonly zdr: boolean
  /** The region in lower case. */
  readonly region: string | undefined
}

export interface CandidateList {
  /** The candidates by priority. */
  readonly candidates: readonly Candidate[]
  /** The number of targets of all candidates. */
  readonly targets: number
  /** The route of all requests if there is only one candidate. */
  readonly only: Route
  /** The recently sorted candidates, by sort order. */
  readonly sorted: Map<
    string,
    { readonly at: number; readonly candidates: readonly Candidate[]; readonly unmeasured: number }
  >
}

/**
 * The reason for calling a candidate, as in `x-turnpike-route`. `only`: the model has no other. `weight`: drawn by
 * weight. `load`: drawn second, but clearly less loaded. `sticky`: answered the conversation before. `priority`: the
 * only one of the best priority. `repeat`: called before. `fallback`: others failed or were skipped. `probe`: tests a
 * half-open breaker. `last`: its breaker is open, but no other candidate is left. `order`, `sort`: requested by the
 * client. `explore`: has no measurements yet.
 */
export type ChoiceReason =
  | 'only'
  | 'weight'
  | 'load'
  | 'sticky'
  | 'priority'
  | 'repeat'
  | 'fallback'
  | 'probe'
  | 'last'
  | 'order'
  | 'sort'
  | 'explore'
/** The reason why a better candidate was not called. */
export type SkipReason = 'open' | 'cooling' | 'full'

/** The candidates of a request. */
export interface Route {
  /** The candidates, best first; at least one. */
  readonly candidates: readonly Candidate[]
  /** The reason why the first candidate is first. */
  readonly why: ChoiceReason
  /** The sticky target of the conversation, which belongs to the first candidate. */
  readonly target: KeyedTarget | undefined
  /** The prefix of the conversation. Undefined if there is only one target. */
  readonly prefix: PromptPrefix | undefined
  /** The beginning of `x-turnpike-route`: the better candidates that cannot be called now. */
  readonly skipped: string
  /** The key under which a virtual model remembers the model that answers. */
  readonly stickyKey?: string | undefined
}

export interface Health {
  readonly settings: () => RoutingSettings
  /** Monotonic milliseconds. */
  readonly clock: () => number
  /** Unix milliseconds. */
  readonly now: () => number
  /** Returns a number from 0 to 1. */
  readonly random: () => number
  readonly affinity: Affinity
  /** The model that answered last, by the sticky key of a conversation or a user. */
  readonly stickyModels: { get(key: string): string | undefined; set(key: string, model: string): void }
  /** The candidates by model, until the model or the providers change. */
  readonly candidates: { get(model: Model): CandidateList | undefined; set(model: Model, list: CandidateList): void }
  providerOf(provider: ConfiguredProvider): ProviderHealth
  /** Replaces the configured providers. */
  use(providers: readonly ConfiguredProvider[]): void
  status(): readonly ProviderStatus[]
  /** Returns the operator's deployments that this process has called. */
  measured(): readonly Measured[]
  /** Returns the measurements of a deployment. Undefined if its provider is not configured. */
  measurementsOf(provider: string, model: string): Measurements | undefined
}

export interface Measured {
  readonly provider: string
  /** The provider's own name of the model. */
  readonly model: string
  readonly measurements: Measurements
}

export interface HealthInput extends Pick<Health, 'clock' | 'now' | 'random' | 'settings'> {}

/** The deployments of one provider that are remembered across reloads. The oldest idle ones are removed first. */
const MAX_DEPLOYMENTS = 1_000

export function createHealth({ clock, now, random, settings }: HealthInput): Health {
  const entries = new Map<string, ProviderHealth>()
  let configured: readonly ConfiguredProvider[] = []
  let candidates = new WeakMap<Model, CandidateList>()

  function providerOf(provider: ConfiguredProvider): ProviderHealth {
    const known = entries.get(provider.name)
    if (known?.baseUrl === provider.baseUrl) return known
    const entry = createProviderHealth(provider)
    entries.set(provider.name, entry)
    return entry
  }

  return {
    settings,
    clock,
    now,
    random,
    affinity: createAffinity(),
    stickyModels: createLruCache<string>(MAX_REMEMBERED),
    candidates: { get: (model) => candidates.get(model), set: (model, list) => void candidates.set(model, list) },
    providerOf,
    use(providers) {
      configured = providers
      candidates = new WeakMap()
      const names = new Set(providers.map(({ name }) => name))
      for (const name of entries.keys()) if (!names.has(name)) entries.delete(name)
      for (const provider of providers) adopt(providerOf(provider), provider)
    },
    measured: () =>
      configured.flatMap((provider) =>
        [...providerOf(provider).deployments.values()].map(({ model, measurements }) => ({
          provider: provider.name,
          model,
          measurements,
        })),
      ),
    measurementsOf(name, model) {
      const provider = configured.find((each) => each.name === name)
      return provider && deploymentOf(providerOf(provider), model).measurements
    },
    status: () => configured.map((provider) => statusOf(provider, providerOf(provider), { clock, now })),
  }
}

export function createProviderHealth({ name, baseUrl, maxInFlight }: ConfiguredProvider): ProviderHealth {
  return {
    name,
    baseUrl,
    limiter: createConcurrencyLimiter(maxInFlight),
    budget: createRetryBudget(),
    credentials: new Map(),
    deployments: new Map(),
    unbilledNanoUsd: 0n,
  }
}

function adopt({ limiter, credentials }: ProviderHealth, provider: ConfiguredProvider): void {
  limiter.setLimit(provider.maxInFlight)
  for (const credential of credentials.keys())
    if (!provider.credentials.includes(credential)) credentials.delete(credential)
}

export function credentialOf({ credentials }: ProviderHealth, credential: string): CredentialHealth {
  const known = credentials.get(credential)
  if (known !== undefined) return known
  const entry = createCredentialHealth()
  credentials.set(credential, entry)
  return entry
}

export function deploymentOf({ deployments }: ProviderHealth, model: string): DeploymentHealth {
  const known = deployments.get(model)
  if (known !== undefined) return known
  if (deployments.size >= MAX_DEPLOYMENTS) forgetOne(deployments)
  const entry: DeploymentHealth = {
    model,
    breaker: createBreaker(),
    inFlight: 0,
    firstEventMs: undefined,
    wholeAnswerMs: undefined,
    output: createOutputMeasure(),
    measurements: createMeasurements(),
    calls: 0,
    failedCalls: 0,
    lastFailure: undefined,
  }
  deployments.set(model, entry)
  return entry
}

function forgetOne(deployments: Map<string, DeploymentHealth>): void {
  for (const [model, { inFlight }] of deployments) {
    if (inFlight > 0) continue
    deployments.delete(model)
    return
  }
}

type Clocks = Pick<HealthInput, 'clock' | 'now'>

function statusOf(provider: ConfiguredProvider, health: ProviderHealth, clocks: Clocks): ProviderStatus {
  const called = [...health.deployments.values()].filter(({ calls }) => calls > 0)
  return {
    name: provider.name,
    baseUrl: withoutSecrets(provider.baseUrl),
    maxInFlight: provider.maxInFlight,
    inFlight: health.limiter.inFlight(),
    queued: health.limiter.queued(),
    credentials: provider.credentials.map((credential, position) => ({
      number: position + 1,
      coolingUntil: coolingUntil(health.credentials.get(credential), clocks),
      inFlight: health.credentials.get(credential)?.inFlight ?? 0,
    })),
    deployments: called.map((deployment) => deploymentStatus(deployment, clocks)),
    unbilledNanoUsd: health.unbilledNanoUsd,
  }
}

function deploymentStatus(deployment: DeploymentHealth, { clock, now }: Clocks): DeploymentStatus {
  const { model, breaker, inFlight, firstEventMs, wholeAnswerMs, calls, failedCalls, lastFailure } = deployment
  const state = breakerState(breaker, clock())
  const openUntil = state === 'open' ? Math.round(now() + (breaker.openUntil ?? 0) - clock()) : undefined
  const { failures } = breaker
  const figures = { inFlight, firstEventMs: rounded(firstEventMs), wholeAnswerMs: rounded(wholeAnswerMs) }
  return { model, breaker: state, openUntil, failures, ...figures, calls, failedCalls, lastFailure }
}

function rounded(milliseconds: number | undefined): number | undefined {
  return milliseconds === undefined ? undefined : Math.round(milliseconds)
}

function coolingUntil(credential: CredentialHealth | undefined, { clock, now }: Clocks): Record<string, number> {
  const until: Record<string, number> = Object.create(null)
  for (const [model, cooling] of credential?.cooldowns ?? []) {
    if (clock() < cooling.until) until[model] = Math.round(now() + cooling.until - clock())
  }
  return until
}

/** Removes credentials from an address: a name and a password, or a key among its parameters. */
function withoutSecrets(baseUrl: string): string {
  if (!URL.canParse(baseUrl)) return baseUrl.replace(/[?#].*$/, '')
  const { protocol, host, pathname } = new URL(baseUrl)
  return trimEndOf(`${protocol}//${host}${pathname}`, '/')
}
