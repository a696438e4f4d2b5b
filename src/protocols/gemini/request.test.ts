import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { RICH_PRICE } from '../../../test/support/providers/prices.ts'
import { GatewayError } from '../../domain/errors.ts'
import { parseChatRequest } from '../openai-chat/client/request.ts'
import { gemini } from './index.ts'

// biome-ignore lint/suspicious/noExplicitAny: a body is any JSON
type Anything = any

interface Golden {
  readonly model: string
  readonly request: object
  readonly path: string
  readonly body: object
  readonly warnings: readonly string[]
}

const FIXTURES = join(import.meta.dirname, 'fixtures')
const codec = gemini()
const hello = [{ role: 'user', content: 'Hello' }]

function render(
  request: object,
  model = 'gemini-3.5-flash',
  protocol = codec,
): { body: Anything; warnings: readonly string[]; path: string } {
  const chat = parseChatRequest({ model: 'any', messages: hello, ...request })
  const wire = protocol.renderRequest(chat, { model, maxOutputTokens: undefined, price: RICH_PRICE })
  return { body: JSON.parse(wire.body), warnings: wire.warnings, path: wire.path }
}

function refusal(request: object, model?: string): { code: string; param: string | undefined; status: number } {
  try {
    render(request, model)
  } catch (error) {
    assert.ok(error instanceof GatewayError, String(error))
    return { code: error.code, param: error.param, status: error.status }
  }
  return assert.fail('the request was not refused')
}

for (const file of readdirSync(FIXTURES).filter((name) => name.endsWith('.request.json'))) {
  test(`a request is rendered as written down: ${file}`, () => {
    const { model, request, ...golden }: Golden = JSON.parse(readFileSync(join(FIXTURES, file), 'utf8'))
    assert.deepEqual(render(request, model), golden)
  })
}

test('a stream is asked for by the path, as events', () => {
  assert.equal(render({ stream: true }).path, '/v1beta/models/gemini-3.5-flash:streamGenerateContent?alt=sse')
  assert.equal(render({}).path, '/v1beta/models/gemini-3.5-flash:generateContent')
})

test('on Vertex AI the base URL has all but the model, and the tier is no field', () => {
  const vertex = gemini({ pathPrefix: '', serviceTier: false })
  const { path, body, warnings } = render({ service_tier: 'auto' }, 'gemini-2.5-pro', vertex)
  assert.equal(path, '/models/gemini-2.5-pro:generateContent')
  assert.equal(body.serviceTier, undefined)
  assert.deepEqual(warnings, ['service_tier'])
  assert.throws(() => render({ service_tier: 'flex' }, 'gemini-2.5-pro', vertex), /service_tier/)
})

test('a model with a path of its own keeps it, and nothing in a name leaves the path', () => {
  assert.equal(render({}, 'tunedModels/my-model').path, '/v1beta/tunedModels/my-model:generateContent')
  assert.equal(render({}, 'a?b#c d').path, '/v1beta/models/a%3Fb%23c%20d:generateContent')
})

test('efforts are levels or budgets, as the family of models has them', () => {
  const said = (model: string, effort: string): unknown => {
    const { body, warnings } = render({ reasoning_effort: effort }, model)
    return [body.generationConfig.thinkingConfig, warnings.includes('reasoning_effort')]
  }
  const level = (thinkingLevel: string): object => ({ thinkingLevel, includeThoughts: true })
  const budget = (thinkingBudget: number): object => ({ thinkingBudget, includeThoughts: true })
  assert.deepEqual(said('gemini-3-flash-preview', 'minimal'), [level('minimal'), false])
  assert.deepEqual(said('gemini-3.5-flash', 'max'), [level('high'), true])
  assert.deepEqual(said('gemini-3-pro-preview', 'medium'), [level('high'), true])
  assert.deepEqual(said('gemini-3.1-pro-preview', 'medium'), [level('medium'), false])
  assert.deepEqual(said('gemini-4-argon', 'minimal'), [level('low'), true])
  assert.deepEqual(said('models/gemini-flash-latest', 'low'), [level('low'), false])
  assert.deepEqual(said('gemini-2.5-flash', 'low'), [budget(1024), false])
  assert.deepEqual(said('gemini-2.5-flash-lite', 'high'), [budget(24_576), false])
  assert.deepEqual(said('gemini-2.5-pro', 'max'), [budget(32_768), true])
  assert.deepEqual(said('gemini-2.5-flash', 'none'), [{ thinkingBudget: 0 }, false])
  assert.deepEqual(said('gemini-2.5-pro', 'none'), [{ thinkingBudget: 128 }, true])
  assert.deepEqual(said('gemini-3-flash-preview', 'none'), [{ thinkingLevel: 'minimal' }, true])
})

test('a model that does not think cannot be told how much, but can be told not to', () => {
  assert.deepEqual(refusal({ reasoning_effort: 'low' }, 'gemini-2.0-flash'), {
    code: 'unsupported_parameter',
    param: 'reasoning_effort',
    status: 422,
  })
  assert.equal(render({ reasoning_effort: 'none' }, 'gemini-2.0-flash').body.generationConfig, undefined)
})

test('what changes the meaning and cannot be said is refused with its name', () => {
  assert.equal(refusal({ logit_bias: { 50: 10 } }).param, 'logit_bias')
  assert.equal(refusal({ modalities: ['text', 'audio'] }).param, 'modalities')
  assert.equal(refusal({ audio: { voice: 'a', format: 'wav' } }).param, 'audio')
  assert.equal(refusal({ service_tier: 'scale' }).param, 'service_tier')
  assert.deepEqual(render({ logit_bias: {}, modalities: ['text'] }).warnings, ['modalities'])
})

test('hints that have no place are dropped, and named', () => {
  const hints = { user: 'u', metadata: { a: 'b' }, store: true, prediction: { type: 'content', content: 'x' } }
  const { body, warnings } = render({ ...hints, service_tier: 'default', seed: 2 ** 40 + 5 })
  assert.deepEqual(warnings.toSorted(), ['metadata', 'prediction', 'seed', 'service_tier', 'store', 'user'])
  assert.deepEqual(body, { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }], generationConfig: { seed: 5 } })
})

test('marks to cache the prompt have no place, and are named', () => {
  const content = [{ type: 'text', text: 'Hello', cache_control: { type: 'ephemeral' } }]
  const { body, warnings } = render({ messages: [{ role: 'user', content }] })
  assert.deepEqual(body, { contents: [{ role: 'user', parts: [{ text: 'Hello' }] }] })
  assert.deepEqual(warnings, ['messages[].content[].cache_control'])
})

test('fields that the API has are translated, others are named', () => {
  const { body, warnings } = render({ safety_settings: [], verbosity: 'low', top_k: 3 })
  assert.deepEqual(body, {
    contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
    generationConfig: { topK: 3 },
    safetySettings: [],
  })
  assert.deepEqual(warnings, ['verbosity'])
})

test('`thinking` is a budget where the family has one, else the nearest level', () => {
  const said = (model: string, thinking: unknown): unknown => {
    const { body, warnings } = render({ thinking }, model)
    return [body.generationConfig?.thinkingConfig, warnings.includes('thinking')]
  }
  const budget = (tokens: number) => ({ type: 'enabled', budget_tokens: tokens })
  assert.deepEqual(said('gemini-2.5-flash', budget(3000)), [{ thinkingBudget: 3000, includeThoughts: true }, false])
  assert.deepEqual(said('gemini-2.5-flash', budget(99_000)), [{ thinkingBudget: 24_576, includeThoughts: true }, true])
  assert.deepEqual(said('gemini-2.5-flash', { type: 'adaptive' }), [
    { thinkingBudget: -1, includeThoughts: true },
    false,
  ])
  assert.deepEqual(said('gemini-2.5-flash', { type: 'disabled' }), [{ thinkingBudget: 0 }, false])
  assert.deepEqual(said('gemini-3.5-flash', budget(12_000)), [{ thinkingLevel: 'high', includeThoughts: true }, true])
  assert.deepEqual(said('gemini-3.5-flash', { type: 'adaptive' }), [{ includeThoughts: true }, false])
  assert.deepEqual(said('gemini-3.5-flash', 'much'), [undefined, true])
})

const weather = {
  type: 'function',
  function: { name: 'weather', parameters: { type: 'object', properties: { at: { type: 'string' } } } },
}
const clock = {
  type: 'function',
  function: { name: 'clock', parameters: { type: 'object', properties: {}, additionalProperties: false } },
}

test('that calls come one at a time cannot be said, which is named', () => {
  assert.deepEqual(render({ tools: [clock], parallel_tool_calls: false }).warnings, ['parallel_tool_calls'])
  assert.deepEqual(render({ tools: [clock], parallel_tool_calls: true }).warnings, [])
})

test('choices of tools have their modes', () => {
  const config = (choice: unknown): unknown => render({ tools: [weather, clock], tool_choice: choice }).body.toolConfig
  assert.deepEqual(config('auto'), { functionCallingConfig: { mode: 'AUTO' } })
  assert.deepEqual(config('none'), { functionCallingConfig: { mode: 'NONE' } })
  assert.deepEqual(config('required'), { functionCallingConfig: { mode: 'ANY' } })
  assert.deepEqual(config({ type: 'function', function: { name: 'clock' } }), {
    functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['clock'] },
  })
  assert.equal(render({ tools: [weather] }).body.toolConfig, undefined)
})

test('allowed tools that must be called are named; of those that may be called no others are shown', () => {
  const choice = (mode: string): object => ({ type: 'allowed_tools', allowed_tools: { mode, tools: [clock] } })
  const must = render({ tools: [weather, clock], tool_choice: choice('required') }).body
  assert.deepEqual(must.toolConfig.functionCallingConfig, { mode: 'ANY', allowedFunctionNames: ['clock'] })
  assert.equal(must.tools[0].functionDeclarations.length, 2)
  const may = render({ tools: [weather, clock], tool_choice: choice('auto') }).body
  assert.deepEqual(may.toolConfig.functionCallingConfig, { mode: 'AUTO' })
  assert.deepEqual(may.tools, [{ functionDeclarations: [{ name: 'clock' }] }])
})

test('a function name that the API does not take is refused where it stands', () => {
  const tool = { type: 'function', function: { name: '2fast' } }
  assert.equal(refusal({ tools: [weather, tool] }).param, 'tools[1].function.name')
})

test('structured output with functions is for newer models; without the functions it is for all', () => {
  const both = { tools: [weather], response_format: { type: 'json_object' } }
  assert.equal(refusal(both, 'gemini-2.5-flash').param, 'response_format')
  assert.equal(render(both, 'gemini-3-flash-preview').body.generationConfig.responseMimeType, 'application/json')
  const { body } = render({ ...both, tool_choice: 'none' }, 'gemini-2.5-flash')
  assert.equal(body.tools, undefined)
  assert.equal(body.toolConfig, undefined)
})

test('images: bytes inline, addresses as files, with the type that the name tells', () => {
  const part = (url: string, detail?: string): object => ({
    type: 'image_url',
    image_url: { url, ...(detail && { detail }) },
  })
  const parts = (content: object[]): Anything =>
    render({ messages: [{ role: 'user', content }] }).body.contents[0].parts
  assert.deepEqual(
    parts([
      part('data:image/PNG;base64,iVBORw0KGgo='),
      part('data:image/svg+xml,%3Csvg%2F%3E'),
      part('https://example.com/a.webp?size=1.2'),
      part('https://example.com/picture'),
      part('https://generativelanguage.googleapis.com/v1beta/files/abc'),
    ]),
    [
      { inlineData: { mimeType: 'image/png', data: 'iVBORw0KGgo=' } },
      { inlineData: { mimeType: 'image/svg+xml', data: Buffer.from('<svg/>').toString('base64') } },
      { fileData: { fileUri: 'https://example.com/a.webp?size=1.2', mimeType: 'image/webp' } },
      { fileData: { fileUri: 'https://example.com/picture', mimeType: 'image/jpeg' } },
      { fileData: { fileUri: 'https://generativelanguage.googleapis.com/v1beta/files/abc' } },
    ],
  )
  const warned = render({ messages: [{ role: 'user', content: [part('https://example.com/a.png', 'low')] }] })
  assert.deepEqual(warned.warnings, ['messages[0].content[0].image_url.detail'])
})

test('audio and files: what cannot be given to the API is refused where it stands', () => {
  const user = (part: object): object => ({
    messages: [...hello, { role: 'user', content: [{ type: 'text', text: 'See' }, part] }],
  })
  const param = 'messages[1].content[1]'
  const file = (value: object): object => user({ type: 'file', file: value })
  const audio = (format: string): object => user({ type: 'input_audio', input_audio: { data: 'AAAA', format } })
  const rendered = (request: object): unknown => render(request).body.contents[1].parts[1]
  assert.deepEqual(rendered(audio('mp3')), { inlineData: { mimeType: 'audio/mp3', data: 'AAAA' } })
  assert.deepEqual(refusal(audio('midi')), { code: 'unsupported_content', param, status: 422 })
  assert.deepEqual(refusal(file({ file_id: 'file-abc' })), { code: 'unsupported_content', param, status: 422 })
  assert.deepEqual(rendered(file({ file_data: 'data:application/pdf;base64,JVBERg==' })), {
    inlineData: { mimeType: 'application/pdf', data: 'JVBERg==' },
  })
  assert.deepEqual(rendered(file({ file_id: 'gs://bucket/report.pdf' })), {
    fileData: { fileUri: 'gs://bucket/report.pdf', mimeType: 'application/pdf' },
  })
  assert.equal(refusal(file({ file_data: 'data:text/plain,%zz' })).param, `${param}.file.file_data`)
})

const assistant = (calls: readonly [string, string, string][], rest: object = {}): object => ({
  role: 'assistant',
  content: null,
  tool_calls: calls.map(([id, name, text]) => ({ id, type: 'function', function: { name, arguments: text } })),
  ...rest,
})
const result = (id: string, content: unknown): object => ({ role: 'tool', tool_call_id: id, content })

test("results of one turn are one turn, in the order of the calls, by the functions' names", () => {
  const messages = [
    ...hello,
    assistant([
      ['a', 'weather', '{"at":"Oslo"}'],
      ['b', 'weather', '{"at":"Rome"}'],
      ['c', 'clock', ''],
    ]),
    result('c', '12:00'),
    result('b', '{"sky":"clear"}'),
    result('a', [{ type: 'text', text: '["rain"]' }]),
  ]
  const { contents } = render({ messages, tools: [weather] }, 'gemini-2.5-flash').body
  assert.deepEqual(contents.slice(1), [
    {
      role: 'model',
      parts: [
        { functionCall: { id: 'a', name: 'weather', args: { at: 'Oslo' } } },
        { functionCall: { id: 'b', name: 'weather', args: { at: 'Rome' } } },
        { functionCall: { id: 'c', name: 'clock', args: {} } },
      ],
    },
    {
      role: 'user',
      parts: [
        { functionResponse: { id: 'a', name: 'weather', response: { output: '["rain"]' } } },
        { functionResponse: { id: 'b', name: 'weather', response: { sky: 'clear' } } },
        { functionResponse: { id: 'c', name: 'clock', response: { output: '12:00' } } },
      ],
    },
  ])
})

test('an image in a result follows it as what the user shows', () => {
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
  const messages = [...hello, assistant([['a', 'photo', '{}']]), result('a', [{ type: 'text', text: 'taken' }, image])]
  const { contents } = render({ messages }, 'gemini-2.5-flash').body
  assert.deepEqual(contents.slice(2), [
    { role: 'user', parts: [{ functionResponse: { id: 'a', name: 'photo', response: { output: 'taken' } } }] },
    { role: 'user', parts: [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }] },
  ])
})

test('a result without its call is refused where it stands', () => {
  const refused = refusal({ messages: [...hello, result('nobody', 'x')] })
  assert.deepEqual(refused, { code: 'invalid_value', param: 'messages[1].tool_call_id', status: 400 })
})

test('arguments that are no object go as the value of one, and are named', () => {
  const messages = [...hello, assistant([['a', 'weather', '{"at": "Os']]), result('a', 'bad JSON')]
  const { body, warnings } = render({ messages }, 'gemini-2.5-flash')
  assert.deepEqual(body.contents[1].parts[0].functionCall.args, { arguments: '{"at": "Os' })
  assert.deepEqual(warnings, ['messages[1].tool_calls[0].function.arguments'])
})

test('arguments nested beyond all measure are refused, not a stack overflow', () => {
  const deep = `${'{"0":'.repeat(200_000)}1${'}'.repeat(200_000)}`
  const messages = [...hello, assistant([['a', 'weather', deep]]), result('a', 'x')]
  assert.equal(refusal({ messages }, 'gemini-2.5-flash').code, 'invalid_value')
})

test('system messages are one instruction; one that came later is named', () => {
  const messages = [
    { role: 'developer', content: 'Be brief.' },
    { role: 'system', content: [{ type: 'text', text: 'Be kind.' }] },
    ...hello,
    { role: 'system', content: 'Now rhyme.' },
  ]
  const { body, warnings } = render({ messages })
  assert.deepEqual(body.systemInstruction, {
    parts: [{ text: 'Be brief.' }, { text: 'Be kind.' }, { text: 'Now rhyme.' }],
  })
  assert.deepEqual(body.contents, [{ role: 'user', parts: [{ text: 'Hello' }] }])
  assert.deepEqual(warnings, ['messages[3].role'])
})

test('where only the system speaks, it speaks as the user: there must be a turn', () => {
  const { body, warnings } = render({ messages: [{ role: 'system', content: 'Say hi.' }] })
  assert.deepEqual(body, { contents: [{ role: 'user', parts: [{ text: 'Say hi.' }] }] })
  assert.deepEqual(warnings, ['messages'])
})

test('successive assistant messages are one turn, and one that holds nothing is none', () => {
  const messages = [
    ...hello,
    { role: 'assistant', content: 'I look.' },
    assistant([['a', 'clock', '{}']], { content: '' }),
    result('a', 'noon'),
    { role: 'assistant', content: null, reasoning_content: 'Hm.' },
    { role: 'user', content: 'And?', name: 'ann' },
  ]
  const { body, warnings } = render({ messages }, 'gemini-2.5-flash')
  assert.deepEqual(
    body.contents.map(({ role }: Anything) => role),
    ['user', 'model', 'user', 'user'],
  )
  assert.deepEqual(body.contents[1].parts, [
    { text: 'I look.' },
    { functionCall: { id: 'a', name: 'clock', args: {} } },
  ])
  assert.deepEqual(
    warnings,
    ['messages[4].reasoning_content', 'messages[5].name'].map((name) => name.replace('[4]', '[]')),
  )
})

const withContext = (message: object, signatures: readonly object[]): Anything => {
  const context = { gemini: { signatures: signatures.map((entry, index) => ({ index, signature: 's', ...entry })) } }
  const messages = [...hello, { role: 'assistant', ...message, provider_context: context }, ...hello]
  const { body, warnings } = render({ messages }, 'gemini-2.5-flash')
  return { parts: body.contents[1].parts, warnings }
}

test('signed ranges of the text are cut out as they were; one that overlaps or leads beyond is left out', () => {
  const said = (...ranges: string[]): Anything =>
    withContext(
      { content: 'abcdef' },
      ranges.map((text) => ({ text })),
    )
  assert.deepEqual(said('1:3', '4:4'), {
    parts: [
      { text: 'a' },
      { text: 'bc', thoughtSignature: 's' },
      { text: 'd' },
      { text: '', thoughtSignature: 's' },
      { text: 'ef' },
    ],
    warnings: [],
  })
  const rest = {
    parts: [{ text: 'abc', thoughtSignature: 's' }, { text: 'def' }],
    warnings: ['messages[].provider_context'],
  }
  assert.deepEqual(said('0:3', '2:4'), rest)
  assert.deepEqual(said('0:3', '3:7'), rest)
})

test('parts without signatures are in the order text, images, calls', () => {
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
  const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }
  const { parts } = withContext({ content: 'x', images: [image], tool_calls: [call] }, [])
  assert.deepEqual(
    parts.map((part: object) => Object.keys(part)[0]),
    ['text', 'inlineData', 'functionCall'],
  )
})

test('signed reasoning goes back as the thought it was; reasoning alone does not', () => {
  const message = { content: 'Done.', reasoning_content: 'First. Then.' }
  assert.deepEqual(withContext(message, [{ reasoning: '0:6' }]), {
    parts: [{ text: 'First.', thought: true, thoughtSignature: 's' }, { text: 'Done.' }],
    warnings: [],
  })
  assert.deepEqual(withContext(message, []), { parts: [{ text: 'Done.' }], warnings: ['messages[].reasoning_content'] })
})
