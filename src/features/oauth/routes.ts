/**
 * The authorization server, at the root of the service: device flow (RFC 8628), refresh (RFC 6749, 6), revocation
 * (RFC 7009), metadata (RFC 8414). All clients are public. The person's side is `activation.ts`.
 */
import formbody from '@fastify/formbody'
import type { FastifyError, FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import { type TObject, Type } from 'typebox'
import type { GatewayError } from '../../domain/errors.ts'
import { spend } from '../../domain/limits.ts'
import { toGatewayError } from '../../http/errors.ts'
import { createLruCache } from '../../lib/collections.ts'
import { addressGroup, addressSite } from '../../lib/ip-address.ts'
import { trimEndOf } from '../../lib/text.ts'
import { type Authority, type OAuthClient, originOf } from './authority.ts'
import { CODE_LIFETIME_MS, createDeviceCode, formatUserCode, INTERVAL_MS, pollDeviceCode } from './device-codes.ts'
import { OAuthError, type Parameters, readParameters, toOAuthError } from './oauth-error.ts'
import { parseScopes, SUPPORTED_SCOPES, scopeText } from './scopes.ts'
import { type IssuedTokens, refreshTokens, revokeToken } from './tokens.ts'

const MAX_BODY_BYTES = 16 * 1024
const DEVICE_CODE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

export interface RequestLimit {
  readonly perAddress: number
  readonly overAll: number
}

/** Requests a minute. A waiting client polls 12 times, and many may be behind one address. */
export const CODE_LIMIT: RequestLimit = { perAddress: 30, overAll: 3_000 }
export const TOKEN_LIMIT: RequestLimit = { perAddress: 600, overAll: 60_000 }
const WINDOW_MS = 60_000
const MAX_ADDRESSES = 10_000
/** Limit of a site, as a multiple of the limit of an address. */
const ADDRESSES_OF_SITE = 10

export interface OAuthDeps extends Authority {
  /** Public URL of the service, which is the issuer. */
  readonly publicUrl: string
  /** Monotonic milliseconds. */
  readonly clock: () => number
  /** Receives errors that are not `OAuthError`s. */
  readonly onError: (error: GatewayError, requestId: string) => void
}

const tags = ['OAuth']

const ErrorBody = Type.Object({
  error: Type.String({ description: 'Error code of RFC 6749, 5.2, or RFC 8628, 3.5.' }),
  error_description: Type.String({ description: 'For people. It may change.' }),
})
const errors = { '4xx': ErrorBody, '5xx': ErrorBody }

/** Public routes. */
const security: [] = []

/** Empty parameters count as absent (RFC 6749, 3.1). */
const OptionalText = Type.Optional(Type.String({ maxLength: 2_048 }))

const ClientId = Type.String({
  minLength: 1,
  maxLength: 2_048,
  examples: ['turnpike-cli'],
  description: '`turnpike-cli`, `turnpike-ide`, or a client of the configuration.',
})
const Scope = Type.String({ maxLength: 2_048, examples: ['api'], description: 'Names separated by spaces.' })
const Token = Type.String({ minLength: 1, maxLength: 2_048 })

function bodyOf(properties: TObject) {
  return { body: properties, consumes: ['application/x-www-form-urlencoded', 'application/json'], security, tags }
}

const codeSchema = {
  ...bodyOf(Type.Object({ client_id: ClientId, scope: Type.Optional(Scope) })),
  summary: 'Start the device flow',
  description: 'RFC 8628. Show the user `verification_uri` and `user_code`, and poll `/oauth/token`.',
  response: {
    200: Type.Object({
      device_code: Type.String(),
      user_code: Type.String({ description: '`XXXX-XXXX`.' }),
      verification_uri: Type.String(),
      verification_uri_complete: Type.String({ description: 'For a QR code. Opening it approves nothing.' }),
      expires_in: Type.Integer({ description: 'Seconds.' }),
      interval: Type.Integer({ description: 'Seconds between polls.' }),
    }),
    ...errors,
  },
}

const tokenSchema = {
  ...bodyOf(
    Type.Object({
      grant_type: Type.Unsafe<string>({
        type: 'string',
        enum: [DEVICE_CODE_GRANT, 'refresh_token'],
      }),
      client_id: OptionalText,
      device_code: OptionalText,
      refresh_token: OptionalText,
      scope: Type.Optional(Scope),
    }),
  ),
  summary: 'Get tokens',
  description: 'Exchanges an approved device code, once, or a refresh token, which each exchange replaces.',
  response: {
    200: Type.Object({
      access_token: Type.String(),
      token_type: Type.Literal('Bearer'),
      expires_in: Type.Integer({ description: 'Seconds.' }),
      refresh_token: Type.Optional(Type.String({ description: 'Present with the scope `offline_access`.' })),
      scope: Type.String({ description: 'Granted scopes, separated by spaces.' }),
    }),
    ...errors,
  },
}

const revokeSchema = {
  ...bodyOf(Type.Object({ token: Token, client_id: OptionalText })),
  summary: 'Disconnect a device',
  description: 'RFC 7009. Accepts the access token or the refresh token. Returns 200 for unknown tokens too.',
  response: { 200: Type.Object({}), ...errors },
}

const metadataSchema = {
  summary: 'Describe the authorization server',
  description: 'RFC 8414.',
  tags,
  security,
  response: { 200: Type.Object({ issuer: Type.String() }, { additionalProperties: true }), ...errors },
}

export function oauthRoutes(deps: OAuthDeps): FastifyPluginAsync {
  const issuer = trimEndOf(deps.publicUrl, '/')
  return async (app) => {
    await app.register(formbody, { bodyLimit: MAX_BODY_BYTES })
    answerAsOAuth(app, deps.onError)
    const guarded = (limit: RequestLimit) => {
      const pass = createRequestLimit(limit, deps.clock)
      const onRequest = async (request: FastifyRequest) => pass(request.ip)
      return { onRequest, config: { bodyLimitBytes: MAX_BODY_BYTES } }
    }
    app.post('/device/code', { ...guarded(CODE_LIMIT), schema: codeSchema }, async (request, reply) => {
      return sendUncached(reply, await beginFlow(deps, issuer, request))
    })
    const tokenGuard = guarded(TOKEN_LIMIT)
    app.post('/oauth/token', { ...tokenGuard, schema: tokenSchema }, async (request, reply) => {
      return sendUncached(reply, renderTokens(await grant(deps, request)))
    })
    app.post('/oauth/revoke', { ...tokenGuard, schema: revokeSchema }, async (request, reply) => {
      const parameters = readParameters(request.body)
      const token = parameters.required('token')
      await revokeToken(deps, { token, clientId: knownClient(deps, parameters)?.id, origin: originOf(request) })
      return sendUncached(reply, {})
    })
    const metadata = renderMetadata(issuer)
    app.get('/.well-known/oauth-authorization-server', { schema: metadataSchema }, async () => metadata)
  }
}

/** Renders every error as RFC 6749, 5.2 defines; the routes validate their bodies themselves. */
function answerAsOAuth(app: FastifyInstance, onError: OAuthDeps['onError']): void {
  app.setValidatorCompiler(() => () => true)
  app.setErrorHandler((error: Error, request, reply) => {
    const ours = toGatewayError(error as FastifyError)
    if (!(error instanceof OAuthError)) onError(ours, request.id)
    const { code, message, status, retryAfterSeconds } = toOAuthError(error, ours)
    if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds))
    return sendUncached(reply.code(status), { error: code, error_description: message })
  })
}

function sendUncached(reply: FastifyReply, body: object): FastifyReply {
  return reply.headers({ 'cache-control': 'no-store', pragma: 'no-cache' }).send(body)
}

async function beginFlow(deps: OAuthDeps, issuer: string, request: FastifyRequest): Promise<object> {
  const parameters = readParameters(request.body)
  const { id: clientId } = requiredClient(deps, parameters)
  const scopes = parseScopes(parameters.optional('scope') ?? '')
  if (scopes === undefined) {
    throw new OAuthError('invalid_scope', `Unknown scope. A device can request: ${SUPPORTED_SCOPES.join(' ')}.`)
  }
  const made = await createDeviceCode(deps, { clientId, scopes, origin: originOf(request) })
  const userCode = formatUserCode(made.userCode)
  const page = `${issuer}/activate`
  return {
    device_code: made.deviceCode,
    user_code: userCode,
    verification_uri: page,
    verification_uri_complete: `${page}?user_code=${userCode}`,
    expires_in: CODE_LIFETIME_MS / 1_000,
    interval: INTERVAL_MS / 1_000,
  }
}

async function grant(deps: OAuthDeps, request: FastifyRequest): Promise<IssuedTokens> {
  const parameters = readParameters(request.body)
  switch (parameters.required('grant_type')) {
    case DEVICE_CODE_GRANT: {
      const { id: clientId } = requiredClient(deps, parameters)
      return pollDeviceCode(deps, { deviceCode: parameters.required('device_code'), clientId })
    }
    case 'refresh_token': {
      const clientId = knownClient(deps, parameters)?.id
      const refreshToken = parameters.required('refresh_token')
      const scope = parameters.optional('scope')
      return refreshTokens(deps, { refreshToken, clientId, scope, origin: originOf(request) })
    }
    default:
      throw new OAuthError('unsupported_grant_type', `Grants are '${DEVICE_CODE_GRANT}' and 'refresh_token'.`)
  }
}

function requiredClient(deps: Authority, parameters: Parameters): OAuthClient {
  parameters.required('client_id')
  return knownClient(deps, parameters) ?? unknownClient()
}

/** Undefined when none was sent. Throws `invalid_client` for an unknown one. */
function knownClient({ clients }: Authority, parameters: Parameters): OAuthClient | undefined {
  const id = parameters.optional('client_id')
  return id === undefined ? undefined : (clients.find(id) ?? unknownClient())
}

function unknownClient(): never {
  throw new OAuthError('invalid_client', 'No client has this client_id.')
}

function renderTokens({ accessToken, expiresInMs, refreshToken, scopes }: IssuedTokens): object {
  return {
    access_token: accessToken,
    token_type: 'Bearer',
    expires_in: Math.floor(expiresInMs / 1_000),
    ...(refreshToken === undefined ? {} : { refresh_token: refreshToken }),
    scope: scopeText(scopes, refreshToken !== undefined),
  }
}

function renderMetadata(issuer: string): object {
  return {
    issuer,
    device_authorization_endpoint: `${issuer}/device/code`,
    token_endpoint: `${issuer}/oauth/token`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    grant_types_supported: [DEVICE_CODE_GRANT, 'refresh_token'],
    response_types_supported: [],
    token_endpoint_auth_methods_supported: ['none'],
    revocation_endpoint_auth_methods_supported: ['none'],
    scopes_supported: SUPPORTED_SCOPES,
  }
}

/** Returns a function that throws `temporarily_unavailable` with status 429 beyond the limits. @param clock Monotonic ms. */
export function createRequestLimit(limit: RequestLimit, clock: () => number): (address: string) => void {
  const restedAt = createLruCache<number>(MAX_ADDRESSES)
  let allRestedAt: number | undefined
  return (address) => {
    const now = clock()
    const group = addressGroup(address)
    const own = spend({ limit: limit.perAddress, windowMs: WINDOW_MS, cost: 1 }, restedAt.get(group), now)
    if (!own.allowed) throw tooMany(own.retryAfterMs)
    const site = addressSite(address)
    const ofSite = { limit: ADDRESSES_OF_SITE * limit.perAddress, windowMs: WINDOW_MS, cost: 1 }
    const sites = site === group ? undefined : spend(ofSite, restedAt.get(site), now)
    if (sites?.allowed === false) throw tooMany(sites.retryAfterMs)
    const all = spend({ limit: limit.overAll, windowMs: WINDOW_MS, cost: 1 }, allRestedAt, now)
    if (!all.allowed) throw tooMany(all.retryAfterMs)
    restedAt.set(group, own.restedAt)
    if (sites !== undefined) restedAt.set(site, sites.restedAt)
    allRestedAt = all.restedAt
  }
}

function tooMany(retryAfterMs: number): OAuthError {
  const retryAfterSeconds = Math.max(1, Math.ceil(retryAfterMs / 1_000))
  const message = `Too many requests; try again in ${retryAfterSeconds} s.`
  return new OAuthError('temporarily_unavailable', message, { status: 429, retryAfterSeconds })
}
