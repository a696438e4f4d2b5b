/**
 * What a client requests is validated, measured and rendered for each provider in time linear in its size: many messages,
 * parts, calls, tools, schemas, references, contexts, fields, and long names. Runs on one database.
 * Runs in a process of its own.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { promptBound, promptContent, promptText } from '../../src/domain/bounds/reservation.ts'
import type { ChatRequest } from '../../src/domain/chat.ts'
import { GatewayError } from '../../src/domain/errors.ts'
import { checkJsonBytes, fingerprintOf, parseCheckedBody } from '../../src/domain/json-body.ts'
import { warningsText } from '../../src/gateway/deliver.ts'
import { messagesApi } from '../../src/protocols/anthropic-messages/client/index.ts'
import type { ClientApi } from '../../src/protocols/client-api.ts'
import { chatCompletionsApi } from '../../src/protocols/openai-chat/client/index.ts'
import { parseChatRequest } from '../../src/protocols/openai-chat/client/request.ts'
import { openaiResponses } from '../../src/protocols/openai-responses/index.ts'
import type { RenderTarget, UpstreamProtocol } from '../../src/protocols/protocol.ts'
import { PROVIDERS } from '../../src/providers/index.ts'
import { items, linearityFault, type Run } from '../support/linearity.ts'

const SIZE = 64 * 1024
/** Bodies of about so many characters, by name; `model` is added, and `messages` where there are none. */
type Bodies = Readonly<Record<string, (size: number) => object>>

const repeat = <T>(size: number, value: T): T[] => items(size, () => value)
const fields = (size: number, make: (at: number) => unknown = (at) => at) =>
  Object.fromEntries(items(size, (at) => [`k${at}`, make(at)] as const))
const user = (content: unknown = 'a') => ({ role: 'user', content })
const call = (id: string, text = '{}') => ({ id, type: 'function', function: { name: 'f', arguments: text } })
const asked = (calls: readonly object[], other: object = {}) => ({ role: 'assistant', tool_calls: calls, ...other })
const result = (id: string) => ({ role: 'tool', tool_call_id: id, content: 'a' })
const said = (other: object) => ({ role: 'assistant', content: 'a', ...other })
const pages = (at: number) => ({
  type: 'file',
  file: { filename: `a${at}.pdf`, file_data: 'data:application/pdf;base64,YQ==' },
})

const MESSAGES: Bodies = {
  'of a user': (size) => ({ messages: repeat(size, user()) }),
  'of user and assistant': (size) => ({ messages: repeat(size, [user(), said({})]).flat() }),
  'of the system': (size) => ({ messages: repeat(size, { role: 'system', content: 'a' }) }),
  'of user and system': (size) => ({ messages: repeat(size, [user(), { role: 'system', content: 'a' }]).flat() }),
  'of an assistant': (size) => ({ messages: repeat(size, said({})) }),
  'parts of text': (size) => ({ messages: [user(repeat(size, { type: 'text', text: 'a' }))] }),
  'parts that are cached': (size) => ({
    messages: [user(repeat(size, { type: 'text', text: 'a', cache_control: { type: 'ephemeral', ttl: '1h' } }))],
  }),
  'refused parts': (size) => ({ messages: [said({ content: repeat(size, { type: 'refusal', refusal: 'a' }) })] }),
  'files of one name': (size) => ({ messages: [user(items(size, () => pages(1)))] }),
  'files of several names': (size) => ({ messages: [user(items(size, pages))] }),
  images: (size) => ({ messages: [user(repeat(size / 16, { type: 'image_url', image_url: { url: 'data:,' } }))] }),
  'an image of many parameters': (size) => ({
    messages: [user([{ type: 'image_url', image_url: { url: `data:image/png${';a'.repeat(size / 2)},a` } }])],
  }),
  'unknown fields of a message': (size) => ({ messages: [{ ...user(), ...fields(size) }] }),
  'names of users': (size) => ({ messages: items(size, (at) => ({ ...user(), name: `n${at}` })) }),
  'calls and results': (size) => ({
    messages: [asked(items(size / 2, (at) => call(`c${at}`))), ...items(size / 2, (at) => result(`c${at}`))],
  }),
  'results in reverse': (size) => {
    const ids = items(size / 2, (at) => call(`c${at}`)).map(({ id }) => id)
    return { messages: [asked(ids.map((id) => call(id))), ...ids.toReversed().map(result)] }
  },
  'calls of one id, one after another': (size) => ({
    messages: [user(), ...repeat(size, [asked([call('c')]), result('c')]).flat()],
  }),
  'calls of ids that become one': (size) => ({
    messages: items(size, (at) => [asked([call(`${'*'.repeat(80)}${at}`)]), result(`${'*'.repeat(80)}${at}`)]).flat(),
  }),
  'calls without results': (size) => ({ messages: [user(), asked(items(size, (at) => call(`c${at}`)))] }),
  'older calls': (size) => ({
    messages: repeat(size, [
      { role: 'assistant', content: null, function_call: { name: 'f', arguments: '{}' } },
      { role: 'function', name: 'f', content: 'a' },
    ]).flat(),
  }),
  'older results without calls': (size) => ({ messages: repeat(size, { role: 'function', name: 'f', content: 'a' }) }),
  'custom calls': (size) => ({
    messages: [
      user(),
      asked(items(size, (at) => ({ id: `${at}`, type: 'custom', custom: { name: 'f', input: 'a' } }))),
    ],
  }),
  'long arguments': (size) => ({ messages: [asked([call('c', JSON.stringify(fields(size)))]), result('c')] }),
  'arguments that are no JSON': (size) => ({ messages: [asked([call('c', '{"'.repeat(size / 2))]), result('c')] }),
}

const context = (provider: object, other: object = {}) => ({
  messages: [user(), said({ ...other, provider_context: provider })],
})
const blocks = (list: readonly object[]) => ({ anthropic: { blocks: list } })
const signatures = (list: readonly object[]) => ({ gemini: { signatures: list } })
const signed = { signature: 's' }

const encrypted = { type: 'reasoning', id: 'a', summary: [], encrypted_content: 'a' }

const CONTEXTS: Bodies = {
  'of Anthropic': (size) => context(blocks(repeat(size, { type: 'thinking', thinking: 'a', ...signed }))),
  'of Anthropic between text': (size) => {
    const list = items(size, () => [
      { type: 'thinking', thinking: 'a', ...signed },
      { type: 'text', length: '1' },
    ])
    return context(blocks(list.flat()), { content: 'a'.repeat(list.length) })
  },
  'of Anthropic between calls': (size) => {
    const ids = items(size, (at) => [call(`c${at}`), { type: 'tool_use', id: `c${at}` }]).map((_, at) => `c${at}`)
    const list = ids.flatMap((id) => [
      { type: 'redacted_thinking', data: 'a' },
      { type: 'tool_use', id },
    ])
    return {
      messages: [
        user(),
        asked(
          ids.map((id) => call(id)),
          { provider_context: blocks(list) },
        ),
        ...ids.map(result),
      ],
    }
  },
  'of Bedrock': (size) =>
    context(
      { bedrock: { blocks: items(size, (at) => ({ text: 'a', ...signed, text_before: `${at}` })) } },
      { content: 'a'.repeat(size) },
    ),
  'of Bedrock between calls': (size) => {
    const ids = items(size, (at) => [call(`c${at}`), { calls_before: `${at}` }]).map((_, at) => `c${at}`)
    const list = ids.map((_, at) => ({ redacted: 'YQ==', calls_before: `${at}` }))
    return {
      messages: [
        user(),
        asked(
          ids.map((id) => call(id)),
          { provider_context: { bedrock: { blocks: list } } },
        ),
        ...ids.map(result),
      ],
    }
  },
  'of Responses between text': (size) => {
    const list = items(size, () => [encrypted, { type: 'message', id: 'msg', length: '1' }])
    return context({ 'openai-responses': { items: list.flat() } }, { content: 'a'.repeat(list.length) })
  },
  'of Responses between calls': (size) => {
    const ids = items(size, (at) => [call(`c${at}`), encrypted]).map((_, at) => `c${at}`)
    const list = ids.flatMap((id) => [encrypted, { type: 'call', id: 'fc', call_id: id }])
    const provider_context = { 'openai-responses': { items: list } }
    return {
      messages: [
        user(),
        asked(
          ids.map((id) => call(id)),
          { provider_context },
        ),
        ...ids.map(result),
      ],
    }
  },
  'of Gemini: texts': (size) =>
    context(signatures(items(size, (at) => ({ text: `${at}:${at + 1}`, ...signed }))), { content: 'a'.repeat(size) }),
  'of Gemini: reasoning': (size) =>
    context(signatures(repeat(size, { reasoning: `0:${size}`, ...signed })), { reasoning_content: 'a'.repeat(size) }),
  'of Gemini: images': (size) =>
    context(signatures(items(size, (at) => ({ image: `${at}`, ...signed }))), {
      images: repeat(size, { image_url: { url: 'data:image/png;base64,YQ==' } }),
    }),
  'of Gemini: calls': (size) => {
    const ids = items(size, (at) => [call(`c${at}`), { tool_call: `c${at}` }]).map((_, at) => `c${at}`)
    const list = ids.map((id) => ({ tool_call: id, ...signed }))
    return {
      messages: [
        user(),
        asked(
          ids.map((id) => call(id)),
          { provider_context: signatures(list) },
        ),
        ...ids.map(result),
      ],
    }
  },
  'of Gemini: the last of calls of one id': (size) => {
    const calls = items(size, () => call('c'))
    return {
      messages: [
        user(),
        asked(calls, { provider_context: signatures(calls.map(() => ({ tool_call: 'd', ...signed }))) }),
      ],
    }
  },
  'of Gemini: calls and one text': (size) =>
    context(signatures([...repeat(size, { tool_call: 'c', ...signed }), { text: '0:1', ...signed }])),
  'reasoning details': (size) =>
    context({ openai: { reasoning_details: items(size, (index) => ({ index, text: 'a' })) } }),
}

const withSchema = (schema: object) => ({
  tools: [{ type: 'function', function: { name: 'f', parameters: schema, strict: true } }],
  response_format: { type: 'json_schema', json_schema: { name: 'a', schema, strict: true } },
})
const typed = (properties: object) => ({ type: 'object', properties })
const string = { type: 'string' }

const SCHEMAS: Bodies = {
  properties: (size) => withSchema(typed(fields(size / 2, () => string))),
  'of long names': (size) => withSchema(typed({ ['a'.repeat(size / 4)]: typed(fields(size / 4, () => string)) })),
  required: (size) => withSchema({ ...typed({}), required: items(size / 2, (at) => `k${at}`) }),
  enumeration: (size) => withSchema(typed({ a: { enum: items(size / 2, (at) => `k${at}`) } })),
  'enumeration of everything': (size) =>
    withSchema(typed({ a: { enum: items(size / 2, (at) => (at % 2 === 0 ? null : at)) } })),
  alternatives: (size) => withSchema(typed({ a: { anyOf: repeat(size / 2, string) } })),
  nesting: (size) =>
    withSchema(
      Array.from({ length: 28 }).reduce<object>(
        (inner) => typed({ a: inner, ...fields(size / 64, () => string) }),
        string,
      ),
    ),
  definitions: (size) => withSchema({ ...typed({ a: { $ref: '#/$defs/k0' } }), $defs: fields(size / 2, () => string) }),
  'older definitions': (size) =>
    withSchema({ ...typed({ a: { $ref: '#/definitions/k0' } }), definitions: fields(size / 2, () => string) }),
  'references to one': (size) =>
    withSchema({ ...typed(fields(size / 2, () => ({ $ref: '#/$defs/a' }))), $defs: { a: string } }),
  'references in a chain': (size) =>
    withSchema({
      ...typed({ a: { $ref: '#/$defs/k0' } }),
      $defs: fields(size / 2, (at) => typed({ next: { $ref: `#/$defs/k${at + 1}` } })),
    }),
  'references to all': (size) =>
    withSchema({
      ...typed(fields(size / 4, (at) => ({ $ref: `#/$defs/k${at}` }))),
      $defs: fields(size / 4, () => string),
    }),
  'references to nowhere': (size) => withSchema(typed(fields(size / 2, (at) => ({ $ref: `#/a/${at}` })))),
  'a long reference': (size) => withSchema(typed({ a: { $ref: `#/${'a/'.repeat(size / 4)}` } })),
  'all of one': (size) =>
    withSchema(
      Array.from({ length: 50 }).reduce<object>((inner) => ({ allOf: [inner] }), typed(fields(size / 4, () => string))),
    ),
  keywords: (size) => withSchema(typed({ a: { ...string, ...fields(size / 2) } })),
}

const FIELDS: Bodies = {
  'unknown fields': (size) => fields(size),
  'unknown fields in one': (size) => ({ extra_body: fields(size) }),
  'unknown fields below a long name': (size) => ({
    extra_body: { ['a'.repeat(size / 2)]: fields(size / 2, () => ({ a: [] })) },
  }),
  'lists of tools below a long name': (size) => ({
    ['a'.repeat(size / 2)]: fields(size / 2, () => ({ tools: [{ type: 'function' }] })),
  }),
  'a list': (size) => ({ unknown: repeat(size, {}) }),
  'tools that run at the provider': (size) => ({
    tools: [{ type: 'web_search', filters: { allowed_domains: items(size, (at) => `a${at}.test`) } }],
  }),
  tools: (size) => ({
    tools: Array.from({ length: 128 }, (_, at) => ({
      type: 'function',
      function: { name: `f${at}`, description: 'a'.repeat(size / 128) },
    })),
    tool_choice: { type: 'function', function: { name: 'f1' } },
  }),
  'logit bias': (size) => ({ logit_bias: Object.fromEntries(items(size, (at) => [`${at}`, 1] as const)) }),
  'stop sequences': (size) => ({ stop: Array.from({ length: 64 }, () => 'a'.repeat(size / 64)) }),
  prediction: (size) => ({ prediction: { type: 'content', content: repeat(size, { type: 'text', text: 'a' }) } }),
  modalities: (size) => ({ modalities: repeat(size, 'text') }),
  'stream options': (size) => ({ stream: true, stream_options: fields(size) }),
  'a long model': (size) => ({ model: 'a-'.repeat(size / 2) }),
  'a long user': (size) => ({ user: 'a '.repeat(size / 2) }),
}

const block = (fields: object) => ({ type: 'text', text: 'a', ...fields })
const used = (id: string) => ({ type: 'tool_use', id, name: 'f', input: {} })
const answered = (id: string, fields: object = {}) => ({ type: 'tool_result', tool_use_id: id, ...fields })

/** Of Anthropic's Messages API. */
const MESSAGES_BODIES: Bodies = {
  'blocks of text': (size) => ({ messages: [user(repeat(size, block({})))] }),
  'blocks that are cached': (size) => ({
    messages: [user(repeat(size, block({ cache_control: { type: 'ephemeral' } })))],
  }),
  'blocks of the system': (size) => ({ system: repeat(size, block({})) }),
  'messages of the system': (size) => ({ messages: repeat(size, { role: 'system', content: 'a' }) }),
  'calls and results': (size) => {
    const ids = items(size / 2, (at) => used(`c${at}`)).map(({ id }) => id)
    return { messages: [user(), said({ content: ids.map(used) }), user(ids.map((id) => answered(id)))] }
  },
  'blocks of a failed result': (size) => ({
    messages: [
      said({ content: [used('c')] }),
      user([answered('c', { is_error: true, content: repeat(size, block({})) })]),
    ],
  }),
  'thinking between calls': (size) => ({
    messages: [user(), said({ content: items(size, (at) => [thinking, used(`c${at}`)]).flat() })],
  }),
  'blocks of a document': (size) => ({
    messages: [user([{ type: 'document', source: { type: 'content', content: repeat(size, block({})) } }])],
  }),
  'results of searches': (size) => ({
    messages: [user(repeat(size, { type: 'search_result', title: 'a', source: 'b', content: [block({})] }))],
  }),
  tools: (size) => ({
    tools: Array.from({ length: 128 }, (_, at) => ({ name: `f${at}`, input_schema: fields(size / 128) })),
  }),
  'unknown fields': (size) => fields(size),
}
const thinking = { type: 'thinking', thinking: 'a', ...signed }

const TARGETS: readonly RenderTarget[] = [
  { model: 'claude-opus-4-6', maxOutputTokens: 4096 },
  { model: 'gemini-3-pro', maxOutputTokens: undefined, forwardUnknown: true },
]

/** A refusal is an answer, too. */
function unlessRefused<T>(step: () => T): T | undefined {
  try {
    return step()
  } catch (error) {
    if (error instanceof GatewayError) return undefined
    throw error
  }
}

function rendered(protocol: UpstreamProtocol, request: ChatRequest): void {
  for (const target of TARGETS) unlessRefused(() => warningsText(protocol.renderRequest(request, target).warnings))
}

function measured(body: object): void {
  unlessRefused(() => {
    const bytes = Buffer.from(JSON.stringify(body))
    checkJsonBytes(bytes)
    const parsed = parseCheckedBody(bytes)
    fingerprintOf({ endpoint: 'POST /', body: parsed })
    const request = parseChatRequest(parsed)
    promptContent(request)
    promptBound(request, { names: ['claude-opus-4-6', 'gpt-6'], contextWindow: 1_000_000 })
    promptText(request)
  })
}

interface Renderer {
  readonly id: string
  readonly protocol: UpstreamProtocol
}

/** Dialects that change requests, beside one of each protocol. */
const RENDERERS: readonly Renderer[] = [
  ...Object.values(PROVIDERS).filter(({ id }) => id !== 'simulator'),
  { id: 'openai-responses', protocol: openaiResponses() },
]

interface Reading {
  readonly make: (size: number) => object
  readonly api: ClientApi
  /** What reads the body itself, by name. */
  readonly readers: Readonly<Record<string, (body: object) => void>>
  readonly renderers: readonly Renderer[]
}

/** Each size is made once, and read once for all who render it. */
function bySize<T>(make: (size: number) => T): (size: number) => T {
  const made = new Map<number, T>()
  return (size) => {
    const known = made.get(size) ?? make(size)
    made.set(size, known)
    return known
  }
}

async function faultsOf({ make, api, readers, renderers }: Reading): Promise<readonly string[]> {
  const bodyOf = bySize(make)
  const requestOf = bySize((size) => unlessRefused(() => api.parse(bodyOf(size))))
  const cases: (readonly [string, (size: number) => Run])[] = [
    ...Object.entries(readers).map(([name, read]) => [name, (size: number) => () => read(bodyOf(size))] as const),
    ['the request', (size) => () => unlessRefused(() => api.parse(bodyOf(size)))],
    ...renderers.map(({ id, protocol }) => {
      const run = (size: number): Run => {
        const request = requestOf(size)
        return () => request && rendered(protocol, request)
      }
      return [id, run] as const
    }),
  ]
  const faults: string[] = []
  for (const [name, run] of cases) {
    const fault = await linearityFault(run, SIZE)
    if (fault !== undefined) faults.push(`${name}: ${fault}`)
  }
  return faults
}

const ALL: Bodies = Object.fromEntries(
  Object.entries({ messages: MESSAGES, context: CONTEXTS, schema: SCHEMAS, field: FIELDS }).flatMap(([kind, bodies]) =>
    Object.entries(bodies).map(([name, make]) => [`${kind}: ${name}`, make]),
  ),
)

for (const [name, make] of Object.entries(ALL)) {
  test(`time is linear in a client’s request: ${name}`, async () => {
    const body = (size: number) => ({ model: 'm', messages: [user()], ...make(size) })
    const readers = { 'limits and measures': measured }
    assert.deepEqual(await faultsOf({ make: body, api: chatCompletionsApi, readers, renderers: RENDERERS }), [])
  })
}

const OF_MESSAGES = ['openai', 'anthropic', 'google', 'bedrock']

for (const [name, make] of Object.entries(MESSAGES_BODIES)) {
  test(`time is linear in a request of the Messages API: ${name}`, async () => {
    const body = (size: number) => ({ model: 'm', max_tokens: 1, messages: [user()], ...make(size) })
    const renderers = RENDERERS.filter(({ id }) => OF_MESSAGES.includes(id))
    assert.equal(renderers.length, OF_MESSAGES.length)
    assert.deepEqual(await faultsOf({ make: body, api: messagesApi, readers: {}, renderers }), [])
  })
}
