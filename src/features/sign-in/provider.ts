/** Identity providers: their settings, the choices on the sign-in page, and the interface of `openid.ts` and `github.ts`. */
import type { SignInChoice, VouchedIdentity } from '../../domain/identity/sign-in.ts'
import { slugOf } from '../../lib/text.ts'
import type { Outbound } from './outbound.ts'
import type { RoundTrip } from './round-trip.ts'

/** `auth.providers[]` of the configuration. */
export interface ProviderSettings {
  readonly kind: 'oidc' | 'github'
  readonly name: string
  /** For `github`: the URL of an Enterprise server; undefined: github.com. */
  readonly issuer?: string | undefined
  readonly client_id: string
  readonly client_secret: string
  /** Empty, or with `*`: all. */
  readonly allowed_domains: readonly string[]
  /** Claim with the groups of a person; undefined: none. */
  readonly groups_claim?: string | undefined
}

/** Returns the path segment after `/auth/`; the configuration requires them to be unique. */
export function providerSlug({ name, kind }: Pick<ProviderSettings, 'name' | 'kind'>): string {
  return slugOf(name) || kind
}

/** Returns the choices in the order of the configuration. */
export function choices(providers: readonly ProviderSettings[]): readonly SignInChoice[] {
  return providers.map((settings) => ({ slug: providerSlug(settings), name: settings.name }))
}

export interface IdentityProvider {
  /** Returns the address that the browser is sent to. */
  begin(trip: RoundTrip): Promise<URL>
  /** Returns the verified identity. @param callback The address that the provider sent the browser to, with its parameters. */
  end(callback: URL, trip: RoundTrip): Promise<VouchedIdentity>
}

export interface ProviderDeps {
  readonly redirectUri: string
  readonly outbound: Outbound
  readonly now: () => number
}
