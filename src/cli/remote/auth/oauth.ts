/** The client's side of OAuth: metadata (RFC 8414), device flow (RFC 8628), refresh (RFC 6749, 6), revocation (RFC 7009). */
import { setTimeout as sleep } from 'node:timers/promises'
import { isRecord, textOf } from '../../../lib/json.ts'
import { plainLine } from '../../output.ts'
import { type Answer, ask, errorTextOf, UnreachableError } from '../http.ts'
import { readGrantedTokens, type Tokens } from './credential-store.ts'

export const CLIENT_ID = 'turnpike-cli'
const SCOPE = 'api offline_access'
const DEVICE_CODE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

export interface AuthorizationServer {
  readonly url: string
  readonly deviceUrl: string
  readonly tokenUrl: string
  readonly revokeUrl: string
}

/**
 * Reads the server's metadata, but accepts only endpoints at the given address, so that tokens go to no other server. The
 * metadata of a server with several names may state another address.
 */
export async function discover(url: string): Promise<AuthorizationServer> {
  const { json } = await ask(`${url}/.well-known/oauth-authorization-server`)
  const metadata = isRecord(json) ? json : {}
  const { origin } = new URL(url)
  const at = (name: string, path: string) => {
    const stated = URL.parse(textOf(metadata[name]))
    return stated?.origin === origin ? stated.href : url + path
  }
  return {
    url,
    deviceUrl: at('device_authorization_endpoint', '/device/code'),
    tokenUrl: at('token_endpoint', '/oauth/token'),
    revokeUrl: at('revocation_endpoint', '/oauth/revoke'),
  }
}

export interface DeviceGrant {
  readonly deviceCode: string
  /** Text without terminal control sequences. */
  readonly userCode: string
  /** An http or https address. */
  readonly page: string
  /** The page with the code filled in. */
  readonly completePage: string
  readonly intervalMs: number
  readonly lifetimeMs: number
}

export async function beginDeviceFlow(
  { url, deviceUrl }: AuthorizationServer,
  signal: AbortSignal,
): Promise<DeviceGrant> {
  const answer = await ask(deviceUrl, { ...form({ client_id: CLIENT_ID, scope: SCOPE }), signal })
  if (answer.status !== 200) throw new Error(`${url} rejected the device sign-in: ${errorTextOf(answer)}.`)
  const grant = readGrant(answer.json)
  if (grant === undefined) throw new Error(`${url} is not a Turnpike server. Check the address.`)
  return grant
}

function readGrant(json: unknown): DeviceGrant | undefined {
  if (!isRecord(json)) return undefined
  const { device_code, user_code, verification_uri, verification_uri_complete, expires_in, interval } = json
  const userCode = plainLine(textOf(user_code))
  const page = webAddress(verification_uri)
  if (typeof device_code !== 'string' || userCode === '' || page === undefined) return undefined
  return {
    deviceCode: device_code,
    userCode,
    page,
    completePage: webAddress(verification_uri_complete) ?? page,
    intervalMs: 1_000 * within(interval, { least: 0.1, most: 60, otherwise: 5 }),
    lifetimeMs: 1_000 * within(expires_in, { least: 1, most: 3_600, otherwise: 900 }),
  }
}

function webAddress(value: unknown): string | undefined {
  const url = URL.parse(textOf(value))
  return url?.protocol === 'https:' || url?.protocol === 'http:' ? url.href : undefined
}

function within(
  value: unknown,
  { least, most, otherwise }: { least: number; most: number; otherwise: number },
): number {
  return typeof value === 'number' ? Math.min(most, Math.max(least, value)) : otherwise
}

export type Poll =
  | { readonly kind: 'approved'; readonly tokens: Tokens }
  | { readonly kind: 'pending' | 'slow_down' | 'denied' | 'expired' }
  /** The poll failed; the next one may follow after `waitMs`. */
  | { readonly kind: 'unknown'; readonly message: string; readonly waitMs: number }

/** Rejects when further polls cannot succeed. */
export async function pollOnce(server: AuthorizationServer, deviceCode: string, signal: AbortSignal): Promise<Poll> {
  const parameters = { grant_type: DEVICE_CODE_GRANT, client_id: CLIENT_ID, device_code: deviceCode }
  try {
    const answer = await ask(server.tokenUrl, { ...form(parameters), signal })
    return readPoll(answer, server.url)
  } catch (error) {
    if (error instanceof UnreachableError) return { kind: 'unknown', message: error.message, waitMs: 0 }
    throw error
  }
}

function readPoll(answer: Answer, url: string): Poll {
  const tokens = answer.status === 200 ? readGrantedTokens(answer.json, Date.now()) : undefined
  if (tokens !== undefined) return { kind: 'approved', tokens }
  switch (errorCode(answer)) {
    case 'authorization_pending':
      return { kind: 'pending' }
    case 'slow_down':
      return { kind: 'slow_down' }
    case 'access_denied':
      return { kind: 'denied' }
    case 'expired_token':
      return { kind: 'expired' }
  }
  const message = `${url} returned an unexpected response: ${errorTextOf(answer)}.`
  // transient: the page of a proxy or captive portal, or a starting server
  if (answer.status === 429 || answer.status >= 500 || !isRecord(answer.json)) {
    return { kind: 'unknown', message, waitMs: retryAfterMs(answer) }
  }
  throw new Error(`${message} Run 'turnpike login' again.`)
}

const MAX_RETRY_AFTER_S = 60

function retryAfterMs({ headers }: Answer): number {
  const seconds = Number(headers.get('retry-after') ?? 0)
  return seconds > 0 ? Math.min(seconds, MAX_RETRY_AFTER_S) * 1_000 : 0
}

/** Delays before retries of a refresh, within the 30 s in which the server repeats a lost answer (OA-2). */
const REFRESH_PAUSES_MS: readonly number[] = [500, 2_000]
const REFRESH_TIMEOUT_MS = 8_000

/** @returns undefined when the server has rejected the refresh token for good. */
export async function refreshTokens(server: AuthorizationServer, refreshToken: string): Promise<Tokens | undefined> {
  const parameters = { grant_type: 'refresh_token', client_id: CLIENT_ID, refresh_token: refreshToken }
  for (const pauseMs of [...REFRESH_PAUSES_MS, undefined]) {
    const answer = await ask(server.tokenUrl, { ...form(parameters), timeoutMs: REFRESH_TIMEOUT_MS }).catch(onlyLost)
    if (answer instanceof Error) {
      if (pauseMs === undefined) throw answer
    } else {
      const tokens = answer.status === 200 ? readGrantedTokens(answer.json, Date.now()) : undefined
      if (tokens !== undefined) return { ...tokens, refreshToken: tokens.refreshToken ?? refreshToken }
      const isPassing = answer.status === 429 || answer.status >= 500
      if (!isPassing && isRecord(answer.json) && errorCode(answer) !== '') return undefined
      if (pauseMs === undefined) throw new Error(`${server.url} failed to renew the sign-in: ${errorTextOf(answer)}.`)
    }
    await sleep(pauseMs)
  }
  return undefined
}

function onlyLost(error: unknown): UnreachableError {
  if (error instanceof UnreachableError) return error
  throw error
}

const REVOKE_TIMEOUT_MS = 10_000

/** @returns undefined on success, else the reason of the failure. */
export async function revoke(server: AuthorizationServer, tokens: Tokens): Promise<string | undefined> {
  const token = tokens.refreshToken ?? tokens.accessToken
  try {
    const answer = await ask(server.revokeUrl, {
      ...form({ client_id: CLIENT_ID, token }),
      timeoutMs: REVOKE_TIMEOUT_MS,
    })
    return answer.status === 200 ? undefined : `${server.url} did not revoke the sign-in: ${errorTextOf(answer)}.`
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

function form(parameters: Readonly<Record<string, string>>) {
  return { method: 'POST', body: new URLSearchParams(parameters) } as const
}

function errorCode({ json }: Answer): string {
  return isRecord(json) ? textOf(json['error']) : ''
}

interface Waiting {
  readonly poll: () => Promise<Poll>
  readonly sleep: (ms: number) => Promise<void>
  /** Unix milliseconds, since a monotonic clock may stop while the machine sleeps. */
  readonly now: () => number
  readonly intervalMs: number
  readonly expiresAt: number
  /** Called when polls begin to fail, and with undefined when they succeed again. */
  readonly onProblem?: (message: string | undefined) => void
}

export type Outcome =
  | { readonly kind: 'approved'; readonly tokens: Tokens }
  | { readonly kind: 'denied' }
  /** `problem`: why the last polls failed. */
  | { readonly kind: 'expired'; readonly problem: string | undefined }

/** RFC 8628, 3.5. */
const SLOWER_BY_MS = 5_000
const MAX_WAIT_MS = 30_000

/** Rejects when `poll` or `sleep` do. */
export async function waitForApproval({
  poll,
  sleep,
  now,
  intervalMs,
  expiresAt,
  onProblem,
}: Waiting): Promise<Outcome> {
  let everyMs = intervalMs
  let waitMs = intervalMs
  let problem: string | undefined
  for (;;) {
    await sleep(Math.max(0, Math.min(waitMs, expiresAt - now())))
    const isLast = now() >= expiresAt
    const answer = await poll()
    const before = problem
    problem = answer.kind === 'unknown' ? answer.message : undefined
    if (problem !== before) onProblem?.(problem)
    if (answer.kind === 'approved') return answer
    if (answer.kind === 'denied') return { kind: 'denied' }
    if (answer.kind === 'expired' || isLast) return { kind: 'expired', problem }
    if (answer.kind === 'slow_down') everyMs += SLOWER_BY_MS
    waitMs = answer.kind === 'unknown' ? Math.max(answer.waitMs, Math.min(waitMs * 2, MAX_WAIT_MS)) : everyMs
  }
}
