/**
 * GitHub and GitLab as the sites of repositories: the page of a branch, and pull requests over their REST APIs. Every
 * connection is guarded as those of git are. Knows no agent; errors repeat what the site says, without the token.
 */
import type { Dispatcher } from 'undici'
import { GatewayError } from '../../domain/errors.ts'
import { isRecord, type Json, parseJson, textOf } from '../../lib/json.ts'
import { createGuardedAgent, readBounded } from '../../net/guarded-agent.ts'
import { plainText, withoutSecrets } from './error.ts'
import { type GitCredential, secretsOf } from './settings.ts'

/** As in the configuration, `agents.git_provider`. */
export type HostProvider = 'github' | 'gitlab'

export interface RepositoryHost {
  readonly provider: HostProvider
  /** Host name with its port, for messages. */
  readonly name: string
  /** Page of the repository. */
  readonly page: string
  /** Address of the repository in the API. */
  readonly api: string
  /** First part of the repository's path. */
  readonly owner: string
}

/**
 * @param address Clone address of the repository.
 * @param configured What its host is; undefined: its name says so.
 * @returns Undefined when the host is neither, or the path is none of a repository there.
 */
export function repositoryHost(address: string, configured: HostProvider | undefined): RepositoryHost | undefined {
  const url = URL.parse(address)
  if (url === null || !/^https?:$/.test(url.protocol)) return undefined
  const provider = configured ?? providerNamed(url.hostname)
  const path = url.pathname.replace(/^\//, '').replace(/(?:\.git)?\/?$/, '')
  const parts = path.split('/')
  if (provider === undefined || (provider === 'github' && parts.length !== 2)) return undefined
  const api = provider === 'github' ? `${githubApi(url)}/repos/${path}` : `${gitlabApi(url)}/${projectId(path)}`
  return { provider, name: url.host, page: `${url.origin}/${path}`, api, owner: parts[0] ?? '' }
}

function providerNamed(hostname: string): HostProvider | undefined {
  if (hostname.startsWith('github.') || hostname.endsWith('.ghe.com')) return 'github'
  return hostname.startsWith('gitlab.') ? 'gitlab' : undefined
}

/** The API of github.com and of its tenants has a host of its own, an Enterprise server has it below `/api/v3`. */
function githubApi({ hostname, origin }: URL): string {
  const isCloud = hostname === 'github.com' || hostname.endsWith('.ghe.com')
  return isCloud ? `https://api.${hostname}` : `${origin}/api/v3`
}

function gitlabApi({ origin }: URL): string {
  return `${origin}/api/v4/projects`
}

function projectId(path: string): string {
  return encodeURIComponent(decodeURIComponent(path))
}

export function branchPage({ provider, page }: RepositoryHost, branch: string): string {
  return `${page}/${provider === 'gitlab' ? '-/tree' : 'tree'}/${branch}`
}

export interface PullRequest {
  readonly url: string
  readonly number: number
  readonly base: string
  readonly head: string
}

export interface PullRequestOrder {
  readonly head: string
  /** Undefined: the repository's default branch. */
  readonly base: string | undefined
  readonly title: string
  readonly body: string
  readonly isDraft: boolean
}

interface HostAccess {
  readonly credential: GitCredential
  readonly allowPrivateNetworks: boolean
}

interface Session {
  readonly host: RepositoryHost
  readonly credential: GitCredential
  readonly dispatcher: Dispatcher
}

export interface OpenedPullRequest {
  readonly pullRequest: PullRequest
  /** False: it was open already. */
  readonly isNew: boolean
}

/** Opens a pull request unless one is open for the branch. Rejects with 422 when the host refuses, 503 when it fails. */
export async function openPullRequest(
  host: RepositoryHost,
  order: PullRequestOrder,
  { credential, allowPrivateNetworks }: HostAccess,
): Promise<OpenedPullRequest> {
  const dispatcher = createGuardedAgent({ allowPrivateNetworks })
  const session = { host, credential, dispatcher }
  try {
    const known = await findOpen(session, order.head)
    if (known !== undefined) return { pullRequest: known, isNew: false }
    const base = order.base ?? (await defaultBranch(session))
    const answer = await call(session, 'POST', DIALECTS[host.provider].list, creation(host, { ...order, base }))
    if (answer.status === 201) return { pullRequest: readPullRequest(session.host, answer.json), isNew: true }
    // Another request may have opened it in the meantime.
    const other = CONFLICTS.has(answer.status) ? await findOpen(session, order.head) : undefined
    if (other === undefined) throw refusal(session, answer)
    return { pullRequest: other, isNew: false }
  } finally {
    await dispatcher.destroy()
  }
}

const CONFLICTS: ReadonlySet<number> = new Set([409, 422])

/** https://docs.github.com/rest/pulls/pulls, https://docs.gitlab.com/api/merge_requests. */
const DIALECTS = {
  github: {
    list: '/pulls',
    search: ({ owner }: RepositoryHost, head: string) => ({ head: `${owner}:${head}`, state: 'open' }),
    isOfBranch: ({ head, base }: Json) => idOfRepository(head) === idOfRepository(base),
    read: ({ html_url: url, number, base, head }: Json) => ({ url, number, base: refOf(base), head: refOf(head) }),
    right: "the permission 'Pull requests: write'",
  },
  gitlab: {
    list: '/merge_requests',
    search: (_host: RepositoryHost, head: string) => ({ source_branch: head, state: 'opened' }),
    // Forks may have a branch of the same name.
    isOfBranch: ({ source_project_id: source, target_project_id: target }: Json) => source === target,
    read: ({ web_url: url, iid: number, target_branch: base, source_branch: head }: Json) => {
      return { url, number, base, head }
    },
    right: "the scope 'api' and the role Developer",
  },
} as const

function idOfRepository(end: unknown): unknown {
  return isRecord(end) && isRecord(end['repo']) ? end['repo']['id'] : undefined
}

function refOf(end: unknown): unknown {
  return isRecord(end) ? end['ref'] : undefined
}

function creation({ provider }: RepositoryHost, { head, base, title, body, isDraft }: PullRequestOrder): object {
  if (provider === 'github') return { head, base, title, body, draft: isDraft }
  const named = isDraft ? `Draft: ${title}` : title
  return { source_branch: head, target_branch: base, title: named, description: body }
}

async function findOpen(session: Session, head: string): Promise<PullRequest | undefined> {
  const { list, search, isOfBranch } = DIALECTS[session.host.provider]
  const query = new URLSearchParams(search(session.host, head))
  const answer = await call(session, 'GET', `${list}?${query}`)
  if (answer.status !== 200) throw refusal(session, answer)
  if (!Array.isArray(answer.json)) throw unreadable(session.host)
  const own = answer.json.find((item) => isRecord(item) && isOfBranch(item))
  return own === undefined ? undefined : readPullRequest(session.host, own)
}

async function defaultBranch(session: Session): Promise<string> {
  const answer = await call(session, 'GET', '')
  if (answer.status !== 200) throw refusal(session, answer)
  const name = isRecord(answer.json) ? textOf(answer.json['default_branch']) : ''
  if (name === '') throw unreadable(session.host)
  return name
}

function readPullRequest(host: RepositoryHost, json: unknown): PullRequest {
  const { url, number, base, head } = DIALECTS[host.provider].read(isRecord(json) ? json : {})
  const isComplete = typeof base === 'string' && typeof head === 'string' && typeof number === 'number'
  if (!isComplete || typeof url !== 'string' || !isPage(url)) throw unreadable(host)
  return { url, number, base, head }
}

const PAGE_CHARACTERS = 2_048

/** Dashboards link to it. */
function isPage(url: string): boolean {
  return url.length <= PAGE_CHARACTERS && /^https?:$/.test(URL.parse(url)?.protocol ?? '')
}

interface HostAnswer {
  readonly status: number
  /** Undefined: no JSON. */
  readonly json: unknown
}

const CALL_TIMEOUT_MS = 10_000
const ANSWER_BYTES = 4 * 1024 * 1024

async function call(session: Session, method: 'GET' | 'POST', path: string, body?: object): Promise<HostAnswer> {
  const { host, credential, dispatcher } = session
  const { request } = await import('undici')
  try {
    const { statusCode: status, body: answer } = await request(`${host.api}${path}`, {
      method,
      dispatcher,
      signal: AbortSignal.timeout(CALL_TIMEOUT_MS),
      headers: { ...HEADERS[host.provider], authorization: `Bearer ${credential.token}` },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { status, json: parseJson(await readBounded(answer, ANSWER_BYTES)) }
  } catch (error) {
    throw unreachable(host, error)
  }
}

const JSON_HEADERS = { 'content-type': 'application/json', 'user-agent': 'turnpike' }
const HEADERS = {
  github: { ...JSON_HEADERS, accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' },
  gitlab: { ...JSON_HEADERS, accept: 'application/json' },
} as const

const RETRY_AFTER_MS = 10_000
const FAILED = { as: 'provider_error', retryAfterMs: RETRY_AFTER_MS } as const

function unreachable({ name }: RepositoryHost, cause: unknown): GatewayError {
  if (isRecord(cause) && cause['code'] === 'TARGET_REFUSED') {
    const message = `The API of ${name} is at an address that is not allowed; private ones need 'agents.allow_local_git'.`
    return new GatewayError('pull_request_refused', message, { cause })
  }
  return new GatewayError('pull_request_refused', `The API of ${name} could not be reached.`, { ...FAILED, cause })
}

function unreadable({ name }: RepositoryHost): GatewayError {
  return new GatewayError('pull_request_refused', `The API of ${name} sent an answer that is not its own.`, FAILED)
}

const REASON_CHARACTERS = 300

function refusal({ host, credential }: Session, { status, json }: HostAnswer): GatewayError {
  const { name, provider } = host
  if (status === 429 || status >= 500) {
    return new GatewayError('pull_request_refused', `The API of ${name} is unavailable (${status}).`, FAILED)
  }
  const text = plainText(reasonsIn(json).join(' ')).replaceAll(/\s+/g, ' ').trim()
  const reason = withoutSecrets(text, secretsOf(credential)).slice(0, REASON_CHARACTERS)
  const said = `${name} refused the pull request (${status})${reason === '' ? '.' : `: ${reason.replace(/[.]?$/, '.')}`}`
  return new GatewayError('pull_request_refused', `${said}${adviceFor(status, provider)}`)
}

function adviceFor(status: number, provider: HostProvider): string {
  const token = " The token in 'agents.git_credentials'"
  if (status === 401) return `${token} is invalid or has expired: the operator replaces it.`
  if (status === 403 || status === 404) return `${token} needs ${DIALECTS[provider].right} for this repository.`
  return status >= 300 && status < 400 ? ' The repository may have moved: name it as it is called now.' : ''
}

/** Nesting of error bodies that is read. */
const REASON_DEPTH = 4

/** GitHub: `message` and `errors`; GitLab: `message`, a text, texts or texts by field, or `error`. */
function reasonsIn(json: unknown, depth = REASON_DEPTH): readonly string[] {
  if (typeof json === 'string') return [json]
  const inside = (parts: readonly unknown[]) => parts.flatMap((part) => reasonsIn(part, depth - 1))
  if (depth === 0) return []
  if (Array.isArray(json)) return inside(json)
  if (!isRecord(json)) return []
  const { message, errors, error, error_description: description, field, code, ...others } = json
  const known = [message, error, description, errors].filter((part) => part !== undefined)
  if (known.length > 0) return inside(known)
  return typeof field === 'string' ? [`'${field}': ${textOf(code)}`] : inside(Object.values(others))
}
