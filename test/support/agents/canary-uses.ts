/** What is done with secrets that should not be done: sent where they do not belong, and quoted by who was sent them. */

import { type Call, CHAT, hello } from '../client.ts'
import { SSE_HEAD, sendFrames, textChunks } from '../providers/answers.ts'
import type { Reply, Script } from '../providers/fake-provider.ts'

export const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
export const OWN_PAGE = { 'sec-fetch-site': 'same-origin' }
export const GRANT = 'urn:ietf:params:oauth:grant-type:device_code'
export const withCookie = (secret: string) => ({ ...OWN_PAGE, cookie: `__Host-turnpike=${secret}` })
export const form = (fields: Readonly<Record<string, string>>) => new URLSearchParams(fields).toString()

/** A secret where it does not belong: with and without a good key beside it. */
export function misplaced(secret: string): readonly (readonly [path: string, call: Call])[] {
  const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`
  const authorizations = [
    secret,
    `Token ${secret}`,
    `bearer  ${secret} x`,
    basic(`user:${secret}`),
    basic(`${secret}:`),
  ]
  const names = ['x-api-key', 'api-key', 'x-goog-api-key', 'x-auth-token', 'x-forwarded-for', 'proxy-authorization']
  const headers = [...names, 'cookie', 'referer', 'origin', 'accept', 'traceparent', 'x-turnpike-token']
  const usage = ['api_key', 'access_token', 'limit', 'cursor', 'group_by', 'from'].map(
    (name) => ['/v1/usage', name] as const,
  )
  const lists = ['limit', 'cursor', 'after'].map((name) => ['/v1/keys', name] as const)
  const pages = [
    ['/activate', 'user_code'],
    ['/sign-in', 'next'],
    ['/app', 'token'],
    ['/invitation', 'token'],
  ] as const
  const callbacks = ['code', 'state', 'error', 'iss'].map((name) => ['/auth/honest/callback', name] as const)
  const queries = [
    ...usage,
    ...lists,
    ...pages,
    ...callbacks,
    ['/auth/honest', 'next'],
    ['/auth/honest', 'invitation'],
  ] as const
  const encoded = encodeURIComponent(secret)
  const paths = [
    '/',
    '/v1/',
    '/v1/models/',
    '/v1/keys/',
    '/v1/usage/completions/',
    '/v1/invoices/',
    '/auth/',
    '/assets/',
  ]
  const bodies: readonly (object | string)[] = [
    ...[`{"api_key":"${secret}"`, `${secret}`, `"${secret}"`, `["${secret}"]`, `{"model":"m1","messages":"${secret}"}`],
    ...[hello({ model: secret }), hello({ [secret]: 1 }), hello({ api_key: secret }), hello({ temperature: secret })],
    ...[hello({ messages: [{ role: secret, content: 'hi' }] }), hello({ tools: [{ type: secret }] })],
    ...[hello({ tool_choice: secret }), hello({ response_format: { type: secret } }), hello({ stream: secret })],
  ]
  const rights = [{ name: { secret } }, { name: 'x', scopes: [secret] }, { name: 'x', [secret]: 1 }]
  const keys = [
    ...rights,
    { name: 'x', expires_at: secret },
    { name: 'x', ip_allowlist: [secret] },
    `{"name":"${secret}`,
  ]
  const grants = [
    { grant_type: secret },
    { grant_type: 'refresh_token', refresh_token: `${secret}x` },
    { [secret]: secret },
  ]
  const oauth = [
    ...grants,
    { grant_type: GRANT, client_id: secret, device_code: secret },
    { grant_type: GRANT, client_id: 'turnpike-cli', device_code: secret },
  ]
  const link = { method: 'POST', headers: { ...OWN_PAGE } }
  return [
    ['/v1/models', { key: secret }],
    ...authorizations.map((authorization) => ['/v1/models', { headers: { authorization } }] as const),
    ...headers.map((name) => ['/v1/models', { headers: { [name]: secret } }] as const),
    ...queries.map(([path, name]) => [`${path}?${name}=${encoded}`, {}] as const),
    ...paths.map((path) => [`${path}${encoded}`, {}] as const),
    [`/v1/keys/${encoded}`, { method: 'DELETE' }],
    [`/v1/keys/${encoded}`, { method: 'PATCH', body: { name: 'x' } }],
    [`/v1/models`, { headers: withCookie(secret) }],
    [`/auth/session`, { ...link, headers: withCookie(secret) }],
    ...bodies.map((body) => [CHAT, { body }] as const),
    ...keys.map((body) => ['/v1/keys', { body }] as const),
    ...oauth.map(
      (fields) => ['/oauth/token', { body: form(fields as Record<string, string>), headers: FORM }] as const,
    ),
    ['/oauth/token', { body: `{"refresh_token":"${secret}"` }],
    ['/device/code', { body: { client_id: secret, scope: secret } }],
    ['/activate', { body: form({ user_code: secret }), headers: { ...FORM, ...OWN_PAGE } }],
    ['/activate/decision', { body: form({ user_code: secret, decision: secret }), headers: { ...FORM, ...OWN_PAGE } }],
    ['/auth/link', { ...link, body: { token: `${secret}x` } }],
    ['/auth/link', { ...link, body: form({ token: `${secret}x` }), headers: { ...FORM, ...OWN_PAGE } }],
    [`/auth/session`, { ...link, body: { account_id: secret } }],
  ]
}

/** Providers that quote the credential in every place of an answer. */
export function echoes(key: string): readonly Script[] {
  const long = 'x '.repeat(235) // its messages are cut off after 500
  const words = [
    `Incorrect API key provided: ${key}.`,
    `Bearer ${key}`,
    `${long}${key}`,
    `${' word'.repeat(394)}${key}`,
  ]
  const error = (message: string) => ({
    error: { message, type: key, code: key, param: key, status: key, details: [key] },
  })
  const answers = words.flatMap((message) =>
    [400, 401, 404, 500].map((status) => ({ status, body: JSON.stringify(error(message)) })),
  )
  const limited = { status: 429, body: JSON.stringify(error(`Bearer ${key}`)) } // last: it is left alone for a while
  const others = ['', '<html>', '{"error":"', '{"message":"'].map((start) => ({ status: 500, body: `${start}${key}` }))
  const spoiled = [
    { status: 200, body: `{"id":"${key}` },
    { status: 200, body: key },
  ]
  const [last, ...plain] = [limited, ...answers, ...others, ...spoiled].map(
    ({ status, body }): Script =>
      (_, reply) => {
        reply.head(status, { 'content-type': 'application/json', 'x-echo': key, 'www-authenticate': `Bearer ${key}` })
        reply.end(body)
      },
  )
  const streamed = [
    `data: ${JSON.stringify(error(words[0] ?? ''))}\n\n`,
    `data: {"${key}\n\n`,
    `event: ${key}\n\n`,
    `: ${key}\n\n`,
  ]
  const endings: readonly ((reply: Reply) => void)[] = [
    (reply) => reply.end(),
    (reply) => reply.cut(),
    (reply) => reply.reset(),
  ]
  const begun = textChunks(5).slice(0, 3)
  const broken = streamed.flatMap((frame) =>
    endings.map(
      (end): Script =>
        async (_, reply) => {
          reply.head(200, SSE_HEAD)
          await sendFrames(reply, begun)
          await reply.write(frame)
          end(reply)
        },
    ),
  )
  return [...plain, ...broken, ...(last === undefined ? [] : [last])]
}
