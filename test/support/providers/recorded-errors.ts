/**
 * What a client must be told of a recorded error, by the decisions' table of statuses and by what each body says. Written
 * apart from the codecs on purpose.
 */
import type { Recording } from './recordings.ts'

export interface Expected {
  readonly status: number
  readonly type: string
  readonly code: string
  /** The provider's own words, as far as they are looked at. */
  readonly said: string
  /** Whether the client reads them: only what is about its request. */
  readonly isShown: boolean
  /** As the provider asks; seconds. */
  readonly retryAfter: number | undefined
}

/** Errors whose body says more than their status. */
const BY_BODY: Readonly<Record<string, string>> = {
  'anthropic/error-400-3.json': 'context_length_exceeded',
  'anthropic/error-400-5.json': 'context_length_exceeded',
  'bedrock/converse-error-400-2.json': 'context_length_exceeded',
  'deepseek/error-400.json': 'context_length_exceeded',
  'gemini/error-400.json': 'context_length_exceeded',
  'ollama/error-400-2.json': 'context_length_exceeded',
  'openrouter/error-400.json': 'context_length_exceeded',
  'vllm/error-400.json': 'context_length_exceeded',
  'xai/error-400.json': 'context_length_exceeded',
  'azure/content-filter.json': 'content_filter',
  'gemini/error-400-4.json': 'provider_credentials',
  'openai/error-429-4.json': 'provider_credentials',
  'xai/error-429.json': 'provider_credentials',
}
const BY_STATUS: Readonly<Record<number, string>> = {
  400: 'provider_rejected',
  401: 'provider_credentials',
  402: 'provider_credentials',
  403: 'provider_credentials',
  413: 'provider_rejected',
  422: 'provider_rejected',
  429: 'provider_rate_limited',
}
const ABOUT_THE_REQUEST = ['provider_rejected', 'context_length_exceeded', 'content_filter']

/** @param recording Of an error that has a status of its own. */
export function expectedError({ file, status, headers, bytes }: Recording): Expected {
  const code = BY_BODY[file] ?? BY_STATUS[status] ?? 'provider_error'
  const isShown = ABOUT_THE_REQUEST.includes(code)
  const body = bytes.toString('utf8')
  return {
    ...(isShown ? { status: 400, type: 'invalid_request' } : { status: 503, type: 'service_unavailable' }),
    code,
    said: saidIn(body),
    isShown,
    retryAfter: isShown ? undefined : secondsAsked(headers, body),
  }
}

/** Errors inside of a stream that say more than that the provider failed. */
export const STREAM_CODES: Readonly<Record<string, string>> = {
  'groq/stream-error.sse': 'provider_rejected',
  'openrouter/stream-length.sse': 'provider_rejected',
  'own-openai-chat/error-by-name.sse': 'provider_rejected',
  'own-bedrock-converse/throttled.events.jsonl': 'provider_rate_limited',
}

function secondsAsked(headers: Recording['headers'], body: string): number | undefined {
  const inBody = /"retryDelay": ?"(\d+)/.exec(body)?.[1]
  const milliseconds = headers['retry-after-ms']
  const seconds = milliseconds === undefined ? (headers['retry-after'] ?? inBody) : Number(milliseconds) / 1000
  return seconds === undefined ? undefined : Math.min(60, Math.max(1, Math.ceil(Number(seconds))))
}

/** The first words of the message; '' for pages and for lists of faults. */
function saidIn(body: string): string {
  if (!body.startsWith('{')) return body.startsWith('<') ? '' : firstWords(body)
  const { error, message, detail } = JSON.parse(body)
  const said = typeof error === 'string' ? error : (error?.message ?? message ?? detail)
  return typeof said === 'string' ? firstWords(said) : ''
}

function firstWords(text: string): string {
  return text.replace(/\s+/g, ' ').trim().slice(0, 24)
}
