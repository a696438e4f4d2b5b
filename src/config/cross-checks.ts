/** Checks of settings against each other, which a schema cannot express. */

import { isLoopbackUrl } from '../lib/ip-address.ts'
import { didYouMean, slugOf } from '../lib/text.ts'
import { BUILT_IN_PLANS, type FileConfig, type ProviderConfig } from './schema.ts'
import type { SettingPath } from './source-tree.ts'

/** Reports a problem at the setting that has to change. */
export type Report = (path: SettingPath, text: string) => void

interface Checked<Settings = FileConfig> {
  readonly config: Settings
  /** Names of the built-in providers. */
  readonly builtInProviders: readonly string[]
}
type CheckedUpstreams = Checked<Pick<FileConfig, 'providers' | 'models'>>

export function crossCheck(checked: Checked, report: Report): void {
  checkUpstreams(checked, report)
  checkAccounts(checked.config, report)
  checkAuth(checked.config, report)
  checkAgents(checked.config, report)
  checkStripe(checked.config, report)
  checkExports(checked.config, report)
  if (checked.config.database_url !== undefined && checked.config.secret === undefined) {
    report(['database_url'], 'found without secret, allowed: both; set TURNPIKE_SECRET to 32 bytes or more')
  }
}

function checkStripe({ stripe }: FileConfig, report: Report): void {
  const { secret_key: key, webhook_secret: webhook } = stripe
  if ((key === undefined) === (webhook === undefined)) return
  report(
    ['stripe', key === undefined ? 'secret_key' : 'webhook_secret'],
    'found one of secret_key and webhook_secret, allowed: both or none',
  )
}

/** Two exports to the same address would delete each other's files. */
function checkExports({ exports }: FileConfig, report: Report): void {
  const seen = new Set<string>()
  exports.forEach(({ name, url, endpoint, access_key_id: id, secret_access_key: secret }, index) => {
    const path = ['exports', index]
    for (const [setting, value, key] of [
      ['name', name, `name ${name}`],
      ['url', url, `${endpoint} ${url}`],
    ] as const) {
      if (seen.has(key)) report([...path, setting], `found ${JSON.stringify(value)} a second time, allowed: once`)
      seen.add(key)
    }
    if ((id === undefined) !== (secret === undefined)) {
      const given = id === undefined ? 'secret_access_key' : 'access_key_id'
      report([...path, given], 'found one of access_key_id and secret_access_key, allowed: both or none')
    }
    if (url.startsWith('file:') && (endpoint ?? id) !== undefined) {
      const given = endpoint === undefined ? 'access_key_id' : 'endpoint'
      report([...path, given], 'found beside a file:// address, allowed: only with s3://')
    }
  })
}

/** The checks of providers and models alone. */
export function checkUpstreams(checked: CheckedUpstreams, report: Report): void {
  for (const [name, provider] of Object.entries(checked.config.providers)) {
    checkProvider({ name, provider, builtIn: checked.builtInProviders }, report)
  }
  checkModels(checked, report)
}

interface NamedProvider {
  readonly name: string
  readonly provider: ProviderConfig
  readonly builtIn: readonly string[]
}

function checkProvider({ name, provider, builtIn }: NamedProvider, report: Report): void {
  const path = ['providers', name]
  const { kind, protocol, base_url, api_key, api_keys } = provider
  if (api_key !== undefined && api_keys !== undefined) {
    report([...path, 'api_keys'], 'found beside api_key, allowed: one of the two')
  }
  if (kind !== undefined && !builtIn.includes(kind)) {
    report([...path, 'kind'], `found ${JSON.stringify(kind)}, allowed: ${suggestion(kind, builtIn)}`)
    return
  }
  if (kind !== undefined || builtIn.includes(name) || protocol === 'simulator') return
  const missing = [protocol === undefined ? 'protocol' : '', base_url === undefined ? 'base_url' : '']
  const names = missing.filter((part) => part !== '').join(' and ')
  if (names === '') return
  const meant = didYouMean(name, builtIn)
  const hint = meant === undefined ? '' : ` (did you mean ${JSON.stringify(meant)}?)`
  report(
    path,
    `found a provider that is not built in, without ${names}${hint}; it needs both, or the kind of a built-in one`,
  )
}

function checkModels({ config, builtInProviders }: CheckedUpstreams, report: Report): void {
  const known = new Set([...Object.keys(config.providers), ...builtInProviders])
  const names = new Set<string>()
  config.models.forEach((model, index) => {
    const ids: [SettingPath, string][] = [[['id'], model.id]]
    for (const [place, alias] of model.aliases?.entries() ?? []) ids.push([['aliases', place], alias])
    for (const [path, id] of ids) {
      if (names.has(id)) report(['models', index, ...path], `found ${JSON.stringify(id)} a second time, allowed: once`)
      names.add(id)
    }
    model.deployments?.forEach(({ provider }, place) => {
      if (known.has(provider)) return
      const text = `found ${JSON.stringify(provider)}, which is neither configured nor built in; allowed: ${suggestion(provider, known)}`
      report(['models', index, 'deployments', place, 'provider'], text)
    })
  })
}

function checkAccounts({ accounts, plans }: FileConfig, report: Report): void {
  const known = [...new Set([...Object.keys(BUILT_IN_PLANS), ...Object.keys(plans)])]
  if (known.includes(accounts.default_plan)) return
  report(['accounts', 'default_plan'], `found ${JSON.stringify(accounts.default_plan)}, allowed: ${known.join(', ')}`)
}

/** Paths below `/auth/` of other routes. */
const RESERVED_SLUGS: ReadonlySet<string> = new Set(['session', 'sign-out', 'link'])

function checkAuth({ auth }: FileConfig, report: Report): void {
  const slugs = auth.providers.map(({ kind, name }) => slugOf(name) || kind)
  auth.providers.forEach(({ kind, name, issuer, allowed_domains: domains }, index) => {
    const path = ['auth', 'providers', index]
    if (kind === 'oidc' && issuer === undefined) {
      report([...path, 'issuer'], 'found nothing, but it is required with the kind oidc')
    }
    if (issuer?.startsWith('http:') && !isLoopbackUrl(new URL(issuer))) {
      report([...path, 'issuer'], 'found an address that is not https://, allowed: only on loopback')
    }
    if (domains.length === 0 && isPublicIssuer({ kind, issuer })) {
      const text = `found nothing, but anyone can create an account at ${name}; allowed: domains, or "*" for everyone who is invited`
      report([...path, 'allowed_domains'], text)
    }
    const slug = slugs[index] ?? ''
    if (slugs.indexOf(slug) === index && !RESERVED_SLUGS.has(slug)) return
    const text = `found ${JSON.stringify(name)}, whose redirect URI would be /auth/${slug}/callback, as another's; allowed: a name of its own`
    report([...path, 'name'], text)
  })
  const ids = auth.clients.map(({ id }) => id)
  ids.forEach((id, index) => {
    if (ids.indexOf(id) === index) return
    report(['auth', 'clients', index, 'id'], `found ${JSON.stringify(id)} a second time, allowed: once`)
  })
}

function checkAgents({ agents }: FileConfig, report: Report): void {
  if (agents.allow_local_git || agents.git_url.startsWith('https:')) return
  report(
    ['agents', 'git_url'],
    'found an address that is not https://, allowed: only with agents.allow_local_git: true',
  )
}

function suggestion(word: string, known: Iterable<string>): string {
  const names = [...known]
  const meant = didYouMean(word, names)
  return meant === undefined ? names.join(', ') : `a known name; did you mean ${JSON.stringify(meant)}?`
}

/* Identity providers where anyone can create an account: having one proves nothing. */

const PUBLIC_HOSTS: ReadonlySet<string> = new Set([
  'accounts.google.com',
  'appleid.apple.com',
  'discord.com',
  'github.com',
  'gitlab.com',
  'www.facebook.com',
  'www.linkedin.com',
])
/** Microsoft's issuers that belong to no single organization; the last one is for personal accounts. */
const MICROSOFT_HOST = 'login.microsoftonline.com'
const SHARED_TENANTS: ReadonlySet<string> = new Set([
  'common',
  'organizations',
  'consumers',
  '9188040d-6c67-4c5b-b112-36a304b66dad',
])

/** @param issuer As the configuration has it; undefined: github.com, for the kind `github`. */
function isPublicIssuer({ kind, issuer }: { readonly kind: string; readonly issuer?: string | undefined }) {
  if (issuer === undefined) return kind === 'github'
  if (!URL.canParse(issuer)) return false
  const { hostname, pathname } = new URL(issuer)
  if (hostname === MICROSOFT_HOST) return SHARED_TENANTS.has(pathname.split('/')[1]?.toLowerCase() ?? '')
  return PUBLIC_HOSTS.has(hostname)
}
