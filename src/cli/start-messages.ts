/**
 * What a start prints: the banner, with addresses, providers, files, and how to sign in, reload and stop; or why it
 * failed.
 */
import type { ProviderSummary } from '../app/providers.ts'
import type { Config } from '../config/schema.ts'
import { DatabaseError } from '../db/failure.ts'
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

/* Explains why a start failed, what to do, and which setting to change. */

type Settings = Pick<Config, 'data_dir'> & { readonly server: Pick<Config['server'], 'host' | 'port'> }

/** Adds advice to errors with a known cause; the original error becomes the cause. */
export function explainStartError(error: unknown, { data_dir: folder, server: { host, port } }: Settings): unknown {
  const message = error instanceof Error ? error.message : String(error)
  if (/^The database .* cannot be (?:opened|used):/s.test(message))
    return new Error(`${message.replace(/\.$/, '')}. ${databaseAdvice(error)}`, { cause: error })
  const wanted = portOf(error) ?? port
  const setting = wanted === port ? 'PORT' : 'server.metrics_port'
  const advice = adviceFor(codeOf(error), { folder, host, port: wanted, setting })
  return advice === undefined ? error : new Error(advice, { cause: error })
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

function portOf(error: unknown): number | undefined {
  return error instanceof Error && 'port' in error ? Number(error.port) : undefined
}

function databaseAdvice(error: unknown): string {
  const causes = causesOf(error)
  const state = causes.find((cause) => cause instanceof DatabaseError)?.sqlState ?? ''
  const text = causes.map(({ message }) => message).join(' ')
  if (/not a database/.test(text)) return 'Restore a backup, or move the file away to start with an empty database.'
  if (/database is locked/.test(text)) return 'Another program holds a lock on it: stop that program.'
  if (state.startsWith('28')) return 'Set the correct user and password in DATABASE_URL.'
  if (state === '3D000') return 'Create the database, or set another one in DATABASE_URL.'
  if (/ENOTFOUND|EAI_AGAIN/.test(text)) return 'Host not found: check DATABASE_URL.'
  if (/ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|timeout|terminated/i.test(text)) return UNREACHABLE
  return "Run 'turnpike doctor' for details."
}

const UNREACHABLE = 'Check that the server runs and is reachable, and that DATABASE_URL is correct.'

function causesOf(error: unknown): readonly Error[] {
  const causes: Error[] = []
  for (let cause = error; cause instanceof Error && causes.length < 10; cause = cause.cause) causes.push(cause)
  return causes
}

interface Facts {
  readonly folder: string
  readonly host: string
  readonly port: number
  /** The setting of the port. */
  readonly setting: string
}

function adviceFor(code: string, { folder, host, port, setting }: Facts): string | undefined {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} of ${host} is in use. Stop that program, or set ${setting} to another port.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${host} is not an address of this machine. Set HOST to one of its addresses, or to 0.0.0.0 for all.`
    case 'EACCES':
      return port > 0 && port < 1024
        ? `Port ${port} requires privileges that this user does not have. Set ${setting} to a port above 1023.`
        : `The data directory ${folder} is not writable. Change its owner, or set TURNPIKE_DATA_DIR.`
    case 'ENOENT':
    case 'EPERM':
    case 'EROFS':
      return `The data directory ${folder} is not writable. Change its owner, or set TURNPIKE_DATA_DIR.`
    case 'ENOSPC':
      return `The disk of the data directory ${folder} is full. Free disk space, or set TURNPIKE_DATA_DIR.`
    case 'EEXIST':
    case 'ENOTDIR':
      return `The data directory ${folder} is not a folder. Move that file away, or set TURNPIKE_DATA_DIR.`
    default:
      return undefined
  }
}
