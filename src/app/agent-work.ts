/**
 * The work of agents put together: whether this machine can run them, what takes them from the queue, what they ask models
 * through, and what tidies up after them. A process that only answers requests does none of it.
 */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { OpenedDatabase } from '../db/open.ts'
import type { Availability } from '../features/agents/rules.ts'
import type { WorkerDeps } from '../features/agents/worker/deps.ts'
import { tidyWorkspaces } from '../features/agents/worker/janitor.ts'
import { agentJobs, type RunKind, runKind } from '../features/agents/worker/jobs.ts'
import { RUN_LIMITS } from '../features/agents/worker/limits.ts'
import {
  DISOBEYED_EVERY_MS,
  endDisobeyed,
  endOverdueRuns,
  OVERDUE_EVERY_MS,
} from '../features/agents/worker/overdue.ts'
import { type SandboxKind, sandboxOpener } from '../features/agents/worker/sandbox.ts'
import type { RecordEvent } from '../features/deps.ts'
import type { Gateway } from '../gateway/pipeline.ts'
import { nameServerResolver } from '../http/guarded-agent.ts'
import type { Log } from '../http/log.ts'
import type { JobKind } from '../jobs/job.ts'
import { gitSettings } from '../runner/git/settings.ts'
import { checkGit } from '../runner/git/version.ts'
import { openCgroups } from '../runner/sandbox/cgroups.ts'
import { selfTest } from '../runner/sandbox/self-test.ts'
import { modelAsker } from './ask-model.ts'
import { creatorCallers } from './creator-callers.ts'
import type { Role } from './money.ts'
import type { World } from './world.ts'

/** Left to the start of the service. A run that waits meanwhile waits so much longer. */
const TEST_AFTER_MS = 250
const TIDY_AFTER_MS = 60_000
const TIDY_EVERY_MS = 600_000
const GIT_WITHIN_MS = 10_000
/** Of what makes a standstill: a command that is ended then is no standstill yet. */
const COMMAND_PART = 0.95

export interface AgentWorkInput {
  readonly world: World
  readonly database: Pick<OpenedDatabase, 'db'>
  readonly log: Log
  readonly role: Role
  readonly recordEvent: RecordEvent
}

export interface AgentWork {
  /** Work in the background, by the names of its kinds. */
  readonly jobs: Readonly<Record<string, JobKind>>
  /** Whether runs can be taken, as soon as it is known. A process that takes none leaves it to those that do. */
  availability(): Promise<Availability>
  /** Runs under way in this process. */
  active(): number
  /** From now on runs are taken, as soon as the sandbox has proved to hold. */
  start(running: { readonly complete: Gateway['complete']; readonly wake: () => void }): void
  /** Takes no more, and hands over what runs. */
  drain(): void
  close(): Promise<void>
}

export function createAgentWork(input: AgentWorkInput): AgentWork {
  const { world, log, role } = input
  const leaving = new AbortController()
  const kinds: SandboxKind = { backend: world.config().agents.sandbox.backend, ...networkOf(world) }
  const sandboxes = { ...kinds }
  let complete: Gateway['complete'] = () => Promise.reject(new Error('The gateway does not run yet.'))
  const deps = depsOf(input, { complete: (...asked) => complete(...asked), sandboxes, leaving: leaving.signal })
  const runs = runKind(deps)
  const counted = countActive(runs)
  let state: Availability = { ok: true }
  let wake = (): void => undefined
  let testing: Promise<void> | undefined
  const test = async (): Promise<void> => {
    if (sandboxes.backend === 'bubblewrap') sandboxes.cgroups = openCgroups()
    state = await examine(deps, sandboxes)
    if (!state.ok) log.warn({ reason: state.reason }, 'agents are off')
    else if (sandboxes.backend === 'none') log.warn(NO_SANDBOX)
    if (!state.ok || leaving.signal.aborted) return
    runs.concurrency = world.config().agents.concurrency
    wake()
  }
  const tidy = (): void => void tidyWorkspaces(deps).catch((err: unknown) => log.warn({ err }, 'workspaces stay'))
  const timers: NodeJS.Timeout[] = []
  return {
    jobs: agentJobs(deps, runs),
    async availability() {
      await testing
      return state
    },
    active: counted,
    start(running) {
      complete = running.complete
      wake = running.wake
      timers.push(repeated(log, DISOBEYED_EVERY_MS, () => endDisobeyed(deps)))
      if (role === 'api') return void timers.push(repeated(log, OVERDUE_EVERY_MS, () => endOverdueRuns(deps)))
      testing = sleep(TEST_AFTER_MS, undefined, { signal: leaving.signal }).then(test, () => undefined)
      timers.push(setTimeout(tidy, TIDY_AFTER_MS).unref(), setInterval(tidy, TIDY_EVERY_MS).unref())
    },
    drain() {
      runs.concurrency = 0
      leaving.abort()
    },
    async close() {
      for (const timer of timers) clearTimeout(timer)
      await testing
    },
  }
}

/** One at a time. What fails is tried again at the next turn. */
function repeated(log: Log, everyMs: number, work: () => Promise<void>): NodeJS.Timeout {
  let isBusy = false
  const turn = async (): Promise<void> => {
    if (isBusy) return
    isBusy = true
    await work().catch((err: unknown) => log.debug({ err }, 'runs could not be looked at'))
    isBusy = false
  }
  return setInterval(() => void turn(), everyMs).unref()
}

const NO_SANDBOX =
  'AGENTS RUN WITHOUT A SANDBOX: agents.sandbox.backend is none. Whatever a model or a repository wants done on this machine is done with all rights of this service.'

/** Counts what its handler has under way. */
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

async function examine({ git }: WorkerDeps, { backend, cgroups }: SandboxKind): Promise<Availability> {
  const version = await checkGit(git, AbortSignal.timeout(GIT_WITHIN_MS))
  if (!version.ok) return { ok: false, reason: `${version.reason}; ${version.fix}.` }
  if (backend === 'none') return { ok: true }
  const sandbox = await selfTest({ cgroups })
  return sandbox.ok ? sandbox : { ok: false, reason: `${sandbox.reason}. ${sandbox.fix}.` }
}

function networkOf(world: World): Pick<SandboxKind, 'network'> {
  const hosts = world.config().agents.sandbox.network
  return hosts.length === 0 ? {} : { network: { hosts, resolve: nameServerResolver() } }
}

interface Connected {
  readonly complete: Gateway['complete']
  readonly sandboxes: SandboxKind
  readonly leaving: AbortSignal
}

function depsOf({ world, database, log, recordEvent }: AgentWorkInput, connected: Connected): WorkerDeps {
  const { db } = database
  const { ids, now, clock, models } = world
  const { data_dir: dataDirectory, agents } = world.config()
  const { complete, sandboxes, leaving } = connected
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
    openSandbox: (place) => sandboxOpener(sandboxes, RUN_LIMITS.stalledMs * COMMAND_PART)(place),
    git: gitSettings({ allowLocalGit: agents.allow_local_git, confine: agents.sandbox.backend === 'bubblewrap' }),
    repositories: { url: agents.git_url, credentials: agents.git_credentials },
    folder: join(dataDirectory, 'agents'),
    limits: RUN_LIMITS,
  }
}
