import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RICH_PRICE } from '../../../test/support/providers/prices.ts'
import type { ChatRequest, Tool, ToolChoice } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import { openaiChat } from './index.ts'
import type { OpenAiChatOptions } from './options.ts'

const BASE: ChatRequest = {
  model: 'ours',
  messages: [{ role: 'user', content: 'Hi' }],
  stream: false,
  includeUsage: false,
  n: 1,
  extra: {},
}
const tool = (name: string): Tool => ({ type: 'function', function: { name } })

function render(request: Partial<ChatRequest>, options: OpenAiChatOptions = {}) {
  const { body, ...rest } = openaiChat(options).renderRequest(
    { ...BASE, ...request },
    { model: 'theirs', maxOutputTokens: undefined, price: RICH_PRICE, forwardUnknown: true },
  )
  return { ...rest, body: JSON.parse(body) as Record<string, unknown> }
}

const refuses =
  (param: string, code = 'unsupported_parameter') =>
  (error: unknown): boolean =>
    error instanceof GatewayError && error.code === code && error.status === 422 && error.param === param

test('the least request is model and messages', () => {
  assert.deepEqual(render({}), {
    path: '/chat/completions',
    warnings: [],
    body: { model: 'theirs', messages: BASE.messages },
  })
})

test('a stream always asks for usage, unless the host knows no such option', () => {
  assert.deepEqual(render({ stream: true }).body['stream_options'], { include_usage: true })
  const { body } = render({ stream: true }, { streamOptions: false })
  assert.equal(body['stream'], true)
  assert.equal('stream_options' in body, false)
})

test('every parameter goes under its name on the wire', () => {
  const { body, warnings } = render({
    maxTokens: 5,
    temperature: 0,
    topP: 1,
    stop: ['a'],
    parallelToolCalls: false,
    seed: 7,
    logprobs: true,
    topLogprobs: 2,
    frequencyPenalty: 1,
    presencePenalty: -1,
    logitBias: { '1': 2 },
    user: 'u',
    metadata: { a: 'b' },
    reasoningEffort: 'low',
    serviceTier: 'flex',
    store: false,
    prediction: { type: 'content', content: 'x' },
    modalities: ['text', 'audio'],
    n: 3,
    responseFormat: { type: 'json_object' },
    tools: [tool('f')],
    toolChoice: 'required',
    extra: { top_k: 4 },
  })
  assert.deepEqual(warnings, [])
  assert.deepEqual(body, {
    model: 'theirs',
    messages: BASE.messages,
    max_tokens: 5,
    temperature: 0,
    top_p: 1,
    stop: ['a'],
    parallel_tool_calls: false,
    seed: 7,
    logprobs: true,
    top_logprobs: 2,
    frequency_penalty: 1,
    presence_penalty: -1,
    logit_bias: { '1': 2 },
    user: 'u',
    metadata: { a: 'b' },
    reasoning_effort: 'low',
    service_tier: 'flex',
    store: false,
    modalities: ['text', 'audio'],
    n: 3,
    prediction: { type: 'content', content: 'x' },
    response_format: { type: 'json_object' },
    tools: [tool('f')],
    tool_choice: 'required',
    top_k: 4,
  })
})

test('the length limit goes under the name the host knows', () => {
  assert.equal(render({ maxTokens: 9 }, { maxTokensField: 'max_completion_tokens' }).body['max_completion_tokens'], 9)
})

test('unknown fields never stand over ours', () => {
  const forwards = { fields: ['model', 'top_k'], source: { url: '', read: '' } }
  assert.equal(render({ extra: { model: 'other', top_k: 4 } }, { forwards }).body['model'], 'theirs')
})

test('hints that a host does not take are dropped and named', () => {
  const { body, warnings } = render({ user: 'u', store: true }, { dropped: ['user', 'metadata', 'store'] })
  assert.deepEqual(warnings, ['user', 'store'])
  assert.deepEqual(Object.keys(body), ['model', 'messages'])
})

test('what changes the answer and cannot be honoured is refused by name', () => {
  const cases: readonly [Partial<ChatRequest>, NonNullable<OpenAiChatOptions['refused']>[number]][] = [
    [{ logprobs: true }, 'logprobs'],
    [{ topLogprobs: 1 }, 'top_logprobs'],
    [{ logitBias: { '1': 1 } }, 'logit_bias'],
    [{ frequencyPenalty: 1 }, 'frequency_penalty'],
    [{ presencePenalty: 1 }, 'presence_penalty'],
    [{ parallelToolCalls: false }, 'parallel_tool_calls'],
    [{ modalities: ['text', 'audio'] }, 'modalities'],
  ]
  for (const [request, name] of cases) assert.throws(() => render(request, { refused: [name] }), refuses(name), name)
})

test('values that ask for nothing are let go without a word', () => {
  const { body, warnings } = render(
    {
      logprobs: false,
      topLogprobs: 0,
      logitBias: {},
      frequencyPenalty: 0,
      presencePenalty: 0,
      parallelToolCalls: true,
    },
    {
      refused: [
        'logprobs',
        'top_logprobs',
        'logit_bias',
        'frequency_penalty',
        'presence_penalty',
        'parallel_tool_calls',
      ],
    },
  )
  assert.deepEqual(Object.keys(body).sort(), ['messages', 'model'])
  assert.deepEqual(warnings, [])
})

test('where a host cannot be told to call no tool, it is offered none', () => {
  const { body, warnings } = render({ tools: [tool('f')], toolChoice: 'none' }, { toolChoices: [] })
  assert.deepEqual([body['tools'], body['tool_choice'], warnings], [undefined, undefined, ['tool_choice']])
})

test('a demand for a tool is said with the words the host has where that means the same, else refused', () => {
  const named = { type: 'function', function: { name: 'g' } } as const
  const both = [tool('f'), tool('g')]
  const asked = (toolChoice: ToolChoice, toolChoices: OpenAiChatOptions['toolChoices'], tools = both) => {
    const { body } = render({ tools, toolChoice }, toolChoices === undefined ? {} : { toolChoices })
    return [body['tools'], body['tool_choice']]
  }
  assert.deepEqual(asked(named, ['function']), [both, named])
  assert.deepEqual(asked(named, ['required']), [[tool('g')], 'required'])
  assert.deepEqual(asked('required', ['required']), [both, 'required'])
  assert.deepEqual(asked('required', ['function'], [tool('g')]), [[tool('g')], named])
  assert.deepEqual(asked('auto', []), [both, 'auto'])
  assert.throws(() => asked('required', ['function']), refuses('tool_choice'))
  assert.throws(() => asked('required', ['none']), refuses('tool_choice'))
  assert.throws(() => asked(named, []), refuses('tool_choice'))
  const allowed = { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [tool('f')] } } as const
  assert.throws(() => asked(allowed, ['none']), refuses('tool_choice'))
})

test('allowed tools are the tools that are offered, unless the host knows the choice itself', () => {
  const toolChoice = { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [tool('g')] } } as const
  const request = { tools: [tool('f'), tool('g')], toolChoice }
  const { body } = render(request)
  assert.deepEqual([body['tools'], body['tool_choice']], [[tool('g')], 'required'])
  assert.deepEqual(render(request, { allowedTools: true }).body['tool_choice'], toolChoice)
})

test('a tool without parameters has none to say, unless the host insists', () => {
  const described: Tool = { type: 'function', function: { name: 'g', parameters: { type: 'object' } } }
  const { body } = render({ tools: [tool('f'), described] }, { toolParameters: true })
  const none = { type: 'object', properties: {} }
  assert.deepEqual(body['tools'], [{ type: 'function', function: { name: 'f', parameters: none } }, described])
})

test('a host that cannot think and be forced at once is told not to think, and an effort that was asked is named', () => {
  const options: OpenAiChatOptions = { forcedWith: { thinking: 'off' } }
  const forced = { tools: [tool('f')], toolChoice: 'required' } as const
  assert.deepEqual([render(forced, options).body['thinking'], render(forced, options).warnings], ['off', []])
  const asked = render({ ...forced, reasoningEffort: 'high' }, options)
  assert.deepEqual([asked.body['reasoning_effort'], asked.warnings], [undefined, ['reasoning_effort']])
  assert.deepEqual(render({ ...forced, reasoningEffort: 'none' }, options).warnings, [])
  for (const toolChoice of ['auto', 'none'] as const) {
    const { body } = render({ tools: [tool('f')], toolChoice, reasoningEffort: 'high' }, options)
    assert.deepEqual([body['thinking'], body['reasoning_effort']], [undefined, 'high'])
  }
})

test('an empty list of tools is no list', () => {
  const { body } = render({ tools: [], toolChoice: 'auto' })
  assert.deepEqual(Object.keys(body), ['model', 'messages'])
})

test('efforts and temperatures that a host has no word for go to the nearest, and are named', () => {
  const options: OpenAiChatOptions = { reasoningEfforts: { minimal: 'low' }, temperatureRange: [1e-8, 2] }
  const { body, warnings } = render({ reasoningEffort: 'minimal', temperature: 0 }, options)
  assert.deepEqual([body['reasoning_effort'], body['temperature']], ['low', 1e-8])
  assert.deepEqual([...warnings].sort(), ['reasoning_effort', 'temperature'])
  assert.deepEqual(render({ reasoningEffort: 'high', temperature: 1 }, options).warnings, [])
})

test('a host whose scale of temperatures ends earlier gets its hottest, and it is named', () => {
  const { body, warnings } = render({ temperature: 1.7 }, { temperatureRange: [0, 1] })
  assert.deepEqual([body['temperature'], warnings], [1, ['temperature']])
  assert.deepEqual(render({ temperature: 0.7 }, { temperatureRange: [0, 1] }).warnings, [])
})

test('an effort may have fields of its own, which stand behind what the client says itself', () => {
  const options: OpenAiChatOptions = {
    reasoningEfforts: { max: 'high' },
    effortFields: (effort) => (effort === 'low' ? undefined : { thinking: { effort } }),
  }
  const high = render({ reasoningEffort: 'max' }, options)
  assert.deepEqual([high.body['thinking'], high.body['reasoning_effort']], [{ effort: 'high' }, undefined])
  assert.deepEqual(high.warnings, ['reasoning_effort'])
  const own = render({ reasoningEffort: 'high', extra: { thinking: 'mine' } }, options)
  assert.deepEqual([own.body['thinking'], own.warnings], ['mine', []])
  const said = render({ reasoningEffort: 'low' }, options).body
  assert.deepEqual([said['reasoning_effort'], 'thinking' in said], ['low', false])
})

test('priced service tiers go under the host’s names, the ordinary one is left out, others are refused', () => {
  const options: OpenAiChatOptions = { serviceTiers: { priority: 'performance' } }
  const tierOf = (serviceTier: string) => {
    const { body, warnings } = render({ serviceTier }, options)
    return [body['service_tier'], ...warnings]
  }
  assert.deepEqual(tierOf('priority'), ['performance'])
  assert.deepEqual(tierOf('auto'), [undefined, 'service_tier'])
  assert.deepEqual(tierOf('default'), [undefined, 'service_tier'])
  for (const tier of ['flex', 'toString', 'scale']) {
    assert.throws(() => render({ serviceTier: tier }, options), refuses('service_tier'))
  }
})

test('a response format that a host cannot keep is refused', () => {
  const schema = { type: 'json_schema', json_schema: { name: 'x' } } as const
  assert.throws(
    () => render({ responseFormat: schema }, { responseFormats: ['json_object'] }),
    refuses('response_format'),
  )
  render({ responseFormat: { type: 'text' } }, { responseFormats: [] })
})

test('several choices are asked for only where one call can give them', () => {
  assert.equal(render({ n: 2 }).body['n'], 2)
  assert.equal(render({ n: 2 }, { severalChoices: false }).body['n'], undefined)
  assert.equal(openaiChat({ severalChoices: false }).severalChoices, false)
})
