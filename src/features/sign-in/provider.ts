/** A way to sign in, as the routes see it; `openid.ts` and `github.ts` are the kinds. */
import type { VouchedIdentity } from '../../domain/sign-in.ts'
import type { ProviderSettings } from './choices.ts'
import { githubProvider } from './github.ts'
import { openidProvider } from './openid.ts'
import type { Outbound } from './outbound.ts'
import type { RoundTrip } from './round-trip.ts'

export interface IdentityProvider {
  /** Where the browser goes. Rejects with what `toSignInError` understands. */
  begin(trip: RoundTrip): Promise<URL>
  /** Who came back. @param callback The address that the provider sent the browser to, with its parameters. */
  end(callback: URL, trip: RoundTrip): Promise<VouchedIdentity>
}

export interface ProviderDeps {
  readonly redirectUri: string
  readonly outbound: Outbound
  readonly now: () => number
}

export function createProvider(settings: ProviderSettings, deps: ProviderDeps): IdentityProvider {
  return settings.kind === 'github' ? githubProvider(settings, deps) : openidProvider(settings, deps)
}
