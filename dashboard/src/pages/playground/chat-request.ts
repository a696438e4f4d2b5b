/** The request that a column sends: its conversation, and of what is set, what its model supports. */
import type { Json, JsonFields } from '../../lib/code-samples.ts'
import type { CallableModel } from './callable.ts'
import type { AnswerItem, Image, Item, MessageItem } from './conversation.ts'
import { type Settings, schemaOf, stopsOf, toolsOf } from './settings.ts'

export interface ChatInput {
  readonly model: CallableModel
  readonly system: string
  readonly items: readonly Item[]
  readonly settings: Settings
}

export interface ChatRequest {
  readonly body: JsonFields
  /** Names, in words, of what is set but not sent. */
  readonly leftOut: readonly string[]
}

export function chatRequest({ model, system, items, settings }: ChatInput): ChatRequest {
  const wanted = wantedFields(settings).filter(({ value }) => value !== undefined)
  const supported = wanted.filter(({ name }) => supports(model, name))
  const unsupported = wanted.filter((field) => !supported.includes(field))
  return {
    body: {
      model: model.id,
      messages: chatMessages(system, items),
      ...Object.fromEntries(supported.map(({ name, value }) => [name, value])),
      stream: true,
      stream_options: { include_usage: true },
    },
    leftOut: [...new Set(unsupported.map(({ label }) => label))],
  }
}

interface WantedField {
  readonly name: string
  readonly label: string
  readonly value: Json | undefined
}

function wantedFields(settings: Settings): readonly WantedField[] {
  const { temperature, topP, maxTokens, seed, effort } = settings
  const stops = stopsOf(settings.stop)
  const tools = toolsOf(settings.tools)
  const choice = tools === undefined || settings.toolChoice === 'auto' ? undefined : settings.toolChoice
  return [
    { name: 'temperature', label: 'temperature', value: temperature },
    { name: 'top_p', label: 'top P', value: topP },
    { name: 'max_tokens', label: 'output limit', value: maxTokens },
    { name: 'seed', label: 'seed', value: seed },
    { name: 'stop', label: 'stop sequences', value: stops.length === 0 ? undefined : stops },
    { name: 'reasoning_effort', label: 'reasoning effort', value: effort === '' ? undefined : effort },
    { name: 'response_format', label: 'response format', value: responseFormat(settings) },
    { name: 'tools', label: 'tools', value: tools },
    { name: 'tool_choice', label: 'tools', value: choice },
  ]
}

function responseFormat({ format, schema, isStrict }: Settings): Json | undefined {
  if (format === 'text') return undefined
  if (format === 'json_object') return { type: format }
  const given = schemaOf(schema)
  return given === undefined
    ? undefined
    : { type: format, json_schema: { name: 'answer', strict: isStrict, schema: given } }
}

/** @param name Of a field of the request. */
export function supports({ capabilities, supported_parameters: named }: CallableModel, name: string): boolean {
  if (name === 'tools' || name === 'tool_choice') return capabilities.function_calling
  if (name === 'response_format') return capabilities.json_mode
  if (name === 'max_tokens') return named.includes(name) || named.includes('max_completion_tokens')
  return named.includes(name)
}

/** As they go over the wire. */
function chatMessages(system: string, items: readonly Item[]): readonly Json[] {
  const first: readonly Json[] = system.trim() === '' ? [] : [{ role: 'system', content: system }]
  return [...first, ...items.flatMap((item) => (item.kind === 'message' ? [wireMessage(item)] : wireAnswer(item)))]
}

function wireMessage({ role, text, images }: MessageItem): Json {
  if (images.length === 0) return { role, content: text }
  const parts = images.map(({ dataUrl }: Image): Json => ({ type: 'image_url', image_url: { url: dataUrl } }))
  return { role, content: text === '' ? parts : [{ type: 'text', text }, ...parts] }
}

/**
 * What a model said, also when it was stopped; nothing when it said nothing. Calls that nobody answered are left out: a
 * provider refuses a conversation in which they hang.
 */
function wireAnswer({ run, toolAnswers }: AnswerItem): readonly Json[] {
  const answers = new Map(toolAnswers.map(({ callId, text }) => [callId, text]))
  const calls = run.calls.filter(({ id }) => answers.has(id))
  if (run.text === '' && run.refusal === '' && calls.length === 0) return []
  const toolCalls = calls.map(
    (call): Json => ({
      id: call.id,
      type: 'function',
      function: { name: call.name, arguments: call.arguments },
    }),
  )
  const answer: Json = {
    role: 'assistant',
    content: run.text === '' ? null : run.text,
    ...(run.refusal !== '' && { refusal: run.refusal }),
    ...(run.reasoning !== '' && { reasoning_content: run.reasoning }),
    ...(toolCalls.length > 0 && { tool_calls: toolCalls }),
  }
  return [answer, ...calls.map(({ id }): Json => ({ role: 'tool', tool_call_id: id, content: answers.get(id) ?? '' }))]
}

const LONG_DATA = /^(data:[\w/+.-]+;base64,.{24}).{64,}$/s

/** The same with its images cut short, for reading and for code that is copied. */
export function withoutImages(value: Json): Json {
  if (typeof value === 'string') return value.replace(LONG_DATA, '$1…')
  if (typeof value !== 'object' || value === null) return value
  if (isList(value)) return value.map(withoutImages)
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, withoutImages(field)]))
}

function isList(value: object): value is readonly Json[] {
  return Array.isArray(value)
}
