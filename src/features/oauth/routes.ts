/**
 * The authorization server, at the root of the service: device flow (RFC 8628), refresh (RFC 6749, 6), revocation
 * (RFC 7009), metadata (RFC 8414). All clients are public. The person's side is `activation.ts`.
 */
import formbody from '@fastify/formbody'
import type { FastifyError, FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import type { GatewayError } from '../../domain/errors.ts'
import { toGatewayError } from '../../http/errors.ts'
import { type Authority, type DeviceOrigin, shownUserAgent } from './authority.ts'
import type { OAuthClient } from './clients.ts'
import { CODE_LIFETIME_MS, createDeviceCode, INTERVAL_MS, pollDeviceCode } from './device-codes.ts'
import { createFloodGate, type FloodLimit } from './flood.ts'
import type { IssuedTokens } from './issue.ts'
import { OAuthError, toOAuthError } from './oauth-error.ts'
import { type Parameters, readParameters } from './parameters.ts'
import { refreshTokens } from './refresh.ts'
import { revokeToken } from './revoke.ts'
import { codeSchema, metadataSchema, revokeSchema, tokenSchema } from './route-schemas.ts'
import { parseScopes, SUPPORTED_SCOPES, scopeText } from './scopes.ts'
import { showUserCode } from './user-code.ts'

export { type DevicesDeps, devicesRoutes } from './devices-routes.ts'

const MAX_BODY_BYTES = 16 * 1024
const DEVICE_CODE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

/** Requests a minute. A waiting client polls 12 times, and many may be behind one address. */
export const CODE_FLOOD: FloodLimit = { perAddress: 30, overAll: 3_000 }
export const TOKEN_FLOOD: FloodLimit = { perAddress: 600, overAll: 60_000 }

export interface OAuthDeps extends Authority {
  /** Where people and programs reach the service; the issuer. */
  readonly publicUrl: string
  /** Monotonic milliseconds. */
  readonly clock: () => number
  /** Errors that are not the client's alone, for the log. */
  readonly onError: (error: GatewayError, requestId: string) => void
}

export function oauthRoutes(deps: OAuthDeps): FastifyPluginAsync {
  const issuer = deps.publicUrl.replace(/\/+$/, '')
  return async (app) => {
    await app.register(formbody, { bodyLimit: MAX_BODY_BYTES })
    answerAsOAuth(app, deps.onError)
    const guarded = (limit: FloodLimit) => {
      const pass = createFloodGate(limit, deps.clock)
      const onRequest = async (request: FastifyRequest) => pass(request.ip)
      return { onRequest, config: { bodyLimitBytes: MAX_BODY_BYTES } }
    }
    app.post('/device/code', { ...guarded(CODE_FLOOD), schema: codeSchema }, async (request, reply) => {
      return secretly(reply, await beginFlow(deps, issuer, request))
    })
    const tokenGuard = guarded(TOKEN_FLOOD)
    app.post('/oauth/token', { ...tokenGuard, schema: tokenSchema }, async (request, reply) => {
      return secretly(reply, renderTokens(await grant(deps, request)))
    })
    app.post('/oauth/revoke', { ...tokenGuard, schema: revokeSchema }, async (request, reply) => {
      const parameters = readParameters(request.body)
      const token = parameters.required('token')
      await revokeToken(deps, { token, clientId: knownClient(deps, parameters)?.id, origin: originOf(request) })
      return secretly(reply, {})
    })
    const metadata = renderMetadata(issuer)
    app.get('/.well-known/oauth-authorization-server', { schema: metadataSchema }, async () => metadata)
  }
}

/** Every error of these routes has the shape of RFC 6749, 5.2; bodies are looked at by the routes themselves. */
function answerAsOAuth(app: FastifyInstance, onError: OAuthDeps['onError']): void {
  app.setValidatorCompiler(() => () => true)
  app.setErrorHandler((error: Error, request, reply) => {
    const ours = toGatewayError(error as FastifyError)
    if (!(error instanceof OAuthError)) onError(ours, request.id)
    const { code, message, status, retryAfterSeconds } = toOAuthError(error, ours)
    if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds))
    return secretly(reply.code(status), { error: code, error_description: message })
  })
}

function secretly(reply: FastifyReply, body: object): FastifyReply {
  return reply.headers({ 'cache-control': 'no-store', pragma: 'no-cache' }).send(body)
}

async function beginFlow(deps: OAuthDeps, issuer: string, request: FastifyRequest): Promise<object> {
  const parameters = readParameters(request.body)
  const { id: clientId } = requiredClient(deps, parameters)
  const scopes = parseScopes(parameters.optional('scope') ?? '')
  if (scopes === undefined) {
    throw new OAuthError('invalid_scope', `A device may ask for: ${SUPPORTED_SCOPES.join(' ')}.`)
  }
  const made = await createDeviceCode(deps, { clientId, scopes, origin: originOf(request) })
  const userCode = showUserCode(made.userCode)
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

/** Undefined when none was sent. Throws `invalid_client` for one that nobody knows. */
function knownClient({ clients }: Authority, parameters: Parameters): OAuthClient | undefined {
  const id = parameters.optional('client_id')
  return id === undefined ? undefined : (clients.find(id) ?? unknownClient())
}

function unknownClient(): never {
  throw new OAuthError('invalid_client', 'No client has this client_id.')
}

function originOf(request: FastifyRequest): DeviceOrigin {
  const userAgent = shownUserAgent(request.headers['user-agent'])
  return { address: request.ip, userAgent, requestId: request.id }
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
