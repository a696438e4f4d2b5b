/** Requests of `npm run record`: a small one for each feature in which hosts differ. */
import type { ChatMessage, ChatRequest, Tool } from '../../src/domain/chat.ts'

export interface StandardCase {
  /** Name of the case and its files. */
  readonly name: string
  readonly request: ChatRequest
  /** Replaces the key, so that the host rejects it. */
  readonly credential?: string
  /** Replaces the model. */
  readonly model?: string
  /** Stored only if the host rejects the request. */
  readonly wantsError?: boolean
}

/** A square of 64 by 64 red points. */
const RED =
  'iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAUElEQVR42u3PQQkAAAgEsAthHPunMIwRfAuDFVim+rUICAgICAgICAgICAgICAgICA' +
  'gICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgICFwWs4TBD55PN2kAAAAASUVORK5CYII='

const WEATHER: Tool = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather in a city.',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    },
  },
}
const CLOCK: Tool = {
  type: 'function',
  function: {
    name: 'get_time',
    description: 'The time now. Takes nothing.',
    parameters: { type: 'object', properties: {}, additionalProperties: false },
  },
}
const CITY_SCHEMA = {
  type: 'object',
  properties: { city: { type: 'string' }, inhabitants: { type: 'integer' } },
  required: ['city', 'inhabitants'],
  additionalProperties: false,
} as const

/** Enough for reasoning before a short answer. */
const MAX_TOKENS = 2000
const MODEL = 'recorded'

function asking(content: ChatMessage['content'], more: Partial<ChatRequest> = {}): ChatRequest {
  return {
    model: MODEL,
    messages: [{ role: 'user', content: content ?? '' }],
    stream: false,
    includeUsage: false,
    n: 1,
    maxTokens: MAX_TOKENS,
    extra: {},
    ...more,
  }
}

const TEXT = asking('Say: Grüße, 世界 🌍', { messages: textMessages() })
const TOOL_CALL = asking('What is the weather in Oslo?', { tools: [WEATHER], toolChoice: 'required' })
const PARALLEL = asking('What is the weather in Oslo and in Rome? Ask for both at once.', { tools: [WEATHER] })
const NO_ARGUMENTS = asking('What time is it?', { tools: [CLOCK] })
const REASONING = asking('Which is larger, 9.11 or 9.9? Think first, then answer with the number alone.', {
  reasoningEffort: 'low',
})
const LENGTH = asking('Count from one to one thousand in words.', { maxTokens: 16 })

function textMessages(): readonly ChatMessage[] {
  return [
    { role: 'system', content: 'Repeat what you are told, and nothing else.' },
    { role: 'user', content: 'Say: Grüße, 世界 🌍' },
  ]
}

function toolResult(): readonly ChatMessage[] {
  const call = {
    id: 'call_recorded1',
    type: 'function',
    function: { name: 'get_weather', arguments: '{"city":"Oslo"}' },
  } as const
  return [
    { role: 'user', content: 'What is the weather in Oslo?' },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: call.id, content: '{"celsius":-3,"sky":"clear"}' },
  ]
}

/** In the order of sending; free ones come last. */
export const STANDARD_CASES: readonly StandardCase[] = [
  ...bothWays('text', TEXT),
  ...bothWays('tool-call', TOOL_CALL),
  ...bothWays('parallel-tools', PARALLEL),
  ...bothWays('tool-noargs', NO_ARGUMENTS),
  { name: 'tool-result', request: asking('', { messages: toolResult(), tools: [WEATHER] }) },
  {
    name: 'json-schema',
    request: asking('Oslo, about 700000 people.', {
      responseFormat: { type: 'json_schema', json_schema: { name: 'city', schema: CITY_SCHEMA, strict: true } },
    }),
  },
  {
    name: 'image-data',
    request: asking([
      { type: 'text', text: 'Which colour is this? One word.' },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${RED}` } },
    ]),
  },
  ...bothWays('reasoning', REASONING),
  { name: 'stop-seq', request: asking('Write: one two three four', { stop: ['three'] }) },
  ...bothWays('length', LENGTH),
  {
    name: 'error-request',
    request: asking('', { messages: [{ role: 'tool', tool_call_id: 'call_0', content: 'stray' }] }),
    wantsError: true,
  },
  { name: 'error-credential', request: TEXT, credential: 'not-a-key', wantsError: true },
  { name: 'error-model', request: TEXT, model: 'no-such-model', wantsError: true },
]

function bothWays(name: string, request: ChatRequest): StandardCase[] {
  return [
    { name, request },
    { name: `stream-${name}`, request: { ...request, stream: true } },
  ]
}
