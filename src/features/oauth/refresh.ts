/**
 * The refresh grant: a refresh token is exchanged for a new pair, once. Presented again within 30 s it brings the same pair,
 * since an answer may be lost; presented later, somebody else has it too, and the device is disconnected (OA-2).
 */
import type { Transaction } from 'kysely'
import type { Database } from '../../db/schema.ts'
import { takeTurn } from '../../db/turn.ts'
import type { Scope } from '../../domain/rights.ts'
import { secretHash } from '../../domain/secret-text.ts'
import type { Authority, DeviceOrigin } from './authority.ts'
import { readTime } from './database-time.ts'
import { accessRow, type IssuedTokens, keepToken, refreshRow } from './issue.ts'
import { type DeviceReference, findLiveDevice, type LiveDevice } from './live-device.ts'
import { OAuthError } from './oauth-error.ts'
import { disconnect } from './revoke.ts'
import { inRole, OFFLINE, parseScopes } from './scopes.ts'
import { findTokenOwner } from './token-owner.ts'
import { nextAccessToken, nextRefreshToken, REPEAT_MS, refreshForm } from './tokens.ts'

/** Used refresh tokens that a device is remembered by: more than those of 60 days with one an hour. */
const MAX_GENERATIONS = 2_000

export interface RefreshRequest {
  readonly refreshToken: string
  readonly clientId: string | undefined
  /** The `scope` parameter. */
  readonly scope: string | undefined
  readonly origin: DeviceOrigin
}

export type Exchange = 'rotate' | 'repeat' | 'reuse' | 'expired'

/** What is to be done with a refresh token that was given out. Times by the database's clock. */
export function exchangeOf(
  token: { readonly expires_at: number; readonly used_at: number | null },
  now: number,
): Exchange {
  if (token.expires_at <= now) return 'expired'
  if (token.used_at === null) return 'rotate'
  return now - token.used_at <= REPEAT_MS ? 'repeat' : 'reuse'
}

export async function refreshTokens(authority: Authority, request: RefreshRequest): Promise<IssuedTokens> {
  const { db } = authority
  const isPossible = refreshForm.isWellFormed(request.refreshToken)
  const owner = isPossible ? await findTokenOwner(db, request.refreshToken, ['refresh']) : undefined
  if (owner === undefined) throw invalidGrant()
  const outcome = await db.transaction().execute((inside) => exchange(authority, inside, { ...request, owner }))
  if (outcome === 'disconnected') await authority.changed()
  if (typeof outcome !== 'object') throw invalidGrant()
  return outcome
}

type Asked = RefreshRequest & { readonly owner: DeviceReference }

/** Refusals are values where something is to be committed. */
async function exchange(
  authority: Authority,
  inside: Transaction<Database>,
  request: Asked,
): Promise<IssuedTokens | 'refused' | 'disconnected'> {
  const { owner, clientId, refreshToken: token } = request
  await takeTurn(inside, `device ${owner.id}`)
  const device = await findLiveDevice(inside, owner)
  const row = await findToken(inside, owner, token)
  const now = await readTime(inside, authority.time)
  if (device === undefined || row === undefined) return 'refused'
  if (clientId !== undefined && clientId !== device.clientId) return 'refused'
  const kind = exchangeOf(row, now)
  if (kind === 'expired') return 'refused'
  if (kind === 'reuse') {
    const { origin } = request
    await disconnect(authority, inside, { device, now, origin, actor: SYSTEM, action: 'device.reuse_detected' })
    return 'disconnected'
  }
  const use: Use = { token, device, now, generation: row.generation + 1, scopes: narrowed(request.scope, device) }
  return kind === 'rotate' ? rotate(authority, inside, use) : repeat(authority, inside, use)
}

const SYSTEM = { kind: 'system', id: undefined, name: undefined } as const

/** A refresh token that may be used. */
interface Use {
  readonly token: string
  readonly device: LiveDevice
  readonly now: number
  /** Of what it is exchanged for. */
  readonly generation: number
  /** Fewer than the device's; undefined: those of the device. */
  readonly scopes: readonly Scope[] | undefined
}

async function rotate(
  { rotationKey }: Authority,
  inside: Transaction<Database>,
  { token, device, now, generation, scopes }: Use,
): Promise<IssuedTokens> {
  await inside
    .updateTable('device_token')
    .set({ used_at: now })
    .where('account_id', '=', device.accountId)
    .where('device_id', '=', device.id)
    .where('hash', '=', secretHash(token))
    .execute()
  const refreshToken = nextRefreshToken(rotationKey, token)
  const accessToken = nextAccessToken(rotationKey, token, scopes ?? device.scopes)
  await keepToken(inside, device, refreshRow(refreshToken, { generation, now, familySince: device.createdAt }))
  const row = accessRow(accessToken, { generation, now, scopes })
  await keepToken(inside, device, row)
  if (generation > MAX_GENERATIONS) await forgetBefore(inside, device, generation - MAX_GENERATIONS)
  return issued({ accessToken, refreshToken, expiresInMs: row.expires_at - now }, { device, scopes })
}

async function forgetBefore(inside: Transaction<Database>, device: DeviceReference, generation: number): Promise<void> {
  const rows = await inside
    .deleteFrom('device_token')
    .where('account_id', '=', device.accountId)
    .where('device_id', '=', device.id)
    .where('kind', '=', 'refresh')
    .where('generation', '<=', generation)
    .returning('hash')
    .execute()
  const hashes = rows.map(({ hash }) => hash)
  if (hashes.length > 0) await inside.deleteFrom('credential').where('hash', 'in', hashes).execute()
}

/** The pair of the first time. The refresh token is not known where the server has got another secret meanwhile. */
async function repeat(
  { rotationKey }: Authority,
  inside: Transaction<Database>,
  { token, device, now, generation, scopes }: Use,
): Promise<IssuedTokens | 'refused'> {
  const refreshToken = nextRefreshToken(rotationKey, token)
  if ((await findToken(inside, device, refreshToken)) === undefined) return 'refused'
  const accessToken = nextAccessToken(rotationKey, token, scopes ?? device.scopes)
  const known = await findToken(inside, device, accessToken)
  const row = known ?? accessRow(accessToken, { generation, now, scopes })
  if (known === undefined) await keepToken(inside, device, accessRow(accessToken, { generation, now, scopes }))
  return issued({ accessToken, refreshToken, expiresInMs: row.expires_at - now }, { device, scopes })
}

function issued(
  tokens: Omit<IssuedTokens, 'scopes'>,
  { device, scopes }: Pick<Use, 'device' | 'scopes'>,
): IssuedTokens {
  return { ...tokens, scopes: inRole(scopes ?? device.scopes, device.role) }
}

/** Throws `invalid_scope` for anything beyond what was approved (RFC 6749, 6). */
function narrowed(scope: string | undefined, device: LiveDevice): readonly Scope[] | undefined {
  if (scope === undefined) return undefined
  const names = scope.split(' ').filter((name) => name !== '' && name !== OFFLINE)
  if (names.length === 0) return undefined
  const asked = parseScopes(names.join(' '))?.rights
  if (asked === undefined || asked.some((right) => !device.scopes.includes(right))) {
    throw new OAuthError('invalid_scope', 'A refresh cannot bring scopes that were not approved.')
  }
  return asked.length === device.scopes.length ? undefined : asked
}

function findToken(inside: Transaction<Database>, { accountId, id }: DeviceReference, token: string) {
  return inside
    .selectFrom('device_token')
    .select(['generation', 'expires_at', 'used_at'])
    .where('account_id', '=', accountId)
    .where('device_id', '=', id)
    .where('hash', '=', secretHash(token))
    .executeTakeFirst()
}

function invalidGrant(): OAuthError {
  return new OAuthError('invalid_grant', 'The refresh token is not valid: it is wrong, used, expired or revoked.')
}
