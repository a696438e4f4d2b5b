/** The ways to sign in, as pages and addresses know them; apart from the rest, which brings its libraries with it. */
import type { SignInChoice } from '../../domain/sign-in.ts'
import { slugOf } from '../../lib/slug.ts'

/** `auth.providers[]` of the configuration. */
export interface ProviderSettings {
  readonly kind: 'oidc' | 'github'
  readonly name: string
  /** Of `github`: the address of an Enterprise server; undefined: github.com. */
  readonly issuer?: string | undefined
  readonly client_id: string
  readonly client_secret: string
  /** Empty: all. */
  readonly allowed_domains: readonly string[]
}

/** What is behind `/auth/`; configuration sees to it that no two are the same. */
export function providerSlug({ name, kind }: Pick<ProviderSettings, 'name' | 'kind'>): string {
  return slugOf(name) || kind
}

/** In the order of the configuration. */
export function choices(providers: readonly ProviderSettings[]): readonly SignInChoice[] {
  return providers.map((settings) => ({ slug: providerSlug(settings), name: settings.name }))
}
