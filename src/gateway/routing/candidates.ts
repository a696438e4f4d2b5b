/** Candidates of a model, each with its health and credentials, computed once a reload; and their names in `x-turnpike-route`. */
import { hash } from 'node:crypto'
import { GatewayError } from '../../domain/errors.ts'
import type { Deployment, Model } from '../../domain/model.ts'
import type { UpstreamProvider } from '../upstream/registry.ts'
import { coolingOf } from './credentials.ts'
import {
  type Candidate,
  type CandidateList,
  credentialOf,
  deploymentOf,
  type Health,
  type KeyedTarget,
  type Route,
  type SkipReason,
  type Why,
} from './health.ts'

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
  const targets = made.reduce((sum, candidate) => sum + candidate.targets.length, 0)
  const only: Route = { candidates: made, why: 'only', target: undefined, prefix: undefined, skipped: '' }
  const list = { candidates: made, targets, only }
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
    targets: credentials.map((credential, position) => ({
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

/** Whether each choice needs a call of its own. */
export function spreads({ upstream }: Pick<Candidate, 'upstream'>, choices: number): boolean {
  return choices > 1 && !upstream.provider.protocol.severalChoices
}

function seedOf(text: string): number {
  return Number.parseInt(hash('sha1', text).slice(0, 8), 16)
}

/** Returns a usable target with the fewest calls in flight; undefined where all are cooling. */
export function freeTarget(candidate: Candidate, now: number, random: () => number): KeyedTarget | undefined {
  const { targets, model, scripted } = candidate
  const [first] = targets
  if (targets.length === 1 || first === undefined) {
    return first === undefined || (!scripted && coolingOf(first.health, model, now) !== undefined) ? undefined : first
  }
  let best: KeyedTarget | undefined
  let equals = 0
  for (const target of targets) {
    if (!scripted && coolingOf(target.health, model, now) !== undefined) continue
    if (best === undefined || target.health.inFlight < best.health.inFlight) {
      best = target
      equals = 1
    } else if (target.health.inFlight === best.health.inFlight) {
      equals += 1
      if (random() * equals < 1) best = target
    }
  }
  return best
}

export function isCooling({ model, scripted }: Candidate, { health }: KeyedTarget, now: number): boolean {
  return !scripted && coolingOf(health, model, now) !== undefined
}

/** `x-turnpike-route` in characters: clients reject response heads that are too long. */
export const MAX_ROUTE_LENGTH = 2 * 1024

/** `local;model="qwen3-coder"`. */
export function labelOf(provider: string, model: string): string {
  const name = /^[A-Za-z*][\w!#$%&'*+.^`|~:/-]*$/.test(provider) ? provider : quoted(provider)
  return `${name};model=${quoted(model)}`
}

export function calledText(label: string, why: Why, outcome: string): string {
  return `${label};why=${why};outcome=${outcome}`
}

export function skippedText(label: string, reason: SkipReason): string {
  return `${label};skipped=${reason}`
}

/** The list with one more member, as long as there is room. */
export function withMember(list: string, member: string): string {
  if (list === '') return member
  return list.length + member.length + 2 > MAX_ROUTE_LENGTH ? list : `${list}, ${member}`
}

/** Strings of RFC 8941 are of printable ASCII; what is not is percent-encoded. */
function quoted(text: string): string {
  const printable = text.toWellFormed().replace(/[^\x20-\x7e]/gu, encodeURIComponent)
  return `"${printable.replace(/["\\]/g, '\\$&')}"`
}
