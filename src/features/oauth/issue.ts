/** Tokens are given out. Only their hashes are kept. */
import { randomBytes } from 'node:crypto'
import type { Transaction } from 'kysely'
import type { Database } from '../../db/schema.ts'
import { base62Source } from '../../domain/ids.ts'
import type { Scope } from '../../domain/rights.ts'
import { secretHash } from '../../domain/secret-text.ts'
import type { DeviceReference, LiveDevice } from './live-device.ts'
import { inRole } from './scopes.ts'
import { ACCESS_LIFETIME_MS, accessForm, FAMILY_LIFETIME_MS, REFRESH_LIFETIME_MS, refreshForm } from './tokens.ts'

const randomText = base62Source(randomBytes)

export interface IssuedTokens {
  readonly accessToken: string
  readonly expiresInMs: number
  /** Undefined: it was not asked for. */
  readonly refreshToken: string | undefined
  /** What the access token is good for at the moment. */
  readonly scopes: readonly Scope[]
}

export interface FirstIssue {
  readonly device: LiveDevice
  readonly now: number
  readonly offline: boolean
}

export async function issueFirst(
  inside: Transaction<Database>,
  { device, now, offline }: FirstIssue,
): Promise<IssuedTokens> {
  const accessToken = accessForm.mint(randomText)
  const refreshToken = offline ? refreshForm.mint(randomText) : undefined
  await keepToken(inside, device, accessRow(accessToken, { generation: 1, now }))
  if (refreshToken !== undefined) {
    await keepToken(inside, device, refreshRow(refreshToken, { generation: 1, now, familySince: device.createdAt }))
  }
  return { accessToken, expiresInMs: ACCESS_LIFETIME_MS, refreshToken, scopes: inRole(device.scopes, device.role) }
}

export interface TokenRow {
  readonly hash: Uint8Array
  readonly kind: 'access' | 'refresh'
  readonly generation: number
  /** Undefined: those of the device. */
  readonly scopes: readonly Scope[] | undefined
  readonly created_at: number
  readonly expires_at: number
}

interface Birth {
  readonly generation: number
  readonly now: number
  readonly scopes?: readonly Scope[] | undefined
}

export function accessRow(token: string, { generation, now, scopes }: Birth): TokenRow {
  const [created_at, expires_at] = [now, now + ACCESS_LIFETIME_MS]
  return { hash: secretHash(token), kind: 'access', generation, scopes, created_at, expires_at }
}

export function refreshRow(token: string, { generation, now, familySince }: Birth & { familySince: number }): TokenRow {
  const expires_at = Math.min(now + REFRESH_LIFETIME_MS, familySince + FAMILY_LIFETIME_MS)
  return { hash: secretHash(token), kind: 'refresh', generation, scopes: undefined, created_at: now, expires_at }
}

export async function keepToken(
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
