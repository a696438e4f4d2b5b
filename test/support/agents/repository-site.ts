/**
 * GitHub Enterprise and GitLab on loopback: real git over HTTP, and the endpoints of pull requests after their API references
 * (https://docs.github.com/rest/pulls/pulls, https://docs.gitlab.com/api/merge_requests, read 2026-11-28).
 */
import { mkdtempSync, rmSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { createBareRepository, gitIn, type TreeFile } from './git-repositories.ts'
import { startGitServer } from './git-server.ts'

export type Provider = 'github' | 'gitlab'

export interface Pull {
  readonly number: number
  readonly head: string
  readonly base: string
  readonly title: string
  readonly body: string
  readonly draft: boolean
  isOpen: boolean
  /** It comes from a fork, whose branch has the same name. */
  readonly isOfFork: boolean
}

export interface SiteAnswer {
  readonly status: number
  readonly body?: unknown
}

export interface RepositorySite {
  readonly url: string
  /** Of the bare repository. */
  readonly origin: string
  /** Of git, and of the API; it may be replaced. */
  token: string
  readonly pulls: Pull[]
  /** `GET /api/v3/repos/acme/tools/pulls?…` */
  readonly asked: string[]
  /** Instead of the usual answer to the next requests that create a pull request. */
  readonly next: SiteAnswer[]
  /** Called before one is created. */
  before: () => void
  pageOf(pull: Pull): string
}

export const SITE_REPOSITORY = 'acme/tools'
const [OWNER] = SITE_REPOSITORY.split('/')

export async function startRepositorySite(
  t: Pick<TestContext, 'after'>,
  provider: Provider,
  files: readonly TreeFile[] = [{ path: 'README.md', content: '# Tools\n' }],
): Promise<RepositorySite> {
  const root = mkdtempSync(join(tmpdir(), 'repository-site-'))
  const origin = createBareRepository(root, SITE_REPOSITORY, { commits: [files] })
  const options = { root, token: 'canary-token-of-git' }
  const api = provider === 'github' ? github : gitlab
  const server = await startGitServer({
    ...options,
    api: (request, response) => void answer(request, response, site, api),
  })
  const path = provider === 'github' ? 'pull' : '-/merge_requests'
  const site: RepositorySite = {
    ...{ url: server.url, origin, token: options.token, pulls: [], asked: [], next: [], before: () => undefined },
    pageOf: ({ number }) => `${server.url}/${SITE_REPOSITORY}/${path}/${number}`,
  }
  t.after(async () => {
    await server.close()
    rmSync(root, { recursive: true, force: true })
  })
  return site
}

interface Call {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  // biome-ignore lint/suspicious/noExplicitAny: bodies are looked at field by field
  readonly body: any
  readonly isKnown: boolean
}
type Api = (site: RepositorySite, call: Call) => SiteAnswer

async function answer(request: IncomingMessage, response: ServerResponse, site: RepositorySite, api: Api) {
  const { method = '', url = '', headers } = request
  site.asked.push(`${method} ${url}`)
  const { pathname: path, searchParams: query } = new URL(url, 'http://site')
  const body = method === 'POST' ? await json(request) : undefined
  if (method === 'POST') site.before()
  const usual = () =>
    api(site, { method, path, query, body, isKnown: headers.authorization === `Bearer ${site.token}` })
  const given = (method === 'POST' ? site.next.shift() : undefined) ?? usual()
  response.writeHead(given.status, { 'content-type': 'application/json; charset=utf-8' })
  response.end(given.body === undefined ? '' : JSON.stringify(given.body))
}

/** Commits of the branch that the base does not have; undefined: one of them does not exist. */
function commitsBetween({ origin }: RepositorySite, base: string, head: string): number | undefined {
  try {
    return Number(gitIn(origin, ['rev-list', '--count', `refs/heads/${base}..refs/heads/${head}`]))
  } catch {
    return undefined
  }
}

function openOf({ pulls }: RepositorySite, branch: string | null, isOfFork?: boolean): readonly Pull[] {
  return pulls.filter((pull) => pull.isOpen && pull.head === branch && (isOfFork === undefined || !pull.isOfFork))
}

function add({ pulls }: RepositorySite, pull: Omit<Pull, 'number' | 'isOpen' | 'isOfFork'>): Pull {
  const made = { ...pull, number: pulls.length + 1, isOpen: true, isOfFork: false }
  pulls.push(made)
  return made
}

function github(site: RepositorySite, { method, path, query, body, isKnown }: Call): SiteAnswer {
  const failed = (status: number, message: string, errors?: readonly object[]) => {
    return { status, body: { message, ...(errors && { errors }), documentation_url: 'https://docs.github.com/rest' } }
  }
  const invalid = (error: object) => failed(422, 'Validation Failed', [{ resource: 'PullRequest', ...error }])
  if (!isKnown) return failed(401, 'Bad credentials')
  const repository = `/api/v3/repos/${SITE_REPOSITORY}`
  if (path === repository) return { status: 200, body: { id: 1, full_name: SITE_REPOSITORY, default_branch: 'main' } }
  if (path !== `${repository}/pulls`) return failed(404, 'Not Found')
  const view = (pull: Pull) => ({
    ...{ html_url: site.pageOf(pull), number: pull.number, state: 'open', title: pull.title, draft: pull.draft },
    head: { ref: pull.head, repo: { id: pull.isOfFork ? 2 : 1 } },
    base: { ref: pull.base, repo: { id: 1 } },
  })
  if (method === 'GET') {
    const [owner, branch = null] = (query.get('head') ?? '').split(':')
    const isAsked = owner === OWNER && query.get('state') === 'open'
    return { status: 200, body: isAsked ? openOf(site, branch).map(view) : [] }
  }
  const { head, base, title, body: text, draft } = body
  const commits = commitsBetween(site, base, head)
  if (commits === undefined) return invalid({ field: 'base', code: 'invalid' })
  const said =
    commits === 0 ? `No commits between ${base} and ${head}` : `A pull request already exists for ${OWNER}:${head}.`
  if (commits === 0 || openOf(site, head, false).length > 0) return invalid({ code: 'custom', message: said })
  return { status: 201, body: view(add(site, { head, base, title, body: text, draft })) }
}

function gitlab(site: RepositorySite, { method, path, query, body, isKnown }: Call): SiteAnswer {
  if (!isKnown) return { status: 401, body: { message: '401 Unauthorized' } }
  const project = `/api/v4/projects/${encodeURIComponent(SITE_REPOSITORY)}`
  if (path === project) return { status: 200, body: { id: 1, default_branch: 'main' } }
  if (path !== `${project}/merge_requests`) return { status: 404, body: { message: '404 Project Not Found' } }
  const view = (pull: Pull) => ({
    ...{ iid: pull.number, web_url: site.pageOf(pull), state: 'opened', title: pull.title, description: pull.body },
    ...{ source_branch: pull.head, target_branch: pull.base },
    ...{ source_project_id: pull.isOfFork ? 2 : 1, target_project_id: 1 },
  })
  if (method === 'GET') {
    const isAsked = query.get('state') === 'opened'
    return { status: 200, body: isAsked ? openOf(site, query.get('source_branch')).map(view) : [] }
  }
  const { source_branch: head, target_branch: base, title, description } = body
  if (commitsBetween(site, base, head) === undefined) {
    return { status: 422, body: { message: { base: ['Target branch does not exist'] } } }
  }
  const [known] = openOf(site, head, false)
  if (known !== undefined) {
    const said = `Another open merge request already exists for this source branch: !${known.number}`
    return { status: 409, body: { message: [said] } }
  }
  const draft = /^Draft: /.test(title)
  return { status: 201, body: view(add(site, { head, base, title, body: description, draft })) }
}
