/** GitHub: OAuth 2.0 without OpenID Connect; the identity comes from its REST API. */
import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  ClientSecretPost,
  Configuration,
  type CustomFetch,
  calculatePKCECodeChallenge,
  customFetch,
  fetchProtectedResource,
} from 'openid-client'
import type { VouchedIdentity } from '../../domain/identity/sign-in.ts'
import { trimEndOf } from '../../lib/text.ts'
import { SignInError, toSignInError } from './failure.ts'
import {
  type IdentityProvider,
  noRequests,
  type ProviderDeps,
  type ProviderSettings,
  readEmail,
  readName,
} from './provider.ts'
import type { RoundTrip } from './round-trip.ts'

const GITHUB = 'https://github.com'
const GITHUB_API = 'https://api.github.com'
/** Dated version of the REST API. */
const API_VERSION = '2022-11-28'
const SCOPE = 'read:user user:email'
const OK = 200

export function githubProvider(settings: ProviderSettings, deps: ProviderDeps): IdentityProvider {
  const { outbound, redirectUri } = deps
  const site = trimEndOf(settings.issuer ?? GITHUB, '/')
  const api = site === GITHUB ? GITHUB_API : `${site}/api/v3`

  function configure(fetch: CustomFetch): Configuration {
    const oauth = `${site}/login/oauth`
    const config = new Configuration(
      // The issuer of responses (RFC 9207). Identities use the address of the site as their issuer.
      { issuer: oauth, authorization_endpoint: `${oauth}/authorize`, token_endpoint: `${oauth}/access_token` },
      settings.client_id,
      {},
      ClientSecretPost(settings.client_secret),
    )
    config[customFetch] = fetch
    config.timeout = outbound.requestSeconds
    if (site.startsWith('http:')) allowInsecureRequests(config)
    return config
  }

  async function end(fetch: CustomFetch, callback: URL, trip: RoundTrip): Promise<VouchedIdentity> {
    const config = configure(fetch)
    const checks = { pkceCodeVerifier: trip.verifier, expectedState: trip.state }
    const { access_token: token } = await authorizationCodeGrant(config, callback, checks)
    const [user, emails] = await Promise.all([
      fetchJson({ config, token }, `${api}/user`),
      fetchJson({ config, token }, `${api}/user/emails`),
    ])
    return identityOf(site, user, emails)
  }

  return {
    async begin(trip) {
      return buildAuthorizationUrl(configure(noRequests), {
        redirect_uri: redirectUri,
        scope: SCOPE,
        state: trip.state,
        code_challenge: await calculatePKCECodeChallenge(trip.verifier),
        code_challenge_method: 'S256',
      })
    },
    end: (callback, trip) =>
      outbound
        .visit((fetch) => end(fetch, callback, trip))
        .catch((error: unknown) => {
          throw toSignInError(error)
        }),
  }
}

async function fetchJson(
  { config, token }: { config: Configuration; token: string },
  address: string,
): Promise<unknown> {
  const headers = new Headers({ accept: 'application/vnd.github+json', 'x-github-api-version': API_VERSION })
  const answer = await fetchProtectedResource(config, token, new URL(address), 'GET', null, headers)
  if (answer.status !== OK) throw new SignInError('untrusted', `its API responded with status ${answer.status}`)
  try {
    return await answer.json()
  } catch {
    throw new SignInError('untrusted', 'its API did not respond with JSON')
  }
}

/** The numeric ID identifies the person: a login can be released, and taken by another person. */
function identityOf(site: string, user: unknown, emails: unknown): VouchedIdentity {
  const { id, login, name } = isRecord(user) ? user : {}
  if (typeof id !== 'number' || !Number.isSafeInteger(id) || id <= 0) {
    throw new SignInError('untrusted', 'no usable user id')
  }
  const list: readonly unknown[] = Array.isArray(emails) ? emails : []
  const primary = list.find((entry) => isRecord(entry) && entry['primary'] === true && entry['verified'] === true)
  const email = isRecord(primary) ? readEmail(primary['email']) : undefined
  if (email === undefined) throw new SignInError('no e-mail', 'no verified primary e-mail address')
  return {
    issuer: site,
    subject: String(id),
    email,
    emailVerified: true,
    name: readName(name) ?? readName(login) ?? email,
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
