/**
 * From a repository's name to an address that git may connect to. The name comes from an account, the template from the
 * operator; the name is checked before it is filled in, and the address that is connected to is checked before git is
 * started and fixed for it, so that no second resolution can lead elsewhere.
 */
import { promises as dns } from 'node:dns'
import { isIP } from 'node:net'
import { fileURLToPath } from 'node:url'
import { GatewayError } from '../../domain/errors.ts'
import { isWithinReach, reachOf } from '../../lib/ip-address.ts'
import { checkTarget, nameServerResolver, type ResolveAddresses } from '../../net/guarded-agent.ts'
import { GitError } from './error.ts'

export interface AddressRule {
  /** Also admits `file://`, and `http://` on private addresses. */
  readonly allowLocalGit: boolean
  /** In place of the name servers of this machine. */
  readonly resolve?: ResolveAddresses
}

export interface RepositoryAddress {
  readonly url: string
  readonly transport: 'https' | 'http' | 'file'
}

/** An address with all that git has to be told to go there and nowhere else. */
export interface Remote extends RepositoryAddress {
  /** `name=value`, for `-c`. */
  readonly config: readonly string[]
  /** Of the server, checked; none of a repository of this machine. */
  readonly addresses: readonly string[]
  /** Where a repository of this machine is. */
  readonly localPath: string | undefined
}

const PLACEHOLDER = '{repository}'
const PART = '[A-Za-z0-9_](?:[A-Za-z0-9_-]|\\.(?!\\.)){0,99}'
const REPOSITORY = new RegExp(`^${PART}/${PART}$`)
const ENDINGS = /\.(?:git|lock)?(?:\/|$)/i
const RESOLUTION_TIMEOUT_MS = 10_000

/** @throws GatewayError `invalid_value` when the name is none, or leads to what the rule does not allow. */
export function repositoryUrl(template: string, repository: string, { allowLocalGit }: AddressRule): RepositoryAddress {
  if (!isRepositoryName(repository)) {
    const message = 'A repository is organisation/repository: letters, digits, "-", "_" and single dots.'
    throw new GatewayError('invalid_value', message, { param: 'repository' })
  }
  const text = template.replaceAll(PLACEHOLDER, repository)
  const url = allowLocalGit && URL.parse(text)?.protocol === 'file:' ? new URL(text) : checkHttp(text, allowLocalGit)
  if (url.pathname.includes(repository) && url.search === '') return { url: url.href, transport: transportOf(url) }
  throw new GatewayError('invalid_value', 'The address of git repositories has its {repository} in a wrong place.', {
    param: 'repository',
  })
}

/** `organisation/repository` in letters that mean the same in a URL, on a disk and on a command line. */
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
 * Resolves the name, once, and checks every address of it.
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
  const usual = allowLocalGit ? resolveBySystem : nameServerResolver()
  const late = Promise.withResolvers<readonly string[]>()
  const timer = setTimeout(late.resolve, RESOLUTION_TIMEOUT_MS, [])
  try {
    const found = await Promise.race([(resolve ?? usual)(hostname).catch(() => []), late.promise])
    if (found.length > 0) return found
  } finally {
    clearTimeout(timer)
  }
  throw new GitError({ code: 'repository_unavailable', reason: 'unreachable', detail: `${hostname} has no address` })
}

/** Names of private networks are often in a file of the machine's, which only the system looks into. */
async function resolveBySystem(hostname: string): Promise<readonly string[]> {
  const found = await dns.lookup(hostname, { all: true })
  return found.map(({ address }) => address)
}

function refused(what: string): GitError {
  return new GitError({ code: 'repository_unavailable', reason: 'address_refused', detail: what })
}
