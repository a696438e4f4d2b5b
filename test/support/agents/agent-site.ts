/** Agents from outside: a gateway with a git server and a repository whose test fails, and a customer who asks for work. */
import assert from 'node:assert/strict'
import { globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pauseAfter, send } from '../client.ts'
import { type Gateway, type GatewayOptions, makeFirstAccount, startGateway } from '../gateway.ts'
import { createBareRepository, gitIn, type TreeFile } from './git-repositories.ts'
import { type GitServer, type GitServerOptions, startGitServer } from './git-server.ts'

export const REPOSITORY = 'acme/adder'
export const GIT_TOKEN = 'git-token-of-the-operator'
const WITHIN_MS = 240_000
/** An agent takes longer than most that tests wait for. */
const FIRST_PAUSE_MS = 250

/** A small program with a test, which fails. */
export const ADDER: readonly TreeFile[] = [
  { path: 'README.md', content: '# Adder\n\nRun `sh test.sh`.\n' },
  { path: 'add.sh', content: '# function add\necho $(($1 - $2))\n' },
  { path: 'test.sh', content: 'test "$(sh add.sh 2 3)" = 5 && echo passed || { echo failed; exit 1; }\n' },
]

export const calls = (name: string, given: object): string => `simulate: then tool ${name} ${JSON.stringify(given)}`
export const script = (...lines: readonly string[]): string =>
  ['The test fails. Fix it.', 'simulate: pace 0', ...lines].join('\n')

/** Explores, edits, runs the test, which still fails, mends it, finishes. */
export const FIX = script(
  calls('view', {}),
  calls('search', { pattern: 'function add' }),
  calls('view', { path: 'add.sh' }),
  calls('edit', { path: 'add.sh', old: '$1 - $2', new: '$1 * $2' }),
  calls('shell', { command: 'sh test.sh' }),
  calls('edit', { path: 'add.sh', old: '$1 * $2', new: '$1 + $2' }),
  calls('shell', { command: 'sh test.sh' }),
  calls('finish', { summary: 'add.sh subtracted. Now it adds, and the test passes.' }),
)
/** The same without detours. */
export const QUICK_FIX = script(
  calls('edit', { path: 'add.sh', old: '$1 - $2', new: '$1 + $2' }),
  calls('finish', { summary: 'Now it adds.' }),
)

// biome-ignore lint/suspicious/noExplicitAny: answers are looked at field by field
type Body = any

export interface AgentSite {
  readonly gateway: Gateway
  /** Of the bare repository. */
  readonly origin: string
  readonly server: GitServer
  /** Another process on the same data, or the same one again. */
  start(options?: GatewayOptions): Promise<Gateway>
  close(): Promise<void>
}

export interface SiteOptions extends GatewayOptions {
  /** The account that the credential is bound to is made first. */
  readonly withoutCredential?: boolean
  readonly agents?: object
  readonly over?: object
  /** Of the git server, below `/api/`. */
  readonly api?: GitServerOptions['api']
}

/** The credential is bound to the first account, which is made before the start. */
export async function startAgentSite(options: SiteOptions = {}): Promise<AgentSite> {
  const folder = mkdtempSync(join(tmpdir(), 'agent-site-'))
  const root = join(folder, 'repositories')
  const origin = createBareRepository(root, REPOSITORY, { commits: [ADDER] })
  const server = await startGitServer({ root, token: GIT_TOKEN, ...(options.api && { api: options.api }) })
  const dataDir = join(folder, 'data')
  const config = (accounts: readonly string[]): object => ({
    webhooks: { allow_private_networks: true },
    plans: { wide: { requests_per_minute: 1_000_000, max_in_flight: 5_000, billing: 'postpaid' } },
    accounts: { default_plan: 'wide' },
    agents: {
      git_url: `${server.url}/{repository}.git`,
      allow_local_git: true,
      model: 'turnpike-simulator',
      git_credentials: [{ accounts, repositories: ['acme/*'], token: GIT_TOKEN }],
      ...options.agents,
    },
    ...options.over,
  })
  const accountId = await makeFirstAccount(dataDir, config(['acc_nobody']))
  const start = (more: GatewayOptions = {}): Promise<Gateway> =>
    startGateway({ config: config([accountId]), dataDir, ...more })
  return {
    gateway: await start(options),
    origin,
    server,
    start,
    async close() {
      await server.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export interface Employer {
  readonly key: string
  ask(method: string, path: string, body?: object): Promise<Body>
  create(prompt: string, more?: object): Promise<Body>
  agent(id: string): Promise<Body>
  /** As soon as it has one of these statuses. */
  until(id: string, ...statuses: readonly string[]): Promise<Body>
  runs(id: string): Promise<readonly Body[]>
  messages(id: string): Promise<readonly Body[]>
  /** All of them, when the agent has ended. */
  events(id: string, lastEventId?: number): Promise<readonly Body[]>
  /** Whether a call of a model has left and not ended. One that is held for and has not left is not charged. */
  asks(): Promise<boolean>
}

export const ENDED = ['completed', 'failed', 'cancelled'] as const

export function employerAt(gateway: () => Gateway, key: string): Employer {
  const ask: Employer['ask'] = async (method, path, body) => {
    const answer = await send(gateway(), path, { key, method, fresh: true, ...(body === undefined ? {} : { body }) })
    assert.ok(answer.status < 400, `${method} ${path}: ${answer.status} ${answer.text}`)
    return answer.headers['content-type']?.startsWith('application/json') ? JSON.parse(answer.text) : answer.text
  }
  const agent = (id: string): Promise<Body> => ask('GET', `/v1/agents/${id}`)
  const listed = async (path: string): Promise<readonly Body[]> =>
    (await ask('GET', `${path}?limit=100&order=asc`)).data
  return {
    key,
    ask,
    create: (prompt, more = {}) =>
      ask('POST', '/v1/agents', { name: 'Fix it', repository: REPOSITORY, prompt, ...more }),
    agent,
    async until(id, ...statuses) {
      const begunAt = performance.now()
      for (;;) {
        const found = await agent(id)
        if (statuses.includes(found.status)) return found
        const waitedMs = performance.now() - begunAt
        assert.ok(
          waitedMs < WITHIN_MS,
          `${id} does not become ${statuses}: ${JSON.stringify(found)}\n${gateway().output()}`,
        )
        await sleep(Math.max(FIRST_PAUSE_MS, pauseAfter(waitedMs)))
      }
    },
    runs: (id) => listed(`/v1/agents/${id}/runs`),
    messages: (id) => listed(`/v1/agents/${id}/messages`),
    async events(id, lastEventId) {
      const headers = lastEventId === undefined ? {} : { 'last-event-id': String(lastEventId) }
      const { text } = await send(gateway(), `/v1/agents/${id}/events`, { key, headers })
      return [...text.matchAll(/^data: (\{.*\})$/gm)]
        .map(([, data = '']) => JSON.parse(data))
        .filter(({ sequence }) => sequence !== undefined)
    },
    async asks() {
      const left = callsThatLeft(gateway().dataDir)
      const ended = new Set((await ask('GET', '/v1/usage/completions?limit=100')).data.map(({ id }: Body) => id))
      return left.some((id) => !ended.has(id))
    },
  }
}

/** Ids of the completions that the spools say left for a provider. */
function callsThatLeft(dataDir: string): readonly string[] {
  return globSync(join(dataDir, 'spool', '*', 'dispatched*')).flatMap((log) => {
    try {
      return [...readFileSync(log, 'utf8').matchAll(/\["D","([^"]+)"\]/g)].map(([, id = '']) => id)
    } catch {
      return [] // deleted meanwhile
    }
  })
}

/** A file as it is at the branch of an agent; undefined: there is no such branch. */
export function pushedFile(origin: string, branch: string, path: string): string | undefined {
  const ref = gitIn(origin, ['for-each-ref', '--format=%(objectname)', `refs/heads/${branch}`]).trim()
  return ref === '' ? undefined : gitIn(origin, ['cat-file', 'blob', `${ref}:${path}`])
}
