import type { Caller } from '../../../src/domain/identity/caller.ts'
import type { AccountId, KeyId } from '../../../src/domain/ids.ts'

/** Returns the caller of an API key without limits and scopes, with some fields replaced. */
export function keyCaller(over: Partial<Caller> = {}): Caller {
  return {
    kind: 'key',
    accountId: 'acc_a' as AccountId,
    keyId: 'key_a' as KeyId,
    userId: undefined,
    role: undefined,
    plan: 'free',
    models: undefined,
    requestsPerMinute: undefined,
    monthlyBudgetNanoUsd: undefined,
    scopes: new Set(),
    ...over,
  }
}
