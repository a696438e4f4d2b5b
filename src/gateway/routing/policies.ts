/** Data policies: what the operator demands of the deployments that answer an account, a key or a plan. */
import type { Caller } from '../../domain/identity/caller.ts'
import type { Candidate, RoutingPolicy } from './health.ts'

type Demand = Pick<RoutingPolicy, 'dataCollection' | 'zdr' | 'regions'>

/** Those that concern a caller; undefined: none. */
export function policiesOf(
  { accountId, keyId, plan }: Caller,
  policies: readonly RoutingPolicy[] | undefined,
): readonly RoutingPolicy[] | undefined {
  if (policies === undefined) return undefined
  const own = policies.filter(
    ({ accounts, keys, plans }) =>
      (accounts?.includes(accountId) ?? true) && (keys?.includes(keyId) ?? true) && (plans?.includes(plan) ?? true),
  )
  return own.length === 0 ? undefined : own
}

/** What of a demand a candidate does not fulfil; undefined: it does. */
export function unfulfilled({ facts }: Candidate, demand: Demand): 'data_collection' | 'zdr' | 'regions' | undefined {
  const { dataCollection, zdr, regions } = demand
  if (dataCollection === 'deny' && facts.dataCollection !== 'deny') return 'data_collection'
  if (zdr === true && !facts.zdr) return 'zdr'
  const { region } = facts
  const isElsewhere = regions?.every((each) => each.toLowerCase() !== region?.toLowerCase())
  return isElsewhere === true ? 'regions' : undefined
}
