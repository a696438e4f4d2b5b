/** Composes agents: their API and their background work. */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { secretPath } from '../config/secret.ts'
import type { OpenedDatabase } from '../db/database.ts'
import type { InstanceId } from '../domain/ids.ts'
import { agentEventsRoute } from '../features/agents/event-stream.ts'
import { deletionJobs } from '../features/agents/lifecycle.ts'
import type { RepositoryAccess } from '../features/agents/pull-request.ts'
import { type AgentsDeps, agentsRoutes, agentWorkRoutes } from '../features/agents/routes.ts'
import type { Availability } from '../features/agents/rules.ts'
import { RUN_LIMITS, type SandboxKind, sandboxOpener, type WorkerDeps } from '../features/agents/worker/deps.ts'
import {
  agentJobs,
  DISOBEYED_EVERY_MS,
  endDisobeyed,
  endOverdueRuns,
  hasOpenRuns,
  OVERDUE_EVERY_MS,
  type RunKind,
  runKind,
} from '../features/agents/worker/jobs.ts'
import { tidyWorkspaces } from '../features/agents/worker/workspace.ts'
import type { FeatureDeps, RecordEvent, WriteAudit } from '../features/deps.ts'
import { onceInTransaction } from '../features/idempotency/idempotency.ts'
import type { Gateway } from '../gateway/pipeline.ts'
import type { Authenticate, InTeam } from '../http/caller.ts'
import { createEventStreams } from '../http/event-stream.ts'
import type { JobKind } from '../jobs/job.ts'
import { nameServerResolver } from '../net/guarded-agent.ts'
import { cloneAddress } from '../runner/git/address.ts'
import { repositoryHost } from '../runner/git/repository-host.ts'
import { checkGit, testGitJail } from '../runner/git/self-test.ts'
import { credentialFor, gitSettings } from '../runner/git/settings.ts'
import { makePrivateFolder } from '../runner/sandbox/folders.ts'
import { openCgroups } from '../runner/sandbox/limits.ts'
import { selfTest } from '../runner/sandbox/self-test.ts'
import type { Log } from '../telemetry/log.ts'
import { creatorCallers, modelAsker } from './agent-model.ts'
import type { Role } from './background-work.ts'
import type { Runtime } from './runtime.ts'

export interface Agents extends AgentWork {
  /** Adds the routes below `/v1`. */
  addApiRoutes(app: FastifyInstance, deps: AgentsApiDeps): Promise<void>
  /** Ends event streams and hands over runs. */
  drain(): void
}

interface AgentsApiDeps extends FeatureDeps {
  readonly cursorKey: Uint8Array
  readonly authenticate: Authenticate
  readonly inTeam: InTeam
  readonly writeAudit: WriteAudit
  /** The ID of this process. */
  readonly instanceId: InstanceId
  /** Notifies the background work of a new job. */
  readonly wake: () => void
}

export function createAgents(input: AgentWorkInput): Agents {
  const { runtime, database, log, recordEvent } = input
  const { db } = database
  const listeners = createEventStreams()
  const work = createAgentWork(input)
  return {
    ...work,
    jobs: { ...work.jobs, ...deletionJobs({ db }) },
    async addApiRoutes(app, deps) {
      const own: AgentsDeps & AgentsApiDeps = {
        ...deps,
        recordEvent,
        availability: work.availability,
        once: onceInTransaction({ db, instanceId: deps.instanceId }),
        models: runtime.models,
        standardModel: () => runtime.config().agents.model,
        repositoryAccess: ({ account_id: accountId, repository }) => accessTo(runtime, { accountId, repository }),
        callerOfCreator: (inside, accountId, creator) =>
          creatorCallers({ db: inside, now: runtime.now })(accountId, creator),
      }
      await app.register(async (scope) => {
        // The new run is committed: start it without waiting for the next poll.
        scope.addHook('onResponse', async ({ method }) => {
          if (method === 'POST') deps.wake()
        })
        await scope.register(agentsRoutes(own))
      })
      await app.register(agentWorkRoutes(own))
      await app.register(agentEventsRoute({ ...deps, listeners, log }))
    },
    drain() {
      listeners.endAll()
      work.drain()
    },
  }
}

function accessTo(runtime: Runtime, of: { readonly accountId: string; readonly repository: string }): RepositoryAccess {
  const { git_url, git_provider, git_credentials, allow_local_git: allowPrivateNetworks } = runtime.config().agents
  const host = repositoryHost(cloneAddress(git_url, of.repository), git_provider)
  return { host, credential: credentialFor(git_credentials, of), allowPrivateNetworks }
}

/*
 * Composes the background work of agents: the sandbox test, the queue, model calls, and the cleanup of workspaces. A
 * process of role `api` does none of it.
 */

/** Delays the sandbox test, so that it does not slow the start of the service. */
const TEST_AFTER_MS = 250
/** The delay of the test if no run waits and nobody asks: its processes cost a fifth of the CPU time of a start. */
const IDLE_TEST_AFTER_MS = 10_000
const TIDY_AFTER_MS = 60_000
const TIDY_EVERY_MS = 600_000
const GIT_WITHIN_MS = 10_000
/** The share of the stall limit after which a command is ended, so that it ends before the run counts as stalled. */
const COMMAND_SHARE = 0.95

interface AgentWorkInput {
  readonly runtime: Runtime
  readonly database: Pick<OpenedDatabase, 'db'>
  readonly log: Log
  readonly role: Role
  readonly recordEvent: RecordEvent
}

interface AgentWork {
  /** Background jobs by kind. */
  readonly jobs: Readonly<Record<string, JobKind>>
  /** Resolves when it is known whether this process can execute runs. Processes of role `api` leave it to others. */
  availability(): Promise<Availability>
  /** Runs in progress in this process. */
  active(): number
  /** Executes runs once the sandbox has passed its test. */
  start(running: { readonly complete: Gateway['complete']; readonly wake: () => void }): void
  /** Starts no more runs, and hands over those in progress. */
  drain(): void
  close(): Promise<void>
}

function createAgentWork(input: AgentWorkInput): AgentWork {
  const { runtime, log, role } = input
  const leaving = new AbortController()
  const kinds: SandboxKind = { backend: runtime.config().agents.sandbox.backend, ...networkOf(runtime) }
  const sandboxes = { ...kinds }
  let complete: Gateway['complete'] = () => Promise.reject(new Error('The gateway has not started.'))
  const deps = depsOf(input, { complete: (...asked) => complete(...asked), sandboxes, leaving: leaving.signal })
  const runs = runKind(deps)
  const counted = countActive(runs)
  let state: Availability = { ok: true }
  let wake = (): void => undefined
  const test = async (): Promise<void> => {
    if (sandboxes.backend === 'bubblewrap') sandboxes.cgroups = openCgroups()
    state = await examine(deps, sandboxes).catch(notExamined)
    if (!state.ok) log.warn({ reason: state.reason }, 'agents are off')
    else if (sandboxes.backend === 'none') log.warn(NO_SANDBOX)
    if (!state.ok || leaving.signal.aborted) return
    runs.concurrency = runtime.config().agents.concurrency
    wake()
  }
  const tested = onceUntil(leaving.signal, test)
  const tidy = (): void => void tidyWorkspaces(deps).catch((err: unknown) => log.warn({ err }, 'cleanup failed'))
  const timers: NodeJS.Timeout[] = []
  return {
    jobs: agentJobs(deps, runs),
    async availability() {
      if (role !== 'api') await tested()
      return state
    },
    active: counted,
    start(running) {
      complete = running.complete
      wake = running.wake
      timers.push(repeated(log, DISOBEYED_EVERY_MS, () => endDisobeyed(deps)))
      if (role === 'api') return void timers.push(repeated(log, OVERDUE_EVERY_MS, () => endOverdueRuns(deps)))
      void untilTestIsDue(input, leaving.signal).then(tested, () => undefined)
      timers.push(setTimeout(tidy, TIDY_AFTER_MS).unref(), setInterval(tidy, TIDY_EVERY_MS).unref())
    },
    drain() {
      runs.concurrency = 0
      leaving.abort()
    },
    async close() {
      for (const timer of timers) clearTimeout(timer)
      await tested()
    },
  }
}

/** Runs `work` when first called, and not after `ended`. Each call resolves when it is done. */
function onceUntil(ended: AbortSignal, work: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  return () => {
    if (!ended.aborted) running ??= work()
    return running ?? Promise.resolve()
  }
}

/** Resolves when the sandbox test is due although nobody requested it. Rejects when `leaving` is aborted. */
async function untilTestIsDue(
  { database, role }: Pick<AgentWorkInput, 'database' | 'role'>,
  leaving: AbortSignal,
): Promise<void> {
  await sleep(TEST_AFTER_MS, undefined, { signal: leaving })
  if (role === 'worker' || (await hasOpenRuns(database.db).catch(() => true))) return
  await sleep(IDLE_TEST_AFTER_MS - TEST_AFTER_MS, undefined, { signal: leaving })
}

/** Runs the work at an interval, one run at a time. A failed run is logged and repeated at the next interval. */
function repeated(log: Log, everyMs: number, work: () => Promise<void>): NodeJS.Timeout {
  let isBusy = false
  const run = async (): Promise<void> => {
    if (isBusy) return
    isBusy = true
    await work().catch((err: unknown) => log.debug({ err }, 'could not check runs'))
    isBusy = false
  }
  return setInterval(() => void run(), everyMs).unref()
}

const NO_SANDBOX =
  'AGENTS RUN WITHOUT A SANDBOX: agents.sandbox.backend is none. Models and repositories can execute any command with all rights of this service.'

/** Counts the runs in progress of a handler. */
function countActive(kind: RunKind): () => number {
  let active = 0
  const { handler } = kind
  kind.handler = async (job, context) => {
    active += 1
    try {
      await handler(job, context)
    } finally {
      active -= 1
    }
  }
  return () => active
}

async function examine({ git, folder }: WorkerDeps, { backend, cgroups }: SandboxKind): Promise<Availability> {
  if (existsSync(folder)) makePrivateFolder(folder) // earlier versions created it readable for others
  const version = await checkGit(git, AbortSignal.timeout(GIT_WITHIN_MS))
  if (!version.ok) return { ok: false, reason: `${version.reason}; ${version.fix}.` }
  if (backend === 'none') return { ok: true }
  const sandbox = await selfTest({ cgroups })
  const result = sandbox.ok ? await testGitJail(git, { secrets: [secretPath(dirname(folder))] }) : sandbox
  return result.ok ? result : { ok: false, reason: `${result.reason}. ${result.fix}.` }
}

/** Reports a test that could not run, for example because the process had no file descriptors left for its pipes. */
function notExamined(error: unknown): Availability {
  return { ok: false, reason: `The test of the sandbox failed: ${error instanceof Error ? error.message : error}` }
}

function networkOf(runtime: Runtime): Pick<SandboxKind, 'network'> {
  const hosts = runtime.config().agents.sandbox.network
  return hosts.length === 0 ? {} : { network: { hosts, resolve: nameServerResolver() } }
}

interface Connected {
  readonly complete: Gateway['complete']
  readonly sandboxes: SandboxKind
  readonly leaving: AbortSignal
}

function depsOf(input: AgentWorkInput, { complete, sandboxes, leaving }: Connected): WorkerDeps {
  const { runtime, log, recordEvent } = input
  const { db } = input.database
  const { ids, now, clock, models } = runtime
  const { data_dir: dataDirectory, agents } = runtime.config()
  return {
    db,
    ids,
    now,
    clock,
    models,
    log,
    recordEvent,
    leaving,
    random: Math.random,
    modelFor: modelAsker({ complete, callerOf: creatorCallers({ db, now }), ids, clock }),
    openSandbox: (workspace) => sandboxOpener(sandboxes, RUN_LIMITS.stalledMs * COMMAND_SHARE)(workspace),
    git: gitSettings({ allowLocalGit: agents.allow_local_git, confine: agents.sandbox.backend === 'bubblewrap' }),
    repositories: { url: agents.git_url, credentials: agents.git_credentials },
    folder: join(dataDirectory, 'agents'),
    limits: RUN_LIMITS,
  }
}
