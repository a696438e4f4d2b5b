/** A worker of agents in this process: real git, real database, a shell for a sandbox, and a scripted model. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { RUN_LIMITS, type RunLimits, sandboxOpener, type WorkerDeps } from '../../../src/features/agents/worker/deps.ts'
import { runHandler } from '../../../src/features/agents/worker/run-job.ts'
import { gitSettings } from '../../../src/runner/git/settings.ts'
import type { ModelAnswer, ModelRequest } from '../../../src/runner/ports.ts'
import { type AgentApi, ORDER, openAgentApi } from './agents.ts'
import { gitRun, NAME } from './git-run.ts'

/** What the model does at its next call. */
export type Turn = (request: ModelRequest, signal: AbortSignal) => Promise<ModelAnswer> | ModelAnswer

let answers = 0

function toolCall(name: string, given: object): Turn {
  answers += 1
  const id = `call_${answers}`
  return () => ({
    message: {
      role: 'assistant',
      content: null,
      tool_calls: [{ id, type: 'function', function: { name, arguments: JSON.stringify(given) } }],
    },
    finishReason: 'tool_calls',
    promptTokens: 10,
    completionTokens: 5,
    costNanoUsd: 1_000n,
    completionId: `chatcmpl-${id}`,
  })
}

export const shell = (command: string): Turn => toolCall('shell', { command })
export const finish = (summary: string): Turn => toolCall('finish', { summary })

export interface AgentWorker {
  readonly api: AgentApi
  readonly deps: WorkerDeps
  /** Folder of bare repositories, and the one that agents work on. */
  readonly root: string
  readonly origin: string
  create(order?: object): Promise<{ readonly id: string; readonly branch: string }>
  /** One start of the job of its last run. Rejects as the job does. */
  work(agentId: string, start?: { readonly attempt?: number; readonly signal?: AbortSignal }): Promise<void>
  // biome-ignore lint/suspicious/noExplicitAny: answers are looked at field by field
  read(path: string): Promise<any>
}

export interface WorkerOptions {
  readonly turns?: readonly Turn[]
  readonly limits?: Partial<RunLimits>
  readonly over?: Partial<WorkerDeps>
}

export async function openWorker(
  t: TestContext,
  { turns = [], limits, over }: WorkerOptions = {},
): Promise<AgentWorker> {
  const api = await openAgentApi(t)
  const { root, origin } = gitRun(t)
  const folder = mkdtempSync(join(tmpdir(), 'agent-worker-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const left = [...turns]
  const deps: WorkerDeps = {
    ...api.deps,
    db: api.app.database.db,
    log: { warn() {}, error() {} },
    clock: () => performance.now(),
    random: () => 0,
    models: () => ({ find: () => ({ contextWindow: 128_000 }) as never, nearest: () => [] }),
    modelFor: () => async (request, signal) => {
      const turn = left.shift()
      if (turn === undefined) throw new Error('The model has nothing more to say.')
      return turn(request, signal)
    },
    openSandbox: sandboxOpener({ backend: 'none' }, 60_000),
    git: gitSettings({ allowLocalGit: true, confine: false }),
    repositories: { url: `file://${root}/{repository}.git`, credentials: [] },
    folder,
    limits: { ...RUN_LIMITS, pollMs: 20, tryAgainMs: 20, ...limits },
    leaving: new AbortController().signal,
    ...over,
  }
  return {
    api,
    deps,
    root,
    origin,
    create: (order = {}) => api.create({ ...ORDER, repository: NAME, ...order }),
    async work(agentId, { attempt = 1, signal = new AbortController().signal } = {}) {
      const { accountId, runId } = await api.claim(agentId)
      const job = { id: 'job_1', kind: 'agents.run', name: runId, payload: { accountId, agentId, runId }, attempt }
      await runHandler(deps)({ ...job, createdAt: Date.now() }, { signal, stillMine: async () => true })
    },
    read: async (path) => (await api.ask('GET', path)).body,
  }
}

type Db = WorkerDeps['db']
type Work = Parameters<ReturnType<Db['transaction']>['execute']>[0]

/** The same database, whose transactions are run by `execute`, which may do what it likes around `work`. */
export function withTransactions(db: Db, execute: (work: () => Promise<unknown>) => Promise<unknown>): Db {
  return new Proxy(db, {
    get(target, name) {
      const value = Reflect.get(target, name, target)
      if (name !== 'transaction') return typeof value === 'function' ? value.bind(target) : value
      return () => ({ execute: (work: Work) => execute(() => target.transaction().execute(work)) })
    },
  })
}
