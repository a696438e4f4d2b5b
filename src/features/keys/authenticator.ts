/**
 * Authenticates requests by their API key, and prepares active keys for the checks of every request. A cached key
 * costs a hash and a map lookup; others wait for the database.
 */

import { hash, timingSafeEqual } from 'node:crypto'
import type { Kysely } from 'kysely'
import type { BatchStatement } from '../../db/database.ts'
import { type AncestorRow, ancestorsOf } from '../../db/lineage.ts'
import type { Database } from '../../db/schema/schema.ts'
import { storedPolicies } from '../../domain/data-policy.ts'
import { GatewayError } from '../../domain/errors.ts'
import {
  activeCapture,
  type Caller,
  type KeyBudget,
  OF_TEAM_KEYS,
  type Right,
  rightsOfRole,
  type Scope,
  TEAM_RIGHTS,
  type TeamEndpoint,
  type TeamRole,
} from '../../domain/identity/caller.ts'
import { invalidCredential, missingCredential } from '../../domain/identity/credential.ts'
import type { AccountId, KeyId } from '../../domain/ids.ts'
import { withOwner } from '../../domain/rejection.ts'
import { effectiveTags } from '../../http/fields/tags.ts'
import { type AddressRange, includesAddress, parseAddressRange } from '../../lib/ip-address.ts'
import {
  type CacheSource,
  createCredentialCache,
  createLastUsed,
  type EndedIds,
  MAX_NEGATIVE_ENTRIES,
  type RowIds,
} from '../credential-cache.ts'
import { isKeyForm, isLimited, rightsOfScopes, withoutDelegation } from './key.ts'

const MAX_CACHED_KEYS = 50_000
/** More than any credential has: a session's token has about 1 000 characters. */
const MAX_HEADER_LENGTH = 2_560

export interface AuthenticatorInput extends CacheSource {
  readonly batch: (statements: readonly BatchStatement[]) => Promise<void>
}

export interface Authenticator {
  /**
   * Returns synchronously for a cached key. Throws, or rejects with, `missing_credential`, `invalid_credential` (the same
   * error for unknown, malformed, expired and revoked keys), `address_not_allowed` or `database_unavailable`.
   * @param authorization The header's value.
   * @param address The client's IP address.
   */
  authenticate(authorization: string | undefined, address: string): Caller | Promise<Caller>
  /** Resolves when all earlier changes of keys and accounts are in force in this process. */
  refresh(): Promise<void>
  /** Stops following changes, and writes pending last-used times. */
  close(): Promise<void>
}

export function createAuthenticator(input: AuthenticatorInput): Authenticator {
  const { db, batch, onChange, now } = input
  const keys = createCredentialCache<CachedKey>({
    ...{ db, onChange, now, tables: ['api_key', 'team', 'account'] },
    capacity: input.capacity ?? MAX_CACHED_KEYS,
    negativeCapacity: input.negativeCapacity ?? MAX_NEGATIVE_ENTRIES,
    load: (digest) => loadKey(db, digest),
    dependsOn: ({ caller }, rows) => isBasedOn(caller, rows),
    isEndedBy: (caller, rows) => caller.kind === 'key' && isEndedBy(caller, rows),
    onEnded: input.onEnded ?? (() => {}),
  })
  const rowOf = ({ caller }: CachedKey) => [caller.accountId, caller.keyId] as const
  const lastUsed = createLastUsed<CachedKey>({ db, batch, table: 'api_key', rowOf })

  const admit = (key: CachedKey | undefined, digest: string, address: string): Caller => {
    if (key === undefined) throw invalidCredential()
    const time = now()
    try {
      checkKey(key, digest, { address, now: time })
    } catch (error) {
      throw error instanceof GatewayError ? withOwner(error, key.caller) : error
    }
    lastUsed.note(key, time)
    return key.caller
  }
  return {
    authenticate(authorization, address) {
      if (authorization === undefined || authorization === '') throw missingCredential()
      const secret = readSecret(authorization)
      const digest = digestText(secret ?? authorization) // the same work for text that cannot be a key
      if (secret === undefined) throw invalidCredential()
      const cached = keys.get(digest)
      if (cached !== undefined) return admit(cached, digest, address)
      if (!isKeyForm(secret) || keys.isMissing(digest)) throw invalidCredential()
      return keys.load(digest).then((key) => admit(key, digest, address))
    },
    refresh: keys.refresh,
    async close() {
      keys.close()
      await lastUsed.close()
    },
  }
}

function isBasedOn({ keyId, accountId, ancestors, teamId }: Caller, { api_key: keys, team, account }: RowIds): boolean {
  if (keys.has(keyId) || account.has(accountId) || (teamId !== undefined && team.has(teamId))) return true
  return ancestors?.some((above) => keys.has(above.keyId)) === true
}

function isEndedBy({ keyId, ancestors, teamId }: Caller, { api_key: keys, team, disabledKeys }: EndedIds): boolean {
  if (keys.has(keyId) || (teamId !== undefined && team.has(teamId))) return true
  return ancestors?.some((above) => disabledKeys.has(above.keyId)) === true
}

/**
 * Reads the secret of `Bearer <key>` or `Basic base64(<key>:)`, in any case (RFC 9110, 11.1; RFC 7617).
 * @returns undefined for another scheme, a non-empty password, and a header that is too long.
 */
export function readSecret(authorization: string): string | undefined {
  const bearer = readBearer(authorization)
  if (bearer !== undefined || authorization.length > MAX_HEADER_LENGTH) return bearer
  const space = authorization.indexOf(' ')
  if (authorization.slice(0, space).toLowerCase() !== 'basic') return undefined
  const pair = Buffer.from(authorization.slice(space + 1).trim(), 'base64').toString('latin1')
  return pair.indexOf(':') === pair.length - 1 ? pair.slice(0, -1) : undefined
}

/** Reads the token after `Bearer`; undefined for another scheme, and for a header of more than 2 560 characters. */
export function readBearer(authorization: string): string | undefined {
  if (authorization.length > MAX_HEADER_LENGTH) return undefined
  const space = authorization.indexOf(' ')
  const scheme = authorization.slice(0, space)
  if (scheme !== 'Bearer' && scheme.toLowerCase() !== 'bearer') return undefined
  return authorization.slice(space + 1).trim()
}

/* Active API keys, prepared for the checks of every request. */

/** An active key without its secret. */
export interface ActiveKey {
  /** One frozen object, the same for every request of this key. */
  readonly caller: Caller
  /** Unix milliseconds; infinite when it never expires. */
  readonly expiresAt: number
  /** The allowlists of the key and its ancestors. An address must be in each; an empty list allows no address. */
  readonly allowed: readonly (readonly AddressRange[])[]
}

interface CachedKey extends ActiveKey {
  readonly digest: Buffer
  /** Unix milliseconds of the last use that is not written yet; undefined: none. */
  unwrittenUseAt: number | undefined
}

/** Returns the SHA-256 of a secret as 32 Latin-1 characters, for use as the key of a map. */
function digestText(secret: string): string {
  return hash('sha256', secret, 'latin1')
}

/** Undefined when no active key has this digest. One query, whatever the answer. */
export async function loadKey(db: Kysely<Database>, digest: string): Promise<CachedKey | undefined> {
  const bytes = Uint8Array.from(Buffer.from(digest, 'latin1'))
  const row = await keyRows(db)
    .innerJoin('credential', (join) =>
      join.onRef('credential.account_id', '=', 'api_key.account_id').onRef('credential.id', '=', 'api_key.id'),
    )
    .where(({ and }) => and({ 'credential.hash': bytes, 'credential.kind': 'key' }))
    .select(['credential.hash', 'credential.expires_at as secret_expires_at'])
    .executeTakeFirst()
  const key = row && (await activeKeyOf(db, row))
  if (row === undefined || key === undefined) return undefined
  const expiresAt = Math.min(key.expiresAt, row.secret_expires_at ?? Number.POSITIVE_INFINITY)
  return { ...key, expiresAt, digest: Buffer.from(row.hash), unwrittenUseAt: undefined }
}

/** The same by the key's id, for background work. */
export async function loadKeyById(
  db: Kysely<Database>,
  { accountId, keyId }: { readonly accountId: AccountId; readonly keyId: KeyId },
): Promise<ActiveKey | undefined> {
  const row = await keyRows(db)
    .where(({ and }) => and({ 'api_key.account_id': accountId, 'api_key.id': keyId }))
    .executeTakeFirst()
  return row && activeKeyOf(db, row)
}

function keyRows(db: Kysely<Database>) {
  return db
    .selectFrom('api_key')
    .innerJoin('account', 'account.id', 'api_key.account_id')
    .leftJoin('member', (join) =>
      join.onRef('member.account_id', '=', 'api_key.account_id').onRef('member.user_id', '=', 'api_key.created_by'),
    )
    .leftJoin('team', (join) =>
      join.onRef('team.account_id', '=', 'api_key.account_id').onRef('team.id', '=', 'api_key.team_id'),
    )
    .leftJoin('team_member', (join) =>
      join
        .onRef('team_member.account_id', '=', 'api_key.account_id')
        .onRef('team_member.team_id', '=', 'api_key.team_id')
        .onRef('team_member.user_id', '=', 'api_key.created_by'),
    )
    .leftJoin('setting', (join) => join.on('setting.key', '=', 'first_account'))
    .select(['api_key.account_id', 'api_key.id', 'account.plan'])
    .select(['account.provider_credentials', 'account.guardrails', 'account.content_capture'])
    .select(['account.data_policy as account_policy', 'api_key.data_policy'])
    .select(['scopes', 'ip_allowlist', 'api_key.models', 'api_key.requests_per_minute'])
    .select(['api_key.expires_at', 'revoked_at', 'api_key.disabled_at'])
    .select(['api_key.team_id', 'team.archived_at as team_archived_at', 'team.models as team_models', 'team.endpoints'])
    .select(['team.data_policy as team_policy', 'team.tags as team_tags', 'team.require_tags as team_require_tags'])
    .select(['team.requests_per_minute as team_requests_per_minute', 'team_member.role as team_role'])
    .select([
      'monthly_budget_nano_usd',
      'has_budgets',
      'parent_id',
      'api_key.created_by',
      'member.role',
      'member.removed_at',
    ])
    .select(['api_key.tags', 'api_key.require_tags', 'setting.value as first_account'])
}

type KeyRow = Awaited<ReturnType<ReturnType<typeof keyRows>['execute']>>[number]

/**
 * Undefined for a revoked key, a disabled one or one below it, one whose creator is no longer a member, and one of an
 * archived team. Limits of a revoked ancestor still apply.
 */
async function activeKeyOf(db: Kysely<Database>, row: KeyRow): Promise<ActiveKey | undefined> {
  if (row.revoked_at !== null || row.disabled_at !== null || row.team_archived_at !== null) return undefined
  const bounds = boundsOf(row)
  if (bounds === 'gone') return undefined
  const { account_id: accountId, id: keyId } = row
  const above = row.parent_id === null ? [] : await ancestorsOf(db, { accountId, keyId })
  if (above.some(({ disabled_at }) => disabled_at !== null)) return undefined
  return toActiveKey(row, { above, bounds })
}

interface Bounds {
  readonly above: readonly AncestorRow[]
  readonly bounds: ReadonlySet<Right> | undefined
}

/** Combines the key with its ancestors: the lowest of each limit, and the rights that all of them have. */
function toActiveKey(row: KeyRow, { above, bounds }: Bounds): ActiveKey {
  const chain = [row, ...above].map(limitsOfRow)
  const limited = chain.some(isLimited)
  const rights = within(
    chain.map(({ scopes }) => rightsOfScopes(scopes)).reduce((all, one) => within(all, one)),
    row.team_id === null ? undefined : OF_TEAM_KEYS,
  )
  const rated = [row, ...above].findLast(({ requests_per_minute }) => requests_per_minute !== null)
  const caller: Caller = Object.freeze({
    kind: 'key',
    accountId: row.account_id,
    keyId: row.id,
    userId: undefined,
    role: undefined,
    plan: row.plan,
    ...teamOf(row),
    models: modelsOfAll([...chain, { models: listOf(row.team_models) }]),
    requestsPerMinute: least(chain.map(({ requestsPerMinute }) => requestsPerMinute)),
    rateKeyId: rated?.id,
    monthlyBudgetNanoUsd: row.monthly_budget_nano_usd ?? undefined,
    ancestors: above.length === 0 ? undefined : above.map(budgetOf),
    isLimited: limited,
    dataPolicies: storedPolicies([
      row.account_policy,
      row.team_policy,
      ...[row, ...above].map(({ data_policy }) => data_policy),
    ]),
    ...effectiveTags([row, ...above, { tags: row.team_tags, require_tags: row.team_require_tags }]),
    providerCredentials: row.provider_credentials ?? undefined,
    guardrails: row.guardrails ?? undefined,
    contentCapture: activeCapture(row.content_capture),
    scopes: within(limited ? withoutDelegation(rights) : rights, bounds),
  })
  return {
    caller,
    expiresAt: least(chain.map(({ expiresAt }) => expiresAt)) ?? Number.POSITIVE_INFINITY,
    allowed: [row, ...above].map((one) => parseAllowlist(one.ip_allowlist)).filter((list) => list !== undefined),
  }
}

type TeamLimits = Pick<Caller, 'teamId' | 'teamRequestsPerMinute' | 'endpoints'>

function teamOf({ team_id, endpoints, team_requests_per_minute: ofTeam }: KeyRow): TeamLimits {
  if (team_id === null) return {}
  const allowed = listOf(endpoints) as readonly TeamEndpoint[]
  return {
    teamId: team_id,
    teamRequestsPerMinute: ofTeam ?? undefined,
    endpoints: allowed.length === 0 ? undefined : new Set(allowed),
  }
}

function listOf(json: string | null): readonly string[] {
  return json === null ? [] : (JSON.parse(json) as string[])
}

function limitsOfRow(row: Omit<AncestorRow, 'id'>) {
  return {
    scopes: JSON.parse(row.scopes) as Scope[],
    models: JSON.parse(row.models) as string[],
    requestsPerMinute: row.requests_per_minute ?? undefined,
    monthlyBudgetNanoUsd: row.monthly_budget_nano_usd ?? undefined,
    expiresAt: row.expires_at ?? undefined,
    hasBudgets: row.has_budgets === 1,
  }
}

/** Intersection of the models. Undefined: all. */
function modelsOfAll(chain: readonly { readonly models: readonly string[] }[]): ReadonlySet<string> | undefined {
  const limited = chain
    .filter(({ models }) => models.length > 0)
    .map(({ models }): ReadonlySet<string> => new Set(models))
  return limited.length === 0 ? undefined : limited.reduce((common, models) => within(common, models))
}

function least(limits: readonly (number | undefined)[]): number | undefined {
  const set = limits.filter((limit) => limit !== undefined)
  return set.length === 0 ? undefined : Math.min(...set)
}

function budgetOf({ id, monthly_budget_nano_usd }: AncestorRow): KeyBudget {
  return { keyId: id, nanoUsd: monthly_budget_nano_usd ?? undefined }
}

/**
 * Returns the creator's current rights; `gone`: no longer a member of the account, or of the key's team. Undefined: no
 * person created the key.
 */
function boundsOf(row: KeyRow): ReadonlySet<Right> | 'gone' | undefined {
  if (row.created_by === null) return undefined
  if (row.role === null || row.removed_at !== null) return 'gone'
  const rights = rightsOfRole(row.role, { operator: row.role === 'owner' && row.first_account === row.account_id })
  if (row.team_id === null || rights.has(TEAM_RIGHTS.use.right)) return rights
  const roles: readonly TeamRole[] = TEAM_RIGHTS.use.roles
  return row.team_role !== null && roles.includes(row.team_role) ? OF_TEAM_KEYS : 'gone'
}

function within<Item>(items: ReadonlySet<Item>, bounds: ReadonlySet<Item> | undefined): ReadonlySet<Item> {
  return bounds === undefined ? items : new Set([...items].filter((item) => bounds.has(item)))
}

/** Throws `invalid_credential` for every defect of the key, and `address_not_allowed` for the address. */
export function checkKey(key: CachedKey, digest: string, { address, now }: { address: string; now: number }): void {
  if (!timingSafeEqual(key.digest, Buffer.from(digest, 'latin1')) || key.expiresAt <= now) throw invalidCredential()
  checkAddress(key, address)
}

export function checkAddress({ allowed }: Pick<CachedKey, 'allowed'>, address: string): void {
  if (allowed.every((ranges) => includesAddress(ranges, address))) return
  throw new GatewayError('address_not_allowed', 'This address is not in the allowlist of the key.')
}

/** Undefined: any address. Empty: no address, as for an unreadable list. */
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
