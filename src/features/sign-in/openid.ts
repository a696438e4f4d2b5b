/** Any OpenID Connect provider: code flow with PKCE, state and nonce (OIDC-1). */
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  Configuration,
  type CustomFetch,
  calculatePKCECodeChallenge,
  customFetch,
  discovery,
  type ExportedJWKSCache,
  enableNonRepudiationChecks,
  fetchUserInfo,
  getJwksCache,
  type ServerMetadata,
  setJwksCache,
} from 'openid-client'
import type { VouchedIdentity } from '../../domain/identity/sign-in.ts'
import { SignInError, toSignInError } from './failure.ts'
import {
  type Claims,
  groupsIn,
  type IdentityProvider,
  mayAnyDomain,
  noRequests,
  type Outbound,
  type ProviderDeps,
  type ProviderSettings,
  vouchedIdentity,
} from './provider.ts'
import type { RoundTrip } from './round-trip.ts'

const SCOPE = 'openid email profile'
const KEYS_LIFE_MS = 3_600_000

/**
 * The age that the library is given for cached keys. It reads keys again for an unknown key ID when they are 60 s old, and
 * always when they are 300 s old: at 60 s it uses the cache, and still finds a key that was rotated a moment ago.
 */
const REPORTED_AGE_S = 60
/** Failures after which cached metadata and keys of the provider are still valid. */
const KEEPS_METADATA: ReadonlySet<string> = new Set(['cancelled', 'refused by provider', 'expired', 'busy'])
const METADATA_LIFE_MS = 3_600_000

export function openidProvider(settings: ProviderSettings, deps: ProviderDeps): IdentityProvider {
  const { outbound, redirectUri } = deps
  const discovery = createDiscovery(settings, deps)
  const keys = createKeys(deps.now)

  async function end(fetch: CustomFetch, callback: URL, trip: RoundTrip): Promise<VouchedIdentity> {
    const config = configure({ settings, outbound }, await discovery.metadata(fetch), fetch)
    keys.apply(config)
    const tokens = await authorizationCodeGrant(config, callback, {
      pkceCodeVerifier: trip.verifier,
      expectedState: trip.state,
      expectedNonce: trip.nonce,
      idTokenExpected: true,
    })
    keys.store(config)
    const claims = tokens.claims()
    if (claims === undefined) throw new SignInError('untrusted', 'no ID token')
    const all = isComplete(claims, settings) ? claims : await withUserInfo(config, claims, tokens.access_token)
    const identity = vouchedIdentity(claims.iss, all)
    const { groups_claim: name } = settings
    return name === undefined ? identity : { ...identity, groups: groupsIn(all, name) }
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
    if (!KEEPS_METADATA.has(failure.kind)) {
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
  enableNonRepudiationChecks(config) // checks signatures, and allows only asymmetric ones
  return config
}

/** Whether the address is verified matters where only some domains may sign in. */
function isComplete(claims: Claims, { allowed_domains, groups_claim: groups }: ProviderSettings): boolean {
  if (groups !== undefined && claims[groups] === undefined) return false
  return claims['email'] !== undefined && (mayAnyDomain(allowed_domains) || claims['email_verified'] !== undefined)
}

/** Reads the UserInfo endpoint: many providers have the e-mail address, or whether it is verified, only there. */
async function withUserInfo(config: Configuration, claims: Claims, accessToken: string): Promise<Claims> {
  if (config.serverMetadata().userinfo_endpoint === undefined) return claims
  const { email, email_verified, ...others } = await fetchUserInfo(config, accessToken, String(claims['sub']))
  if (email === undefined) return { ...others, ...claims }
  // Both from one response: it must not verify the address of the other.
  return { ...others, ...claims, email, email_verified }
}

/** The provider's public keys, cached over visits. */
function createKeys(now: () => number) {
  let cached: { readonly jwks: ExportedJWKSCache['jwks']; readonly readAt: number } | undefined
  return {
    apply(config: Configuration): void {
      if (cached === undefined || now() - cached.readAt >= KEYS_LIFE_MS) return
      setJwksCache(config, { jwks: cached.jwks, uat: librarySeconds() - REPORTED_AGE_S })
    },
    store(config: Configuration): void {
      const used = getJwksCache(config)
      const isNew = used !== undefined && librarySeconds() - used.uat < REPORTED_AGE_S
      if (isNew) cached = { jwks: used.jwks, readAt: now() }
    },
    forget(): void {
      cached = undefined
    },
  }
}

/** The library uses the system clock, not `now`. */
function librarySeconds(): number {
  return Math.floor(Date.now() / 1000)
}

interface Discovery {
  /** The provider's metadata. Concurrent calls share one request. */
  readonly metadata: (fetch: CustomFetch) => Promise<ServerMetadata>
  /** Drops the cached metadata, after a failure that it may have caused. */
  readonly forget: () => void
}

/** @see https://openid.net/specs/openid-connect-discovery-1_0.html */
function createDiscovery(settings: ProviderSettings, { outbound, now }: ProviderDeps): Discovery {
  let known: { readonly metadata: ServerMetadata; readonly readAt: number } | undefined
  let reading: Promise<ServerMetadata> | undefined

  async function read(fetch: CustomFetch): Promise<ServerMetadata> {
    const { issuer = '', client_id } = settings
    const url = new URL(issuer)
    const config = await discovery(url, client_id, undefined, undefined, {
      [customFetch]: fetch,
      timeout: outbound.requestSeconds,
      execute: url.protocol === 'http:' ? [allowInsecureRequests] : [],
    }).catch((error: unknown) => {
      throw toSignInError(error)
    })
    const metadata = config.serverMetadata()
    // Must be exactly equal: tokens contain it, and it identifies people.
    if (metadata.issuer !== issuer) throw new SignInError('misregistered', 'its issuer differs from the configured one')
    known = { metadata, readAt: now() }
    return metadata
  }

  return {
    async metadata(fetch) {
      if (known !== undefined && now() - known.readAt < METADATA_LIFE_MS) return known.metadata
      reading ??= read(fetch).finally(() => {
        reading = undefined
      })
      return reading
    },
    forget() {
      known = undefined
    },
  }
}

/** The first supported method that the provider lists, else the one that all must support (RFC 6749, 2.3.1). */
function clientAuthentication(metadata: ServerMetadata, secret: string): ClientAuth {
  const listed = metadata.token_endpoint_auth_methods_supported ?? []
  const method = listed.find((name) => name === 'client_secret_basic' || name === 'client_secret_post')
  return method === 'client_secret_post' ? ClientSecretPost(secret) : ClientSecretBasic(secret)
}
