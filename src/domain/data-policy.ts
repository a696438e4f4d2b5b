/** The requirements of an account or a key for every deployment that answers its requests. */

export interface DataPolicy {
  /** `deny`: the provider does not keep data for training. */
  readonly dataCollection?: 'allow' | 'deny' | undefined
  /** True: the provider retains no data. */
  readonly zdr?: boolean | undefined
  /** The provider runs the model in one of these regions. */
  readonly regions?: readonly string[] | undefined
}

/** A policy that no deployment meets, for one that cannot be read. */
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

/** Undefined if there are no policies, so that requests without them pay nothing. */
export function storedPolicies(texts: readonly (string | null)[]): readonly DataPolicy[] | undefined {
  const policies = texts.flatMap((text) => policyOf(text) ?? [])
  return policies.length === 0 ? undefined : policies
}

/** Returns null for a policy without requirements. */
export function policyText(policy: DataPolicy | undefined): string | null {
  const { dataCollection, zdr, regions } = policy ?? {}
  const demands = {
    ...(dataCollection === 'deny' && { dataCollection }),
    ...(zdr === true && { zdr }),
    ...(regions !== undefined && { regions }),
  }
  return Object.keys(demands).length === 0 ? null : JSON.stringify(demands)
}

/** Returns whether a policy includes all requirements of another one. */
export function isAsStrictAs(policy: DataPolicy | undefined, other: DataPolicy | undefined): boolean {
  if (other?.dataCollection === 'deny' && policy?.dataCollection !== 'deny') return false
  if (other?.zdr === true && policy?.zdr !== true) return false
  if (other?.regions === undefined) return true
  const allowed = new Set(other.regions.map((region) => region.toLowerCase()))
  return policy?.regions?.every((region) => allowed.has(region.toLowerCase())) === true
}
