/** What an account or a key demands of every deployment that answers its requests. */

export interface DataPolicy {
  /** `deny`: it does not keep data to train on. */
  readonly dataCollection?: 'allow' | 'deny' | undefined
  /** True: it has zero data retention. */
  readonly zdr?: boolean | undefined
  /** It runs in one of these. */
  readonly regions?: readonly string[] | undefined
}

/** No deployment fulfils it: for a policy that cannot be read. */
const UNFULFILLABLE: DataPolicy = { regions: [] }

/** @param text As `policyText` makes it. */
export function policyOf(text: string | null): DataPolicy | undefined {
  if (text === null) return undefined
  try {
    return JSON.parse(text) as DataPolicy
  } catch {
    return UNFULFILLABLE
  }
}

/** Undefined where there are none, so that a request without policies costs nothing. */
export function storedPolicies(texts: readonly (string | null)[]): readonly DataPolicy[] | undefined {
  const policies = texts.flatMap((text) => policyOf(text) ?? [])
  return policies.length === 0 ? undefined : policies
}

/** Null: a policy that demands nothing. */
export function policyText(policy: DataPolicy | undefined): string | null {
  const { dataCollection, zdr, regions } = policy ?? {}
  const demands = {
    ...(dataCollection === 'deny' && { dataCollection }),
    ...(zdr === true && { zdr }),
    ...(regions !== undefined && { regions }),
  }
  return Object.keys(demands).length === 0 ? null : JSON.stringify(demands)
}

/** Whether what fulfils a policy fulfils the other, too. */
export function isAsStrictAs(policy: DataPolicy | undefined, other: DataPolicy | undefined): boolean {
  if (other?.dataCollection === 'deny' && policy?.dataCollection !== 'deny') return false
  if (other?.zdr === true && policy?.zdr !== true) return false
  if (other?.regions === undefined) return true
  const allowed = new Set(other.regions.map((region) => region.toLowerCase()))
  return policy?.regions?.every((region) => allowed.has(region.toLowerCase())) === true
}
