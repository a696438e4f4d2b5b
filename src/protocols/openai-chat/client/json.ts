/** A whole answer: gathers the events of all choices and writes the `chat.completion` object. */
import type { ChatEvent, FinishReason, ToolCallEvent } from '../../../domain/chat.ts'
import { emptyArgumentsAreWhole, finishReason, isExtensionField, type Logprobs, mergeLogprobs } from './choice.ts'
import { type Bill, usageObject } from './usage.ts'

/** What every chunk of an answer says about it, and the answer itself. */
export interface AnswerHead {
  readonly id: string
  /** Unix seconds. */
  readonly created: number
  /** The model ID that the client asked for. */
  readonly model: string
}

export interface Answer {
  /** Usage events are not its business: the caller knows the bill. */
  push(event: ChatEvent): void
  /** Whether each of the choices asked for has its finish reason. */
  isComplete(): boolean
  /** By choice; undefined for one that has not finished. `tool_calls` already wins over `stop`. */
  finishReasons(): readonly (FinishReason | undefined)[]
  /** Everything generated (text, reasoning, refusals, tool names and arguments), cut to `limitBytes` of UTF-8. */
  generatedText(limitBytes: number): string
  /** JSON text. An unfinished choice has `finish_reason: null`, as none is ever invented. */
  render(head: AnswerHead & Bill): string
}

interface ToolCallState {
  id: string | undefined
  name: string | undefined
  arguments: string
  /** Undefined: a function. */
  readonly custom: true | undefined
}

interface ChoiceState {
  readonly index: number
  text: string
  reasoning: string
  refusal: string
  /** Undefined where there are none, which is nearly always. */
  toolCalls: Map<number, ToolCallState> | undefined
  extensions: Map<string, unknown> | undefined
  logprobs: Logprobs | undefined
  finish: FinishReason | undefined
  contentIsNull: boolean
}

export interface AnswerForm {
  /** A tool call is told as `function_call`, to clients that asked with `functions`. */
  readonly legacyFunctions?: boolean | undefined
}

/** @param choiceCount How many choices were asked for (`n`). */
export function createAnswer(choiceCount: number, { legacyFunctions = false }: AnswerForm = {}): Answer {
  const choices = new Map<number, ChoiceState>()
  const sorted = (): ChoiceState[] => [...choices.values()].sort((a, b) => a.index - b.index)
  const finishReasons = (): (FinishReason | undefined)[] =>
    Array.from({ length: choiceCount }, (_, index) => finishOf(choices.get(index)))
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
    isComplete: () => !finishReasons().includes(undefined),
    finishReasons,
    generatedText: (limitBytes) => cutToBytes(sorted().flatMap(generatedPieces), limitBytes),
    render(head) {
      const { id, created, model } = head
      const usage = usageObject(head)
      return JSON.stringify({
        id,
        object: 'chat.completion',
        created,
        model,
        choices: sorted().map((choice) => renderChoice(choice, legacyFunctions)),
        usage,
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

function finishOf(choice: ChoiceState | undefined): FinishReason | undefined {
  return choice?.finish === undefined ? undefined : finishReason(choice.finish, choice.toolCalls !== undefined)
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
    // The older form has room for one call.
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
  return orderedCalls(choice).map(({ id, name, arguments: text, custom }) =>
    custom
      ? { id, type: 'custom', custom: { name, input: text } }
      : { id, type: 'function', function: { name, arguments: text === '' ? empty : text } },
  )
}

function orderedCalls({ toolCalls }: ChoiceState): ToolCallState[] {
  return [...(toolCalls ?? [])].sort(([a], [b]) => a - b).map(([, call]) => call)
}

function generatedPieces(choice: ChoiceState): string[] {
  const calls = orderedCalls(choice).map((call) => `${call.name ?? ''}${call.arguments}`)
  return [choice.reasoning, choice.text, choice.refusal, ...calls]
}

function cutToBytes(pieces: readonly string[], limitBytes: number): string {
  let text = ''
  let left = limitBytes
  for (const piece of pieces) {
    const size = Buffer.byteLength(piece)
    text += size <= left ? piece : headOf(piece, left)
    left -= size
    if (left <= 0) break
  }
  return text
}

/** The longest beginning of whole characters within `limitBytes`. */
function headOf(text: string, limitBytes: number): string {
  const bytes = Buffer.from(text.slice(0, limitBytes))
  let end = Math.min(limitBytes, bytes.length)
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return bytes.toString('utf8', 0, end)
}
