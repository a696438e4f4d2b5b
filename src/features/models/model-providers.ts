/** Where models can be had, and whether they can now: the deployments of a model under what is known of their providers. */
import type { Deployment, Model } from '../../domain/model.ts'
import type { ProviderStatus } from '../../domain/provider-status.ts'
import type { ListedModel } from './listed-model.ts'

/**
 * Tells of each model where it is tried: the healthy before the others, and among those by priority; of equal ones by
 * weight, by which they are drawn. Made once for a list, since all of its models have the same providers.
 * @param statuses Of every configured provider, now.
 */
export function modelProviders(statuses: readonly ProviderStatus[]): (model: Model) => ListedModel['providers'] {
  const known = new Map(statuses.map((status) => [status.name, ailmentsOf(status)]))
  return ({ deployments }) => {
    const all = deployments.toSorted((one, other) => one.priority - other.priority || other.weight - one.weight)
    const views = all.map((deployment) => ({
      name: deployment.provider,
      healthy: isHealthy(known.get(deployment.provider), deployment),
    }))
    return [...views.filter(({ healthy }) => healthy), ...views.filter(({ healthy }) => !healthy)]
  }
}

/** What is wrong with a provider, by its own names of models. */
interface Ailments {
  readonly open: ReadonlySet<string>
  /** Of each credential, what it is not used for; `*` is every model. */
  readonly cooling: readonly Readonly<Record<string, number>>[]
}

function ailmentsOf({ deployments, credentials }: ProviderStatus): Ailments {
  return {
    open: new Set(deployments.filter(({ breaker }) => breaker === 'open').map(({ model }) => model)),
    cooling: credentials.map(({ coolingUntil }) => coolingUntil),
  }
}

/** One that nothing is known of has not been called yet. */
function isHealthy(ailments: Ailments | undefined, { model }: Deployment): boolean {
  if (ailments === undefined) return true
  if (ailments.open.has(model)) return false
  const { cooling } = ailments
  return cooling.length === 0 || cooling.some((until) => until[model] === undefined && until['*'] === undefined)
}
