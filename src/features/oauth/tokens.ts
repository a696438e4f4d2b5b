/**
 * Access and refresh tokens: form, lifetime, issue. Only hashes are stored. Successors of a refresh token are computed from
 * it with a key of the server, so that a client that lost the answer gets the same ones again.
 */
import { hkdfSync, randomBytes } from 'node:crypto'
import type { DeleteQueryBuilder, DeleteResult, Transaction } from 'kysely'
import type { Database } from '../../db/schema/schema.ts'
import type { Scope } from '../../domain/identity/caller.ts'
import { secretForm, secretHash } from '../../domain/identity/credential.ts'
import { base62Source } from '../../domain/ids.ts'
import type { ConnectedDevice, DeviceReference } from './devices.ts'
import { inRole } from './scopes.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS
const ACCESS_LIFETIME_MS = 60 * MINUTE_MS
const REFRESH_LIFETIME_MS = 60 * DAY_MS
/** However often it is refreshed: a person has to approve it again then (ASVS 10.4.8). */
const FAMILY_LIFETIME_MS = 180 * DAY_MS
/** A refresh token may be presented again for so long after it was used: its answer may have been lost (OA-2). */
export const REPEAT_MS = 30_000
const ACCESS_PREFIX = 'tpa_'
export const accessForm = secretForm(ACCESS_PREFIX)
export const refreshForm = secretForm('tpr_')

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
export function nextRefreshToken(rotationKey: Uint8Array, token: string): string {
  return refreshForm.mint(derivedText(rotationKey, { token, purpose: 'refresh' }))
}

/** The access token that a refresh token is exchanged for: one for each set of scopes. */
export function nextAccessToken(rotationKey: Uint8Array, token: string, scopes: readonly string[]): string {
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

export function accessRow(token: string, { generation, now, scopes }: Creation): TokenRow {
  const [created_at, expires_at] = [now, now + ACCESS_LIFETIME_MS]
  return { hash: secretHash(token), kind: 'access', generation, scopes, created_at, expires_at }
}

export function refreshRow(
  token: string,
  { generation, now, familySince }: Creation & { familySince: number },
): TokenRow {
  const expires_at = Math.min(now + REFRESH_LIFETIME_MS, familySince + FAMILY_LIFETIME_MS)
  return { hash: secretHash(token), kind: 'refresh', generation, scopes: undefined, created_at: now, expires_at }
}

export async function storeToken(
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
