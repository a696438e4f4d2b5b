/**
 * Resolves a repository's name to an address that git can connect to. The name is the account's, the template the operator's.
 * The name is checked before it is inserted; the address is checked before git starts, and git receives it, so that it
 * cannot resolve the name to another one.
 */
import { isIP } from 'node:net'
import { fileURLToPath } from 'node:url'
import { GatewayError } from '../../domain/errors.ts'
import { isWithinReach, reachOf } from '../../lib/ip-address.ts'
import { checkTarget, type ResolveAddresses, usualResolver } from '../../net/guarded-agent.ts'
import { GitError } from './error.ts'

export interface AddressRule {
  /** Also admits `file://`, and `http://` on private addresses. */
  readonly allowLocalGit: boolean
  /** Default: the name servers of this machine. */
  readonly resolve?: ResolveAddresses
}

export interface RepositoryAddress {
  readonly url: string
  readonly transport: 'https' | 'http' | 'file'
}

/** An address with the settings that restrict git to it. */
export interface Remote extends RepositoryAddress {
  /** `name=value`, for `-c`. */
  readonly config: readonly string[]
  /** Checked addresses of the server; none for a repository of this machine. */
  readonly addresses: readonly string[]
  /** Path of a repository of this machine. */
  readonly localPath: string | undefined
}

const PLACEHOLDER = '{repository}'
const PART = '[A-Za-z0-9_](?:[A-Za-z0-9_-]|\\.(?!\\.)){0,99}'
const REPOSITORY = new RegExp(`^${PART}/${PART}$`)
const ENDINGS = /\.(?:git|lock)?(?:\/|$)/i
const RESOLUTION_TIMEOUT_MS = 10_000

/** @throws GatewayError `invalid_value` if the name is invalid, or the rule does not allow its address. */
export function repositoryUrl(template: string, repository: string, { allowLocalGit }: AddressRule): RepositoryAddress {
  if (!isRepositoryName(repository)) {
    const message = 'A repository is organisation/repository: letters, digits, "-", "_" and single dots.'
    throw new GatewayError('invalid_value', message, { param: 'repository' })
  }
  const text = cloneAddress(template, repository)
  const url = allowLocalGit && URL.parse(text)?.protocol === 'file:' ? new URL(text) : checkHttp(text, allowLocalGit)
  if (url.pathname.includes(repository) && url.search === '') return { url: url.href, transport: transportOf(url) }
  throw new GatewayError(
    'invalid_value',
    'The configured address of git repositories must have {repository} in its path.',
    {
      param: 'repository',
    },
  )
}

/** Inserts the name, unchecked. */
export function cloneAddress(template: string, repository: string): string {
  return template.replaceAll(PLACEHOLDER, repository)
}

/** Whether a text is `organisation/repository`, without characters that are special in URLs, paths and command lines. */
export function isRepositoryName(text: string): boolean {
  return REPOSITORY.test(text) && !ENDINGS.test(text)
}

function checkHttp(text: string, allowLocalGit: boolean): URL {
  return checkTarget(text, { allowPrivateNetworks: allowLocalGit, param: 'repository' })
}

function transportOf({ protocol }: URL): RepositoryAddress['transport'] {
  if (protocol === 'file:') return 'file'
  return protocol === 'http:' ? 'http' : 'https'
}

/**
 * Resolves the name once, and checks all of its addresses.
 * @throws GitError `address_refused` or `unreachable`.
 */
export async function remoteAt(address: RepositoryAddress, rule: AddressRule): Promise<Remote> {
  const url = new URL(address.url)
  if (address.transport === 'file') {
    if (!rule.allowLocalGit) throw refused('a repository of this machine')
    return { ...address, config: [], addresses: [], localPath: fileURLToPath(url) }
  }
  const reach = reachOf(url, { allowPrivateNetworks: rule.allowLocalGit })
  const hostname = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const addresses = isIP(hostname) === 0 ? await addressesOf(hostname, rule) : [hostname]
  if (reach === undefined || !addresses.every((each) => isWithinReach(each, reach))) throw refused(hostname)
  const port = url.port === '' ? (url.protocol === 'https:' ? '443' : '80') : url.port
  const fixed = `http.curloptResolve=${hostname}:${port}:${addresses.map(inBrackets).join(',')}`
  return { ...address, addresses, config: isIP(hostname) === 0 ? [fixed] : [], localPath: undefined }
}

function inBrackets(address: string): string {
  return isIP(address) === 6 ? `[${address}]` : address
}

async function addressesOf(hostname: string, { allowLocalGit, resolve }: AddressRule): Promise<readonly string[]> {
  const lookUp = resolve ?? usualResolver({ allowPrivateNetworks: allowLocalGit })
  const late = Promise.withResolvers<readonly string[]>()
  const timer = setTimeout(late.resolve, RESOLUTION_TIMEOUT_MS, [])
  try {
    const found = await Promise.race([lookUp(hostname).catch(() => []), late.promise])
    if (found.length > 0) return found
  } finally {
    clearTimeout(timer)
  }
  throw new GitError({ code: 'repository_unavailable', reason: 'unreachable', detail: `${hostname} has no address` })
}

function refused(what: string): GitError {
  return new GitError({ code: 'repository_unavailable', reason: 'address_refused', detail: what })
}
