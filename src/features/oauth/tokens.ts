/**
 * Access and refresh tokens: how they look, how long they live, and how a refresh token's successors come of it. They are
 * computed from it with a key of the server's, so that whoever lost an answer gets the same ones again, although nothing
 * but hashes is ever stored.
 */
import { hkdfSync } from 'node:crypto'
import { base62Source } from '../../domain/ids.ts'
import { secretForm } from '../../domain/secret-text.ts'

const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * MINUTE_MS

export const ACCESS_LIFETIME_MS = 60 * MINUTE_MS
export const REFRESH_LIFETIME_MS = 60 * DAY_MS
/** However often it is refreshed: then somebody has to approve it anew (ASVS 10.4.8). */
export const FAMILY_LIFETIME_MS = 180 * DAY_MS
/** A refresh token may be presented again for so long after it was used: its answer may have been lost (OA-2). */
export const REPEAT_MS = 30_000

export const ACCESS_PREFIX = 'tpa_'
export const accessForm = secretForm(ACCESS_PREFIX)
export const refreshForm = secretForm('tpr_')

const DERIVED_BYTES = 1_024 // of which a text takes about 42; bytes that would bias it are left out

/** The refresh token that comes after `token`. */
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
