import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { GatewayError } from '../../../domain/errors.ts'
import { checkJsonBytes, parseJsonBody } from '../../../domain/json-body.ts'
import { parseChatRequest } from './request.ts'

function readChatRequest(text: string) {
  checkJsonBytes(Buffer.from(text))
  return parseChatRequest(parseJsonBody(text))
}

const user = { role: 'user', content: 'hi' }
const base = { model: 'm1', messages: [user] }
const tool = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } }

/** A refused body: what is merged into a valid one, then the code and the param expected. */
type Refused = readonly [over: object, code: string, param: string]

function refusal(body: unknown): GatewayError {
  try {
    parseChatRequest(body)
  } catch (error) {
    assert.ok(error instanceof GatewayError, String(error))
    return error
  }
  assert.fail(`accepted ${JSON.stringify(body)}`)
}

function assertRefused([over, code, param]: Refused): void {
  const error = refusal(JSON.parse(JSON.stringify({ ...base, ...over })))
  assert.deepEqual([error.code, error.param], [code, param], JSON.stringify(over))
  assert.ok(error.message.length > 10)
}

function accepted(over: object): ReturnType<typeof parseChatRequest> {
  return parseChatRequest({ ...base, ...over })
}

test('the smallest request says nothing but model and messages, and keeps the client’s own message objects', () => {
  const request = parseChatRequest(base)
  assert.deepEqual(
    { ...request, extra: { ...request.extra } },
    {
      model: 'm1',
      messages: [user],
      stream: false,
      includeUsage: false,
      n: 1,
      extra: {},
    },
  )
  assert.equal(request.messages, base.messages)
})

test('a body that is no object is refused', () => {
  for (const body of [undefined, null, 5, 'x', [], [base]]) assert.equal(refusal(body).code, 'invalid_type')
})

test('the fields of the contract’s table are strict in presence, type and range [limit: choices]', () => {
  const refused: Refused[] = [
    [{ model: undefined }, 'missing_field', 'model'],
    [{ model: 5 }, 'invalid_type', 'model'],
    [{ model: null }, 'invalid_type', 'model'],
    [{ model: '' }, 'invalid_value', 'model'],
    [{ messages: undefined }, 'missing_field', 'messages'],
    [{ messages: 'hi' }, 'invalid_type', 'messages'],
    [{ messages: [] }, 'invalid_value', 'messages'],
    [{ temperature: 2.1 }, 'out_of_range', 'temperature'],
    [{ temperature: -0.1 }, 'out_of_range', 'temperature'],
    [{ temperature: 'hot' }, 'invalid_type', 'temperature'],
    [{ max_tokens: 0 }, 'out_of_range', 'max_tokens'],
    [{ max_tokens: 1.5 }, 'invalid_type', 'max_tokens'],
    [{ max_tokens: '5' }, 'invalid_type', 'max_tokens'],
    [{ max_tokens: 2 ** 53 }, 'out_of_range', 'max_tokens'],
    [{ stream: 'yes' }, 'invalid_type', 'stream'],
    [{ top_p: -0.1 }, 'out_of_range', 'top_p'],
    [{ top_p: 1.01 }, 'out_of_range', 'top_p'],
    [{ stop: 5 }, 'invalid_type', 'stop'],
    [{ stop: ['a', 5] }, 'invalid_type', 'stop[1]'],
    [{ stop: Array.from({ length: 65 }, () => 'a') }, 'out_of_range', 'stop'],
    [{ n: 0 }, 'out_of_range', 'n'],
    [{ n: 17 }, 'out_of_range', 'n'],
    [{ n: 1.5 }, 'invalid_type', 'n'],
  ]
  refused.forEach(assertRefused)
})

test('numbers too large for JSON are out of range, not accepted as infinity', () => {
  for (const name of ['temperature', 'n', 'seed', 'max_tokens', 'presence_penalty']) {
    assert.throws(
      () => readChatRequest(`{"model":"m","messages":[{"role":"user","content":""}],"${name}":1e999}`),
      (error: GatewayError) => error.code === 'out_of_range' && error.param === name,
      name,
    )
  }
})

test('the ends of every range are allowed', () => {
  const request = accepted({
    temperature: 2,
    top_p: 0,
    n: 16,
    max_tokens: 1,
    presence_penalty: -2,
    frequency_penalty: 2,
  })
  const { temperature, topP, n, maxTokens, presencePenalty, frequencyPenalty } = request
  assert.deepEqual([temperature, topP, n, maxTokens, presencePenalty, frequencyPenalty], [2, 0, 16, 1, -2, 2])
})

test('the rest of OpenAI’s fields are checked as its API does [limit: fields]', () => {
  const refused: Refused[] = [
    [{ stream_options: { include_usage: true } }, 'invalid_value', 'stream_options'],
    [{ stream: true, stream_options: 5 }, 'invalid_type', 'stream_options'],
    [{ stream: true, stream_options: { include_usage: 1 } }, 'invalid_type', 'stream_options.include_usage'],
    [{ max_tokens: 5, max_completion_tokens: 6 }, 'invalid_value', 'max_completion_tokens'],
    [{ seed: 1.5 }, 'invalid_type', 'seed'],
    [{ seed: 2 ** 60 }, 'out_of_range', 'seed'],
    [{ logprobs: 1 }, 'invalid_type', 'logprobs'],
    [{ top_logprobs: 2 }, 'invalid_value', 'top_logprobs'],
    [{ logprobs: true, top_logprobs: 21 }, 'out_of_range', 'top_logprobs'],
    [{ presence_penalty: 2.1 }, 'out_of_range', 'presence_penalty'],
    [{ frequency_penalty: -3 }, 'out_of_range', 'frequency_penalty'],
    [{ logit_bias: { 5: 101 } }, 'out_of_range', 'logit_bias.5'],
    [{ logit_bias: { word: 1 } }, 'invalid_value', 'logit_bias'],
    [{ logit_bias: [1] }, 'invalid_type', 'logit_bias'],
    [{ user: 5 }, 'invalid_type', 'user'],
    [{ metadata: { a: 1 } }, 'invalid_type', 'metadata.a'],
    [{ metadata: { a: 'x'.repeat(513) } }, 'out_of_range', 'metadata.a'],
    [{ metadata: { ['x'.repeat(65)]: 'a' } }, 'out_of_range', 'metadata'],
    [{ metadata: Object.fromEntries(Array.from({ length: 17 }, (_, i) => [`k${i}`, ''])) }, 'out_of_range', 'metadata'],
    [{ reasoning_effort: 'huge' }, 'invalid_value', 'reasoning_effort'],
    [{ service_tier: 1 }, 'invalid_type', 'service_tier'],
    [{ store: 'yes' }, 'invalid_type', 'store'],
    [{ modalities: [] }, 'invalid_value', 'modalities'],
    [{ modalities: ['smell'] }, 'invalid_value', 'modalities[0]'],
    [{ prediction: { type: 'content' } }, 'missing_field', 'prediction.content'],
    [{ prediction: { type: 'content', content: [{ type: 'text' }] } }, 'missing_field', 'prediction.content[0].text'],
    [{ parallel_tool_calls: 1 }, 'invalid_type', 'parallel_tool_calls'],
    [{ response_format: 'json' }, 'invalid_type', 'response_format'],
    [{ response_format: { type: 'xml' } }, 'invalid_value', 'response_format.type'],
    [{ response_format: { type: 'json_schema' } }, 'missing_field', 'response_format.json_schema'],
    [
      { response_format: { type: 'json_schema', json_schema: {} } },
      'missing_field',
      'response_format.json_schema.name',
    ],
    [
      { response_format: { type: 'json_schema', json_schema: { name: 'a', schema: 'x' } } },
      'invalid_type',
      'response_format.json_schema.schema',
    ],
  ]
  refused.forEach(assertRefused)
})

test('several faults are reported in the order of the table, whatever the order of the body', () => {
  const faulty = { n: 0, temperature: 9, seed: 'x', messages: [], model: undefined }
  assertRefused([faulty, 'missing_field', 'model'])
  assertRefused([{ ...faulty, model: 'm' }, 'invalid_value', 'messages'])
  assertRefused([{ ...faulty, model: 'm', messages: [user] }, 'out_of_range', 'temperature'])
  assertRefused([{ ...faulty, model: 'm', messages: [user], temperature: 1 }, 'out_of_range', 'n'])
})

test('null in an optional field means absent', () => {
  const names = 'temperature max_tokens stream top_p stop n max_completion_tokens stream_options tools functions'
  const more = 'tool_choice function_call parallel_tool_calls response_format seed logprobs top_logprobs user metadata'
  const rest = 'frequency_penalty presence_penalty logit_bias reasoning_effort service_tier store prediction modalities'
  const nulls = Object.fromEntries(`${names} ${more} ${rest}`.split(' ').map((name) => [name, null]))
  assert.deepEqual(accepted(nulls), parseChatRequest(base))
})

test('a stop string becomes a list of one, and an empty list none', () => {
  assert.deepEqual(accepted({ stop: 'END' }).stop, ['END'])
  assert.equal(accepted({ stop: [] }).stop, undefined)
})

test('both names of the token limit are taken when they agree', () => {
  assert.equal(accepted({ max_tokens: 5, max_completion_tokens: 5 }).maxTokens, 5)
  assert.equal(accepted({ max_completion_tokens: 7 }).maxTokens, 7)
})

test('usage in the stream is what stream_options asks for', () => {
  assert.equal(accepted({ stream: true, stream_options: { include_usage: true } }).includeUsage, true)
  assert.equal(accepted({ stream: true, stream_options: {} }).includeUsage, false)
})

test('what stream_options ask for beyond usage is done or named, never dropped in silence', () => {
  const read = (options: object) => {
    const { plainChunks, ignoredParameters } = accepted({ stream: true, stream_options: options })
    return [plainChunks, ignoredParameters]
  }
  assert.deepEqual(read({ include_obfuscation: false, include_usage: true }), [true, undefined])
  assert.deepEqual(read({ include_obfuscation: true }), [undefined, ['stream_options.include_obfuscation']])
  const continuous = { continuous_usage_stats: true, other: null }
  assert.deepEqual(read(continuous), [undefined, ['stream_options.continuous_usage_stats']])
  const faulty = { stream: true, stream_options: { include_obfuscation: 1 } }
  assertRefused([faulty, 'invalid_type', 'stream_options.include_obfuscation'])
})

test('unknown top-level fields are kept untouched, and never reach a prototype', () => {
  const body = JSON.parse(JSON.stringify({ ...base, top_k: 5, verbosity: 'low', audio: null, toString: { a: [1] } }))
  const { extra } = parseChatRequest(body)
  assert.deepEqual({ ...extra }, { top_k: 5, verbosity: 'low', audio: null, toString: { a: [1] } })
  assert.equal(extra['toString'], body.toString)
  assert.equal(Object.getPrototypeOf(parseChatRequest(base).extra), null)
})

test('tools, their choice and their shape are checked [limit: tools]', () => {
  const named = (name: unknown) => ({ tools: [{ type: 'function', function: { name } }] })
  const refused: Refused[] = [
    [{ tools: {} }, 'invalid_type', 'tools'],
    [{ tools: Array.from({ length: 129 }, () => tool) }, 'out_of_range', 'tools'],
    [{ tools: [{ function: { name: 'a' } }] }, 'missing_field', 'tools[0].type'],
    [{ tools: [tool, { type: 'function' }] }, 'missing_field', 'tools[1].function'],
    [named(undefined), 'missing_field', 'tools[0].function.name'],
    [named(''), 'invalid_value', 'tools[0].function.name'],
    [named('a b'), 'invalid_value', 'tools[0].function.name'],
    [named('x'.repeat(65)), 'invalid_value', 'tools[0].function.name'],
    [
      { tools: [{ type: 'function', function: { name: 'a', parameters: [] } }] },
      'invalid_type',
      'tools[0].function.parameters',
    ],
    [{ tools: [{ type: 'function', function: { name: 'a', strict: 1 } }] }, 'invalid_type', 'tools[0].function.strict'],
    [{ tools: [{ type: 'custom', custom: {} }] }, 'missing_field', 'tools[0].custom.name'],
    [{ tools: [{ type: 5 }] }, 'invalid_type', 'tools[0].type'],
    [{ tools: [tool], tool_choice: 'maybe' }, 'invalid_value', 'tool_choice'],
    [{ tools: [tool], tool_choice: 5 }, 'invalid_type', 'tool_choice'],
    [{ tool_choice: 'required' }, 'invalid_value', 'tool_choice'],
    [{ tools: [tool], tool_choice: { type: 'function' } }, 'missing_field', 'tool_choice.function'],
    [
      { tools: [tool], tool_choice: { type: 'function', function: { name: 'other' } } },
      'invalid_value',
      'tool_choice.function.name',
    ],
    [
      {
        tools: [tool],
        tool_choice: {
          type: 'allowed_tools',
          allowed_tools: { mode: 'auto', tools: [{ type: 'function', function: { name: 'x' } }] },
        },
      },
      'invalid_value',
      'tool_choice.allowed_tools.tools[0].function.name',
    ],
    [{ functions: [{ name: 'a' }], tools: [tool] }, 'invalid_value', 'functions'],
    [{ functions: [{}] }, 'missing_field', 'functions[0].name'],
    [{ functions: [{ name: 'a' }], function_call: { name: 'b' } }, 'invalid_value', 'function_call.name'],
  ]
  refused.forEach(assertRefused)
})

test('tools and a choice among them are kept as they came', () => {
  const choice = { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [tool] } }
  const request = accepted({ tools: [tool], tool_choice: choice, parallel_tool_calls: false })
  assert.equal(request.tools?.[0], tool)
  assert.equal(request.toolChoice, choice)
  assert.equal(request.parallelToolCalls, false)
})

test('tools that run at the provider are kept apart, by their names in prices', () => {
  const search = { type: 'web_search_20260209', name: 'web_search', max_uses: 3 }
  const request = accepted({ tools: [search, tool, { google_search: {} }, { type: 'code_execution_20250825' }] })
  assert.deepEqual(request.tools, [tool])
  assert.deepEqual(request.serverTools, [
    { name: 'web_search', param: 'tools[0].type', wire: search, maxUses: 3 },
    { name: 'web_search', param: 'tools[2]', wire: { google_search: {} } },
    { name: 'code_execution', param: 'tools[3].type', wire: { type: 'code_execution_20250825' } },
  ])
  assert.equal(accepted({ tools: [search, tool], tool_choice: 'none' }).serverTools, undefined)
})

test('what says nothing without tools is left out', () => {
  const request = accepted({ tools: [], tool_choice: 'auto', parallel_tool_calls: true })
  assert.deepEqual(request, parseChatRequest(base))
})

test('nulls inside a tool or a schema mean absent', () => {
  const request = accepted({
    tools: [{ type: 'function', function: { name: 'a', description: null, parameters: null, strict: null } }],
    response_format: { type: 'json_schema', json_schema: { name: 'a', schema: null, strict: true } },
  })
  assert.deepEqual(request.tools, [{ type: 'function', function: { name: 'a', strict: null } }])
  assert.deepEqual(request.responseFormat, { type: 'json_schema', json_schema: { name: 'a', strict: true } })
})

test('functions and function_call become tools and tool_choice', () => {
  const request = accepted({ functions: [{ name: 'look', parameters: {} }], function_call: { name: 'look' } })
  assert.deepEqual(request.tools, [{ type: 'function', function: { name: 'look', parameters: {} } }])
  assert.deepEqual(request.toolChoice, { type: 'function', function: { name: 'look' } })
  assert.equal(accepted({ functions: [{ name: 'look' }], function_call: 'none' }).toolChoice, 'none')
})

const json = fc.jsonValue({ maxDepth: 4 })
const optional = <Value>(arbitrary: fc.Arbitrary<Value>): fc.Arbitrary<Value | undefined> =>
  fc.option(arbitrary, { nil: undefined })
const content = fc.oneof(
  fc.string(),
  fc.array(fc.record({ type: fc.constant('text'), text: fc.string() }), { minLength: 1 }),
)
const message = fc.oneof(
  fc.record({ role: fc.constantFrom('system', 'developer', 'user', 'assistant'), content }),
  fc.record({ role: fc.constant('tool'), tool_call_id: fc.string(), content }),
)
/** Fields whose value the request keeps as it is: the wire's name, ours, and valid values. */
/** The one name that no body may have. */
const metadataName = fc.string({ maxLength: 64 }).filter((name) => name !== '__proto__')

const KEPT: Readonly<Record<string, readonly [name: string, values: fc.Arbitrary<unknown>]>> = {
  temperature: ['temperature', fc.double({ min: 0, max: 2, noNaN: true })],
  max_tokens: ['maxTokens', fc.integer({ min: 1 })],
  stream: ['stream', fc.boolean()],
  top_p: ['topP', fc.double({ min: 0, max: 1, noNaN: true })],
  stop: ['stop', fc.array(fc.string(), { minLength: 1, maxLength: 64 })],
  n: ['n', fc.integer({ min: 1, max: 16 })],
  seed: ['seed', fc.maxSafeInteger()],
  logit_bias: ['logitBias', fc.dictionary(fc.nat().map(String), fc.integer({ min: -100, max: 100 }))],
  metadata: ['metadata', fc.dictionary(metadataName, fc.string({ maxLength: 512 }), { maxKeys: 16 })],
  user: ['user', fc.string()],
  store: ['store', fc.boolean()],
  reasoning_effort: ['reasoningEffort', fc.constantFrom('none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max')],
  service_tier: ['serviceTier', fc.string()],
}
const fields = fc.record(Object.fromEntries(Object.entries(KEPT).map(([name, [, values]]) => [name, optional(values)])))

test('every valid request is accepted and keeps its values', () => {
  const valid = fc.record({ model: fc.string({ minLength: 1 }), messages: fc.array(message, { minLength: 1 }), fields })
  fc.assert(
    fc.property(valid, ({ model, messages, fields: given }) => {
      const body = JSON.parse(JSON.stringify({ model, messages, ...given }))
      const request = readChatRequest(JSON.stringify(body)) as unknown as Record<string, unknown>
      assert.equal(request['model'], body.model)
      assert.deepEqual(request['messages'], body.messages)
      for (const [name, [ours]] of Object.entries(KEPT)) {
        if (name in body) assert.deepEqual(request[ours], body[name], name)
      }
    }),
  )
})

test('no JSON at all makes it throw anything but its own errors', () => {
  const names = [
    ...Object.keys(KEPT),
    'tools',
    'tool_choice',
    'functions',
    'function_call',
    'response_format',
    'prediction',
  ]
  const roles = fc.constantFrom('system', 'user', 'assistant', 'tool', 'function', 'king')
  const keys = fc.constantFrom(
    'content',
    'tool_calls',
    'function_call',
    'name',
    'tool_call_id',
    'refusal',
    'type',
    'text',
  )
  const messages = fc.array(fc.tuple(fc.dictionary(keys, json), roles).map(([fields, role]) => ({ ...fields, role })))
  const body = fc.oneof(
    json,
    fc
      .tuple(fc.dictionary(fc.constantFrom(...names), json), fc.oneof(messages, json))
      .map(([fields, messages]) => ({ model: 'm', ...fields, messages })),
  )
  fc.assert(
    fc.property(body, (value) => {
      const text = JSON.stringify(value) ?? 'null'
      try {
        checkJsonBytes(Buffer.from(text))
        parseChatRequest(JSON.parse(text))
      } catch (error) {
        assert.ok(error instanceof GatewayError, String(error))
        assert.equal(typeof error.message, 'string')
      }
    }),
    { numRuns: 1000 },
  )
})
