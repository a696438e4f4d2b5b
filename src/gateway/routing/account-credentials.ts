/**
 * Candidates with an account's own credentials instead of the operator's. They have their own breakers, cooldowns,
 * retry budgets and measurements, so that the two kinds do not affect each other. They share only the provider's
 * concurrency limit.
 */
import type { AccountCredential, AccountCredentials } from '../../domain/account-credential.ts'
import type { UpstreamProvider } from '../upstream/transport.ts'
import {
  type Candidate,
  type CandidateList,
  createProviderHealth,
  credentialOf,
  deploymentOf,
  type Health,
  type ProviderHealth,
  type Route,
} from './health.ts'

const healths = new WeakMap<AccountCredential, ProviderHealth>()
const lists = new WeakMap<AccountCredentials, WeakMap<CandidateList, CandidateList>>()

/**
 * Returns the candidates for a caller with its own credentials: those of their providers, best first, then the
 * operator's if each of these credentials allows it. Returns the same list if no credential is for one of its
 * providers.
 */
export function withAccountCredentials(
  list: CandidateList,
  credentials: AccountCredentials,
  health: Pick<Health, 'providerOf'>,
): CandidateList {
  let known = lists.get(credentials)
  if (known === undefined) {
    known = new WeakMap()
    lists.set(credentials, known)
  }
  const made = known.get(list) ?? listOf(list, credentials, health)
  known.set(list, made)
  return made
}

function listOf(list: CandidateList, { byProvider }: AccountCredentials, health: Pick<Health, 'providerOf'>) {
  const own: Candidate[] = []
  let mayFallBack = true
  for (const candidate of list.candidates) {
    const credential = candidate.scripted ? undefined : byProvider.get(candidate.upstream.name)
    if (credential === undefined) continue
    own.push(ownCandidate(candidate, credential, health))
    mayFallBack &&= credential.allowFallback
  }
  if (own.length === 0) return list
  const candidates = mayFallBack ? [...own, ...after(own, list.candidates)] : own
  const targets = candidates.reduce((sum, candidate) => sum + candidate.targets.length, 0)
  const only: Route = { candidates, why: 'only', target: undefined, prefix: undefined, skipped: '' }
  return { candidates, targets, only, sorted: new Map() }
}

/** Returns the same candidates, in their order, at lower priorities than all of `own`. */
function after(own: readonly Candidate[], candidates: readonly Candidate[]): readonly Candidate[] {
  const worst = own.at(-1)?.priority ?? 0
  const best = candidates[0]?.priority ?? 0
  return candidates.map((candidate) => ({ ...candidate, priority: candidate.priority - best + worst + 1 }))
}

function ownCandidate(
  candidate: Candidate,
  credential: AccountCredential,
  health: Pick<Health, 'providerOf'>,
): Candidate {
  const { upstream, model, targets, label } = candidate
  const provider = healthOf(credential, upstream, health)
  const target = {
    upstream,
    model,
    credential: credential.secret,
    health: credentialOf(provider, credential.secret),
    seed: targets[0]?.seed ?? 0,
    ownCredential: credential.id,
  }
  return {
    ...candidate,
    targets: [target],
    provider,
    deployment: deploymentOf(provider, model),
    label: `${label};byok`,
  }
}

function healthOf(credential: AccountCredential, upstream: UpstreamProvider, health: Pick<Health, 'providerOf'>) {
  const shared = health.providerOf(upstream)
  const known = healths.get(credential)
  if (known?.baseUrl === upstream.baseUrl && known.limiter === shared.limiter) return known
  const made = { ...createProviderHealth(upstream), limiter: shared.limiter }
  healths.set(credential, made)
  return made
}

/** Returns whether the account itself pays for calls to the target. */
export function isOwn({ targets }: Candidate): boolean {
  return targets[0]?.ownCredential !== undefined
}
