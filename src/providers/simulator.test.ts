/** Reads the timers of the whole process. Runs in a process of its own. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import fc from 'fast-check'
import * as z from 'zod'
import type { ChatEvent, ChatRequest } from '../domain/chat.ts'
import { createSseDecoder } from '../protocols/framing.ts'
import type { Frame } from '../protocols/protocol.ts'
import { exampleOf } from './simulator/answer.ts'
import { countTokens, DIRECTIVE_NAMES, tokensOf } from './simulator/request.ts'
import { simulator, simulatorTransport } from './simulator.ts'

type Json = Record<string, unknown>

/** What a client of the simulator's bytes sees, whichever way they came. */
interface Seen extends Json {
  status?: number
  message?: string
  content?: string | null
  reasoning?: string
  refusal?: string | null
  tool_calls?: [string, string][]
  finish_reason?: string | null
  ends: 'complete' | 'no answer' | 'broken' | 'incomplete' | 'silence'
}

function bodyOf(prompt: string, fields: Json = {}): string {
  const messages = [{ role: 'user', content: prompt }]
  return JSON.stringify({ model: 'turnpike-simulator', messages, stream_options: { include_usage: true }, ...fields })
}

function start(body: string) {
  return simulatorTransport({ url: 'simulator://built-in/chat/completions', headers: {}, body })
}

const SILENCE = Symbol('silence')

/** A wait that nothing in the process will end is silence: no timer is left that could. */
async function orSilence<Value>(promise: Promise<Value>): Promise<Value | typeof SILENCE> {
  let isSettled = false
  const settled = promise.finally(() => {
    isSettled = true
  })
  const untilIdle = async (): Promise<typeof SILENCE> => {
    do await new Promise((resolve) => setTimeout(resolve, 2))
    while (!isSettled && process.getActiveResourcesInfo().some((name) => name === 'Timeout' || name === 'Immediate'))
    return SILENCE
  }
  return await Promise.race([settled, untilIdle()])
}

/** Reads an exchange to whatever end it has. */
async function readAll(body: string): Promise<{ status?: number; text: string; ends: Seen['ends'] }> {
  const exchange = start(body)
  let text = ''
  try {
    const head = await orSilence(exchange.head)
    if (head === SILENCE) return { text, ends: 'silence' }
    try {
      while (true) {
        const bytes = await orSilence(exchange.read())
        if (bytes === SILENCE) return { status: head.status, text, ends: 'silence' }
        if (bytes === undefined) return { status: head.status, text, ends: 'complete' }
        text += Buffer.from(bytes).toString()
      }
    } catch {
      return { status: head.status, text, ends: 'broken' }
    }
  } catch {
    return { text, ends: 'no answer' }
  } finally {
    exchange.abort()
  }
}

async function askWhole(prompt: string, fields: Json = {}): Promise<Seen> {
  const { status, text, ends } = await readAll(bodyOf(prompt, fields))
  if (ends !== 'complete' || status === undefined) return { ends }
  let parsed: Json
  try {
    parsed = JSON.parse(text)
  } catch {
    return { status, ends: 'incomplete' }
  }
  if (status !== 200) return { status, message: (parsed['error'] as { message: string }).message, ends }
  const { choices, usage } = parsed as { choices: Json[]; usage?: Json }
  const message = choices[0]?.['message'] as Json
  return {
    status,
    ends,
    content: message['content'] as string | null,
    refusal: message['refusal'] as string | null,
    reasoning: message['reasoning_content'] as string,
    tool_calls: callsIn(message['tool_calls'] as Json[] | undefined),
    finish_reason: choices[0]?.['finish_reason'] as string,
    choices,
    ...figures(usage),
  }
}

async function askStream(prompt: string, fields: Json = {}): Promise<Seen> {
  const { status, text, ends } = await readAll(bodyOf(prompt, { stream: true, ...fields }))
  if (status !== 200) return status === undefined ? { ends } : await askWhole(prompt, { ...fields, stream: true })
  const events = text.split('\n\n').filter((event) => event !== '')
  const isDone = events.at(-1) === 'data: [DONE]'
  const chunks = events.filter((event) => !event.endsWith('[DONE]')).map((event) => JSON.parse(event.slice(6)) as Json)
  const choices = chunks.flatMap((chunk) => (chunk['choices'] ?? []) as { index: number; delta: Json }[])
  const first = choices.filter(({ index }) => index === 0)
  const joined = (field: string) => first.map(({ delta }) => delta[field] ?? '').join('')
  const error = chunks.find((chunk) => chunk['error'] !== undefined)?.['error'] as { message: string } | undefined
  const calls: Json[] = []
  for (const fragment of first.flatMap(
    ({ delta }) => (delta['tool_calls'] ?? []) as { index: number; function: Json }[],
  )) {
    calls[fragment.index] ??= { function: { name: fragment.function['name'], arguments: '' } }
    const whole = calls[fragment.index]?.['function'] as Json
    whole['arguments'] = `${whole['arguments']}${fragment.function['arguments']}`
  }
  return {
    status,
    ends: ends === 'complete' && !isDone ? 'incomplete' : ends,
    content: calls.length > 0 || joined('refusal') !== '' ? null : joined('content'),
    refusal: joined('refusal') === '' ? null : joined('refusal'),
    reasoning: joined('reasoning_content'),
    tool_calls: callsIn(calls),
    finish_reason: (first.at(-1) as Json | undefined)?.['finish_reason'] as string,
    ...(error === undefined ? {} : { message: error.message }),
    ...figures(chunks.at(-1)?.['usage'] as Json | undefined),
    chunks,
  }
}

function callsIn(calls: Json[] = []): [string, string][] {
  return calls.map((call) => {
    const { name, arguments: json } = call['function'] as { name: string; arguments: string }
    return [name, json]
  })
}

function figures(usage: Json | undefined): Json {
  return {
    prompt_tokens: usage?.['prompt_tokens'] ?? null,
    completion_tokens: usage?.['completion_tokens'] ?? null,
    cached_tokens: (usage?.['prompt_tokens_details'] as Json | undefined)?.['cached_tokens'] ?? null,
    reasoning_tokens: (usage?.['completion_tokens_details'] as Json | undefined)?.['reasoning_tokens'] ?? null,
  }
}

function assertSeen(seen: Seen, expected: Json): void {
  for (const [field, value] of Object.entries(expected)) assert.deepEqual(seen[field], value, field)
}

const DOCUMENT = readFileSync(new URL('../../docs/simulator.md', import.meta.url), 'utf8')
const EXAMPLES = [...DOCUMENT.matchAll(/```text\n([\s\S]*?)\n```\n\n```json\n([\s\S]*?)\n```/g)]

for (const [, prompt = '', json = ''] of EXAMPLES) {
  test(`as documented: ${prompt.replaceAll('\n', ' / ')}`, async () => {
    const { stream, turns, ...expected } = JSON.parse(json) as Json
    if (turns !== undefined) return await assertTurns(prompt, turns as Json[])
    assertSeen(await askWhole(prompt), expected)
    assertSeen(await askStream(prompt), (stream as Json | undefined) ?? expected)
  })
}

/** Plays a conversation, and tells of each call what a tool would. */
async function assertTurns(prompt: string, turns: readonly Json[]): Promise<void> {
  const messages: Json[] = [{ role: 'user', content: prompt }]
  for (const expected of turns) {
    const seen = await askWhole('', { messages, tools: [WEATHER] })
    assertSeen(seen, expected)
    assertSeen(await askStream('', { messages, tools: [WEATHER] }), expected)
    messages.push(...answered(seen))
  }
}

function answered(seen: Seen): Json[] {
  const calls = (seen.tool_calls ?? []).map(([name, json], at) => ({
    id: `call_${at}`,
    type: 'function',
    function: { name, arguments: json },
  }))
  const results = calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'fine' }))
  return [
    { role: 'assistant', content: seen.content ?? null, ...(calls.length > 0 ? { tool_calls: calls } : {}) },
    ...results,
  ]
}

const SCRIPT = 'simulate: pace 0\nsimulate: then tool a {}\nsimulate: then tool b {}\nsimulate: then say done'
const ASSISTANT = { role: 'assistant', content: 'x' }

test('a script goes on through user messages without directives, and another one takes its place', async () => {
  const tools = [WEATHER]
  const begun = [{ role: 'user', content: SCRIPT }, ASSISTANT, { role: 'user', content: 'Go on.' }]
  assertSeen(await askWhole('', { messages: begun, tools }), { tool_calls: [['b', '{}']] })
  const replaced = [...begun, ASSISTANT, { role: 'user', content: 'simulate: then tool c {}' }]
  assertSeen(await askWhole('', { messages: replaced, tools }), { tool_calls: [['c', '{}']] })
  assertSeen(await askWhole('', { messages: [...begun, { role: 'user', content: 'simulate: say hi' }], tools }), {
    content: 'hi',
  })
})

test('after the end of a script the simulator answers what it is asked', async () => {
  const played = [{ role: 'user', content: SCRIPT }, ASSISTANT, ASSISTANT, ASSISTANT]
  const { content } = await askWhole('', {
    messages: [...played, { role: 'user', content: 'And now?' }],
    tools: [CLOCK],
  })
  assert.match(String(content), /You wrote "And now\?"/)
  const result = { role: 'tool', tool_call_id: 'x', content: 'noon' }
  assertSeen(await askWhole('', { messages: [...played, result], tools: [CLOCK] }), {
    content: 'The tool answered: "noon".',
  })
})

test('what is left of a script goes on in place of the conversation, wherever it was cut', async () => {
  const tools = [WEATHER]
  const conversation: Json[] = [{ role: 'user', content: SCRIPT }]
  for (const name of ['a', 'b', undefined]) {
    const summary = await askWhole('', { messages: [...conversation, { role: 'user', content: 'Sum it up.' }] })
    const expected = name === undefined ? { content: 'done' } : { tool_calls: [[name, '{}']] }
    assertSeen(
      await askWhole('', { messages: [{ role: 'user', content: `${SCRIPT}\n\n${summary.content}` }], tools }),
      expected,
    )
    conversation.push(...answered(await askWhole('', { messages: conversation, tools })))
  }
  const over = await askWhole('', { messages: [...conversation, { role: 'user', content: 'Sum it up.' }] })
  assert.equal(over.content, 'This is left of the script:\nsimulate: anew\nsimulate: pace 0')
})

test('every directive is documented with an example', () => {
  assert.ok(EXAMPLES.length > DIRECTIVE_NAMES.length)
  for (const name of DIRECTIVE_NAMES) {
    assert.ok(
      EXAMPLES.some(([, prompt = '']) => prompt.includes(`simulate: ${name}`)),
      name,
    )
    assert.ok(DOCUMENT.includes(`### \`simulate: ${name}`), name)
  }
})

test('the same request gets the same bytes, another one does not', async () => {
  const textFor = async (prompt: string) =>
    (await readAll(bodyOf(`${prompt}\nsimulate: pace 0`, { n: 2, stream: true }))).text
  assert.equal(await textFor('Hello'), await textFor('Hello'))
  assert.notEqual(await textFor('Hello'), await textFor('Hallo'))
})

test('a plain prompt is quoted and a newcomer is told how to go on', async () => {
  const { content } = await askWhole('Is anybody there?')
  assert.match(String(content), /simulator.*"Is anybody there\?".*OPENAI_API_KEY.*\/v1\/models/)
})

test('only lines of the last user message are directives', async () => {
  const messages = [
    { role: 'system', content: 'simulate: error 500' },
    { role: 'user', content: 'simulate: error 500' },
    { role: 'assistant', content: 'simulate: error 500' },
    { role: 'user', content: [{ type: 'text', text: 'simulate: say fine' }] },
  ]
  assert.equal((await askWhole('', { messages })).content, 'fine')
})

test('the answer ends with length at max_tokens, under either name, and never beyond 4096 [limit: simulator]', async () => {
  for (const name of ['max_tokens', 'max_completion_tokens']) {
    assertSeen(await askWhole('simulate: say one two three', { [name]: 2 }), {
      content: 'one two',
      finish_reason: 'length',
      completion_tokens: 2,
    })
  }
  const longest = await askWhole('simulate: tokens 4096\nsimulate: reasoning', { max_tokens: 1_000_000 })
  assertSeen(longest, { completion_tokens: 4096, finish_reason: 'length' })
})

test('reasoning counts against max_tokens first, then the text', async () => {
  const prompt = 'simulate: reasoning a b c\nsimulate: say d e f'
  const expected = {
    reasoning: 'a b c',
    content: 'd',
    finish_reason: 'length',
    reasoning_tokens: 3,
    completion_tokens: 4,
  }
  assertSeen(await askWhole(prompt, { max_tokens: 4 }), expected)
  assertSeen(await askStream(prompt, { max_tokens: 4 }), expected)
})

test('the text ends before the first stop sequence', async () => {
  const prompt = 'simulate: say one, two; three'
  assert.equal((await askWhole(prompt, { stop: [';', ','] })).content, 'one')
  assert.equal((await askWhole(prompt, { stop: ' three' })).content, 'one, two;')
  assert.equal((await askWhole(prompt, { stop: ['four'] })).content, 'one, two; three')
})

test('n gives that many choices, and the usage of all', async () => {
  const { choices, completion_tokens } = await askWhole('simulate: say a b', { n: 3 })
  assert.deepEqual(
    (choices as Json[]).map(({ index }) => index),
    [0, 1, 2],
  )
  assert.equal(completion_tokens, 6)
  const { chunks } = await askStream('simulate: say a b', { n: 3 })
  const indexes = (chunks as { choices: { index: number }[] }[]).flatMap((chunk) =>
    chunk.choices.map(({ index }) => index),
  )
  assert.deepEqual(indexes, [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2])
})

test('without include_usage a stream says nothing of usage', async () => {
  const { chunks } = await askStream('simulate: say a', { stream_options: { include_usage: false } })
  assert.ok(
    (chunks as { usage?: Json; choices: Json[] }[]).every(
      ({ usage, choices }) => usage === undefined && choices.length === 1,
    ),
  )
})

const WEATHER = {
  type: 'function',
  function: {
    name: 'get_weather',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 1 }, note: { type: 'string' } },
      required: ['city', 'days'],
    },
  },
}
const CLOCK = { type: 'function', function: { name: 'get_time' } }

test('a tool is called when it must be, with arguments that its schema allows', async () => {
  const tools = [WEATHER, CLOCK]
  const named = { type: 'function', function: { name: 'get_time' } }
  const allowed = { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [CLOCK] } }
  const weather = [['get_weather', '{"city":"text","days":1}']]
  assertSeen(await askWhole('Hi', { tools, tool_choice: 'required' }), {
    tool_calls: weather,
    finish_reason: 'tool_calls',
  })
  assertSeen(await askStream('Hi', { tools, tool_choice: 'required' }), {
    tool_calls: weather,
    finish_reason: 'tool_calls',
  })
  for (const tool_choice of [named, allowed]) {
    assertSeen(await askWhole('Hi', { tools, tool_choice }), { tool_calls: [['get_time', '{}']] })
  }
  assertSeen(await askWhole('simulate: tool get_weather', { tools }), { tool_calls: weather })
})

test('no tool is called when none may be, and one alone when calls may not be parallel', async () => {
  const prompt = 'simulate: tool a {}\nsimulate: tool b {}'
  assertSeen(await askWhole(prompt, { tool_choice: 'none' }), { tool_calls: [], finish_reason: 'stop' })
  assertSeen(await askWhole(prompt, { parallel_tool_calls: false }), { tool_calls: [['a', '{}']] })
  assertSeen(await askWhole('Hi', { tools: [WEATHER] }), { tool_calls: [] })
})

test('a tool loop ends: after the tool has answered, the simulator says so', async () => {
  const messages = [
    { role: 'user', content: 'simulate: tool get_time {}' },
    { role: 'assistant', content: null, tool_calls: [] },
    { role: 'tool', tool_call_id: 'call_1', content: 'noon' },
  ]
  assertSeen(await askWhole('', { messages }), { content: 'The tool answered: "noon".', finish_reason: 'stop' })
})

test('JSON is asked for and JSON comes, in the schema where there is one', async () => {
  const anyJson = await askWhole('Hi', { response_format: { type: 'json_object' } })
  assert.equal(typeof JSON.parse(String(anyJson.content)).answer, 'string')
  const schema = WEATHER.function.parameters
  const response_format = { type: 'json_schema', json_schema: { name: 'weather', schema } }
  assert.equal((await askWhole('Hi', { response_format })).content, '{"city":"text","days":1}')
  assert.equal((await askStream('Hi', { response_format })).content, '{"city":"text","days":1}')
  const said = 'simulate: say {"city":"Oslo","days":3}'
  assert.equal((await askWhole(said, { response_format })).content, '{"city":"Oslo","days":3}')
})

test('log probabilities come when asked for, one a token', async () => {
  const { choices } = await askWhole('simulate: say é b', { logprobs: true, top_logprobs: 1 })
  const certain = { token: 'é', logprob: 0, bytes: [195, 169] }
  const [{ logprobs }] = choices as [{ logprobs: { content: Json[] } }]
  assert.deepEqual(logprobs.content[0], { ...certain, top_logprobs: [certain] })
  assert.equal(logprobs.content.length, 2)
})

test('images are counted and noticed', async () => {
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
  const text = { type: 'text', text: 'Look' }
  const without = await askWhole('', { messages: [{ role: 'user', content: [text] }] })
  const withTwo = await askWhole('', { messages: [{ role: 'user', content: [text, image, image] }] })
  assert.match(String(withTwo.content), /2 images/)
  assert.equal(Number(withTwo['prompt_tokens']) - Number(without['prompt_tokens']), 170)
})

test('cached tokens are never more than the prompt has', async () => {
  const { prompt_tokens, cached_tokens } = await askWhole('simulate: cached 1000000')
  assert.equal(cached_tokens, prompt_tokens)
})

test('a directive that cannot be read is refused with how to write it', async () => {
  for (const line of [
    'error 200',
    'error',
    'tokens many',
    'tokens 5000',
    'tool',
    'pace',
    'usage on',
    'cut x',
    '',
    '__proto__',
    'and say before any turn',
    'then tokens many',
    'then',
    'say at last\nsimulate: then say stray',
  ]) {
    const { status, message } = await askWhole(`simulate: ${line}`)
    assert.equal(status, 400, line)
    assert.match(String(message), /Write "simulate: |It knows say, /, line)
  }
})

test('rate limits and overload say when to come back', async () => {
  for (const status of [429, 503]) {
    const { headers } = await start(bodyOf(`simulate: error ${status}`)).head
    assert.equal(headers['retry-after'], '1')
  }
})

test('an abort ends whatever is waited for, at once and for good', async (t) => {
  const started = t.mock.method(globalThis, 'setTimeout')
  const stopped = t.mock.method(globalThis, 'clearTimeout')
  for (const prompt of ['simulate: stall', 'simulate: delay 600000', 'simulate: pace 600000', 'simulate: stall 0']) {
    const exchange = start(bodyOf(prompt, { stream: true }))
    const reads = (async () => {
      while (true) await exchange.read()
    })()
    await new Promise((resolve) => setImmediate(resolve))
    exchange.abort()
    exchange.abort()
    await assert.rejects(reads, /aborted/)
    await assert.rejects(exchange.read(), /aborted/)
  }
  const timers = started.mock.calls.filter(({ arguments: [, ms] }) => ms === 600_000).map(({ result }) => result)
  const cleared = new Set<unknown>(stopped.mock.calls.map(({ arguments: [timer] }) => timer))
  assert.ok(timers.length > 0, 'a wait of ten minutes was begun')
  assert.ok(timers.every((timer) => cleared.has(timer)))
})

test('an exchange that is aborted before anybody asks leaves no unhandled rejection', async () => {
  start(bodyOf('simulate: stall')).abort()
  start(bodyOf('simulate: cut'))
  await new Promise((resolve) => setTimeout(resolve, 5))
})

test('a fast stream comes in few reads, a paced one token by token', async () => {
  const readsOf = async (pace: string): Promise<number> => {
    const exchange = start(bodyOf(`simulate: say a b c d e f\nsimulate: ${pace}`, { stream: true }))
    let reads = 0
    while ((await exchange.read()) !== undefined) reads += 1
    return reads
  }
  assert.equal(await readsOf('pace 0'), 1)
  assert.equal(await readsOf('pace 1'), 7)
})

function request(fields: Partial<ChatRequest>): ChatRequest {
  return { model: 'm', messages: [], stream: false, includeUsage: false, n: 1, extra: {}, ...fields }
}

async function throughProtocol(asked: ChatRequest): Promise<ChatEvent[]> {
  const wire = simulator.protocol.renderRequest(asked, { model: 'turnpike-simulator', maxOutputTokens: 4096 })
  const { status, text, ends } = await readAll(wire.body)
  assert.deepEqual([status, ends], [200, 'complete'])
  if (!asked.stream) return simulator.protocol.parseResponse(text)
  const events: ChatEvent[] = []
  const frames: Frame[] = []
  createSseDecoder({ maxEventBytes: 1_000_000 }).push(Buffer.from(text), frames)
  const parser = simulator.protocol.streamParser()
  for (const frame of frames) parser.push(frame, events)
  parser.end(events)
  return events
}

test('the protocol reads the same answer out of a stream and out of a whole answer', async () => {
  const content =
    'simulate: reasoning Hm.\nsimulate: pace 0\nsimulate: tool get_weather {"city": "Oslo"}\nsimulate: tool get_time'
  const asked = { messages: [{ role: 'user' as const, content }], n: 2, maxTokens: 100 }
  const streamed = gather(await throughProtocol(request({ ...asked, stream: true })))
  assert.deepEqual(streamed, gather(await throughProtocol(request(asked))))
  assert.match(streamed['0 tool 0'] ?? '', /get_weather \{"city": "Oslo"\}/)
  assert.equal(streamed['1 finish'], 'tool_calls')
})

function gather(events: readonly ChatEvent[]): Record<string, string> {
  const sum: Record<string, string> = {}
  const add = (key: string, text: string) => {
    sum[key] = (sum[key] ?? '') + text
  }
  for (const event of events) {
    if (event.type === 'usage') sum['usage'] = JSON.stringify(event.usage)
    else if (event.type === 'finish') add(`${event.index} finish`, event.reason)
    else if (event.type === 'tool-call') {
      add(
        `${event.index} tool ${event.toolIndex}`,
        `${event.name === undefined ? '' : `${event.name} `}${event.arguments}`,
      )
    } else if (event.type !== 'extension' && event.type !== 'native' && event.text !== '')
      add(`${event.index} ${event.type}`, event.text)
  }
  return sum
}

test('tokens together are the text, and long texts are counted without reading them', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      assert.equal(tokensOf(text).join(''), text)
      assert.equal(countTokens(text), tokensOf(text).length)
    }),
  )
  assert.equal(countTokens('a'.repeat(16_384 + 40_000)), 16_384 / 8 + 10_000)
})

const SCHEMAS: Record<string, z.ZodType> = {
  'a flat object': z.object({
    name: z.string().min(12),
    age: z.int().min(18).max(99),
    email: z.email(),
    ok: z.boolean(),
  }),
  'bounds on numbers': z.object({
    above: z.number().gt(2.5),
    between: z.number().gt(0.1).lt(0.2),
    below: z.number().max(-3),
    steps: z.int().multipleOf(5).gt(10),
    small: z.int().lt(0),
  }),
  'arrays and tuples': z.object({
    list: z.array(z.object({ id: z.uuid() })).min(2),
    pair: z.tuple([z.string(), z.number()]),
    empty: z.array(z.string()),
  }),
  'unions, enums and literals': z.object({
    kind: z.literal('circle'),
    colour: z.enum(['red', 'green']),
    size: z.union([z.object({ radius: z.number() }), z.string()]),
    maybe: z.nullable(z.string()),
  }),
  'a tree that holds itself': z.object({
    value: z.string(),
    get children(): z.ZodArray<z.ZodType> {
      return z.array(SCHEMAS['a tree that holds itself'] as z.ZodType)
    },
  }),
  'an intersection': z.intersection(z.object({ a: z.string() }), z.object({ b: z.int() })),
  dates: z.object({ at: z.iso.datetime(), on: z.iso.date() }),
}

for (const [name, schema] of Object.entries(SCHEMAS)) {
  test(`an example of ${name} is what the schema allows`, () => {
    const example = exampleOf(z.toJSONSchema(schema))
    assert.deepEqual(schema.parse(example), example)
  })
}

test('a list that goes on for ever ends, by the alternative that ends it', () => {
  const schema = {
    $ref: '#/$defs/node',
    $defs: {
      node: {
        type: 'object',
        properties: { next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] } },
        required: ['next'],
      },
    },
  }
  assert.match(JSON.stringify(exampleOf(schema)), /"next":null/)
})

test('hostile schemas end: recursion, doubling, huge lengths, nonsense', () => {
  const doubling = Object.fromEntries(
    Array.from({ length: 60 }, (_, at) => [
      `d${at}`,
      {
        type: 'object',
        required: ['a', 'b'],
        properties: { a: { $ref: `#/$defs/d${at + 1}` }, b: { $ref: `#/$defs/d${at + 1}` } },
        allOf: [{ $ref: `#/$defs/d${at + 1}` }, { $ref: `#/$defs/d${at + 1}` }],
      },
    ]),
  )
  const hostile = [
    { $ref: '#' },
    { allOf: [{ $ref: '#' }, { $ref: '#' }] },
    { anyOf: [{ $ref: '#' }] },
    { type: 'object', required: ['self'], properties: { self: { $ref: '#' } } },
    { $ref: '#/$defs/d0', $defs: doubling },
    { type: 'string', minLength: 1e12 },
    { type: 'array', minItems: 1e12, items: { type: 'array', minItems: 1e12 } },
    { type: 'object', required: ['__proto__', 'constructor'] },
  ]
  for (const schema of hostile) assert.ok(JSON.stringify(exampleOf(schema)).length < 1_000_000)
  fc.assert(
    fc.property(fc.jsonValue(), (schema) => {
      JSON.stringify(exampleOf(schema))
    }),
  )
})
