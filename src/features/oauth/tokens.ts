/**
 * Refresh (RFC 6749, 6) and revocation (RFC 7009) of tokens. A refresh token is exchanged for a new pair once. Presented
 * again within 30 s it returns the same pair, since an answer may be lost; later it counts as stolen, and the device is
 * disconnected (OA-2).
 */
import { hkdfSync, randomBytes } from 'node:crypto'
import type { DeleteQueryBuilder, DeleteResult, Kysely, Transaction } from 'kysely'
import { acquireAdvisoryLock } from '../../db/database.ts'
import type { CredentialTable, Database } from '../../db/schema/schema.ts'
import type { Scope } from '../../domain/identity/caller.ts'
import { secretForm, secretHash } from '../../domain/identity/credential.ts'
import type { Origin } from '../../domain/identity/sign-in.ts'
import { base62Source, type DeviceId } from '../../domain/ids.ts'
import { type Authority, readTime } from './authority.ts'
import { type ConnectedDevice, type DeviceReference, disconnect, findConnectedDevice } from './devices.ts'
import { OAuthError } from './oauth-error.ts'
import { inRole, OFFLINE, parseScopes } from './scopes.ts'

/** Used refresh tokens that are kept per device: more than one an hour for 60 days. */
const MAX_GENERATIONS = 2_000

export interface RefreshRequest {
  readonly refreshToken: string
  readonly clientId: string | undefined
  /** The `scope` parameter. */
  readonly scope: string | undefined
  readonly origin: Origin
}

export type Exchange = 'rotate' | 'repeat' | 'reuse' | 'expired'

/** Decides what happens to an issued refresh token. Times by the database's clock. */
function exchangeOf(token: { readonly expires_at: number; readonly used_at: number | null }, now: number): Exchange {
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

type OwnedRequest = RefreshRequest & { readonly owner: DeviceReference }

/** Returns rejections as values, so that the transaction commits. */
async function exchange(
  authority: Authority,
  inside: Transaction<Database>,
  request: OwnedRequest,
): Promise<IssuedTokens | 'refused' | 'disconnected'> {
  const { owner, clientId, refreshToken: token } = request
  await acquireAdvisoryLock(inside, `device ${owner.id}`)
  const device = await findConnectedDevice(inside, owner)
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
  readonly device: ConnectedDevice
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
    .where(({ and }) => and({ account_id: device.accountId, device_id: device.id }))
    .where('hash', '=', secretHash(token))
    .execute()
  const refreshToken = nextRefreshToken(rotationKey, token)
  const accessToken = nextAccessToken(rotationKey, token, scopes ?? device.scopes)
  await storeToken(inside, device, refreshRow(refreshToken, { generation, now, familySince: device.createdAt }))
  const row = accessRow(accessToken, { generation, now, scopes })
  await storeToken(inside, device, row)
  if (generation > MAX_GENERATIONS) await deleteGenerations(inside, device, generation - MAX_GENERATIONS)
  return issued({ accessToken, refreshToken, expiresInMs: row.expires_at - now }, { device, scopes })
}

async function deleteGenerations(
  inside: Transaction<Database>,
  device: DeviceReference,
  generation: number,
): Promise<void> {
  const tokens = inside
    .deleteFrom('device_token')
    .where(({ and }) => and({ account_id: device.accountId, device_id: device.id, kind: 'refresh' }))
  await deleteTokens(inside, tokens.where('generation', '<=', generation))
}

/** Returns the first pair again. The refresh token is unknown if the server's secret has changed meanwhile. */
async function repeat(
  { rotationKey }: Authority,
  inside: Transaction<Database>,
  { token, device, now, generation, scopes }: Use,
): Promise<IssuedTokens | 'refused'> {
  const refreshToken = nextRefreshToken(rotationKey, token)
  if ((await findToken(inside, device, refreshToken)) === undefined) return 'refused'
  const accessToken = nextAccessToken(rotationKey, token, scopes ?? device.scopes)
  const known = await findToken(inside, device, accessToken)
  const fresh = accessRow(accessToken, { generation, now, scopes })
  if (known === undefined) await storeToken(inside, device, fresh)
  return issued({ accessToken, refreshToken, expiresInMs: (known ?? fresh).expires_at - now }, { device, scopes })
}

function issued(
  tokens: Omit<IssuedTokens, 'scopes'>,
  { device, scopes }: Pick<Use, 'device' | 'scopes'>,
): IssuedTokens {
  return { ...tokens, scopes: inRole(scopes ?? device.scopes, device.role) }
}

/** Throws `invalid_scope` for anything beyond what was approved (RFC 6749, 6). */
function narrowed(scope: string | undefined, device: ConnectedDevice): readonly Scope[] | undefined {
  if (scope === undefined) return undefined
  const names = scope.split(' ').filter((name) => name !== '' && name !== OFFLINE)
  if (names.length === 0) return undefined
  const requested = parseScopes(names.join(' '))?.rights
  if (requested === undefined || requested.some((right) => !device.scopes.includes(right))) {
    throw new OAuthError('invalid_scope', 'A refresh cannot add scopes that were not approved.')
  }
  return requested.length === device.scopes.length ? undefined : requested
}

function findToken(inside: Transaction<Database>, { accountId, id }: DeviceReference, token: string) {
  return inside
    .selectFrom('device_token')
    .select(['generation', 'expires_at', 'used_at'])
    .where(({ and }) => and({ account_id: accountId, device_id: id }))
    .where('hash', '=', secretHash(token))
    .executeTakeFirst()
}

function invalidGrant(): OAuthError {
  return new OAuthError('invalid_grant', 'The refresh token is invalid, used, expired or revoked.')
}

interface RevocationRequest {
  readonly token: string
  readonly clientId: string | undefined
  readonly origin: Origin
}

/** Revokes a token (RFC 7009). Either token disconnects the device. An unknown token counts as revoked. */
export async function revokeToken(authority: Authority, request: RevocationRequest): Promise<void> {
  const { token, clientId, origin } = request
  if (!accessForm.isWellFormed(token) && !refreshForm.isWellFormed(token)) return
  const owner = await findTokenOwner(authority.db, token, ['access', 'refresh'])
  if (owner === undefined) return
  const isDone = await authority.db.transaction().execute(async (inside) => {
    const row = await findClient(inside, owner)
    if (row === undefined) return false
    if (clientId !== undefined && clientId !== row.client_id) throw foreignToken()
    const now = await readTime(inside, authority.time)
    const name = authority.clients.nameOf(row.client_id)
    const actor = { kind: 'token', id: owner.id, name } as const
    const device = { ...owner, clientId: row.client_id }
    return disconnect(authority, inside, { device, now, origin, actor, action: 'device.revoked' })
  })
  if (isDone) await authority.changed()
}

function findClient(inside: Transaction<Database>, { accountId, id }: DeviceReference) {
  return inside
    .selectFrom('device')
    .select('client_id')
    .where(({ and }) => and({ account_id: accountId, id }))
    .executeTakeFirst()
}

function foreignToken(): OAuthError {
  return new OAuthError('invalid_grant', 'The token belongs to another client.')
}

type TokenKind = Extract<CredentialTable['kind'], 'access' | 'refresh'>

/** Finds the device of a token, whatever their state. */
async function findTokenOwner(
  db: Kysely<Database>,
  token: string,
  kinds: readonly TokenKind[],
): Promise<DeviceReference | undefined> {
  const row = await db
    .selectFrom('credential')
    .select(['account_id', 'id'])
    .where('hash', '=', secretHash(token))
    .where('kind', 'in', kinds)
    .executeTakeFirst()
  return row === undefined ? undefined : { accountId: row.account_id, id: row.id as DeviceId } // as the kinds say
}

/*
 * Access and refresh tokens: form, lifetime, issue. Only hashes are stored. Successors of a refresh token are computed
 * from it with a key of the server, so that a client that lost the answer gets the same ones again.
 */

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const ACCESS_LIFETIME_MS = 60 * MINUTE_MS
const REFRESH_LIFETIME_MS = 60 * DAY_MS
/** However often it is refreshed: a person has to approve it again then (ASVS 10.4.8). */
const FAMILY_LIFETIME_MS = 180 * DAY_MS
/** A refresh token may be presented again for so long after it was used: its answer may have been lost (OA-2). */
const REPEAT_MS = 30_000
const ACCESS_PREFIX = 'tpa_'
export const accessForm = secretForm(ACCESS_PREFIX)
const refreshForm = secretForm('tpr_')

const DERIVED_BYTES = 1_024 // of which a text takes about 42; bytes that would bias it are left out

const randomText = base62Source(randomBytes)

export interface IssuedTokens {
  readonly accessToken: string
  readonly expiresInMs: number
  /** Undefined: not requested. */
  readonly refreshToken: string | undefined
  /** What the access token currently allows. */
  readonly scopes: readonly Scope[]
}

interface Issue {
  readonly device: ConnectedDevice
  readonly now: number
  readonly offline: boolean
}

export async function issueTokens(
  inside: Transaction<Database>,
  { device, now, offline }: Issue,
): Promise<IssuedTokens> {
  const accessToken = accessForm.mint(randomText)
  const refreshToken = offline ? refreshForm.mint(randomText) : undefined
  await storeToken(inside, device, accessRow(accessToken, { generation: 1, now }))
  if (refreshToken !== undefined) {
    await storeToken(inside, device, refreshRow(refreshToken, { generation: 1, now, familySince: device.createdAt }))
  }
  return { accessToken, expiresInMs: ACCESS_LIFETIME_MS, refreshToken, scopes: inRole(device.scopes, device.role) }
}

/** The successor of a refresh token. */
function nextRefreshToken(rotationKey: Uint8Array, token: string): string {
  return refreshForm.mint(derivedText(rotationKey, { token, purpose: 'refresh' }))
}

/** The access token that a refresh token is exchanged for: one for each set of scopes. */
function nextAccessToken(rotationKey: Uint8Array, token: string, scopes: readonly string[]): string {
  return accessForm.mint(derivedText(rotationKey, { token, purpose: `access ${scopes.join(' ')}` }))
}

function derivedText(rotationKey: Uint8Array, from: { readonly token: string; readonly purpose: string }) {
  const bytes = hkdfSync('sha256', from.token, rotationKey, from.purpose, DERIVED_BYTES)
  return base62Source(() => new Uint8Array(bytes))
}

interface TokenRow {
  readonly hash: Uint8Array
  readonly kind: 'access' | 'refresh'
  readonly generation: number
  /** Undefined: those of the device. */
  readonly scopes: readonly Scope[] | undefined
  readonly created_at: number
  readonly expires_at: number
}

interface Creation {
  readonly generation: number
  readonly now: number
  readonly scopes?: readonly Scope[] | undefined
}

function accessRow(token: string, { generation, now, scopes }: Creation): TokenRow {
  const [created_at, expires_at] = [now, now + ACCESS_LIFETIME_MS]
  return { hash: secretHash(token), kind: 'access', generation, scopes, created_at, expires_at }
}

function refreshRow(token: string, { generation, now, familySince }: Creation & { familySince: number }): TokenRow {
  const expires_at = Math.min(now + REFRESH_LIFETIME_MS, familySince + FAMILY_LIFETIME_MS)
  return { hash: secretHash(token), kind: 'refresh', generation, scopes: undefined, created_at: now, expires_at }
}

async function storeToken(
  inside: Transaction<Database>,
  { accountId, id }: DeviceReference,
  { scopes, ...row }: TokenRow,
): Promise<void> {
  await inside.insertInto('credential').values({ hash: row.hash, account_id: accountId, kind: row.kind, id }).execute()
  await inside
    .insertInto('device_token')
    .values({
      ...row,
      account_id: accountId,
      device_id: id,
      scopes: scopes === undefined ? null : JSON.stringify(scopes),
    })
    .execute()
}

/** Deletes tokens with their credentials. @param tokens A deletion that is not executed yet. @returns Their number. */
export async function deleteTokens(
  inside: Transaction<Database>,
  tokens: DeleteQueryBuilder<Database, 'device_token', DeleteResult>,
): Promise<number> {
  const hashes = (await tokens.returning('hash').execute()).map(({ hash }) => hash)
  if (hashes.length > 0) await inside.deleteFrom('credential').where('hash', 'in', hashes).execute()
  return hashes.length
}
