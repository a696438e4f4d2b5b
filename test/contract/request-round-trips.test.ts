/**
 * A request that comes by an API and goes to a provider by the same API is the client's own: everything supported is sent
 * as it came. What the gateway decides itself (the model's name, the name of the limit, usage in streams) is said here.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { messagesApi } from '../../src/protocols/anthropic-messages/client/index.ts'
import type { ClientApi } from '../../src/protocols/client-api.ts'
import { chatCompletionsApi } from '../../src/protocols/openai-chat/client/index.ts'
import { responsesApi } from '../../src/protocols/openai-responses/client/index.ts'
import type { UpstreamProtocol } from '../../src/protocols/protocol.ts'
import { DEFAULT_USE_LIMIT } from '../../src/protocols/server-tools.ts'
import { PROVIDERS } from '../../src/providers/index.ts'
import { RICH_PRICE } from '../support/providers/prices.ts'

// biome-ignore lint/suspicious/noExplicitAny: a request is any JSON
type Body = any

const words = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }).filter((text) => text.trim() !== '')
const names = fc.constantFrom('look', 'now', 'a-b_c')
const flag = fc.boolean()
const schema = fc.constantFrom<Body>(
  { type: 'object', properties: {}, additionalProperties: false },
  { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false },
)
const unit = fc.constantFrom(0, 0.5, 1)
const metadata = fc.dictionary(fc.string({ minLength: 1, maxLength: 8 }), words, { maxKeys: 3 })
const PNG = 'data:image/png;base64,iVBORw0KGgo='

/** Fields that may be absent. */
const optional = (fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<Body> =>
  fc.record(fields, { requiredKeys: [] })

interface Format {
  readonly api: ClientApi
  readonly provider: UpstreamProtocol
  /** The provider's own name of the model. */
  readonly model: string
  readonly requests: fc.Arbitrary<Body>
  /** What is sent for a request. */
  readonly sent: (request: Body) => Body
}

function protocolOf(provider: string, name?: string): UpstreamProtocol {
  const { protocol, protocols } = PROVIDERS[provider] ?? assert.fail(provider)
  return (name === undefined ? protocol : protocols?.[name]) ?? assert.fail(name)
}

/* Chat completions */

const textPart = fc.record({ type: fc.constant('text'), text: words })
const imagePart = fc.record({
  type: fc.constant('image_url'),
  image_url: fc.record(
    {
      url: fc.constantFrom(PNG, 'https://example.com/a.png'),
      detail: fc.constantFrom('auto', 'low', 'high', 'original'),
    },
    { requiredKeys: ['url'] },
  ),
})
const chatParts = fc.oneof(
  textPart,
  imagePart,
  fc.constant({ type: 'file', file: { filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERg==' } }),
  fc.constant({ type: 'file', file: { file_id: 'file-1' } }),
  fc.constant({ type: 'input_audio', input_audio: { data: 'AAAA', format: 'wav' } }),
)
const list = <T>(part: fc.Arbitrary<T>) => fc.array(part, { minLength: 1, maxLength: 3 })
const chatSpeech = fc.record(
  {
    role: fc.constantFrom('system', 'developer'),
    content: fc.oneof(words, list(textPart)),
    name: names,
  },
  { requiredKeys: ['role', 'content'] },
)
const chatUser = fc.record(
  { role: fc.constant('user'), content: fc.oneof(words, list(chatParts)), name: names },
  { requiredKeys: ['role', 'content'] },
)
const chatAnswer = fc.oneof(
  fc.record({ role: fc.constant('assistant'), content: fc.oneof(words, list(textPart)) }),
  fc.record({ role: fc.constant('assistant'), content: fc.constant('Hm.'), refusal: words }),
)
const chatCall = fc.oneof(
  fc.record({
    id: fc.uuid(),
    type: fc.constant('function'),
    function: fc.record({ name: names, arguments: fc.json() }),
  }),
  fc.record({ id: fc.uuid(), type: fc.constant('custom'), custom: fc.record({ name: names, input: words }) }),
)
const chatLoop = list(chatCall).chain((tool_calls) =>
  fc
    .array(fc.oneof(words, list(textPart)), { minLength: tool_calls.length, maxLength: tool_calls.length })
    .map((results) => [
      { role: 'assistant', content: null, tool_calls },
      ...results.map((content, at) => ({ role: 'tool', tool_call_id: tool_calls[at]?.id, content })),
    ]),
)
const chatMessages = fc
  .array(fc.oneof(...[chatSpeech, chatUser, chatAnswer].map((each) => each.map((one: Body) => [one])), chatLoop), {
    minLength: 1,
    maxLength: 6,
  })
  .map((turns) => turns.flat())
const chatTools = fc.uniqueArray(
  fc.oneof(
    fc.record({
      type: fc.constant('function'),
      function: fc.record(
        { name: names, description: words, parameters: schema, strict: flag },
        { requiredKeys: ['name'] },
      ),
    }),
    fc.record({
      type: fc.constant('custom'),
      custom: fc.record(
        {
          name: names,
          description: words,
          format: fc.constantFrom(
            { type: 'text' },
            { type: 'grammar', grammar: { syntax: 'lark', definition: 'start: "a"' } },
          ),
        },
        { requiredKeys: ['name'] },
      ),
    }),
  ),
  { minLength: 1, maxLength: 3, selector: (tool: Body) => tool[tool.type].name },
)
const chatOffer = chatTools.chain((tools) => {
  const [first] = tools as Body[]
  const named = { type: first.type, [first.type]: { name: first[first.type].name } }
  return optional({
    tool_choice: fc.constantFrom<Body>('none', 'auto', 'required', named, {
      type: 'allowed_tools',
      allowed_tools: { mode: 'auto', tools: [named] },
    }),
    parallel_tool_calls: flag,
  }).map((choice) => ({ tools, ...choice }))
})
const CHAT: Format = {
  api: chatCompletionsApi,
  provider: protocolOf('openai'),
  model: 'gpt-6-luna',
  requests: fc
    .tuple(
      chatMessages,
      fc.option(chatOffer, { nil: {} }),
      optional({
        stream: fc.constant(true),
        n: fc.constantFrom(2, 3),
        max_completion_tokens: fc.integer({ min: 1, max: 1000 }),
        temperature: unit,
        top_p: unit,
        stop: fc.array(words, { minLength: 1, maxLength: 4 }),
        seed: fc.integer(),
        frequency_penalty: fc.constantFrom(-1, 0.5),
        presence_penalty: fc.constantFrom(-1, 0.5),
        logit_bias: fc.constant({ '50256': -100 }),
        logprobs: flag,
        user: words,
        metadata,
        store: flag,
        reasoning_effort: fc.constantFrom('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'),
        response_format: fc.oneof(
          fc.constantFrom<Body>({ type: 'text' }, { type: 'json_object' }),
          fc.record({
            type: fc.constant('json_schema'),
            json_schema: fc.record({ name: names, schema, strict: flag }),
          }),
        ),
        prediction: fc.constant({ type: 'content', content: 'Hi' }),
        service_tier: fc.constantFrom('flex', 'priority'),
        verbosity: fc.constantFrom('low', 'high'),
        prompt_cache_key: words,
        safety_identifier: words,
        web_search_options: fc.constant({ search_context_size: 'low' }),
      }),
    )
    .map(([messages, offer, parameters]) => ({ model: 'ours', messages, ...offer, ...parameters })),
  sent: (request) => (request.stream ? { ...request, stream_options: { include_usage: true } } : request),
}

/* Messages */

const cached = <T extends object>(block: fc.Arbitrary<T>) =>
  fc
    .tuple(block, fc.constantFrom<object>({}, {}, { cache_control: { type: 'ephemeral', ttl: '1h' } }))
    .map(([own, mark]) => ({
      ...own,
      ...mark,
    }))
const textBlock = cached(fc.record({ type: fc.constant('text'), text: words }))
const mediaBlock = cached(
  fc.constantFrom<Body>(
    { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'iVBORw0KGgo=' } },
    { type: 'image', source: { type: 'url', url: 'https://example.com/a.png' } },
    { type: 'image', source: { type: 'file', file_id: 'file_1' } },
    { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERg==' }, title: 'A' },
    { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Hi' }, citations: { enabled: true } },
    { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } },
    { type: 'search_result', source: 'a', title: 'b', content: [{ type: 'text', text: 'c' }] },
  ),
)
const userContent = fc.oneof(words, list(fc.oneof(textBlock, mediaBlock)))
const ids = fc.stringMatching(/^toolu_[A-Za-z0-9]{8}$/)
const uses = fc.uniqueArray(ids, { minLength: 1, maxLength: 3 }).chain((unique) =>
  fc.tuple(
    ...unique.map((id) =>
      cached(
        fc.record({
          type: fc.constant('tool_use'),
          id: fc.constant(id),
          name: names,
          input: fc.dictionary(words, fc.jsonValue()),
        }),
      ),
    ),
  ),
)
const thinkingBlock = fc.oneof(
  fc.record({ type: fc.constant('thinking'), thinking: words, signature: fc.base64String({ minLength: 4 }) }),
  fc.record({ type: fc.constant('redacted_thinking'), data: fc.base64String({ minLength: 4 }) }),
)
const messagesLoop = fc
  .tuple(fc.array(thinkingBlock, { maxLength: 2 }), fc.array(textBlock, { maxLength: 1 }), uses, fc.boolean())
  .chain(([thinking, texts, calls, failed]) =>
    fc
      .array(fc.oneof(words, list(fc.oneof(textBlock, mediaBlock))), {
        minLength: calls.length,
        maxLength: calls.length,
      })
      .map((results) => [
        { role: 'assistant', content: [...thinking, ...texts, ...calls] },
        {
          role: 'user',
          content: results.map((content, at) => ({
            ...{ type: 'tool_result', tool_use_id: calls[at]?.id, content },
            ...(failed && { is_error: true }),
          })),
        },
      ]),
  )
const exchange = fc.tuple(userContent, fc.oneof(words, list(textBlock))).map(([asked, said]) => [
  { role: 'user', content: asked },
  { role: 'assistant', content: said },
])
const messages = fc
  .tuple(fc.array(exchange, { maxLength: 2 }), userContent, fc.array(messagesLoop, { maxLength: 2 }))
  .map(([before, asked, loops]) => [...before.flat(), { role: 'user', content: asked }, ...loops.flat()])
const messagesTools = fc
  .uniqueArray(
    cached(
      fc.record(
        { name: names, description: words, input_schema: schema, strict: fc.constant(true) },
        {
          requiredKeys: ['name', 'input_schema'],
        },
      ),
    ),
    { minLength: 1, maxLength: 3, selector: ({ name }) => name },
  )
  .chain((tools) =>
    optional({
      tool_choice: fc.constantFrom<Body>(
        { type: 'auto' },
        { type: 'any', disable_parallel_tool_use: true },
        { type: 'tool', name: tools[0]?.name },
        { type: 'none' },
      ),
      server: fc.constantFrom<Body>(
        { type: 'web_search_20250305', name: 'web_search', max_uses: 3, allowed_domains: ['a.example'] },
        { type: 'bash_20250124', name: 'bash' },
      ),
    }).map(({ server, ...choice }) => {
      // Without calls, tools of the provider are neither held for nor sent.
      const isSent = server !== undefined && choice.tool_choice?.type !== 'none'
      return { tools: isSent ? [...tools, server] : tools, ...choice }
    }),
  )
const sampled = optional({ temperature: unit, top_k: fc.constant(40) })
const thoughtful = optional({
  output_config: fc.record({ effort: fc.constantFrom('low', 'medium', 'high', 'max') }),
}).map((config) => ({ thinking: { type: 'adaptive' }, ...config }))
const MESSAGES: Format = {
  api: messagesApi,
  provider: protocolOf('anthropic'),
  model: 'claude-opus-4-6',
  requests: fc
    .tuple(
      messages,
      messagesTools,
      fc.boolean(),
      fc.oneof(sampled, thoughtful),
      optional({
        system: fc.oneof(words, list(textBlock)),
        stop_sequences: fc.array(words, { minLength: 1, maxLength: 4 }),
        stream: fc.constant(true),
        metadata: fc.record({ user_id: words }),
        made_up: fc.record({ later: fc.boolean() }),
        context_management: fc.constant({ edits: [{ type: 'clear_tool_uses_20250919' }] }),
      }),
    )
    .map(([conversation, offer, offers, model, parameters]) => ({
      ...{ model: 'ours', max_tokens: 1000, messages: withoutThinking(conversation, 'thinking' in model) },
      // The API requires tools where there are calls.
      ...((offers || JSON.stringify(conversation).includes('tool_use')) && offer),
      ...model,
      ...parameters,
    })),
  sent: (request) => request,
}

/* Responses */

const inputParts = fc.oneof(
  fc.record({ type: fc.constant('input_text'), text: words }),
  fc.record(
    {
      type: fc.constant('input_image'),
      image_url: fc.constantFrom(PNG, 'https://example.com/a.png'),
      detail: fc.constantFrom('auto', 'low', 'high'),
    },
    { requiredKeys: ['type', 'image_url'] },
  ),
  fc.constant({ type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERg==' }),
  fc.record({ type: fc.constant('input_later'), later: words }),
)
const inputMessage = fc.oneof(
  fc.record({ role: fc.constantFrom('system', 'developer'), content: words }),
  fc.record(
    { type: fc.constant('message'), role: fc.constant('user'), content: fc.oneof(words, list(inputParts)) },
    { requiredKeys: ['role', 'content'] },
  ),
)
const outputMessage = fc.record(
  {
    type: fc.constant('message'),
    id: fc.stringMatching(/^msg_[a-z0-9]{8}$/),
    role: fc.constant('assistant'),
    status: fc.constant('completed'),
    phase: fc.constantFrom('commentary', 'final_answer'),
    content: list(
      fc.oneof(
        fc.record({ type: fc.constant('output_text'), text: words, annotations: fc.constant([]) }),
        fc.record({ type: fc.constant('refusal'), refusal: words }),
      ),
    ),
  },
  { requiredKeys: ['type', 'role', 'content'] },
)
const reasoningItem = fc.record(
  {
    type: fc.constant('reasoning'),
    id: fc.stringMatching(/^rs_[a-z0-9]{8}$/),
    summary: fc.array(fc.record({ type: fc.constant('summary_text'), text: words }), { maxLength: 2 }),
    encrypted_content: fc.base64String({ minLength: 4 }),
  },
  { requiredKeys: ['type', 'summary'] },
)
const otherItem = fc.constantFrom<Body>(
  { type: 'web_search_call', id: 'ws_1', status: 'completed', action: { type: 'search', query: 'tolls' } },
  { type: 'later_item', id: 'li_1', deep: { a: [1, null] } },
)
const callItem = fc.oneof(
  fc.record(
    { type: fc.constant('function_call'), name: names, arguments: fc.json(), namespace: fc.constant('files') },
    { requiredKeys: ['type', 'name', 'arguments'] },
  ),
  fc.record({ type: fc.constant('custom_tool_call'), name: names, input: words }),
)
const callLoop = fc
  .tuple(
    fc.array(reasoningItem, { maxLength: 1 }),
    fc.array(fc.tuple(fc.uuid(), callItem), { minLength: 1, maxLength: 3 }),
  )
  .chain(([reasoning, calls]) =>
    fc
      .array(fc.oneof(words, list(inputParts)), { minLength: calls.length, maxLength: calls.length })
      .map((outputs) => [
        ...reasoning,
        ...calls.map(([call_id, call]) => ({ ...call, call_id })),
        ...calls.map(([call_id, { type }], at) => ({ type: `${type}_output`, call_id, output: outputs[at] })),
      ]),
  )
const single = [inputMessage, outputMessage, reasoningItem, otherItem].map((each) => each.map((one: Body) => [one]))
const inputItems = fc
  .tuple(inputMessage, fc.array(fc.oneof(...single, callLoop), { maxLength: 5 }))
  .map(([first, rest]) => [first, ...rest.flat()])
const functionTool = fc.record(
  { type: fc.constant('function'), name: names, description: words, parameters: schema, strict: flag, later: words },
  { requiredKeys: ['type', 'name'] },
)
const responsesTools = fc.uniqueArray(
  fc.oneof(
    functionTool,
    fc.record({
      type: fc.constant('custom'),
      name: names,
      format: fc.constantFrom({ type: 'text' }, { type: 'grammar', syntax: 'lark', definition: 'start: "a"' }),
    }),
    fc.record({ type: fc.constant('namespace'), name: fc.constant('files'), tools: list(functionTool) }),
    fc.constantFrom<Body>({ type: 'local_shell' }, { type: 'web_search', search_context_size: 'low' }),
  ),
  { minLength: 1, maxLength: 4, selector: ({ name, type }) => name ?? type },
)
const responsesOffer = responsesTools.chain((tools: readonly Body[]) => {
  const { type, name } = tools.find((tool) => tool.type === 'function' || tool.type === 'custom') ?? {}
  const isOffered = tools.some((tool) => tool.type !== 'web_search')
  const named = { type, name }
  return optional({
    tool_choice: fc.constantFrom<Body>(
      'auto',
      ...(isOffered ? ['required'] : []),
      ...(name === undefined ? [] : [named]),
    ),
    parallel_tool_calls: flag,
  }).map((choice) => ({ tools, ...choice }))
})
const RESPONSES: Format = {
  api: responsesApi,
  provider: protocolOf('openai', 'openai-responses'),
  model: 'gpt-6-luna',
  requests: fc
    .tuple(
      fc.oneof(words, inputItems),
      fc.option(responsesOffer, { nil: {} }),
      optional({
        instructions: words,
        stream: fc.constant(true),
        max_output_tokens: fc.integer({ min: 1, max: 1000 }),
        max_tool_calls: fc.integer({ min: 1, max: 9 }),
        temperature: unit,
        top_p: unit,
        include: fc.constant(['web_search_call.action.sources', 'reasoning.encrypted_content']),
        metadata,
        reasoning: fc.constantFrom<Body>({ effort: 'low', summary: 'auto' }, { effort: 'high', later: true }),
        text: fc.oneof(
          fc.constantFrom<Body>({ format: { type: 'text' }, verbosity: 'low' }, { format: { type: 'json_object' } }),
          fc.record({ format: fc.record({ type: fc.constant('json_schema'), name: names, schema, strict: flag }) }),
        ),
        truncation: fc.constant('auto'),
        prompt_cache_key: words,
        safety_identifier: words,
        user: words,
        service_tier: fc.constantFrom('flex', 'priority'),
        made_up: fc.record({ later: fc.boolean() }),
      }),
    )
    .map(([input, offer, parameters]) => ({ model: 'ours', input, ...offer, ...parameters })),
  sent: ({ include = [], max_tool_calls, ...request }) => {
    const isSearching = request.tools?.some(({ type }: Body) => type === 'web_search')
    const limit = isSearching ? Math.min(max_tool_calls ?? DEFAULT_USE_LIMIT, DEFAULT_USE_LIMIT) : max_tool_calls
    return {
      ...request,
      store: false,
      include: [...new Set(['reasoning.encrypted_content', ...include])],
      ...(limit !== undefined && { max_tool_calls: limit }),
    }
  },
}

/** Earlier thinking belongs to requests that think. */
function withoutThinking(conversation: readonly Body[], isKept: boolean): readonly Body[] {
  if (isKept) return conversation
  return conversation.map(({ role, content }) => ({
    role,
    content: Array.isArray(content) ? content.filter(({ type }) => !type.endsWith('thinking')) : content,
  }))
}

for (const { api, provider, model, requests, sent } of [CHAT, MESSAGES, RESPONSES]) {
  test(`${api.endpoint} to ${provider.id}: everything supported is sent unchanged`, () => {
    fc.assert(
      fc.property(requests, (generated) => {
        const request = JSON.parse(JSON.stringify(generated))
        const target = { model, maxOutputTokens: undefined, price: RICH_PRICE }
        const { body, warnings } = provider.renderRequest(api.parse(structuredClone(request)), target)
        assert.deepEqual(JSON.parse(body), { ...sent(request), model })
        assert.deepEqual(warnings, [])
      }),
      { numRuns: 1_000 },
    )
  })
}
