import {
  allowInsecureRequests,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  type CustomFetch,
  customFetch,
  discovery,
  type ServerMetadata,
} from 'openid-client'
import type { ProviderSettings } from './choices.ts'
import { SignInError } from './failure.ts'
import { toSignInError } from './oauth-failure.ts'
import type { ProviderDeps } from './provider.ts'

const LIFE_MS = 3_600_000

export interface Discovery {
  /** What the provider says of itself. Those who ask while it is read wait for the same answer. */
  readonly metadata: (fetch: CustomFetch) => Promise<ServerMetadata>
  /** The next one who asks gets it anew: something that was built on it failed. */
  readonly forget: () => void
}

/** @see https://openid.net/specs/openid-connect-discovery-1_0.html */
export function createDiscovery(settings: ProviderSettings, { outbound, now }: ProviderDeps): Discovery {
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
    // To the letter: tokens carry it, and people are known by it.
    if (metadata.issuer !== issuer) throw new SignInError('misregistered', 'its issuer is not the configured one')
    known = { metadata, readAt: now() }
    return metadata
  }

  return {
    async metadata(fetch) {
      if (known !== undefined && now() - known.readAt < LIFE_MS) return known.metadata
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

/** The first one that the provider lists and we know; where it lists none, the one that all must know (RFC 6749, 2.3.1). */
export function clientAuthentication(metadata: ServerMetadata, secret: string): ClientAuth {
  const listed = metadata.token_endpoint_auth_methods_supported ?? []
  const method = listed.find((name) => name === 'client_secret_basic' || name === 'client_secret_post')
  return method === 'client_secret_post' ? ClientSecretPost(secret) : ClientSecretBasic(secret)
}
