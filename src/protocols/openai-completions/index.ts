/**
 * OpenAI's legacy completions as an upstream protocol, for hosts that continue a prompt, or complete the text before
 * a suffix.
 * An answer is read as a chat completion with the same text.
 *
 * Source: https://platform.openai.com/docs/api-reference/completions, read 2026-11-24.
 */
import type { ChatRequest } from '../../domain/chat.ts'
import { isRecord, type Json, parseJson } from '../../lib/json.ts'
import { forwardedFields } from '../body-fields.ts'
import { parseError } from '../openai-chat/errors.ts'
import type { OpenAiChatOptions } from '../openai-chat/options.ts'
import { parseResponse } from '../openai-chat/response.ts'
import { streamParser } from '../openai-chat/stream.ts'
import { checkStops, outputLimitOf } from '../parameters.ts'
import type { Frame, RenderTarget, StreamParser, UpstreamProtocol, WireRequest } from '../protocol.ts'
import { taskOf } from '../whole-answers.ts'

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
