/**
 * A whole answer: gathers the events of all choices and renders the `chat.completion` object, with the rules and the
 * `usage` object that it shares with streams.
 */
import type { ChatEvent, ChatRequest, FinishReason, ToolCallEvent } from '../../../domain/chat.ts'
import { isRecord, type Json } from '../../../lib/json.ts'
import type { Bill, WholeAnswer } from '../../client-api.ts'

interface ToolCallState {
  id: string | undefined
  name: string | undefined
  arguments: string
  /** Undefined for a function. */
  readonly custom: true | undefined
}

interface ChoiceState {
  readonly index: number
  text: string
  reasoning: string
  refusal: string
  /** Undefined if there are none, which is the usual case. */
  toolCalls: Map<number, ToolCallState> | undefined
  extensions: Map<string, unknown> | undefined
  logprobs: Logprobs | undefined
  finish: FinishReason | undefined
  contentIsNull: boolean
}

/**
 * Renders a tool call as `function_call` for clients that sent `functions`, and no finish reason for unfinished
 * choices.
 */
export function createAnswer({ legacyFunctions = false }: Pick<ChatRequest, 'legacyFunctions'> = {}): WholeAnswer {
  const choices = new Map<number, ChoiceState>()
  return {
    push(event) {
      if (event.type === 'usage') return
      let choice = choices.get(event.index)
      if (choice === undefined) {
        choice = newChoice(event.index)
        choices.set(event.index, choice)
      }
      gather(choice, event)
    },
    render(head) {
      const { id, created, model } = head
      const usage = usageObject(head)
      const sorted = [...choices.values()].sort((a, b) => a.index - b.index)
      return JSON.stringify({
        id,
        object: 'chat.completion',
        created,
        model,
        choices: sorted.map((choice) => renderChoice(choice, legacyFunctions)),
        usage,
        system_fingerprint: null, // OpenRouter's SDK requires it
      })
    },
  }
}

function newChoice(index: number): ChoiceState {
  return {
    index,
    text: '',
    reasoning: '',
    refusal: '',
    toolCalls: undefined,
    extensions: undefined,
    logprobs: undefined,
    finish: undefined,
    contentIsNull: false,
  }
}

function gather(choice: ChoiceState, event: Exclude<ChatEvent, { type: 'usage' }>): void {
  switch (event.type) {
    case 'text':
      choice.text += event.text
      if (event.logprobs !== undefined) choice.logprobs = mergeLogprobs(choice.logprobs, event.logprobs)
      break
    case 'reasoning':
      choice.reasoning += event.text
      break
    case 'refusal':
      choice.refusal += event.text
      if (event.logprobs !== undefined) choice.logprobs = mergeLogprobs(choice.logprobs, event.logprobs)
      break
    case 'tool-call':
      choice.toolCalls ??= new Map()
      gatherToolCall(choice.toolCalls, event)
      break
    case 'native':
      break
    case 'extension':
      if (!isExtensionField(event.field)) break
      choice.extensions ??= new Map()
      choice.extensions.set(event.field, event.value)
      break
    case 'finish':
      choice.finish = event.reason
      if (event.contentIsNull) choice.contentIsNull = true
      break
  }
}

function gatherToolCall(toolCalls: Map<number, ToolCallState>, event: ToolCallEvent): void {
  const call = toolCalls.get(event.toolIndex)
  if (call === undefined) {
    const { id, name, custom } = event
    toolCalls.set(event.toolIndex, { id, name, arguments: event.arguments, custom })
  } else {
    call.arguments += event.arguments
  }
}

function finishOf(choice: ChoiceState): FinishReason | undefined {
  return choice.finish === undefined ? undefined : finishReason(choice.finish, choice.toolCalls !== undefined)
}

function renderChoice(choice: ChoiceState, legacyFunctions: boolean): unknown {
  const { toolCalls, extensions } = choice
  const calls = toolCalls === undefined ? undefined : renderToolCalls(choice)
  const message = {
    role: 'assistant',
    content: choice.text === '' && (toolCalls !== undefined || choice.contentIsNull) ? null : choice.text,
    refusal: choice.refusal === '' ? null : choice.refusal,
    reasoning_content: choice.reasoning === '' ? undefined : choice.reasoning,
    tool_calls: legacyFunctions ? undefined : calls,
    // The older form holds one call.
    function_call: legacyFunctions ? calls?.[0]?.function : undefined,
  }
  return {
    index: choice.index,
    message: extensions === undefined ? message : { ...message, ...Object.fromEntries(extensions) },
    logprobs: choice.logprobs ?? null,
    finish_reason: finishOf(choice) ?? null,
  }
}

interface RenderedCall {
  readonly id: string | undefined
  readonly type: 'function' | 'custom'
  readonly function?: unknown
  readonly custom?: unknown
}

function renderToolCalls(choice: ChoiceState): RenderedCall[] {
  const empty = emptyArgumentsAreWhole(choice.finish) ? '{}' : ''
  const ordered = [...(choice.toolCalls ?? [])].sort(([a], [b]) => a - b)
  return ordered.map(([, { id, name, arguments: text, custom }]) =>
    custom
      ? { id, type: 'custom', custom: { name, input: text } }
      : { id, type: 'function', function: { name, arguments: text === '' ? empty : text } },
  )
}

/** The fields of a message that extensions must not set. */
const OWN_FIELDS: ReadonlySet<string> = new Set([
  'role',
  'content',
  'refusal',
  'reasoning_content',
  'tool_calls',
  'function_call',
  '__proto__',
])

/** Returns whether an extension may become a field of the message under this name. */
export function isExtensionField(field: string): boolean {
  return !OWN_FIELDS.has(field)
}

/** Returns the finish reason; a choice that called tools did not just stop. */
export function finishReason(reason: FinishReason, hasToolCalls: boolean): FinishReason {
  return reason === 'stop' && hasToolCalls ? 'tool_calls' : reason
}

/**
 * Returns whether a call without argument text is one without arguments, `{}`. In a truncated answer the text may be
 * missing instead, and a client must not treat the call as complete.
 */
export function emptyArgumentsAreWhole(reason: FinishReason | undefined): boolean {
  return reason === 'stop' || reason === 'tool_calls'
}

/** The wire's `logprobs`, both lists present or null. */
interface Logprobs {
  content: unknown[] | null
  refusal: unknown[] | null
}

/**
 * @returns undefined without a value of the expected shape. Adds `top_logprobs`, which clients expect, to every
 * entry.
 */
export function readLogprobs(value: unknown): Logprobs | undefined {
  if (!isRecord(value)) return undefined
  const content = entriesOf(value['content'])
  const refusal = entriesOf(value['refusal'])
  return content === null && refusal === null ? undefined : { content, refusal }
}

function mergeLogprobs(merged: Logprobs | undefined, value: unknown): Logprobs | undefined {
  const added = readLogprobs(value)
  if (added === undefined || merged === undefined) return added ?? merged
  return { content: concatenated(merged.content, added.content), refusal: concatenated(merged.refusal, added.refusal) }
}

function entriesOf(list: unknown): unknown[] | null {
  return Array.isArray(list) ? list.map((entry) => (isRecord(entry) ? withTop(entry) : entry)) : null
}

function withTop(entry: Json): Json {
  return Array.isArray(entry['top_logprobs']) ? entry : { ...entry, top_logprobs: [] }
}

/** Appends in place, since a long answer has an entry for each of its tokens. */
function concatenated(list: unknown[] | null, added: unknown[] | null): unknown[] | null {
  if (list === null || added === null) return list ?? added
  for (const entry of added) list.push(entry)
  return list
}

/** Renders the usage as JSON text. */
export function renderUsage(bill: Bill): string {
  return JSON.stringify(usageObject(bill))
}

/** Details appear only when they were reported: absent is not zero. */
function usageObject({ usage, costUsd }: Bill): unknown {
  const { promptTokens, completionTokens, cachedTokens, cacheWriteTokens, reasoningTokens } = usage
  const hasPromptDetails = cachedTokens !== undefined || cacheWriteTokens !== undefined
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: hasPromptDetails
      ? { cached_tokens: cachedTokens, cache_write_tokens: cacheWriteTokens }
      : undefined,
    completion_tokens_details: reasoningTokens === undefined ? undefined : { reasoning_tokens: reasoningTokens },
    cost: costUsd,
  }
}
