import type { FileConfig, PlanConfig } from './schema.ts'

const STANDARD = { max_in_flight: 500, billing: 'prepaid' } as const

/** The plans that are there without a word in the file. */
export const BUILT_IN_PLANS = {
  free: {
    ...STANDARD,
    monthly_credit_usd: 5,
    requests_per_minute: 20,
    tokens_per_minute: 40_000,
    max_in_flight: 8,
  },
  pro: { ...STANDARD, requests_per_minute: 600, tokens_per_minute: 1_000_000 },
  unlimited: { ...STANDARD, requests_per_minute: 6_000, max_in_flight: 5_000, billing: 'postpaid' },
} as const satisfies Readonly<Record<string, PlanConfig>>

/** The built-in plans under the file's, field by field. The result has no prototype. */
export function mergePlans(file: FileConfig['plans']): Readonly<Record<string, PlanConfig>> {
  const merged: Record<string, PlanConfig> = Object.assign(Object.create(null), BUILT_IN_PLANS)
  for (const [name, plan] of Object.entries(file)) merged[name] = { ...STANDARD, ...merged[name], ...plan }
  return merged
}
