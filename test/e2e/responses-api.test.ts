/**
 * OpenAI's Responses API: the official SDK against fake providers that each speak their own protocol. Every answer and event
 * is checked against the Open Responses contract. Runs on one database: it is about the wire.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { after, test } from 'node:test'
import OpenAI from 'openai'
import { zodTextFormat } from 'openai/helpers/zod'
import { z } from 'zod'
import { errorOf, eventually, send, usageReport } from '../support/client.ts'
import { model, startGateway } from '../support/gateway.ts'
import { checkEvent, checkResponse } from '../support/open-responses.ts'
import { answerBytes } from '../support/providers/answers.ts'
import { type ProviderCall, startFakeProvider } from '../support/providers/fake-provider.ts'
import {
  answerNative,
  beginning,
  NATIVES,
  type Native,
  nativeProviders,
  refuseNative,
  type Said,
} from '../support/providers/native-answers.ts'

const provider = await startFakeProvider(answerBytes({}, '', 500))
const natives = Object.entries(NATIVES)
const gateway = await startGateway({
  config: {
    providers: nativeProviders(provider.url),
    models: natives.map(([name, native]) => ({ ...model(name, name, native.model), max_output_tokens: 4000 })),
    plans: { test: { billing: 'postpaid' } },
    accounts: { default_plan: 'test' },
    routing: { max_attempts: 1, breaker: { failures: 1000 } },
  },
})
const key = await gateway.key()
const client = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
after(async () => {
  await gateway.stop()
  await provider.close()
})

type Request = Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'stream'>
type Answer = OpenAI.Responses.Response

const PATH = '/v1/responses'
const WAYS = { whole: askWhole, streamed: askStreamed } as const
const LOOK: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'look',
  description: 'Looks.',
  strict: false,
  parameters: { type: 'object', properties: { at: { type: 'string' } }, required: ['at'] },
}
const SEARCH: OpenAI.Responses.FileSearchTool = { type: 'file_search', vector_store_ids: ['a'] }
const FULL: Said = { reasoning: 'First I think.', text: ['Hello ', 'wörld'], promptTokens: 21, completionTokens: 9 }
const CALLS: Said = {
  text: ['I look.'],
  calls: [
    { id: 'call_one', name: 'look', input: { at: 'left' } },
    { id: 'call_two', name: 'look', input: { at: 'right', deep: [1, 2] } },
  ],
}

async function askWhole(body: Request): Promise<Answer> {
  const answer = await client.responses.create(body)
  const { output_text: _, ...wire } = answer
  checkResponse(wire)
  return answer
}

/** What the SDK gathers from the events is the response of the last one. */
async function askStreamed(body: Request): Promise<Answer> {
  const stream = client.responses.stream(body)
  const events: OpenAI.Responses.ResponseStreamEvent[] = []
  for await (const event of stream) events.push(event)
  checkEvents(events)
  return await stream.finalResponse()
}

type Event = OpenAI.Responses.ResponseStreamEvent

/** The order, the numbers and the form of events, and that deltas make up the texts at the end. */
function checkEvents(events: readonly Event[]): void {
  assert.deepEqual(
    events.map(({ sequence_number: number }) => number),
    events.map((_, at) => at),
  )
  assert.deepEqual([events[0]?.type, events[1]?.type], ['response.created', 'response.in_progress'])
  const texts = new Map<string, string>()
  for (const event of events) {
    if (!event.type.includes('custom_tool_call')) checkEvent(event)
    if (event.type.endsWith('.delta') && 'delta' in event && 'item_id' in event) {
      const text = `${texts.get(event.item_id) ?? ''}${event.delta}`
      texts.set(event.item_id, text)
    }
  }
  const last = events.at(-1)
  if (last?.type !== 'response.completed' && last?.type !== 'response.incomplete') return
  for (const item of last.response.output) assert.equal(texts.get(item.id ?? '') ?? '', wholeText(item), item.type)
}

function wholeText(item: OpenAI.Responses.ResponseOutputItem): string {
  if (item.type === 'function_call') return item.arguments
  if (item.type === 'custom_tool_call') return item.input
  if (item.type === 'reasoning') return item.summary.map(({ text }) => text).join('')
  if (item.type !== 'message') return ''
  return item.content.map((part) => (part.type === 'output_text' ? part.text : part.refusal)).join('')
}

/** Events as they are on the wire. */
function eventsOf(text: string): Event[] {
  return text
    .split('\n\n')
    .filter((block) => block !== '')
    .map((block) => JSON.parse(/^data: (.*)$/m.exec(block)?.[1] ?? assert.fail(block)))
}

function ask(name: string, over: Partial<Request> = {}): Request {
  return { model: name, max_output_tokens: 2000, input: 'Go on.', ...over }
}

function lastCall(): ProviderCall {
  return provider.calls.at(-1) ?? assert.fail('no provider was called')
}

function native(name: string): Native {
  return NATIVES[name] ?? assert.fail()
}

function typesOf({ output }: Answer): string[] {
  return output.map(({ type }) => type).filter((type) => type !== 'reasoning')
}

async function faultOf(asked: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  const fault = await asked.then(
    () => assert.fail('answered'),
    (error: unknown) => error,
  )
  return fault instanceof OpenAI.APIError ? fault : assert.fail(String(fault))
}

for (const [name, spoken] of natives) {
  for (const [way, create] of Object.entries(WAYS)) {
    test(`${name}, ${way}: text, reasoning, usage and status are the provider's`, async () => {
      provider.answer(answerNative(spoken, FULL))
      const answer = await create(ask(name, { instructions: 'Be brief.' }))
      assert.equal(answer.output_text, 'Hello wörld')
      assert.deepEqual([answer.object, answer.model, answer.status], ['response', name, 'completed'])
      assert.deepEqual([answer.usage?.input_tokens, answer.usage?.output_tokens], [21, 9])
      assert.match(answer.id, /^resp_\w+$/)
      assert.ok(Math.abs((answer.completed_at ?? 0) - Date.now() / 1000) < 60)
      const [first] = answer.output
      assert.ok(first?.type === 'reasoning')
      assert.deepEqual(first.summary, [{ type: 'summary_text', text: 'First I think.' }])
      assert.ok(lastCall().body.includes('Be brief.'))
    })

    test(`${name}, ${way}: tool calls arrive as items, and their results reach the provider`, async () => {
      provider.answer(answerNative(spoken, CALLS))
      const request = ask(name, { tools: [LOOK], tool_choice: 'auto' })
      const answer = await create(request)
      assert.deepEqual(typesOf(answer), ['message', 'function_call', 'function_call'])
      const calls = answer.output.filter((item) => item.type === 'function_call')
      assert.deepEqual(
        calls.map((call) => [call.name, JSON.parse(call.arguments), call.status]),
        [
          ['look', { at: 'left' }, 'completed'],
          ['look', { at: 'right', deep: [1, 2] }, 'completed'],
        ],
      )
      provider.answer(answerNative(spoken, FULL))
      const results = calls.map(({ call_id }, at) => ({
        type: 'function_call_output' as const,
        call_id,
        output: at === 0 ? 'result 0' : [{ type: 'input_text' as const, text: 'result 1' }],
      }))
      const input: OpenAI.Responses.ResponseInput = [
        { role: 'user', content: 'Go on.' },
        ...(answer.output as OpenAI.Responses.ResponseInput),
        ...results,
        { role: 'user', content: [{ type: 'input_text', text: 'Well?' }] },
      ]
      assert.equal((await create({ ...request, input })).output_text, 'Hello wörld')
      const sent = lastCall().body
      for (const piece of ['I look.', 'result 0', 'result 1', 'Well?']) assert.ok(sent.includes(piece), piece)
    })

    test(`${name}, ${way}: a custom tool is called with free text`, async () => {
      const patch: OpenAI.Responses.CustomTool = {
        type: 'custom',
        name: 'patch',
        description: 'Applies a patch.',
        format: { type: 'grammar', syntax: 'lark', definition: 'start: /.+/' },
      }
      provider.answer(answerNative(spoken, { calls: [{ id: 'c', name: 'patch', input: { input: '*** "ö"\n+a' } }] }))
      const request = ask(name, { tools: [patch], input: [{ role: 'user', content: 'Go on.' }] })
      const answer = await (way === 'whole' ? client.responses.create(request) : streamedUnchecked(request))
      const call = answer.output.find((item) => item.type === 'custom_tool_call') ?? assert.fail()
      assert.deepEqual([call.name, call.input], ['patch', '*** "ö"\n+a'])
      const { tools } = JSON.parse(lastCall().body)
      assert.ok(JSON.stringify(tools ?? lastCall().body).includes('start: /.+/'))
      provider.answer(answerNative(spoken, FULL))
      const { output } = answer
      await create({
        ...ask(name),
        input: [
          { role: 'user', content: 'Go on.' },
          ...(output as OpenAI.Responses.ResponseInput),
          { type: 'custom_tool_call_output', call_id: call.call_id, output: 'applied' },
        ],
      })
      assert.ok(lastCall().body.includes('applied'))
    })

    test(`${name}, ${way}: an answer that is cut off is incomplete`, async () => {
      provider.answer(answerNative(spoken, { ...FULL, isCut: true }))
      const answer = await create(ask(name))
      assert.deepEqual([answer.status, answer.incomplete_details], ['incomplete', { reason: 'max_output_tokens' }])
      assert.equal(answer.output.find((item) => item.type === 'message')?.status, 'incomplete')
    })

    test(`${name}, ${way}: an error of the provider raises the SDK's own`, async () => {
      provider.answer(refuseNative(spoken, 429, 'Slow down.'))
      const { status } = await faultOf(create(ask(name)))
      assert.ok(status === 429 || status === 503, String(status))
    })
  }

  test(`${name}: a stream that breaks off raises an error, and ends with response.failed`, async () => {
    provider.answer(async (_, reply) => {
      reply.head(200, { 'content-type': spoken.streamType })
      for (const piece of beginning(spoken, FULL)) await reply.write(piece)
      reply.end(spoken.errorFrame('Broken.'))
    })
    const { text } = await send(gateway, PATH, { key, body: { ...ask(name), stream: true } })
    const events = eventsOf(text)
    checkEvents(events)
    assert.deepEqual(
      events.slice(-2).map(({ type }) => type),
      ['error', 'response.failed'],
    )
    const failed = events.at(-1)
    assert.ok(failed?.type === 'response.failed')
    assert.deepEqual([failed.response.status, failed.response.error?.code], ['failed', 'provider_error'])
    const fault = await faultOf(client.responses.stream(ask(name)).finalResponse())
    assert.match(fault.message, /partial response/)
  })
}

/** For items that the contract does not have. */
async function streamedUnchecked(body: Request): Promise<Answer> {
  const stream = client.responses.stream(body)
  let text = ''
  for await (const event of stream) if (event.type === 'response.custom_tool_call_input.delta') text += event.delta
  const answer = await stream.finalResponse()
  assert.equal(answer.output.find((item) => item.type === 'custom_tool_call')?.input ?? '', text)
  return answer
}

test('signed thinking of Anthropic travels in encrypted_content, and goes back to it', async () => {
  for (const create of Object.values(WAYS)) {
    provider.answer(answerNative(native('anthropic'), { ...CALLS, reasoning: 'First I think.' }))
    const include: OpenAI.Responses.ResponseIncludable[] = ['reasoning.encrypted_content']
    const request = ask('anthropic', { tools: [LOOK], include, reasoning: { effort: 'low' }, max_output_tokens: 4000 })
    const { output } = await create(request)
    const [first] = output
    assert.ok(first?.type === 'reasoning' && typeof first.encrypted_content === 'string')
    const results = output.flatMap((item) =>
      item.type === 'function_call'
        ? [{ type: 'function_call_output' as const, call_id: item.call_id, output: 'seen' }]
        : [],
    )
    await create({
      ...request,
      input: [{ role: 'user', content: 'Go on.' }, ...(output as OpenAI.Responses.ResponseInput), ...results],
    })
    const { messages } = JSON.parse(lastCall().body)
    assert.deepEqual(messages[1].content[0], {
      type: 'thinking',
      thinking: 'First I think.',
      signature: 'c2lnbmVk',
    })
  }
})

test('thinking of Bedrock travels in an item at the end, and goes back to it', async () => {
  for (const create of Object.values(WAYS)) {
    provider.answer(answerNative(native('bedrock'), { ...CALLS, reasoning: 'First I think.' }))
    const request = ask('bedrock', { tools: [LOOK], reasoning: { effort: 'low' }, max_output_tokens: 4000 })
    const { output } = await create(request)
    const last = output.at(-1)
    assert.ok(last?.type === 'reasoning' && typeof last.encrypted_content === 'string')
    const results = output.flatMap((item) =>
      item.type === 'function_call'
        ? [{ type: 'function_call_output' as const, call_id: item.call_id, output: 'seen' }]
        : [],
    )
    await create({
      ...request,
      input: [{ role: 'user', content: 'Go on.' }, ...(output as OpenAI.Responses.ResponseInput), ...results],
    })
    assert.match(lastCall().body, /"signature":"c2lnbmVk"/)
  }
})

test('fields reach the provider under its names, and the answer repeats them', async () => {
  provider.answer(answerNative(native('azure'), FULL))
  const answer = await askWhole(
    ask('azure', {
      temperature: 0.5,
      top_p: 0.25,
      parallel_tool_calls: false,
      tools: [LOOK],
      tool_choice: { type: 'function', name: 'look' },
      reasoning: { effort: 'high', summary: 'auto' },
      text: { format: { type: 'json_schema', name: 'a', schema: { type: 'object' }, strict: true }, verbosity: 'low' },
      metadata: { a: 'b' },
      prompt_cache_key: 'cache',
      safety_identifier: 'someone',
      store: true,
    }),
  )
  assert.deepEqual(
    [answer.temperature, answer.top_p, answer.metadata, answer.parallel_tool_calls, answer.max_output_tokens],
    [0.5, 0.25, { a: 'b' }, false, 2000],
  )
  assert.deepEqual([answer.tool_choice, answer.reasoning?.effort], [{ type: 'function', name: 'look' }, 'high'])
  assert.equal((answer as { readonly store?: boolean }).store, false)
  const sent = JSON.parse(lastCall().body)
  assert.deepEqual(
    [sent.temperature, sent.top_p, sent.reasoning_effort, sent.parallel_tool_calls, sent.verbosity, sent.metadata],
    [0.5, 0.25, 'high', false, 'low', undefined],
  )
  assert.deepEqual(sent.tool_choice, { type: 'function', function: { name: 'look' } })
  assert.deepEqual(sent.response_format, {
    type: 'json_schema',
    json_schema: { name: 'a', schema: { type: 'object' }, strict: true },
  })
})

test('images and files of the input reach the provider', async () => {
  provider.answer(answerNative(native('anthropic'), FULL))
  const image = 'data:image/png;base64,iVBORw0KGgo='
  const content: OpenAI.Responses.ResponseInputContent[] = [
    { type: 'input_text', text: 'What is it?' },
    { type: 'input_image', image_url: image, detail: 'auto' },
    { type: 'input_file', filename: 'a.pdf', file_data: 'data:application/pdf;base64,JVBERi0xLjQK' },
  ]
  await askWhole(ask('anthropic', { input: [{ role: 'user', content }] }))
  const [{ content: sent }] = JSON.parse(lastCall().body).messages
  assert.deepEqual(
    sent.map(({ type }: { type: string }) => type),
    ['text', 'image', 'document'],
  )
})

test('a structured answer is parsed by the helper of the SDK', async () => {
  provider.answer(answerNative(native('azure'), { text: ['{"city":', '"Paris"}'] }))
  const format = zodTextFormat(z.object({ city: z.string() }), 'place')
  const parsed = await client.responses.parse(ask('azure', { text: { format } }))
  assert.deepEqual(parsed.output_parsed, { city: 'Paris' })
})

test('tools of a namespace, and the shell of the client, are called in their own form', async () => {
  const tools: OpenAI.Responses.Tool[] = [
    { type: 'namespace', name: 'mcp__files__', description: 'Files.', tools: [{ type: 'function', name: 'read' }] },
    { type: 'local_shell' },
  ]
  const calls = [
    { id: 'c1', name: 'mcp__files__read', input: {} },
    { id: 'c2', name: 'local_shell', input: { command: ['ls'], working_directory: '/' } },
  ]
  provider.answer(answerNative(native('azure'), { calls }))
  for (const create of [client.responses.create.bind(client.responses), streamedUnchecked]) {
    const { output } = (await create(ask('azure', { tools }))) as Answer
    const [read, shell] = output
    assert.ok(read?.type === 'function_call' && shell?.type === 'local_shell_call')
    assert.deepEqual([read.name, read.namespace, read.call_id], ['read', 'mcp__files__', 'c1'])
    assert.deepEqual(shell.action, { type: 'exec', command: ['ls'], working_directory: '/', env: {} })
    const results: OpenAI.Responses.ResponseInput = [
      { type: 'function_call_output', call_id: 'c1', output: 'one' },
      { type: 'local_shell_call_output', id: 'c2', output: 'two' },
    ]
    await client.responses.create(
      ask('azure', { tools, input: [...(output as OpenAI.Responses.ResponseInput), ...results] }),
    )
    const { messages } = JSON.parse(lastCall().body)
    assert.deepEqual(
      messages.map(({ role, content }: { role: string; content: string }) => [role, content]),
      [
        ['assistant', null],
        ['tool', 'one'],
        ['tool', 'two'],
      ],
    )
    assert.equal(messages[0].tool_calls[0].function.name, 'mcp__files__read')
  }
})

test('a request that cannot be answered is rejected in the form of the API', async () => {
  const before = provider.calls.length
  const wrong = new OpenAI({ apiKey: 'tp_wrong', baseURL: `${gateway.url}/v1`, maxRetries: 0 })
  const faults: readonly [() => Promise<unknown>, number, string, string | undefined][] = [
    [() => wrong.responses.create(ask('azure')), 401, 'invalid_credential', undefined],
    [() => client.responses.create(ask('no-such-model')), 422, 'model_not_found', 'model'],
    [
      () => client.responses.create(ask('azure', { previous_response_id: 'resp_1' })),
      400,
      'previous_response_not_found',
      'previous_response_id',
    ],
    [() => client.responses.create(ask('azure', { background: true })), 422, 'unsupported_parameter', 'background'],
    [
      () => client.responses.create(ask('azure', { conversation: 'conv_1' })),
      422,
      'unsupported_parameter',
      'conversation',
    ],
    [() => client.responses.create(ask('azure', { input: [] })), 400, 'invalid_value', 'input'],
    [() => client.responses.create(ask('azure', { max_output_tokens: 0 })), 400, 'out_of_range', 'max_output_tokens'],
    [
      () => client.responses.create(ask('azure', { input: [{ type: 'item_reference', id: 'msg_1' }] })),
      400,
      'invalid_value',
      'input[0]',
    ],
    [
      () =>
        client.responses.create(
          ask('azure', { input: [{ type: 'function_call_output', call_id: 'c', output: 'lost' }] }),
        ),
      400,
      'invalid_value',
      'input[0].call_id',
    ],
    [
      () =>
        client.responses.create(
          ask('azure', { input: [{ type: 'function_call', call_id: 'c', name: 'look', arguments: '{}' }] }),
        ),
      400,
      'invalid_value',
      'input',
    ],
    [
      () => client.responses.create(ask('azure', { tools: [SEARCH], tool_choice: 'required' })),
      400,
      'invalid_value',
      'tool_choice',
    ],
    [
      () => client.responses.create(ask('azure', { tools: [LOOK], tool_choice: { type: 'web_search_preview' } })),
      422,
      'unsupported_parameter',
      'tool_choice.type',
    ],
  ]
  for (const [asked, status, code, param] of faults) {
    const fault = await faultOf(asked())
    assert.deepEqual([fault.status, fault.code, fault.param ?? undefined], [status, code, param], fault.message)
    assert.match(fault.requestID ?? '', /^req_/)
  }
  const malformed = await send(gateway, PATH, { key, body: '{"model":' })
  assert.deepEqual([malformed.status, errorOf(malformed).code], [400, 'invalid_json'])
  assert.equal(provider.calls.length, before)
})

test('a tool of the provider without a price is left out and named in a header', async () => {
  for (const tools of [[SEARCH, LOOK], [SEARCH]]) {
    provider.answer(answerNative(native('azure'), FULL))
    const { response } = await client.responses.create(ask('azure', { tools, tool_choice: 'auto' })).withResponse()
    assert.equal(response.headers.get('x-turnpike-warnings'), 'tools[0].type')
    const body = JSON.parse(provider.calls.at(-1)?.body ?? '')
    assert.deepEqual([body.tools?.length, 'tool_choice' in body], tools.length > 1 ? [1, true] : [undefined, false])
  }
})

test('unknown fields and items of tools that ran elsewhere are named in a header', async () => {
  provider.answer(answerNative(native('azure'), FULL))
  const input = [
    { role: 'user', content: 'Go on.' },
    { type: 'web_search_call', id: 'ws_1', status: 'completed' },
    { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'of another service' },
    { role: 'user', content: 'Well?' },
  ]
  const body = { ...ask('azure'), input, store: true, truncation: 'auto', novelty: 1 }
  const { status, headers, text } = await send(gateway, PATH, { key, body })
  assert.equal(status, 200, text)
  assert.deepEqual(headers['x-turnpike-warnings']?.split(', ').sort(), [
    'input[1]',
    'input[2].encrypted_content',
    'novelty',
    'store',
    'truncation',
  ])
})

test('tokens are counted without a provider, and a WebSocket is refused with 426', async () => {
  const before = provider.calls.length
  const { input_tokens: few, object } = await client.responses.inputTokens.count({ model: 'azure', input: 'Go on.' })
  const { input_tokens: many } = await client.responses.inputTokens.count({
    model: 'azure',
    input: 'word '.repeat(1000),
  })
  assert.equal(object, 'response.input_tokens')
  assert.ok(few > 0 && few < 30 && many > 900 && many < 1500, `${few}, ${many}`)
  assert.equal(provider.calls.length, before)
  assert.equal(await statusOfUpgrade(), 426)
  assert.equal((await send(gateway, PATH, { key })).status, 405)
})

async function statusOfUpgrade(): Promise<number | undefined> {
  const wanted = { connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' }
  const asked = get(`${gateway.url}${PATH}`, { headers: { ...wanted, authorization: `Bearer ${key}` } })
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  response.resume()
  return response.statusCode
}

test('a request with an Idempotency-Key is answered once, and a stream is resumed', async () => {
  provider.answer(answerNative(native('azure'), FULL))
  for (const stream of [false, true]) {
    const call = { key, body: { ...ask('azure'), stream }, headers: { 'idempotency-key': `responses-${stream}` } }
    const before = provider.calls.length
    const first = await send(gateway, PATH, call)
    const second = await send(gateway, PATH, call)
    assert.equal(first.status, 200)
    assert.equal(second.text, first.text)
    assert.equal(second.headers['idempotent-replayed'], 'true')
    assert.equal(provider.calls.length - before, 1)
    const other = await send(gateway, PATH, { ...call, body: { ...ask('azure'), stream, max_output_tokens: 7 } })
    assert.deepEqual([other.status, errorOf(other).code], [409, 'idempotency_key_reused'])
    if (!stream) continue
    const rest = await send(gateway, PATH, { ...call, headers: { ...call.headers, 'last-event-id': '3' } })
    assert.deepEqual(
      eventsOf(rest.text).map(({ sequence_number: number }) => number),
      eventsOf(first.text)
        .slice(3)
        .map(({ sequence_number: number }) => number),
    )
  }
})

test('usage and charge are the same as for a chat completion, also without the prefix /v1', async () => {
  provider.answer(answerNative(native('azure'), FULL))
  const own = await gateway.keyOfNewAccount()
  const paid = await send(gateway, '/responses', { key: own, body: ask('azure') })
  const chat = { model: 'azure', max_tokens: 2000, messages: [{ role: 'user', content: 'Go on.' }] }
  const reference = await send(gateway, '/v1/chat/completions', { key: own, body: chat })
  for (const name of ['x-turnpike-cost-usd', 'x-turnpike-provider', 'x-turnpike-route', 'x-ratelimit-limit-requests']) {
    assert.equal(paid.headers[name], reference.headers[name], name)
  }
  const { cost } = JSON.parse(paid.text).usage
  assert.equal(cost, JSON.parse(reference.text).usage.cost)
  const report = await eventually(
    () => usageReport(gateway, own),
    ({ total_tokens: tokens }) => tokens === 60,
  )
  assert.ok(Math.abs(report.total_cost_usd - 2 * cost) < 1e-12)
})
