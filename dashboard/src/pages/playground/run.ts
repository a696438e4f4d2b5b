/**
 * One request to one model and what came back, folded from the events of its stream. It must not know how they are fetched
 * or shown. Times are milliseconds of one monotonic clock.
 */
import type { JsonFields } from '../../lib/code-samples.ts'
import { type Fields, fieldsOf, listOf, numberOf, textOf } from './json-text.ts'

/** `interrupted`: the stream ended without saying that it was whole. */
export type RunStatus = 'waiting' | 'streaming' | 'finished' | 'stopped' | 'failed' | 'interrupted'

export interface ToolCall {
  readonly id: string
  readonly name: string
  /** As the model wrote them; JSON, if it wrote well. */
  readonly arguments: string
}

export interface Usage {
  readonly promptTokens: number
  readonly completionTokens: number
  readonly cachedTokens: number
  readonly reasoningTokens: number
  readonly costUsd: number | undefined
}

export interface RunProblem {
  readonly message: string
  readonly code?: string | undefined
  readonly requestId?: string | undefined
  readonly param?: string | undefined
  readonly retryAfterMs?: number | undefined
}

export interface Run {
  readonly id: number
  readonly model: string
  /** ID of the team that it is of. Undefined or empty: none. */
  readonly team?: string | undefined
  readonly request: JsonFields
  /** What was set but not sent, because the model does not support it. */
  readonly leftOut: readonly string[]
  readonly status: RunStatus
  readonly text: string
  readonly reasoning: string
  readonly refusal: string
  readonly calls: readonly ToolCall[]
  readonly finishReason: string | undefined
  readonly usage: Usage | undefined
  /** That of the request's row in the usage. */
  readonly completionId: string | undefined
  readonly requestId: string | undefined
  /** What the gateway bent to make the request fit the provider. */
  readonly warnings: string | undefined
  readonly problem: RunProblem | undefined
  /** Pieces of text and reasoning: about as many as tokens, as long as nobody has counted those. */
  readonly pieces: number
  /** More came than a page can hold. */
  readonly isCut: boolean
  readonly isDone: boolean
  readonly startedAt: number
  readonly firstAt: number | undefined
  readonly endedAt: number | undefined
  readonly lastAt: number
  readonly log: RawLog
}

export interface TimedEvent {
  readonly data: string
  readonly at: number
}

/** Characters of a text, a reasoning or the arguments of a call. */
export const MAX_LENGTH = 1_000_000
const MAX_CALLS = 128

type Begun = Pick<Run, 'id' | 'model' | 'team' | 'request' | 'leftOut' | 'startedAt'>

export function beginRun(begun: Begun): Run {
  return {
    ...begun,
    status: 'waiting',
    text: '',
    reasoning: '',
    refusal: '',
    calls: [],
    finishReason: undefined,
    usage: undefined,
    completionId: undefined,
    requestId: undefined,
    warnings: undefined,
    problem: undefined,
    pieces: 0,
    isCut: false,
    isDone: false,
    firstAt: undefined,
    endedAt: undefined,
    lastAt: begun.startedAt,
    log: EMPTY_LOG,
  }
}

export function isLive({ status }: Run): boolean {
  return status === 'waiting' || status === 'streaming'
}

/** The head of the answer has come. */
export function withHead(run: Run, head: Pick<Run, 'requestId' | 'warnings'>): Run {
  return isLive(run) ? { ...run, ...head, status: 'streaming' } : run
}

type Draft = { -readonly [Name in keyof Run]: Run[Name] }

/** A batch at a time. What comes after the end changes nothing. */
export function withEvents(run: Run, events: readonly TimedEvent[]): Run {
  if (!isLive(run)) return run
  const draft: Draft = { ...run, status: 'streaming' }
  for (const event of events) takeEvent(draft, event)
  return draft
}

function takeEvent(draft: Draft, { data, at }: TimedEvent): void {
  if (draft.isDone) return
  draft.log = withEvent(draft.log, data)
  draft.lastAt = at
  if (data === '[DONE]') {
    draft.isDone = true
    return
  }
  const chunk = parseChunk(data)
  if (chunk === undefined) draft.problem ??= { message: 'The gateway sent an unreadable event.' }
  else takeChunk(draft, chunk, at)
}

function parseChunk(data: string): Fields | undefined {
  try {
    return fieldsOf(JSON.parse(data))
  } catch {
    return undefined
  }
}

function takeChunk(draft: Draft, chunk: Fields, at: number): void {
  draft.completionId ??= textOf(chunk['id'])
  if (chunk['error'] !== undefined) draft.problem ??= readProblem(chunk['error'], draft.requestId)
  if (typeof chunk['usage'] === 'object' && chunk['usage'] !== null) draft.usage = readUsage(fieldsOf(chunk['usage']))
  const choice = fieldsOf(listOf(chunk['choices'])[0])
  draft.finishReason = textOf(choice['finish_reason']) ?? draft.finishReason
  takeDelta(draft, fieldsOf(choice['delta']), at)
}

function takeDelta(draft: Draft, delta: Fields, at: number): void {
  const [text, reasoning, refusal] = [delta['content'], delta['reasoning_content'], delta['refusal']].map(textOf)
  const calls = listOf(delta['tool_calls'])
  if (text === undefined && reasoning === undefined && refusal === undefined && calls.length === 0) return
  draft.firstAt ??= at
  draft.pieces += 1
  draft.text = append(draft, draft.text, text)
  draft.reasoning = append(draft, draft.reasoning, reasoning)
  draft.refusal = append(draft, draft.refusal, refusal)
  for (const call of calls) takeCall(draft, fieldsOf(call))
}

/** Its id and name come once, its arguments in pieces. */
function takeCall(draft: Draft, delta: Fields): void {
  const index = numberOf(delta['index']) ?? Math.max(0, draft.calls.length - 1)
  if (!Number.isInteger(index) || index < 0 || index > draft.calls.length || index >= MAX_CALLS) return
  const given = fieldsOf(delta['function'])
  const known = draft.calls[index]
  const call: ToolCall = {
    id: known?.id ?? textOf(delta['id']) ?? `call_${index}`,
    name: known?.name ?? textOf(given['name']) ?? '',
    arguments: append(draft, known?.arguments ?? '', textOf(given['arguments'])),
  }
  draft.calls = known === undefined ? [...draft.calls, call] : draft.calls.with(index, call)
}

function append(draft: Draft, text: string, piece: string | undefined): string {
  if (piece === undefined) return text
  if (text.length + piece.length <= MAX_LENGTH) return text + piece
  draft.isCut = true
  return text
}

function readProblem(value: unknown, requestId: string | undefined): RunProblem {
  const error = fieldsOf(value)
  return {
    message: textOf(error['message']) ?? 'The answer was interrupted.',
    code: textOf(error['code']) ?? textOf(error['type']),
    requestId: textOf(error['request_id']) ?? requestId,
  }
}

function readUsage(usage: Fields): Usage {
  return {
    promptTokens: numberOf(usage['prompt_tokens']) ?? 0,
    completionTokens: numberOf(usage['completion_tokens']) ?? 0,
    cachedTokens: numberOf(fieldsOf(usage['prompt_tokens_details'])['cached_tokens']) ?? 0,
    reasoningTokens: numberOf(fieldsOf(usage['completion_tokens_details'])['reasoning_tokens']) ?? 0,
    costUsd: numberOf(usage['cost']),
  }
}

export interface RunEnd {
  /** `broken`: the connection did, after the head of the answer. */
  readonly how: 'closed' | 'stopped' | 'refused' | 'broken'
  readonly problem?: RunProblem | undefined
  readonly at: number
}

/** What was there stays. An answer that was whole already is not spoilt by how its connection ended. */
export function endRun(run: Run, { how, problem, at }: RunEnd): Run {
  if (!isLive(run)) return run
  const ended = { ...run, endedAt: run.isDone ? run.lastAt : at }
  if (run.problem !== undefined) return { ...ended, status: 'failed' }
  if (run.isDone) return { ...ended, status: 'finished' }
  if (how === 'stopped') return { ...ended, status: 'stopped' }
  if (how === 'refused') return { ...ended, status: 'failed', problem }
  return { ...ended, status: 'interrupted' }
}

export interface RunFigures {
  readonly firstTokenMs: number | undefined
  /** So far, while it runs. */
  readonly durationMs: number
  /** While generating: the wait for the first token is not in it. */
  readonly tokensPerSecond: number | undefined
}

/** Below it, an answer came in one piece, and a rate would say nothing. */
const SHORTEST_MS = 20

export function figuresOf({ startedAt, firstAt, lastAt, endedAt, usage, pieces }: Run): RunFigures {
  const until = endedAt ?? lastAt
  const tokens = usage?.completionTokens ?? pieces
  const generatingMs = firstAt === undefined ? 0 : until - firstAt
  return {
    firstTokenMs: firstAt === undefined ? undefined : firstAt - startedAt,
    durationMs: until - startedAt,
    tokensPerSecond: generatingMs < SHORTEST_MS || tokens < 2 ? undefined : tokens / (generatingMs / 1000),
  }
}

/** The events of an answer as they came, for reading: the first ones and the last ones, so that memory is bounded. */
const MAX_HEAD_LENGTH = 128 * 1024
const MAX_TAIL_EVENTS = 12
const MAX_TAIL_EVENT_LENGTH = 16 * 1024

interface RawLog {
  /** Lines `data: …`, as long as they fit. */
  readonly head: string
  readonly tail: readonly string[]
  readonly events: number
  /** Between head and tail. */
  readonly leftOut: number
}

const EMPTY_LOG: RawLog = { head: '', tail: [], events: 0, leftOut: 0 }

function withEvent(log: RawLog, data: string): RawLog {
  const events = log.events + 1
  if (log.tail.length === 0 && log.head.length + data.length <= MAX_HEAD_LENGTH) {
    return { ...log, events, head: `${log.head}data: ${data}\n\n` }
  }
  const line = data.length > MAX_TAIL_EVENT_LENGTH ? `${data.slice(0, MAX_TAIL_EVENT_LENGTH)}…` : data
  const tail = [...log.tail, line]
  const excess = tail.length - MAX_TAIL_EVENTS
  return excess > 0
    ? { ...log, events, tail: tail.slice(excess), leftOut: log.leftOut + excess }
    : { ...log, events, tail }
}

export function textOfLog({ head, tail, leftOut }: RawLog): string {
  const gap = leftOut === 0 ? '' : `: ${leftOut} more events are not shown\n\n`
  return `${head}${gap}${tail.map((data) => `data: ${data}\n\n`).join('')}`.trimEnd()
}
