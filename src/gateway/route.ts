import { GatewayError } from '../domain/errors.ts'
import type { Deployment, Model } from '../domain/model.ts'
import type { Target } from './call.ts'
import type { UpstreamProvider } from './ports.ts'

export interface RouteInput {
  readonly provider: (name: string) => UpstreamProvider | undefined
  /** Between 0 and 1. */
  readonly random: () => number
}

/**
 * Where a request for a model may go, best first: by priority, shuffled by weight within one.
 * Throws when none of the model's providers is configured.
 */
export function routeTargets(model: Model, { provider, random }: RouteInput): readonly Target[] {
  const { deployments } = model
  const ordered = deployments.length < 2 ? deployments : shuffleByWeight(deployments, random)
  const targets: Target[] = []
  for (const deployment of ordered) {
    const upstream = provider(deployment.provider)
    if (upstream === undefined) continue
    const { credentials } = upstream
    const credential = credentials[credentials.length < 2 ? 0 : Math.floor(random() * credentials.length)] ?? ''
    targets.push({ upstream, model: deployment.model, credential })
  }
  if (targets.length > 0) return targets
  throw new GatewayError('provider_error', `No provider of the model '${model.id}' is configured.`)
}

/** A draw without replacement in proportion to weight is a sort by `random^(1/weight)`, highest first. */
function shuffleByWeight(deployments: readonly Deployment[], random: () => number): readonly Deployment[] {
  const drawn = deployments.map((deployment) => ({
    deployment,
    rank: deployment.weight > 0 ? random() ** (1 / deployment.weight) : -1,
  }))
  drawn.sort((a, b) => a.deployment.priority - b.deployment.priority || b.rank - a.rank)
  return drawn.map(({ deployment }) => deployment)
}
