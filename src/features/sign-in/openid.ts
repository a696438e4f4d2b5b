/** Any OpenID Connect provider: code flow with PKCE, state and nonce (OIDC-1). */
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  Configuration,
  type CustomFetch,
  calculatePKCECodeChallenge,
  customFetch,
  type ExportedJWKSCache,
  enableNonRepudiationChecks,
  fetchUserInfo,
  getJwksCache,
  type ServerMetadata,
  setJwksCache,
} from 'openid-client'
import type { VouchedIdentity } from '../../domain/sign-in.ts'
import type { ProviderSettings } from './choices.ts'
import { type Claims, vouchedIdentity } from './claims.ts'
import { clientAuthentication, createDiscovery } from './discovery.ts'
import { SignInError } from './failure.ts'
import { toSignInError } from './oauth-failure.ts'
import { noRequests, type Outbound } from './outbound.ts'
import type { IdentityProvider, ProviderDeps } from './provider.ts'
import type { RoundTrip } from './round-trip.ts'

const SCOPE = 'openid email profile'
const KEYS_LIFE_MS = 3_600_000
/**
 * The library reads keys again for an unknown key ID when they are 60 s old, and always when they are 300 s old. Told
 * that they are just 60 s old, it keeps them, and yet meets a key that was changed a moment ago.
 */
const TOLD_AGE_S = 60
/** Failures that have nothing to do with what we know of the provider. */
const NOTHING_TO_FORGET: ReadonlySet<string> = new Set(['cancelled', 'refused by provider', 'expired', 'busy'])

export function openidProvider(settings: ProviderSettings, deps: ProviderDeps): IdentityProvider {
  const { outbound, redirectUri } = deps
  const discovery = createDiscovery(settings, deps)
  const keys = createKeys(deps.now)

  async function end(fetch: CustomFetch, callback: URL, trip: RoundTrip): Promise<VouchedIdentity> {
    const config = configure({ settings, outbound }, await discovery.metadata(fetch), fetch)
    keys.lend(config)
    const tokens = await authorizationCodeGrant(config, callback, {
      pkceCodeVerifier: trip.verifier,
      expectedState: trip.state,
      expectedNonce: trip.nonce,
      idTokenExpected: true,
    })
    keys.keep(config)
    const claims = tokens.claims()
    if (claims === undefined) throw new SignInError('untrusted', 'no ID token')
    if (isEnough(claims, settings)) return vouchedIdentity(claims.iss, claims)
    return vouchedIdentity(claims.iss, await withUserInfo(config, claims, tokens.access_token))
  }

  async function begin(fetch: CustomFetch, trip: RoundTrip): Promise<URL> {
    const config = configure({ settings, outbound }, await discovery.metadata(fetch), noRequests)
    return buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: SCOPE,
      state: trip.state,
      nonce: trip.nonce,
      code_challenge: await calculatePKCECodeChallenge(trip.verifier),
      code_challenge_method: 'S256',
    })
  }

  function failed(error: unknown): never {
    const failure = toSignInError(error)
    if (!NOTHING_TO_FORGET.has(failure.kind)) {
      discovery.forget()
      keys.forget()
    }
    throw failure
  }

  return {
    begin: (trip) => outbound.visit((fetch) => begin(fetch, trip)).catch(failed),
    end: (callback, trip) => outbound.visit((fetch) => end(fetch, callback, trip)).catch(failed),
  }
}

interface Client {
  readonly settings: ProviderSettings
  readonly outbound: Outbound
}

function configure({ settings, outbound }: Client, metadata: ServerMetadata, fetch: CustomFetch): Configuration {
  const { client_id, client_secret } = settings
  const config = new Configuration(metadata, client_id, {}, clientAuthentication(metadata, client_secret))
  config[customFetch] = fetch
  config.timeout = outbound.requestSeconds
  if (metadata.issuer.startsWith('http:')) allowInsecureRequests(config)
  enableNonRepudiationChecks(config) // with it the signature is checked, and only asymmetric ones are known
  return config
}

/** Whether the address is verified matters where only some domains may sign in. */
function isEnough(claims: Claims, { allowed_domains }: ProviderSettings): boolean {
  return claims['email'] !== undefined && (allowed_domains.length === 0 || claims['email_verified'] !== undefined)
}

/** Many providers tell the e-mail address, or whether it is verified, only when asked a second time. */
async function withUserInfo(config: Configuration, claims: Claims, accessToken: string): Promise<Claims> {
  if (config.serverMetadata().userinfo_endpoint === undefined) return claims
  const { email, email_verified, ...others } = await fetchUserInfo(config, accessToken, String(claims['sub']))
  if (email === undefined) return { ...others, ...claims }
  // Together: one answer's word must not vouch for the address of the other.
  return { ...others, ...claims, email, email_verified }
}

/** The provider's public keys, kept over visits. */
function createKeys(now: () => number) {
  let kept: { readonly jwks: ExportedJWKSCache['jwks']; readonly readAt: number } | undefined
  return {
    lend(config: Configuration): void {
      if (kept === undefined || now() - kept.readAt >= KEYS_LIFE_MS) return
      setJwksCache(config, { jwks: kept.jwks, uat: librarySeconds() - TOLD_AGE_S })
    },
    keep(config: Configuration): void {
      const used = getJwksCache(config)
      const isNew = used !== undefined && librarySeconds() - used.uat < TOLD_AGE_S
      if (isNew) kept = { jwks: used.jwks, readAt: now() }
    },
    forget(): void {
      kept = undefined
    },
  }
}

/** The library has its own clock. */
function librarySeconds(): number {
  return Math.floor(Date.now() / 1000)
}
