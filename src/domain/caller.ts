import type { AccountId, KeyId, UserId } from './ids.ts'
import type { NanoUsd } from './money.ts'
import type { Right, Role } from './rights.ts'

export { type Right, type Role, SCOPES, type Scope } from './rights.ts'

/** Who makes a request, as far as any part of Turnpike needs to know. */
export interface Caller {
  /** An API key, an access token of a connected device, or a person's session in the dashboard. */
  readonly kind: 'key' | 'token' | 'session'
  readonly accountId: AccountId
  /** What usage is booked on: the key; the device's id of a token; the user's id of a session. */
  readonly keyId: KeyId
  /** Who is behind a token or a session. */
  readonly userId: UserId | undefined
  /** That person's role in the account, as it is now. */
  readonly role: Role | undefined
  readonly plan: string
  /** Model IDs this credential may use; undefined: all. */
  readonly models: ReadonlySet<string> | undefined
  /** Requests a minute of this key; undefined: the plan's alone. */
  readonly requestsPerMinute: number | undefined
  /** What this key may spend in a calendar month, UTC, beside the account's own budget; undefined: no budget of its own. */
  readonly monthlyBudgetNanoUsd: NanoUsd | undefined
  /** Rights of this credential; full access is already spelled out here. */
  readonly scopes: ReadonlySet<Right>
}
