import { GatewayError } from '../../domain/errors.ts'
import { didYouMean } from '../../lib/nearest.ts'

/** What an account may be given. */
export interface Plans {
  readonly names: readonly string[]
  /** Of accounts that are made without one. */
  readonly standard: string
}

/** Gives the plan that a body names, or the standard one. Throws 400 for one that is not in the configuration. */
export function planFinder(plans: () => Plans): (name: string | undefined) => string {
  return (name) => {
    const { names, standard } = plans()
    if (name === undefined || names.includes(name)) return name ?? standard
    throw new GatewayError('invalid_value', noSuchPlan(name, names), { param: 'plan' })
  }
}

export function noSuchPlan(name: string, names: readonly string[]): string {
  const meant = didYouMean(name, names)
  return `'${name}' is no plan${meant === undefined ? '' : ` (did you mean '${meant}'?)`}; there are ${names.join(', ')}.`
}
