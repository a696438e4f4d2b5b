/**
 * Executes one run, from the queue to its end. Start reading here.
 *
 *   1 start     run.ts: claims the run, and sets it to running
 *   2 clone     workspace.ts: the repository, or the workspace of the agent's last run
 *   3 work      runner/loop: calls the model and runs its tools, run-recorder.ts records it
 *   4 save      commit, diff, and the branch for follow-ups
 *   5 push      if the operator configured a credential
 *   6 end       run.ts: after a follow-up in the meantime it continues at 3
 *
 * Everything that ends it early is an error, which `breakOff` handles. Another process can take it over at any time: every
 * write carries the attempt, and after `LostRun` this process must not act for it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import type { Database } from '../../../db/schema/schema.ts'
import { agentReference, branchOf, isEnded, type RunError } from '../../../domain/agent.ts'
import { GatewayError } from '../../../domain/errors.ts'
import type { NanoUsd } from '../../../domain/money.ts'
import { type JobContext, type JobHandler, type JobKind, TryAgainIn } from '../../../jobs/job.ts'
import { enqueue } from '../../../jobs/queue.ts'
import { reach } from '../../../lib/crash-point.ts'
import { type RepositoryAddress, repositoryUrl } from '../../../runner/git/address.ts'
import { bundle, changedFiles, diff } from '../../../runner/git/artifacts.ts'
import { BASE, type Checkout, commitAt, sandboxView } from '../../../runner/git/checkout.ts'
import { commitAll } from '../../../runner/git/commit.ts'
import { GitError } from '../../../runner/git/error.ts'
import { push } from '../../../runner/git/remote.ts'
import { credentialFor, type GitCredential } from '../../../runner/git/settings.ts'
import { runLoop } from '../../../runner/loop/run-loop.ts'
import type { LoopEnding } from '../../../runner/ports.ts'
import { SandboxFailedError } from '../../../runner/sandbox/confined.ts'
import type { RunJob } from '../lifecycle.ts'
import {
  type AgentRun,
  endRun,
  failure,
  LostRun,
  type RunClaim,
  type RunEnd,
  type RunEnding,
  saveArtifact,
  startRun,
} from '../run.ts'
import { type Agent, findRun, type RunReference, readCreator, updateRun } from '../store.ts'
import type { WorkerDeps } from './deps.ts'
import { type Notes, RunStopped, type Stop, takeNotes, type Watch, watchRun } from './run-recorder.ts'
import { openWorkspace } from './workspace.ts'

export function runHandler(deps: WorkerDeps): JobHandler {
  return async ({ payload, attempt }, context) => {
    const { accountId, agentId, runId } = payload as RunJob // as it was enqueued
    const claim: RunClaim = { accountId, agentId, runId, attempt }
    const started = await startRun(deps.db, claim, deps)
    if (started !== undefined) await perform(deps, { claim, context, ...started })
    await correctCostLater(deps, claim)
  }
}

interface Started extends AgentRun {
  readonly claim: RunClaim
  readonly context: JobContext
}

/** A run that this worker executes. */
interface Task extends Started {
  readonly deps: WorkerDeps
  readonly watch: Watch
  readonly notes: Notes
  /** Its workspace, once that exists. */
  checkout: Checkout | undefined
}

async function perform(deps: WorkerDeps, started: Started): Promise<void> {
  const { claim, run, context } = started
  const watch = watchRun(deps, { claim, startedAt: run.started_at ?? deps.now(), job: context.signal })
  const notes = takeNotes(deps, claim, { watch, steps: run.steps })
  const task: Task = { deps, ...started, watch, notes, checkout: undefined }
  try {
    await work(task)
  } catch (error) {
    await breakOff(task, watch.signal.aborted ? watch.signal.reason : error)
  } finally {
    watch.end()
  }
}

interface Remote {
  readonly address: RepositoryAddress
  readonly credential: GitCredential | undefined
}

async function work(task: Task): Promise<void> {
  const { deps, notes, watch, agent } = task
  watch.signal.throwIfAborted()
  const remote = remoteOf(task)
  await notes.write({ phase: 'cloning' })
  reach('agent_cloning')
  task.checkout = await openWorkspace(deps, { agent, ...remote, signal: watch.signal })
  let end: RunEnd
  do end = await workOnce(task, task.checkout, remote)
  while (end === 'unseen')
}

function remoteOf({ deps, agent }: Task): Remote {
  const { repository, account_id: accountId } = agent
  const { url, credentials } = deps.repositories
  const credential = credentialFor(credentials, { accountId, repository })
  return { address: repositoryUrl(url, repository, deps.git), credential }
}

async function workOnce(task: Task, checkout: Checkout, remote: Remote): Promise<RunEnd> {
  const { notes, watch } = task
  await notes.write({ phase: 'working' })
  const ending = await think(task, checkout)
  if (ending.kind === 'cancelled') throw watch.signal.reason
  if (ending.kind === 'failed') return await fail(task, ending.code, ending.message)
  const { summary } = ending
  await notes.write({ phase: 'committing' })
  reach('agent_committing')
  const id = await keepWork(task.deps, { ...task, checkout, summary })
  const isPushed = id !== undefined && (await pushed(task, checkout, remote))
  const commit = id === undefined ? undefined : { id, isPushed }
  return await end(task, { status: 'completed', summary, commit, seen: notes.seen() })
}

async function think(task: Task, checkout: Checkout): Promise<LoopEnding> {
  const { deps, agent, run, claim, notes, watch } = task
  const model = deps.models().find(agent.model)
  if (model === undefined) {
    return { kind: 'failed', code: 'model_unavailable', message: `There is no model '${agent.model}' any more.` }
  }
  const conversation = await notes.conversation()
  const { steps, cost_nano_usd: costNanoUsd } = (await findRun(deps.db, claim)) ?? run
  const { user } = checkout.settings
  const sandbox = deps.openSandbox({ workspace: checkout.workspace, user, ...sandboxView(checkout) })
  try {
    return await runLoop({
      ask: deps.modelFor({ ...claim, model: agent.model, creator: readCreator(agent) }),
      sandbox,
      model: { contextWindow: model.contextWindow, maxOutputTokens: model.maxOutputTokens },
      conversation,
      followUps: notes.followUps,
      record: notes.record,
      limits: { maxSteps: run.max_steps ?? deps.limits.maxSteps, maxCostNanoUsd: run.max_cost_nano_usd ?? undefined },
      used: { steps, costNanoUsd },
      signal: watch.signal,
      clock: deps.clock,
      random: deps.random,
      sleep: (ms, signal) => sleep(ms, undefined, { signal }),
    })
  } finally {
    await sandbox.close()
  }
}

/** Pushing requires a credential, except to a repository of this machine. */
async function pushed(task: Task, checkout: Checkout, { address, credential }: Remote): Promise<boolean> {
  if (credential === undefined && address.transport !== 'file') return false
  await task.notes.write({ phase: 'pushing' })
  reach('agent_pushing')
  await push(checkout, { address, branch: branchOf(task.agent.id), credential })
  reach('agent_pushed')
  return true
}

/** @param error What ended the run early. */
async function breakOff(task: Task, error: unknown): Promise<void> {
  const { deps, claim } = task
  if (error instanceof LostRun) return
  if (error instanceof RunStopped) return await stopFor(task, error.stop)
  const known = failureOf(error)
  const detail = error instanceof GitError ? { detail: error.detail } : { err: error }
  if (known === undefined || error instanceof SandboxFailedError) {
    deps.log.error({ run: claim.runId, ...detail }, 'a run of an agent broke')
  } else deps.log.warn({ run: claim.runId, code: known.code, ...detail }, 'a run of an agent failed')
  await fail(task, known?.code ?? 'internal_error', known?.message ?? 'Internal error in Turnpike.')
}

function failureOf(error: unknown): { readonly code: RunError; readonly message: string } | undefined {
  if (error instanceof GitError) return { code: error.code, message: error.message }
  if (error instanceof SandboxFailedError) {
    return { code: 'agents_unavailable', message: 'The sandbox could not be made in which commands run.' }
  }
  if (error instanceof GatewayError && error.code === 'invalid_value') {
    return { code: 'repository_unavailable', message: error.message }
  }
  return undefined
}

async function stopFor(task: Task, stop: Stop): Promise<void> {
  const { deps } = task
  // It may be unclaimed: a job that ended successfully would leave the run without a worker.
  if (stop.kind === 'lost') throw new TryAgainIn(0, 'The lease was lost; whoever takes the run ends it.')
  if (stop.kind === 'leaving') return await handBack(task)
  if (stop.kind === 'failed') return void (await fail(task, stop.code, failure(stop.code).error.message))
  const commit = await keepUnfinished(task, deps.limits.keepCancelledMs)
  await end(task, { status: 'cancelled', commit, seen: task.notes.seen() })
}

/** Saves the work, so that the next worker of the run continues with it. A run that is still cloning starts again. */
async function handBack(task: Task): Promise<never> {
  const { deps, notes } = task
  try {
    const commit = await keepUnfinished(task, deps.limits.keepCancelledMs)
    await notes.write({ phase: 'cloning', commitId: commit?.id })
  } catch (error) {
    if (!(error instanceof LostRun))
      deps.log.warn({ err: error, run: task.claim.runId }, 'a run is handed over as it is')
  }
  throw new TryAgainIn(0, 'The process ends; another worker goes on.')
}

async function fail(task: Task, code: RunError, message: string): Promise<RunEnd> {
  const commit = await keepUnfinished(task, task.deps.limits.keepFailedMs)
  const seen = task.notes.seen()
  return await end(task, { ...failure(code, message), commit, ...(seen === 0 ? {} : { seen }) })
}

/** Saves the work as far as possible; failures do not replace the reason why the run ends. */
async function keepUnfinished(task: Task, withinMs: number): Promise<RunEnding['commit']> {
  const { deps, checkout, claim } = task
  if (checkout === undefined) return undefined
  const signal = AbortSignal.any([AbortSignal.timeout(withinMs), task.watch.lost])
  try {
    const id = await keepWork(deps, { ...task, checkout: { ...checkout, signal }, summary: undefined })
    return id === undefined ? undefined : { id, isPushed: false }
  } catch (error) {
    if (error instanceof LostRun) throw error
    deps.log.warn({ err: error, run: claim.runId }, 'the work of a run could not be kept')
    return undefined
  }
}

/** Retries while the database is unavailable, as long as this worker has the run. */
async function end({ deps, claim, watch }: Task, ending: RunEnding): Promise<RunEnd> {
  reach('agent_ending')
  for (;;) {
    try {
      return await endRun(deps.db, claim, { ...deps, ending })
    } catch (error) {
      if (!(error instanceof GatewayError && error.retryable) || watch.lost.aborted) throw error
      await sleep(deps.limits.tryAgainMs)
    }
  }
}

const AUTHOR = { name: 'Turnpike', email: 'agents@turnpike.invalid' }

interface Keeping {
  readonly agent: Agent
  readonly claim: RunClaim
  readonly checkout: Checkout
  readonly notes: Pick<Notes, 'write'>
  /** The model's summary; undefined: none. */
  readonly summary: string | undefined
}

/** @returns The current commit of the branch; undefined: no changes since the base commit. @throws GitError */
async function keepWork({ db, now }: Pick<WorkerDeps, 'db' | 'now'>, keeping: Keeping): Promise<string | undefined> {
  const { agent, claim, checkout, notes } = keeping
  await commitAll(checkout, { message: messageOf(keeping), author: AUTHOR, at: now() })
  const commit = await commitAt(checkout, 'HEAD')
  if (commit === (await commitAt(checkout, BASE))) return undefined
  const { text, isTruncated } = await diff(checkout, { base: BASE })
  const { files } = await changedFiles(checkout, { base: BASE })
  const branch = await bundleOf(checkout, branchOf(agent.id))
  const changes = { kind: 'diff' as const, content: Buffer.from(text), isTruncated }
  await saveArtifact(db, claim, { artifact: changes, now: now() })
  if (branch !== undefined) {
    const artifact = { kind: 'bundle' as const, content: branch, isTruncated: false }
    await saveArtifact(db, claim, { artifact, now: now() })
  }
  const lines = (name: 'insertions' | 'deletions') => files.reduce((sum, file) => sum + (file[name] ?? 0), 0)
  const data = { files: files.length, insertions: lines('insertions'), deletions: lines('deletions') }
  await notes.write({ events: [{ type: 'diff', data }] })
  return commit
}

async function bundleOf(checkout: Checkout, branch: string): Promise<Buffer | undefined> {
  try {
    return await bundle(checkout, branch)
  } catch (error) {
    if (error instanceof GitError && error.reason === 'bundle_too_large') return undefined
    throw error
  }
}

function messageOf({ agent, claim, summary }: Keeping): string {
  const what = summary ?? 'Unfinished: the run was broken off here.'
  return `${agent.name}\n\n${what}\n\nTurnpike-Agent: ${agent.id}\nTurnpike-Run: ${claim.runId}`
}

// Corrects a run's recorded usage from the ledger. A run counts its calls as they are answered; a call that was interrupted
// by a cancellation or the end of its worker is charged later, so the sums are read once all calls are charged.

const COST_JOB = 'agents.cost'
const TRY_AGAIN_MS = 5_000
const RETRY_MS = 10_000

/** Runs once for each run, after its end. */
export async function correctCostLater({ db, ids }: Pick<WorkerDeps, 'db' | 'ids'>, run: RunReference): Promise<void> {
  const { accountId, agentId, runId } = run
  await enqueue(db, { kind: COST_JOB, name: runId, payload: { accountId, agentId, runId } }, ids)
}

export function costJobs({ db }: Pick<WorkerDeps, 'db'>): Readonly<Record<string, JobKind>> {
  return {
    [COST_JOB]: {
      async handler({ payload }) {
        const reference = payload as RunJob // as it was enqueued above
        const run = await findRun(db, reference)
        if (run === undefined) return
        if (!isEnded(run.status)) throw new TryAgainIn(TRY_AGAIN_MS, 'The run has not ended yet.')
        if (await hasOpenCalls(db, reference))
          throw new TryAgainIn(TRY_AGAIN_MS, 'A call of the run is not charged yet.')
        await correctCost(db, reference)
      },
      backoff: () => RETRY_MS,
      maxAttempts: 1_000,
      concurrency: 2,
    },
  }
}

async function hasOpenCalls(db: Kysely<Database>, { accountId, agentId, runId }: RunReference): Promise<boolean> {
  const hold = await db
    .selectFrom('hold')
    .select('id')
    .where('account_id', '=', accountId)
    .where('client_request_id', '=', agentReference(agentId, runId))
    .limit(1)
    .executeTakeFirst()
  return hold !== undefined
}

async function correctCost(db: Kysely<Database>, run: RunReference): Promise<void> {
  const { accountId, agentId, runId } = run
  const charged = await db
    .selectFrom('completion')
    .select(sql<number>`coalesce(sum(prompt_tokens), 0)`.as('prompt'))
    .select(sql<number>`coalesce(sum(completion_tokens), 0)`.as('completion'))
    .select(sql<NanoUsd>`coalesce(sum(cost_nano_usd), 0)`.as('cost'))
    .where('account_id', '=', accountId)
    .where('client_request_id', '=', agentReference(agentId, runId))
    .where('client_request_id', '>=', sql.lit('agt_')) // literals: the condition of the index
    .where('client_request_id', '<', sql.lit('agt`'))
    .executeTakeFirstOrThrow()
  const [prompt_tokens, completion_tokens] = [Number(charged.prompt), Number(charged.completion)]
  const usage = { prompt_tokens, completion_tokens, cost_nano_usd: BigInt(charged.cost) }
  await updateRun(db, run, usage).execute()
}
