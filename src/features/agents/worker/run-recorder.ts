/** Records the events of a run in order, reads follow-ups that arrive in the meantime, and monitors whether it may go on. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { RunError } from '../../../domain/agent.ts'
import { GatewayError } from '../../../domain/errors.ts'
import { usdNumber } from '../../../domain/money.ts'
import { JobInterrupted } from '../../../jobs/job.ts'
import type { AgentMessage, LoopEntry, LoopUsage } from '../../../runner/ports.ts'
import { type Progress, type RunClaim, type RunUsage, readOrders, recordProgress } from '../run.ts'
import { findRun } from '../store.ts'
import {
  coveredBySummary,
  loadConversation,
  type NewAgentEvent,
  unseenUserMessages,
  type Written,
} from '../transcript.ts'
import type { WorkerDeps } from './deps.ts'

export interface Notes {
  /** Reads the conversation with which the model starts. */
  conversation(): Promise<readonly AgentMessage[]>
  record(entry: LoopEntry): Promise<void>
  write(progress: Progress): Promise<void>
  /** Reads the user's messages since the previous call. */
  followUps(): Promise<readonly string[]>
  /** Number of the last user message that the run has read. */
  seen(): number
}

interface State {
  /** Number of the last message in the model's conversation. */
  last: number
  seen: number
  steps: number
  /** Time of the last write, Unix milliseconds; unique. */
  writtenAt: number
}

type Deps = Pick<WorkerDeps, 'db' | 'now' | 'limits'>

/** @param steps Steps that the run has made already. */
export function takeNotes(deps: Deps, claim: RunClaim, { watch, steps }: { watch: Watch; steps: number }): Notes {
  const { db } = deps
  const state: State = { last: 0, seen: 0, steps, writtenAt: 0 }
  const write = async (progress: Progress): Promise<void> => {
    const { message } = await writePatiently(deps, claim, { progress, state, signal: watch.signal })
    state.last = Math.max(state.last, message + (progress.messages?.length ?? 0) - 1)
    watch.progressed()
  }
  return {
    async conversation() {
      const messages = await loadConversation(db, claim)
      state.last = messages.reduce((last, { number }) => Math.max(last, number), state.last)
      state.seen = Math.max(state.seen, state.last)
      return messages.map(({ message }) => message)
    },
    async record(entry) {
      const usage = 'usage' in entry ? usageOf(state, entry.usage) : undefined
      const kept = entry.type === 'summary' ? { kept: entry.kept, last: state.last } : undefined
      const covers = kept === undefined ? 0 : await coveredBySummary(db, claim, kept)
      await write({ ...progressOf(entry, covers), usage })
    },
    write,
    async followUps() {
      const messages = await unseenUserMessages(db, claim, state.seen)
      state.seen = messages.at(-1)?.number ?? state.seen
      state.last = Math.max(state.last, state.seen)
      return messages.flatMap(({ message: { content } }) => (content === null ? [] : [content]))
    },
    seen: () => state.seen,
  }
}

interface Writing {
  readonly progress: Progress
  readonly state: State
  readonly signal: AbortSignal
}

/**
 * Survives short outages of the database. If the response to a write was lost, the time in the run's row, which only this
 * worker writes, shows whether it was committed.
 */
async function writePatiently(
  { db, now, limits }: Deps,
  claim: RunClaim,
  { progress, state, signal }: Writing,
): Promise<Written> {
  const time = Math.max(now(), state.writtenAt + 1)
  state.writtenAt = time
  for (;;) {
    try {
      return await recordProgress(db, claim, { progress, now: time })
    } catch (error) {
      if (!(error instanceof GatewayError && error.retryable)) throw error
    }
    do await sleep(limits.tryAgainMs, undefined, { signal }).catch(() => signal.throwIfAborted())
    while (!(await isThere(db)))
    const run = await findRun(db, claim)
    if (run?.seen_at === time && run.attempt === claim.attempt) return { message: await lastOwn(db, claim), event: 0 }
  }
}

async function isThere(db: Deps['db']): Promise<boolean> {
  try {
    await db.selectFrom('setting').select('key').limit(1).execute()
    return true
  } catch (error) {
    if (error instanceof GatewayError && error.retryable) return false
    throw error
  }
}

/** Number of the newest message that is not a user's: a write has at most one. */
async function lastOwn(db: Deps['db'], { accountId, agentId }: RunClaim): Promise<number> {
  const row = await db
    .selectFrom('agent_message')
    .select(({ fn }) => fn.max('number').as('number'))
    .where(({ and }) => and({ account_id: accountId, agent_id: agentId }))
    .where('kind', '<>', 'user')
    .executeTakeFirst()
  return Number(row?.number ?? 0)
}

function usageOf(state: State, usage: LoopUsage | undefined): RunUsage | undefined {
  if (usage === undefined) return undefined
  const steps = usage.total.steps - state.steps
  state.steps = usage.total.steps
  const { promptTokens, completionTokens, costNanoUsd } = usage
  return { steps, promptTokens, completionTokens, costNanoUsd }
}

function progressOf(entry: LoopEntry, covers: number): Progress {
  switch (entry.type) {
    case 'answer': {
      const { content } = entry.message
      const said: NewAgentEvent[] = content === null ? [] : [{ type: 'message', data: { role: 'assistant', content } }]
      const messages = [{ kind: 'assistant' as const, message: entry.message }]
      return { messages, events: [...said, usageEvent(entry.usage)] }
    }
    case 'usage':
      return { events: [usageEvent(entry.usage)] }
    case 'tool_call': {
      const { callId, name, arguments: given } = entry
      return { events: [{ type: 'tool_call', data: { call_id: callId, name, arguments: given } }] }
    }
    case 'tool_result':
      return toolResult(entry)
    case 'summary': {
      const events = entry.usage === undefined ? [] : [usageEvent(entry.usage)]
      return { messages: [{ kind: 'summary', message: entry.message, covers }], events }
    }
  }
}

function toolResult(entry: Extract<LoopEntry, { type: 'tool_result' }>): Progress {
  const { message, name, output, exitCode, truncated } = entry
  const code = exitCode === undefined ? {} : { exit_code: exitCode }
  const data = { call_id: message.tool_call_id, name, output, ...code, truncated }
  return { messages: [{ kind: 'tool', message }], events: [{ type: 'tool_result', data }] }
}

function usageEvent({ completionId, promptTokens, completionTokens, costNanoUsd, total }: LoopUsage): NewAgentEvent {
  const cost = { cost_usd: usdNumber(costNanoUsd), total_cost_usd: usdNumber(total.costNanoUsd) }
  return { type: 'usage', data: { completion_id: completionId, tokens: promptTokens + completionTokens, ...cost } }
}

// Monitors a run: whether it was cancelled, taken over by another worker, exceeds its time limit, or has stalled.

/** `lost`: another worker has it. `leaving`: this process is stopping. */
export type Stop =
  | { readonly kind: 'lost' | 'leaving' | 'cancelled' }
  | { readonly kind: 'failed'; readonly code: RunError }

/** Why a run was interrupted. */
export class RunStopped extends Error {
  override readonly name = 'RunStopped'
  readonly stop: Stop

  constructor(stop: Stop) {
    super(`The run is to stop: ${stop.kind}.`)
    this.stop = stop
  }
}

export interface Watch {
  /** Aborted with a `RunStopped`; the first reason counts. */
  readonly signal: AbortSignal
  /** Aborted when another worker has the run: this process must not act for it any more. */
  readonly lost: AbortSignal
  /** Records progress. */
  progressed(): void
  end(): void
}

export interface Watched {
  readonly claim: RunClaim
  /** Unix milliseconds. */
  readonly startedAt: number
  /** Of the job. */
  readonly job: AbortSignal
}

type MonitorDeps = Pick<WorkerDeps, 'db' | 'now' | 'clock' | 'limits' | 'leaving' | 'log'>

export function watchRun(deps: MonitorDeps, { claim, startedAt, job }: Watched): Watch {
  const { now, clock, limits, leaving } = deps
  const controller = new AbortController()
  const lost = new AbortController()
  const stop = (reason: Stop): void => {
    controller.abort(new RunStopped(reason))
    if (reason.kind === 'lost') lost.abort(new RunStopped(reason))
  }
  let progressedAt = clock()
  let looking = false
  const look = async (): Promise<void> => {
    if (controller.signal.aborted) return
    if (now() - startedAt >= limits.wallMs) return stop({ kind: 'failed', code: 'run_timeout' })
    if (clock() - progressedAt >= limits.stalledMs) return stop({ kind: 'failed', code: 'stalled' })
    if (looking) return
    looking = true
    const orders = await ordersOf(deps, claim).finally(() => {
      looking = false
    })
    if (orders !== undefined) stop({ kind: orders })
  }
  const interrupted = (): void => stop({ kind: isLost(job) ? 'lost' : 'leaving' })
  const leave = (): void => stop({ kind: 'leaving' })
  if (job.aborted) interrupted()
  if (leaving.aborted) leave()
  job.addEventListener('abort', interrupted, { once: true })
  leaving.addEventListener('abort', leave, { once: true })
  const timer = setInterval(() => void look(), limits.pollMs)
  return {
    signal: controller.signal,
    lost: lost.signal,
    progressed() {
      progressedAt = clock()
    },
    end() {
      clearInterval(timer)
      job.removeEventListener('abort', interrupted)
      leaving.removeEventListener('abort', leave)
    },
  }
}

/** While the database is unavailable, the job's lease decides. */
async function ordersOf({ db, log }: MonitorDeps, claim: RunClaim): Promise<'lost' | 'cancelled' | undefined> {
  try {
    return await readOrders(db, claim)
  } catch (error) {
    if (!(error instanceof GatewayError))
      log.warn({ err: error, run: claim.runId }, 'the orders of a run cannot be read')
    return undefined
  }
}

export function isLost({ reason }: AbortSignal): boolean {
  return reason instanceof JobInterrupted && reason.reason === 'lost'
}
