/** What a model's deployments come to: each with how it fares and what it can be called with. Made once a reload. */
import { hash } from 'node:crypto'
import { GatewayError } from '../../domain/errors.ts'
import type { Deployment, Model } from '../../domain/model.ts'
import type { Target, UpstreamProvider } from '../ports.ts'
import type { Route } from '../route.ts'
import { type CredentialHealth, coolingOf } from './credential.ts'
import { credentialOf, type DeploymentHealth, deploymentOf, type Health, type ProviderHealth } from './health.ts'
import { labelOf } from './trail.ts'

/** A deployment with one of its provider's credentials. */
export interface Lane extends Target {
  readonly health: CredentialHealth
  /** Tells lanes apart where all processes must choose the same. */
  readonly seed: number
}

export interface Candidate {
  readonly upstream: UpstreamProvider
  /** The provider's own name of the model. */
  readonly model: string
  readonly priority: number
  readonly weight: number
  /** Its weight against the mean of its priority. */
  readonly share: number
  /** At least one. */
  readonly lanes: readonly Lane[]
  readonly provider: ProviderHealth
  readonly deployment: DeploymentHealth
  /** What it is called in `x-turnpike-route`. */
  readonly label: string
  /** The provider does what its clients ask it to, failures included: they say nothing about it. */
  readonly scripted: boolean
}

export interface CandidateList {
  /** By priority. */
  readonly candidates: readonly Candidate[]
  /** Of all candidates together. */
  readonly lanes: number
  /** The route of every request where there is nothing to choose. */
  readonly only: Route
}

export interface CandidateInput {
  readonly provider: (name: string) => UpstreamProvider | undefined
  readonly health: Health
}

/** Throws when none of the model's providers is configured. */
export function candidatesOf(model: Model, { provider, health }: CandidateInput): CandidateList {
  const known = health.candidates.get(model)
  if (known !== undefined) return known
  const made: Candidate[] = []
  for (const deployment of [...model.deployments].sort((a, b) => a.priority - b.priority)) {
    const upstream = provider(deployment.provider)
    if (upstream !== undefined) made.push(candidateOf(upstream, health, { deployment, siblings: model.deployments }))
  }
  if (made.length === 0) {
    throw new GatewayError('provider_error', `No provider of the model '${model.id}' is configured.`)
  }
  const lanes = made.reduce((sum, candidate) => sum + candidate.lanes.length, 0)
  const only: Route = { targets: made, why: 'only', lane: undefined, head: undefined, skipped: '' }
  const list = { candidates: made, lanes, only }
  health.candidates.set(model, list)
  return list
}

interface Placed {
  readonly deployment: Deployment
  readonly siblings: readonly Deployment[]
}

function candidateOf(upstream: UpstreamProvider, health: Health, { deployment, siblings }: Placed): Candidate {
  const { model, priority, weight } = deployment
  const provider = health.providerOf(upstream)
  const peers = siblings.filter((each) => each.priority === priority)
  const mean = peers.reduce((sum, each) => sum + each.weight, 0) / peers.length
  const credentials = upstream.credentials.length === 0 ? [''] : upstream.credentials
  return {
    upstream,
    model,
    priority,
    weight,
    share: weight > 0 ? weight / mean : 1,
    lanes: credentials.map((credential, position) => ({
      upstream,
      model,
      credential,
      health: credentialOf(provider, credential),
      seed: seedOf(`${upstream.name} ${model} ${position}`),
    })),
    provider,
    deployment: deploymentOf(provider, model),
    label: labelOf(upstream.name, model),
    scripted: upstream.provider.scripted === true,
  }
}

/** Whether the choices are asked for one by one. */
export function spreads({ upstream }: Pick<Candidate, 'upstream'>, choices: number): boolean {
  return choices > 1 && !upstream.provider.protocol.severalChoices
}

function seedOf(text: string): number {
  return Number.parseInt(hash('sha1', text).slice(0, 8), 16)
}

/** Of those that may be used now, one with the fewest calls under way; undefined: all are cooling. */
export function freeLane(candidate: Candidate, now: number, random: () => number): Lane | undefined {
  const { lanes, model, scripted } = candidate
  const [first] = lanes
  if (lanes.length === 1 || first === undefined) {
    return first === undefined || (!scripted && coolingOf(first.health, model, now) !== undefined) ? undefined : first
  }
  let best: Lane | undefined
  let equals = 0
  for (const lane of lanes) {
    if (!scripted && coolingOf(lane.health, model, now) !== undefined) continue
    if (best === undefined || lane.health.inFlight < best.health.inFlight) {
      best = lane
      equals = 1
    } else if (lane.health.inFlight === best.health.inFlight) {
      equals += 1
      if (random() * equals < 1) best = lane
    }
  }
  return best
}

export function isCooling({ model, scripted }: Candidate, { health }: Lane, now: number): boolean {
  return !scripted && coolingOf(health, model, now) !== undefined
}
