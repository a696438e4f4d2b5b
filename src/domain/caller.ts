import type { AccountId, KeyId } from './ids.ts'
import type { NanoUsd } from './money.ts'

/** `operator` is beyond the account: never implied by an empty list of scopes. */
export const SCOPES = [
  'chat',
  'models:read',
  'usage:read',
  'agents:read',
  'agents:write',
  'webhooks',
  'keys',
  'billing',
  'operator',
] as const
export type Scope = (typeof SCOPES)[number]

/** Who makes a request, as far as any part of Turnpike needs to know. */
export interface Caller {
  readonly accountId: AccountId
  readonly keyId: KeyId
  readonly plan: string
  /** Model IDs this credential may use; undefined: all. */
  readonly models: ReadonlySet<string> | undefined
  /** Requests a minute of this key; undefined: the plan's alone. */
  readonly requestsPerMinute: number | undefined
  /** What this key may spend in a calendar month, UTC, beside the account's own budget; undefined: no budget of its own. */
  readonly monthlyBudgetNanoUsd: NanoUsd | undefined
  /** Rights of this credential; full access is already spelled out here. */
  readonly scopes: ReadonlySet<Scope>
}
