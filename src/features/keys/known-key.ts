/** A key that is in force, prepared for being checked on every request. */
import { hash, timingSafeEqual } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { Database } from '../../db/schema.ts'
import type { Caller, Scope } from '../../domain/caller.ts'
import { GatewayError } from '../../domain/errors.ts'
import { type AddressRange, includesAddress, parseAddressRange } from '../../lib/address-ranges.ts'
import { effectiveScopes } from './key.ts'

export interface KnownKey {
  readonly digest: Buffer
  /** One frozen object, the same for every request of this key. */
  readonly caller: Caller
  /** Unix milliseconds; infinite when it never expires. */
  readonly expiresAt: number
  /** Undefined: from anywhere. Empty: from nowhere, which is what a list that cannot be read comes to. */
  readonly allowed: readonly AddressRange[] | undefined
  /** Unix milliseconds of the last use that is not written yet; undefined: none. */
  unwrittenUseAt: number | undefined
}

/** SHA-256 of a secret as text of 32 Latin-1 characters: a map's key, and what `digest` is compared with. */
export function digestText(secret: string): string {
  return hash('sha256', secret, 'latin1')
}

/** Undefined when there is no such key or it was revoked. One query by the digest, whatever the answer. */
export async function loadKey(db: Kysely<Database>, digest: string): Promise<KnownKey | undefined> {
  const bytes = Uint8Array.from(Buffer.from(digest, 'latin1'))
  const row = await db
    .selectFrom('credential')
    .innerJoin('api_key', (join) =>
      join.onRef('api_key.account_id', '=', 'credential.account_id').onRef('api_key.id', '=', 'credential.id'),
    )
    .innerJoin('account', 'account.id', 'credential.account_id')
    .where('credential.hash', '=', bytes)
    .where('credential.kind', '=', 'key')
    .select(['api_key.account_id', 'api_key.id', 'account.plan', 'credential.hash'])
    .select(['scopes', 'ip_allowlist', 'models', 'requests_per_minute', 'expires_at', 'revoked_at'])
    .select('monthly_budget_nano_usd')
    .executeTakeFirst()
  if (row === undefined || row.revoked_at !== null) return undefined
  const models = JSON.parse(row.models) as string[]
  const caller: Caller = Object.freeze({
    accountId: row.account_id,
    keyId: row.id,
    plan: row.plan,
    models: models.length === 0 ? undefined : new Set(models),
    requestsPerMinute: row.requests_per_minute ?? undefined,
    monthlyBudgetNanoUsd: row.monthly_budget_nano_usd ?? undefined,
    scopes: effectiveScopes(JSON.parse(row.scopes) as Scope[]),
  })
  return {
    digest: Buffer.from(row.hash),
    caller,
    expiresAt: row.expires_at ?? Number.POSITIVE_INFINITY,
    allowed: parseAllowlist(row.ip_allowlist),
    unwrittenUseAt: undefined,
  }
}

/** Throws the same `invalid_credential` whatever is wrong with the key, and `address_not_allowed` for the address. */
export function checkKey(key: KnownKey, digest: string, { address, now }: { address: string; now: number }): void {
  if (!timingSafeEqual(key.digest, Buffer.from(digest, 'latin1')) || key.expiresAt <= now) throw invalidCredential()
  if (key.allowed === undefined || includesAddress(key.allowed, address)) return
  throw new GatewayError('address_not_allowed', 'This key may not be used from this address.')
}

export function invalidCredential(): GatewayError {
  return new GatewayError('invalid_credential', 'The API key is not valid: it is wrong, expired or revoked.')
}

function parseAllowlist(text: string): readonly AddressRange[] | undefined {
  let entries: unknown
  try {
    entries = JSON.parse(text)
  } catch {
    return []
  }
  if (!Array.isArray(entries)) return []
  if (entries.length === 0) return undefined
  const ranges = entries.map((entry) => parseAddressRange(String(entry)))
  return ranges.includes(undefined) ? [] : ranges.filter((range) => range !== undefined)
}
