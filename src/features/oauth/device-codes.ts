/** The device's side of the device flow (RFC 8628): codes are created, polled, and redeemed once. */
import { randomBytes, randomInt } from 'node:crypto'
import type { Selectable, Transaction } from 'kysely'
import { acquireAdvisoryLock } from '../../db/database.ts'
import type { DeviceCodeTable } from '../../db/schema/identity.ts'
import type { Database } from '../../db/schema/schema.ts'
import { secretHash } from '../../domain/identity/credential.ts'
import type { Origin } from '../../domain/identity/sign-in.ts'
import { base62Source } from '../../domain/ids.ts'
import { type Authority, readTime } from './authority.ts'
import { findConnectedDevice } from './devices.ts'
import { OAuthError } from './oauth-error.ts'
import { OFFLINE, type RequestedScopes } from './scopes.ts'
import { type IssuedTokens, issueTokens } from './tokens.ts'

export const CODE_LIFETIME_MS = 900_000
export const INTERVAL_MS = 5_000
/** Added to the interval by each poll that is too early (RFC 8628, 3.5). */
const SLOWER_BY_MS = 5_000
/** Tolerance for early polls: clocks and networks are not exact. */
const JITTER_MS = 250
/** 43 base-62 characters: 256 bits. */
const SECRET_LENGTH = 43
const ATTEMPTS = 5
/** 20 consonants: no word can appear (RFC 8628, 6.1). */
export const USER_CODE_ALPHABET = 'BCDFGHJKLMNPQRSTVWXZ'
export const USER_CODE_LENGTH = 8
const HALF = USER_CODE_LENGTH / 2

const randomText = base62Source(randomBytes)

export interface CodeRequest {
  readonly clientId: string
  readonly scopes: RequestedScopes
  readonly origin: Origin
}

export interface DeviceCode {
  readonly deviceCode: string
  readonly userCode: string
}

export async function createDeviceCode(
  { db, time }: Authority,
  { clientId, scopes, origin }: CodeRequest,
): Promise<DeviceCode> {
  const deviceCode = `tpd_${randomText(SECRET_LENGTH)}`
  const now = await readTime(db, time)
  const row = {
    hash: secretHash(deviceCode),
    client_id: clientId,
    scopes: JSON.stringify(scopes.offline ? [...scopes.rights, OFFLINE] : scopes.rights),
    address: origin.address,
    user_agent: origin.userAgent ?? null,
    created_at: now,
    expires_at: now + CODE_LIFETIME_MS,
    interval_ms: INTERVAL_MS,
    state: 'pending' as const,
  }
  // User codes are unique among pending ones; a collision is improbable.
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const userCode = mintUserCode(randomInt)
    const insert = db.insertInto('device_code').values({ ...row, user_code: userCode })
    const { numInsertedOrUpdatedRows } = await insert.onConflict((on) => on.doNothing()).executeTakeFirstOrThrow()
    if (numInsertedOrUpdatedRows === 1n) return { deviceCode, userCode }
  }
  throw new Error('All generated user codes are in use.')
}

export type PollAnswer = 'gone' | 'expired_token' | 'access_denied' | 'slow_down' | 'authorization_pending' | 'approved'

/** The answer to a poll of this code. `row` is undefined for an unknown code. */
function answerPoll(
  row: Pick<DeviceCodeTable, 'client_id' | 'state' | 'expires_at' | 'polled_at' | 'interval_ms'> | undefined,
  poll: { readonly clientId: string; readonly now: number },
): PollAnswer {
  if (row === undefined || row.client_id !== poll.clientId || row.state === 'redeemed') return 'gone'
  if (row.state === 'denied') return 'access_denied'
  if (row.expires_at <= poll.now) return 'expired_token'
  if (row.state === 'approved') return 'approved'
  const tooEarly = row.polled_at !== null && poll.now < row.polled_at + row.interval_ms - JITTER_MS
  return tooEarly ? 'slow_down' : 'authorization_pending'
}

export interface Poll {
  readonly deviceCode: string
  readonly clientId: string
}

/** @returns the tokens of an approved code, once. Throws an `OAuthError` for every other answer. */
export async function pollDeviceCode(authority: Authority, { deviceCode, clientId }: Poll): Promise<IssuedTokens> {
  const hash = secretHash(deviceCode)
  const answer = await authority.db.transaction().execute(async (inside) => {
    await acquireAdvisoryLock(inside, `device code ${Buffer.from(hash).toString('hex')}`)
    const row = await inside.selectFrom('device_code').selectAll().where('hash', '=', hash).executeTakeFirst()
    const now = await readTime(inside, authority.time)
    const answer = answerPoll(row, { clientId, now })
    if (row === undefined || answer === 'gone') return 'gone'
    if (answer === 'approved') return redeem(inside, { row, now })
    await recordPoll(inside, { row, now, tooEarly: answer === 'slow_down' })
    return answer
  })
  if (typeof answer === 'object') return answer
  throw REFUSALS[answer]()
}

interface PolledCode {
  readonly row: Selectable<DeviceCodeTable>
  readonly now: number
}

async function redeem(
  inside: Transaction<Database>,
  { row, now }: PolledCode,
): Promise<IssuedTokens | 'access_denied'> {
  await inside.updateTable('device_code').set({ state: 'redeemed' }).where('hash', '=', row.hash).execute()
  const { account_id: accountId, device_id: id } = row
  const device = accountId === null || id === null ? undefined : await findConnectedDevice(inside, { accountId, id })
  if (device === undefined) return 'access_denied' // the user left the account, or disconnected the device
  return issueTokens(inside, { device, now, offline: JSON.parse(row.scopes).includes(OFFLINE) })
}

async function recordPoll(
  inside: Transaction<Database>,
  { row, now, tooEarly }: PolledCode & { readonly tooEarly: boolean },
): Promise<void> {
  if (row.state !== 'pending') return
  const interval = row.interval_ms + (tooEarly ? SLOWER_BY_MS : 0)
  await inside
    .updateTable('device_code')
    .set({ polled_at: now, interval_ms: interval })
    .where('hash', '=', row.hash)
    .execute()
}

const REFUSALS: Readonly<Record<Exclude<PollAnswer, 'approved'>, () => OAuthError>> = {
  gone: () =>
    new OAuthError('invalid_grant', 'The device code is invalid, already used, or belongs to another client.'),
  expired_token: () => new OAuthError('expired_token', 'The device code has expired. Start again.'),
  access_denied: () => new OAuthError('access_denied', 'The request was denied.'),
  slow_down: () => new OAuthError('slow_down', 'Polling too fast: wait 5 seconds longer between polls.'),
  authorization_pending: () => new OAuthError('authorization_pending', 'The request is not approved yet.'),
}

/** @param randomBelow An unpredictable whole number from 0, less than `limit`. */
export function mintUserCode(randomBelow: (limit: number) => number): string {
  return Array.from(
    { length: USER_CODE_LENGTH },
    () => USER_CODE_ALPHABET[randomBelow(USER_CODE_ALPHABET.length)],
  ).join('')
}

/** `XXXX-XXXX`. */
export function formatUserCode(code: string): string {
  return `${code.slice(0, HALF)}-${code.slice(HALF)}`
}

/** Reads a typed code, ignoring case, spaces, dashes and other marks. Undefined: not a code. */
export function parseUserCode(typed: string): string | undefined {
  const letters = typed
    .slice(0, 64)
    .normalize('NFKC')
    .toUpperCase()
    .replaceAll(/[^\p{Letter}\p{Number}]/gu, '')
  return letters.length === USER_CODE_LENGTH && [...letters].every((letter) => USER_CODE_ALPHABET.includes(letter))
    ? letters
    : undefined
}
