/**
 * Reads a client's chat-completions request into a `ChatRequest`. This is the only place where a request is validated:
 * all later code trusts the types. It knows no provider and no model.
 *
 * Source: the OpenAI chat-completions API reference; what differs is decided in `docs/`.
 */

import type { ChatRequest, ReasoningEffort, ResponseFormat } from '../../../domain/chat.ts'
import { isRecord, type Json } from '../../../lib/json.ts'
import { checkRoute, firstOf, readModels, readProvider, withModels } from '../../routing-fields.ts'
import {
  arrayAt,
  bodyObject,
  booleanAt,
  checkOptional,
  integerIn,
  isAbsent,
  nameAt,
  numberIn,
  objectAt,
  oneOf,
  type Range,
  refuse,
  refuseType,
  shown,
  stringAt,
  withoutNulls,
} from './checks.ts'
import { readMessages } from './messages.ts'
import { readFunctionCall, readFunctions, readToolChoice, readTools } from './tools.ts'

type Draft = { -readonly [Name in keyof ChatRequest]: ChatRequest[Name] }
/** Reads a field that is present. Fields that it depends on precede it in `FIELDS`. */
type Read<Result> = (value: unknown, name: string, draft: Draft) => Result

const TOKENS: Range = { min: 1, max: Number.MAX_SAFE_INTEGER }
const ANY_INTEGER: Range = { min: Number.MIN_SAFE_INTEGER, max: Number.MAX_SAFE_INTEGER }
const BIAS: Range = { min: -100, max: 100 }
/** The stop sequences, more than most providers accept. Each protocol checks its hosts' own limit. */
const MAX_STOPS = 64
const MAX_METADATA_PAIRS = 16
const MAX_METADATA_NAME = 64
const MAX_METADATA_VALUE = 512
const MODALITIES = ['text', 'audio', 'image'] as const
const EFFORTS: readonly ReasoningEffort[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max']
const NO_EXTRA: Readonly<Record<string, unknown>> = Object.freeze(Object.create(null))

/** The fields in the order in which they are validated: the contract's own, then the rest of OpenAI's. */
const FIELDS: readonly (readonly [name: string, read: Read<void>])[] = Object.entries({
  temperature: into('temperature', numberFrom(0, 2)),
  max_tokens: into('maxTokens', integerFrom(TOKENS)),
  stream: into('stream', booleanAt),
  top_p: into('topP', numberFrom(0, 1)),
  stop: readStop,
  n: into('n', integerFrom({ min: 1, max: 16 })),
  max_completion_tokens: into('maxTokens', readMaxCompletionTokens),
  stream_options: readStreamOptions,
  tools: readTools,
  functions: readFunctions,
  tool_choice: readToolChoice,
  function_call: readFunctionCall,
  parallel_tool_calls: readParallelToolCalls,
  response_format: into('responseFormat', readResponseFormat),
  seed: into('seed', integerFrom(ANY_INTEGER)),
  logprobs: into('logprobs', booleanAt),
  top_logprobs: into('topLogprobs', readTopLogprobs),
  frequency_penalty: into('frequencyPenalty', numberFrom(-2, 2)),
  presence_penalty: into('presencePenalty', numberFrom(-2, 2)),
  logit_bias: into('logitBias', readLogitBias),
  user: into('user', stringAt),
  metadata: into('metadata', readMetadata),
  reasoning_effort: into('reasoningEffort', (value, name) => oneOf(value, name, EFFORTS)),
  service_tier: into('serviceTier', stringAt),
  store: into('store', booleanAt),
  prediction: into('prediction', readPrediction),
  modalities: into('modalities', readModalities),
  models: readFallbacks,
  provider: readPreferences,
  route: checkRoute,
})
const KNOWN: ReadonlySet<string> = new Set(['model', 'messages', ...FIELDS.map(([name]) => name)])

/**
 * Validates a body that `checkJsonBytes` has passed. Messages and tools are the client's own objects, not copies,
 * except where an older form or a null had to be replaced. Null stands for absent in every optional field.
 * @throws GatewayError for the first fault: the body, `model`, `messages`, then the order of `FIELDS`.
 */
export function parseChatRequest(value: unknown): ChatRequest {
  const body = bodyObject(value)
  const draft: Draft = {
    model: readModel(isAbsent(body['model']) ? (firstOf(body['models']) ?? body['model']) : body['model']),
    messages: readMessages(body['messages']),
    stream: false,
    includeUsage: false,
    n: 1,
    extra: readExtra(body),
  }
  for (const [name, read] of FIELDS) {
    const field = body[name]
    if (!isAbsent(field)) read(field, name, draft)
  }
  return draft
}

function into<Target extends keyof Draft>(target: Target, read: Read<Draft[Target]>): Read<void> {
  return (value, name, draft) => {
    draft[target] = read(value, name, draft)
  }
}

function numberFrom(min: number, max: number): Read<number> {
  const range = { min, max }
  return (value, name) => numberIn(value, name, range)
}

function integerFrom(range: Range): Read<number> {
  return (value, name) => integerIn(value, name, range)
}

function readModel(value: unknown): string {
  const model = stringAt(value, 'model')
  return model === '' ? refuse('invalid_value', 'model', '`model` must not be empty.') : model
}

function readExtra(body: Json): Readonly<Record<string, unknown>> {
  let extra: Record<string, unknown> | undefined
  for (const name in body) {
    if (KNOWN.has(name)) continue
    extra ??= Object.create(null) as Record<string, unknown>
    extra[name] = body[name]
  }
  return extra ?? NO_EXTRA
}

function readFallbacks(value: unknown, name: string, draft: Draft): void {
  const routing = withModels(draft.routing, readModels(value, name))
  if (routing !== undefined) draft.routing = routing
}

function readPreferences(value: unknown, name: string, draft: Draft): void {
  const { preferences, ignoredParameters } = readProvider(value, name)
  if (Object.keys(preferences).length > 0) draft.routing = { ...draft.routing, provider: preferences }
  if (ignoredParameters.length > 0) draft.ignoredParameters = [...(draft.ignoredParameters ?? []), ...ignoredParameters]
}

/** An empty list means none. */
function readStop(value: unknown, name: string, draft: Draft): void {
  const stops = typeof value === 'string' ? [value] : value
  if (!Array.isArray(stops)) refuseType(value, name, 'a string or an array of strings')
  if (stops.length > MAX_STOPS) {
    refuse('out_of_range', name, `\`${name}\` must have at most ${MAX_STOPS} strings, not ${stops.length}.`)
  }
  if (stops.length > 0) draft.stop = stops.map((stop, at) => stringAt(stop, `${name}[${at}]`))
}

function readMaxCompletionTokens(value: unknown, name: string, draft: Draft): number {
  const tokens = integerIn(value, name, TOKENS)
  if (draft.maxTokens === undefined || draft.maxTokens === tokens) return tokens
  refuse('invalid_value', name, `\`${name}\` (${tokens}) and \`max_tokens\` (${draft.maxTokens}) differ; send one.`)
}

/**
 * The gateway never pads chunks, so `include_obfuscation: false` needs no action. A warning names `true` and unknown
 * members.
 */
function readStreamOptions(value: unknown, name: string, draft: Draft): void {
  if (!isRecord(value)) refuseType(value, name, 'an object')
  if (!draft.stream) refuse('invalid_value', name, `\`${name}\` is only allowed with \`stream: true\`.`)
  const { include_usage: usage, include_obfuscation: obfuscation, ...others } = value
  if (!isAbsent(usage)) draft.includeUsage = booleanAt(usage, `${name}.include_usage`)
  const ignoredParameters = Object.keys(others).filter((other) => !isAbsent(others[other]))
  if (!isAbsent(obfuscation) && booleanAt(obfuscation, `${name}.include_obfuscation`))
    ignoredParameters.push('include_obfuscation')
  else if (obfuscation === false) draft.plainChunks = true
  if (ignoredParameters.length > 0) draft.ignoredParameters = ignoredParameters.map((other) => `${name}.${other}`)
}

/** Reads the field, which is dropped without tools because it has no effect. */
function readParallelToolCalls(value: unknown, name: string, draft: Draft): void {
  const parallel = booleanAt(value, name)
  if (draft.tools !== undefined) draft.parallelToolCalls = parallel
}

function readTopLogprobs(value: unknown, name: string, draft: Draft): number {
  const count = integerIn(value, name, { min: 0, max: 20 })
  if (draft.logprobs === true) return count
  refuse('invalid_value', name, `\`${name}\` is only allowed with \`logprobs: true\`.`)
}

function readLogitBias(value: unknown, name: string): Readonly<Record<string, number>> {
  if (!isRecord(value)) refuseType(value, name, 'an object')
  for (const token in value) {
    if (!/^\d{1,16}$/.test(token)) {
      refuse('invalid_value', name, `\`${name}\` maps token IDs to numbers; ${shown(token)} is not a token ID.`)
    }
    numberIn(value[token], `${name}.${token}`, BIAS)
  }
  return value as Readonly<Record<string, number>>
}

function readMetadata(value: unknown, name: string): Readonly<Record<string, string>> {
  if (!isRecord(value)) refuseType(value, name, 'an object')
  const names = Object.keys(value)
  if (names.length > MAX_METADATA_PAIRS) {
    refuse('out_of_range', name, `\`${name}\` must have at most ${MAX_METADATA_PAIRS} pairs, not ${names.length}.`)
  }
  for (const key of names) {
    if (key.length > MAX_METADATA_NAME) {
      refuse('out_of_range', name, `Names in \`${name}\` must have at most ${MAX_METADATA_NAME} characters.`)
    }
    if (stringAt(value[key], `${name}.${key}`).length > MAX_METADATA_VALUE) {
      refuse(
        'out_of_range',
        `${name}.${key}`,
        `Values in \`${name}\` must have at most ${MAX_METADATA_VALUE} characters.`,
      )
    }
  }
  return value as Readonly<Record<string, string>>
}

function readModalities(value: unknown, name: string): readonly string[] {
  const modalities = arrayAt(value, name)
  if (modalities.length === 0) refuse('invalid_value', name, `\`${name}\` must not be empty.`)
  return modalities.map((modality, at) => oneOf(modality, `${name}[${at}]`, MODALITIES))
}

const FORMATS = ['text', 'json_object', 'json_schema'] as const

/** Does not validate the schema itself. */
function readResponseFormat(value: unknown, name: string): ResponseFormat {
  const format = objectAt(value, name)
  if (oneOf(format['type'], `${name}.type`, FORMATS) !== 'json_schema') return format as unknown as ResponseFormat
  const path = `${name}.json_schema`
  const described = objectAt(format['json_schema'], path)
  nameAt(described['name'], `${path}.name`)
  checkOptional(described, path, { description: stringAt, schema: objectAt, strict: booleanAt })
  const schema = withoutNulls(described, ['description', 'schema'])
  return (schema === described ? format : { ...format, json_schema: schema }) as unknown as ResponseFormat
}

/** Reads the text that the answer will mostly repeat. */
function readPrediction(value: unknown, name: string): unknown {
  const prediction = objectAt(value, name)
  oneOf(prediction['type'], `${name}.type`, ['content'])
  const content = prediction['content']
  if (typeof content === 'string') return prediction
  arrayAt(content, `${name}.content`).forEach((part, at) => {
    const path = `${name}.content[${at}]`
    const text = objectAt(part, path)
    oneOf(text['type'], `${path}.type`, ['text'])
    stringAt(text['text'], `${path}.text`)
  })
  return prediction
}
