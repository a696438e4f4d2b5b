/** The banner of every start: addresses, providers, files, and how to sign in, reload and stop. */
import type { ProviderSummary } from '../app/provider-list.ts'
import type { Config } from '../config/schema.ts'
import { databaseFile } from '../db/open.ts'
import { signInUrl } from '../features/accounts/bootstrap.ts'
import { invocation } from './invocation.ts'

export interface BannerFacts {
  readonly config: Pick<Config, 'file' | 'data_dir' | 'database_url' | 'auth'>
  /** Public address without trailing slash. */
  readonly url: string
  readonly providers: ProviderSummary
  readonly pid: number
  /** The key and the token of the sign-in link, on the first start of an installation. */
  readonly first: { readonly secret: string; readonly token: string } | undefined
}

export function bannerText({ config, url, providers, pid, first }: BannerFacts): string {
  const rows = [
    ['API', `${url}/v1`],
    ['Dashboard', `${url}/app/`],
    ['Providers', foundText(providers)],
    ...providers.refused.map(({ name, reason }) => ['', `refused: ${name} (${reason})`] as const),
    ['Configuration', config.file ?? 'no file; the environment and what the dashboard stores'],
    ['Database', databaseText(config)],
    ['Sign in', signInText(config, first !== undefined)],
    ['Reload', `${invocation()} reload`],
    ['Stop', `Ctrl-C, or kill -TERM ${pid}`],
  ] as const
  const lines = rows.map(([name, value]) => `    ${name.padEnd(15)}${value}\n`).join('')
  const head = `\n  Turnpike is running at ${url}\n\n${lines}\n`
  return first === undefined ? head : head + firstStartText(url, first)
}

function foundText({ found }: ProviderSummary): string {
  if (found.length > 0) return found.join(', ')
  return 'none: add one in the dashboard, or set a key such as OPENAI_API_KEY. The simulator answers meanwhile'
}

function databaseText({ database_url: url, data_dir: folder }: BannerFacts['config']): string {
  if (url === undefined) return `SQLite, ${databaseFile(folder)}`
  const { host = '', pathname = '' } = URL.parse(url) ?? {}
  return `PostgreSQL, ${host}${pathname}`
}

function signInText({ auth }: BannerFacts['config'], isFirst: boolean): string {
  if (isFirst) return 'with the link below'
  const command = `${invocation()} login-link prints a one-time link for the owner`
  return auth.providers.length === 0 ? command : `in the dashboard, with ${names(auth.providers)}; ${command}`
}

function names(providers: readonly { readonly name: string }[]): string {
  return providers.map(({ name }) => name).join(', ')
}

function firstStartText(url: string, { secret, token }: NonNullable<BannerFacts['first']>): string {
  return `  Your API key, shown only once:

    ${secret}

  A first request, ready to paste:

    curl ${url}/v1/chat/completions \\
      -H "Authorization: Bearer ${secret}" \\
      -H "Content-Type: application/json" \\
      -d '{"model": "turnpike-simulator", "messages": [{"role": "user", "content": "Hello!"}]}'

  Dashboard, with a one-time sign-in link valid for 15 minutes:

    ${signInUrl(url, token)}

`
}
