/** What an agent has done so far, as its events tell it: a conversation, and a line of time for each run. Pure. */
import { sumUsd } from '../../lib/money.ts'
import type { AgentEvent, RunFailure } from './agent-events.ts'

interface EntryPosition {
  /** The number of the event that it began with. */
  readonly sequence: number
  readonly runId: string
  readonly at: string
}

export interface MessageEntry extends EntryPosition {
  readonly kind: 'message'
  readonly role: 'user' | 'assistant'
  readonly text: string
}

export interface ToolEntry extends EntryPosition {
  readonly kind: 'tool'
  readonly callId: string
  readonly name: string
  /** JSON, as the model wrote it. */
  readonly arguments: string
  readonly result: ToolResult | undefined
}

export interface ToolResult {
  readonly output: string
  readonly exitCode: number | null | undefined
  readonly isTruncated: boolean
  readonly at: string
}

export interface EndEntry extends EntryPosition {
  readonly kind: 'end'
  readonly status: string
  readonly error: RunFailure | undefined
}

export type Entry = MessageEntry | ToolEntry | EndEntry

/** A status or a phase that a run came to. */
export interface Moment {
  readonly sequence: number
  readonly name: string
  readonly at: string
  readonly error: RunFailure | undefined
}

export interface DiffCount {
  readonly files: number
  readonly insertions: number
  readonly deletions: number
}

export interface RunWork {
  readonly runId: string
  readonly moments: readonly Moment[]
  /** Calls of the model, and of tools. */
  readonly steps: number
  readonly toolCalls: number
  readonly diff: DiffCount | undefined
}

export interface AgentWork {
  /** The number of the last event; 0: none yet. */
  readonly last: number
  readonly entries: readonly Entry[]
  /** The first one first. */
  readonly runs: readonly RunWork[]
  /** Of the last run; undefined: not told yet. */
  readonly status: string | undefined
  readonly tokens: number
  readonly costUsd: number
}

export const NO_WORK: AgentWork = { last: 0, entries: [], runs: [], status: undefined, tokens: 0, costUsd: 0 }

const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled'])

export function isEnded(status: string): boolean {
  return ENDED.has(status)
}

/** An event that is known already, or comes out of turn, changes nothing. */
export function withEvents(work: AgentWork, events: readonly AgentEvent[]): AgentWork {
  const draft: Draft = { ...work, entries: [...work.entries], runs: [...work.runs] }
  for (const event of events) {
    if (event.sequence <= draft.last) continue
    draft.last = event.sequence
    take(draft, event)
  }
  return draft.last === work.last ? work : draft
}

interface Draft extends AgentWork {
  last: number
  readonly entries: Entry[]
  readonly runs: RunWork[]
  status: string | undefined
  tokens: number
  costUsd: number
}

function take(draft: Draft, event: AgentEvent): void {
  const { sequence, runId, at } = event
  const place = { sequence, runId, at }
  if (event.type === 'status') {
    const { status, error } = event
    draft.status = status
    addMoment(draft, runId, { sequence, name: status, at, error })
    if (isEnded(status)) draft.entries.push({ kind: 'end', ...place, status, error })
  } else if (event.type === 'phase') {
    addMoment(draft, runId, { sequence, name: event.phase, at, error: undefined })
  } else if (event.type === 'message') {
    const role = event.role === 'user' ? 'user' : 'assistant'
    draft.entries.push({ kind: 'message', ...place, role, text: event.content })
  } else if (event.type === 'tool_call') {
    const { callId, name, arguments: json } = event
    draft.entries.push({ kind: 'tool', ...place, callId, name, arguments: json, result: undefined })
    changeRun(draft, runId, (run) => ({ toolCalls: run.toolCalls + 1 }))
  } else if (event.type === 'tool_result') {
    addResult(draft, event)
  } else if (event.type === 'usage') {
    draft.tokens += event.tokens
    draft.costUsd = sumUsd([draft.costUsd, event.costUsd])
    changeRun(draft, runId, (run) => ({ steps: run.steps + 1 }))
  } else if (event.type === 'diff') {
    const { files, insertions, deletions } = event
    changeRun(draft, runId, () => ({ diff: { files, insertions, deletions } }))
  }
}

/** To the newest call of this id that has none: ids are the model's, and may come again. */
function addResult({ entries }: Draft, event: AgentEvent & { readonly type: 'tool_result' }): void {
  const { callId, output, exitCode, isTruncated, at } = event
  const index = entries.findLastIndex((each) => each.kind === 'tool' && each.callId === callId && !each.result)
  const entry = entries[index]
  if (entry?.kind === 'tool') entries[index] = { ...entry, result: { output, exitCode, isTruncated, at } }
}

function addMoment(draft: Draft, runId: string, moment: Moment): void {
  changeRun(draft, runId, ({ moments }) => ({ moments: [...moments, moment] }))
}

function changeRun({ runs }: Draft, runId: string, change: (run: RunWork) => Partial<RunWork>): void {
  const index = runs.findLastIndex((run) => run.runId === runId)
  const run = runs[index] ?? { runId, moments: [], steps: 0, toolCalls: 0, diff: undefined }
  const changed = { ...run, ...change(run) }
  if (index === -1) runs.push(changed)
  else runs[index] = changed
}
