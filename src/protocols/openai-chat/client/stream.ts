/**
 * Renders a streamed answer: each event becomes the text of its server-sent events. On the hottest path, so the common
 * part of chunks is rendered once, and a piece of text costs one `JSON.stringify` of that piece.
 *
 * The shapes are what the official SDKs and the common clients parse: role once per choice, id, type and name once per
 * tool call, one finish reason per choice, usage last. A finish reason is held back until `close`, because what follows
 * it upstream (usage, an error) decides the client's last chunk.
 */
import type { ChatEvent, ChatRequest, ExtensionEvent, FinishReason, ToolCallEvent } from '../../../domain/chat.ts'
import { isRecord } from '../../../lib/json.ts'
import type { AnswerHead, AnswerStream, Bill } from '../../client-api.ts'
import { emptyArgumentsAreWhole, finishReason, isExtensionField, readLogprobs, renderUsage } from './answer.ts'

type StreamHead = AnswerHead & Pick<ChatRequest, 'includeUsage' | 'legacyFunctions'>

interface ChoiceState {
  readonly index: number
  /** A chunk of this choice up to the inside of its `delta`. */
  readonly prefix: string
  hasRole: boolean
  /** Whether argument text has arrived, by tool call. */
  readonly toolCalls: Map<number, boolean>
  extensions: Map<string, unknown> | undefined
  finish: FinishReason | undefined
}

interface StreamState {
  /** A chunk up to its `choices`. */
  readonly prefix: string
  readonly includeUsage: boolean
  readonly legacyFunctions: boolean
  readonly choices: Map<number, ChoiceState>
}

/** Closes the delta, the choice and the chunk. */
const UNFINISHED = '},"finish_reason":null}]}\n\n'
const DONE = 'data: [DONE]\n\n'
const REFUSAL = '"refusal":'
const NO_CONTENT = '"role":"assistant","content":null'
const EMPTY_CONTENT = '"role":"assistant","content":""'

/** Finish reasons and extensions follow at `close`, for choices that have finished: no reason is ever invented. */
export function createStreamRenderer({
  id,
  created,
  model,
  includeUsage,
  legacyFunctions = false,
}: StreamHead): AnswerStream {
  const head = JSON.stringify({ id, object: 'chat.completion.chunk', created, model })
  const prefix = `data: ${head.slice(0, -1)},"choices":[`
  const state: StreamState = { prefix, includeUsage, legacyFunctions, choices: new Map() }
  return {
    push: (event) => renderEvent(state, event),
    close: (bill) => renderEnd(state, bill),
  }
}

function renderEvent(state: StreamState, event: ChatEvent): string {
  if (event.type === 'usage') return ''
  const choice = state.choices.get(event.index) ?? addChoice(state, event.index)
  switch (event.type) {
    case 'text':
      return renderText(choice, '"content":', event)
    case 'reasoning':
      return event.text === '' ? '' : renderText(choice, '"reasoning_content":', event)
    case 'refusal':
      return renderText(choice, REFUSAL, event)
    case 'tool-call':
      return state.legacyFunctions ? renderFunctionCall(choice, event) : renderToolCall(choice, event)
    case 'native':
      return ''
    case 'extension':
      holdExtension(choice, event)
      return ''
    case 'finish':
      choice.finish = event.reason
      return ''
  }
}

function addChoice(state: StreamState, index: number): ChoiceState {
  const choice: ChoiceState = {
    index,
    prefix: `${state.prefix}{"index":${index},"delta":{`,
    hasRole: false,
    toolCalls: new Map(),
    extensions: undefined,
    finish: undefined,
  }
  state.choices.set(index, choice)
  return choice
}

function renderText(choice: ChoiceState, field: string, event: { text: string; logprobs?: unknown }): string {
  const role = choice.hasRole ? '' : renderRole(choice, field === REFUSAL ? NO_CONTENT : EMPTY_CONTENT)
  const end = event.logprobs === undefined ? UNFINISHED : endWithLogprobs(event.logprobs)
  return role + choice.prefix + field + JSON.stringify(event.text) + end
}

/** A separate chunk, so that no client must expect text beside the role. */
function renderRole(choice: ChoiceState, delta: string): string {
  choice.hasRole = true
  return choice.prefix + delta + UNFINISHED
}

function endWithLogprobs(value: unknown): string {
  const logprobs = readLogprobs(value)
  if (logprobs === undefined) return UNFINISHED
  return `},"logprobs":${JSON.stringify(logprobs)},"finish_reason":null}]}\n\n`
}

function renderToolCall(choice: ChoiceState, event: ToolCallEvent): string {
  const role = choice.hasRole ? '' : renderRole(choice, NO_CONTENT)
  const isFirst = !choice.toolCalls.has(event.toolIndex)
  if (isFirst || event.arguments !== '') choice.toolCalls.set(event.toolIndex, event.arguments !== '')
  const call = `${choice.prefix}"tool_calls":[{"index":${event.toolIndex},`
  const name = isFirst ? `"name":${JSON.stringify(event.name)},` : ''
  if (event.custom) return role + call + renderCustomCall(choice, event, { isFirst, name })
  const identity = isFirst ? `"id":${JSON.stringify(event.id)},"type":"function",` : ''
  return `${role}${call}${identity}"function":{${name}"arguments":${JSON.stringify(event.arguments)}}}]${UNFINISHED}`
}

/** The call of a custom tool, after its index. An empty input is valid: nothing is added at the end. */
function renderCustomCall(
  choice: ChoiceState,
  event: ToolCallEvent,
  { isFirst, name }: { readonly isFirst: boolean; readonly name: string },
): string {
  choice.toolCalls.set(event.toolIndex, true)
  const identity = isFirst ? `"id":${JSON.stringify(event.id)},"type":"custom",` : ''
  return `${identity}"custom":{${name}"input":${JSON.stringify(event.arguments)}}}]${UNFINISHED}`
}

/** The older form of a tool call, which holds one. */
function renderFunctionCall(choice: ChoiceState, event: ToolCallEvent): string {
  if (event.toolIndex !== 0) return ''
  const role = choice.hasRole ? '' : renderRole(choice, NO_CONTENT)
  const isFirst = !choice.toolCalls.has(0)
  if (isFirst || event.arguments !== '') choice.toolCalls.set(0, event.arguments !== '')
  const name = isFirst ? `"name":${JSON.stringify(event.name)},` : ''
  return `${role}${choice.prefix}"function_call":{${name}"arguments":${JSON.stringify(event.arguments)}}${UNFINISHED}`
}

/** Holds an extension until it is final: later values replace earlier ones, but clients join the values of deltas. */
function holdExtension(choice: ChoiceState, { field, value }: ExtensionEvent): void {
  if (!isExtensionField(field)) return
  choice.extensions ??= new Map()
  choice.extensions.set(field, value)
}

function renderEnd(state: StreamState, bill: Bill): string {
  const finished = [...state.choices.values()].filter(({ finish }) => finish !== undefined)
  finished.sort((a, b) => a.index - b.index)
  const usage = `,"usage":${renderUsage(bill)}}\n\n`
  const last = finished.at(-1)
  let text = ''
  for (const choice of finished) {
    text += renderFinish(choice, state.legacyFunctions) + (choice === last && !state.includeUsage ? usage : '}\n\n')
  }
  return text + (state.includeUsage ? `${state.prefix}]${usage}` : '') + DONE
}

/** Renders the rest of a choice, up to the closing brace of its last chunk. */
function renderFinish(choice: ChoiceState, legacyFunctions: boolean): string {
  const role = choice.hasRole ? '' : renderRole(choice, EMPTY_CONTENT)
  const reason = JSON.stringify(finishOf(choice))
  return `${role}${renderEmptyArguments(choice, legacyFunctions)}${renderExtensions(choice)}${choice.prefix}},"finish_reason":${reason}}]`
}

function finishOf(choice: ChoiceState): FinishReason | undefined {
  return choice.finish === undefined ? undefined : finishReason(choice.finish, choice.toolCalls.size > 0)
}

function renderEmptyArguments({ toolCalls, prefix, finish }: ChoiceState, legacyFunctions: boolean): string {
  if (toolCalls.size === 0 || !emptyArgumentsAreWhole(finish)) return ''
  let text = ''
  for (const [toolIndex, hasArguments] of toolCalls) {
    if (hasArguments) continue
    text += legacyFunctions
      ? `${prefix}"function_call":{"arguments":"{}"}${UNFINISHED}`
      : `${prefix}"tool_calls":[{"index":${toolIndex},"function":{"arguments":"{}"}}]${UNFINISHED}`
  }
  return text
}

function renderExtensions({ extensions, prefix }: ChoiceState): string {
  let text = ''
  for (const [field, value] of extensions ?? []) {
    const delta = deltaValue(value)
    if (delta !== undefined) text += `${prefix}${JSON.stringify(field)}:${JSON.stringify(delta)}${UNFINISHED}`
  }
  return text
}

/**
 * Returns a value that accumulating clients accept in a delta: text, an object, or a list of objects with an `index`.
 * @returns undefined for anything else: numbers would be added up, and other lists stop the Python SDK's helper.
 */
function deltaValue(value: unknown): unknown {
  if (typeof value === 'string' || isRecord(value)) return value
  if (!Array.isArray(value) || value.length === 0 || !value.every(isRecord)) return undefined
  return value.map((entry, index) => (Number.isInteger(entry['index']) ? entry : { ...entry, index }))
}
