/** A key that is in force, prepared for being checked on every request. */
import { hash, timingSafeEqual } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { ApiKeyTable, Database } from '../../db/schema.ts'
import type { Caller, Scope } from '../../domain/caller.ts'
import { invalidCredential } from '../../domain/credential-errors.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { AccountId, KeyId, UserId } from '../../domain/ids.ts'
import { type Right, type Role, rightsOfRole } from '../../domain/rights.ts'
import { type AddressRange, includesAddress, parseAddressRange } from '../../lib/address-ranges.ts'
import { rightsOfScopes } from './key.ts'

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
    .leftJoin('member', (join) =>
      join.onRef('member.account_id', '=', 'api_key.account_id').onRef('member.user_id', '=', 'api_key.created_by'),
    )
    .leftJoin('setting', (join) => join.on('setting.key', '=', 'first_account'))
    .where('credential.hash', '=', bytes)
    .where('credential.kind', '=', 'key')
    .select(['api_key.account_id', 'api_key.id', 'account.plan', 'credential.hash'])
    .select(['scopes', 'ip_allowlist', 'models', 'requests_per_minute', 'expires_at', 'revoked_at'])
    .select(['monthly_budget_nano_usd', 'created_by', 'member.role', 'member.removed_at'])
    .select('setting.value as first_account')
    .executeTakeFirst()
  const key = row && inForce(row)
  return row && key && { ...key, digest: Buffer.from(row.hash), unwrittenUseAt: undefined }
}

/** What is known of a key without its secret. */
export type KeyInForce = Pick<KnownKey, 'caller' | 'expiresAt' | 'allowed'>

/** The same by the key's id, for work that goes on without its secret. */
export async function loadKeyById(
  db: Kysely<Database>,
  { accountId, keyId }: { readonly accountId: AccountId; readonly keyId: KeyId },
): Promise<KeyInForce | undefined> {
  const row = await db
    .selectFrom('api_key')
    .innerJoin('account', 'account.id', 'api_key.account_id')
    .leftJoin('member', (join) =>
      join.onRef('member.account_id', '=', 'api_key.account_id').onRef('member.user_id', '=', 'api_key.created_by'),
    )
    .leftJoin('setting', (join) => join.on('setting.key', '=', 'first_account'))
    .where('api_key.account_id', '=', accountId)
    .where('api_key.id', '=', keyId)
    .select(['api_key.account_id', 'api_key.id', 'account.plan'])
    .select(['scopes', 'ip_allowlist', 'models', 'requests_per_minute', 'expires_at', 'revoked_at'])
    .select(['monthly_budget_nano_usd', 'created_by', 'member.role', 'member.removed_at'])
    .select('setting.value as first_account')
    .executeTakeFirst()
  return row && inForce(row)
}

interface KeyRow extends CreatorColumns, Pick<ApiKeyTable, RightsColumn> {
  readonly id: KeyId
  readonly plan: string
}

type RightsColumn =
  | 'scopes'
  | 'ip_allowlist'
  | 'models'
  | 'requests_per_minute'
  | 'expires_at'
  | 'revoked_at'
  | 'monthly_budget_nano_usd'

function inForce(row: KeyRow): KeyInForce | undefined {
  if (row.revoked_at !== null) return undefined
  const bounds = boundsOf(row)
  if (bounds === 'gone') return undefined
  const models = JSON.parse(row.models) as string[]
  const caller: Caller = Object.freeze({
    kind: 'key',
    accountId: row.account_id,
    keyId: row.id,
    userId: undefined,
    role: undefined,
    plan: row.plan,
    models: models.length === 0 ? undefined : new Set(models),
    requestsPerMinute: row.requests_per_minute ?? undefined,
    monthlyBudgetNanoUsd: row.monthly_budget_nano_usd ?? undefined,
    scopes: within(rightsOfScopes(JSON.parse(row.scopes) as Scope[]), bounds),
  })
  return {
    caller,
    expiresAt: row.expires_at ?? Number.POSITIVE_INFINITY,
    allowed: parseAllowlist(row.ip_allowlist),
  }
}

interface CreatorColumns {
  readonly created_by: UserId | null
  readonly role: Role | null
  readonly removed_at: number | null
  readonly account_id: AccountId
  readonly first_account: string | null
}

/** What its maker may do now; `gone`: who made it is no member any more. Undefined: no person made it. */
function boundsOf(row: CreatorColumns): ReadonlySet<Right> | 'gone' | undefined {
  if (row.created_by === null) return undefined
  if (row.role === null || row.removed_at !== null) return 'gone'
  return rightsOfRole(row.role, { operator: row.role === 'owner' && row.first_account === row.account_id })
}

function within(rights: ReadonlySet<Right>, bounds: ReadonlySet<Right> | undefined): ReadonlySet<Right> {
  return bounds === undefined ? rights : new Set([...rights].filter((right) => bounds.has(right)))
}

/** Throws the same `invalid_credential` whatever is wrong with the key, and `address_not_allowed` for the address. */
export function checkKey(key: KnownKey, digest: string, { address, now }: { address: string; now: number }): void {
  if (!timingSafeEqual(key.digest, Buffer.from(digest, 'latin1')) || key.expiresAt <= now) throw invalidCredential()
  checkAddress(key, address)
}

export function checkAddress({ allowed }: Pick<KnownKey, 'allowed'>, address: string): void {
  if (allowed === undefined || includesAddress(allowed, address)) return
  throw new GatewayError('address_not_allowed', 'This key may not be used from this address.')
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
