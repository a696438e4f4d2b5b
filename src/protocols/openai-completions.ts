/**
 * OpenAI's legacy completions, for hosts and for clients. To hosts that continue a prompt, or complete the text before
 * a suffix, it is an upstream protocol; their answer is read as a chat completion with the same text.
 *
 * Source: https://platform.openai.com/docs/api-reference/completions, read 2026-11-24.
 */
import type { ChatEvent, ChatRequest, CompletionTask, FinishReason } from '../domain/chat.ts'
import { isRecord, type Json, parseJson } from '../lib/json.ts'
import { forwardedFields } from './body-fields.ts'
import {
  type AnswerStream,
  type Bill,
  type ClientApi,
  OPENAI_CONVENTIONS,
  type StreamStart,
  type WholeAnswer,
} from './client-api.ts'
import { renderUsage } from './openai-chat/client/answer.ts'
import {
  bodyObject,
  booleanAt,
  integerIn,
  isAbsent,
  presentFields,
  refuse,
  refuseType,
  stringAt,
} from './openai-chat/client/checks.ts'
import { parseChatRequest } from './openai-chat/client/request.ts'
import { parseError } from './openai-chat/errors.ts'
import type { OpenAiChatOptions } from './openai-chat/options.ts'
import { parseResponse } from './openai-chat/response.ts'
import { streamParser } from './openai-chat/stream.ts'
import { checkStops, outputLimitOf } from './parameters.ts'
import type { Frame, RenderTarget, StreamParser, UpstreamProtocol, WireRequest } from './protocol.ts'
import { taskOf } from './whole-answers.ts'

export interface OpenAiCompletionsOptions
  extends Pick<OpenAiChatOptions, 'forwards' | 'maxStops' | 'severalChoices' | 'streamOptions'> {
  /** Default: `/completions`. */
  readonly path?: string
  /** The name of the seed. Default: `seed`. */
  readonly seedField?: 'seed' | 'random_seed'
}

/** @param options Of the same host's chat completions, which have the same fields. */
export function openaiCompletions(options: OpenAiCompletionsOptions = {}): UpstreamProtocol {
  const known = new Set(options.forwards?.fields)
  return {
    id: 'openai-completions',
    framing: 'sse',
    severalChoices: options.severalChoices ?? true,
    forwards: options.forwards,
    renderRequest: (request, target) => renderRequest(request, target, { options, known }),
    parseResponse: (body) => parseResponse(withContent(body, 'message')),
    streamParser: () => contentParser(streamParser()),
    parseError,
  }
}

/** The limit of OpenAI's API. */
const MAX_STOPS = 4

interface Dialect {
  readonly options: OpenAiCompletionsOptions
  readonly known: ReadonlySet<string>
}

function renderRequest(request: ChatRequest, target: RenderTarget, { options, known }: Dialect): WireRequest {
  const { prompt, suffix } = taskOf(request, 'completion')
  const { path = '/completions', seedField = 'seed', streamOptions = true, maxStops = MAX_STOPS } = options
  const warnings = new Set<string>()
  checkStops(request.stop, maxStops)
  const body = {
    ...forwardedFields(request, { known, target, warnings }),
    model: target.model,
    prompt,
    suffix,
    max_tokens: outputLimitOf(request, target),
    temperature: request.temperature,
    top_p: request.topP,
    n: options.severalChoices !== false && request.n > 1 ? request.n : undefined,
    stop: request.stop,
    [seedField]: request.seed,
    frequency_penalty: request.frequencyPenalty,
    presence_penalty: request.presencePenalty,
    logit_bias: request.logitBias,
    stream: request.stream || undefined,
    stream_options: request.stream && streamOptions ? { include_usage: true } : undefined,
  }
  if (request.user !== undefined) warnings.add('user')
  return { path, body: JSON.stringify(body), warnings: [...warnings] }
}

function contentParser(parser: StreamParser): StreamParser {
  return {
    push: (frame, events) => parser.push(withDelta(frame), events),
    end: (events) => parser.end(events),
  }
}

function withDelta(frame: Frame): Frame {
  return frame.data.startsWith('[DONE]') ? frame : { ...frame, data: withContent(frame.data, 'delta') }
}

/** The text of each choice as the content of its message; anything else stays as it is. */
function withContent(text: string, field: 'message' | 'delta'): string {
  const answer = parseJson(text)
  if (!isRecord(answer) || !Array.isArray(answer['choices'])) return text
  const choices = answer['choices'].map((choice: unknown) => (isRecord(choice) ? renamed(choice, field) : choice))
  return JSON.stringify({ ...answer, choices })
}

function renamed({ text, logprobs: _, ...choice }: Json, field: 'message' | 'delta'): Json {
  return typeof text === 'string' ? { ...choice, [field]: { content: text } } : choice
}

/*
 * OpenAI's legacy completions as an API for clients, `POST /v1/completions`: a prompt to continue, or text before a
 * suffix to complete, as editors do. On hosts without such an endpoint the prompt becomes the message of a user.
 * Source: https://platform.openai.com/docs/api-reference/completions, and the types of the official SDK.
 */

export const completionsApi: ClientApi = {
  recordedAs: 'completions',
  endpoint: 'POST /v1/completions',
  ...OPENAI_CONVENTIONS,
  parse: parseCompletionRequest,
  createAnswer: createTextCompletion,
  createStream: createTextStream,
}

/** The API's own default, which is short. */
const DEFAULT_MAX_TOKENS = 16
const LOGPROBS = { min: 0, max: 5 } as const
/** Fields of conversations, which have no meaning here. */
const CHAT_FIELDS: ReadonlySet<string> = new Set([
  'messages',
  'tools',
  'tool_choice',
  'functions',
  'function_call',
  'parallel_tool_calls',
  'response_format',
  'modalities',
])

/** @throws GatewayError for the first fault. */
function parseCompletionRequest(body: unknown): ChatRequest {
  const { prompt: given, suffix: end, logprobs, echo, ...others } = bodyObject(body)
  const prompt = promptAt(given)
  const suffix = isAbsent(end) ? '' : stringAt(end, 'suffix')
  if (!isAbsent(logprobs) && integerIn(logprobs, 'logprobs', LOGPROBS) > 0) refuseField('logprobs')
  if (!isAbsent(echo) && booleanAt(echo, 'echo')) refuseField('echo')
  const fields = Object.fromEntries(Object.entries(others).filter(([name]) => !CHAT_FIELDS.has(name)))
  const request = parseChatRequest({
    max_tokens: DEFAULT_MAX_TOKENS,
    ...presentFields(fields),
    messages: [{ role: 'user', content: prompt }],
  })
  const task: CompletionTask = { type: 'completion', prompt, ...(suffix === '' ? {} : { suffix }) }
  const ignored = Object.keys(others).filter((name) => CHAT_FIELDS.has(name))
  const ignoredParameters = [...(request.ignoredParameters ?? []), ...ignored]
  return { ...request, task, ...(ignoredParameters.length === 0 ? {} : { ignoredParameters }) }
}

/** Reads one text, alone or in a list. */
function promptAt(value: unknown): string {
  if (typeof value === 'string') return value
  if (!Array.isArray(value)) refuseType(value, 'prompt', 'a string')
  if (value.length !== 1) {
    refuse('out_of_range', 'prompt', `\`prompt\` must have one entry, not ${value.length}. Send several requests.`)
  }
  return stringAt(value[0], 'prompt[0]')
}

function refuseField(name: string): never {
  refuse('unsupported_parameter', name, `\`${name}\` is not supported by this endpoint.`)
}

interface Choice {
  text: string
  finish: FinishReason | undefined
}

function createTextCompletion(): WholeAnswer {
  const choices = new Map<number, Choice>()
  return {
    push(event) {
      if (event.type === 'usage') return
      const choice = choices.get(event.index) ?? { text: '', finish: undefined }
      choices.set(event.index, choice)
      choice.text += textOfEvent(event)
      if (event.type === 'finish') choice.finish = event.reason
    },
    render({ id, created, model, usage, costUsd }) {
      const rendered = [...choices]
        .sort(([one], [other]) => one - other)
        .map(([index, { text, finish }]) => ({ text, index, logprobs: null, finish_reason: finishOf(finish) }))
      const head = JSON.stringify({ id, object: 'text_completion', created, model, choices: rendered })
      return `${head.slice(0, -1)},"usage":${renderUsage({ usage, costUsd })}}`
    },
  }
}

/** Returns the generated text; this format has no field for reasoning. */
function textOfEvent(event: ChatEvent): string {
  return event.type === 'text' || event.type === 'refusal' ? event.text : ''
}

function finishOf(reason: FinishReason | undefined): string | null {
  return reason === 'tool_calls' ? 'stop' : (reason ?? null)
}

/** Finish reasons follow at the end: a later event may change them. */
function createTextStream({ id, created, model, request: { includeUsage } }: StreamStart): AnswerStream {
  const head = JSON.stringify({ id, object: 'text_completion', created, model }).slice(0, -1)
  const finishes = new Map<number, FinishReason>()
  const chunk = (index: number, text: string, finish: string | null): string => {
    const choice = JSON.stringify({ text, index, logprobs: null, finish_reason: finish })
    return `data: ${head},"choices":[${choice}]}\n\n`
  }
  return {
    push(event) {
      if (event.type === 'usage') return ''
      if (event.type === 'finish') finishes.set(event.index, event.reason)
      const text = textOfEvent(event)
      return text === '' ? '' : chunk(event.index, text, null)
    },
    close(bill: Bill) {
      const ends = [...finishes].map(([index, reason]) => chunk(index, '', finishOf(reason)))
      const usage = includeUsage ? `data: ${head},"choices":[],"usage":${renderUsage(bill)}}\n\n` : ''
      return `${ends.join('')}${usage}data: [DONE]\n\n`
    },
  }
}
