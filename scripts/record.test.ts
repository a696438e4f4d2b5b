import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { type ProviderCall, type Script, startFakeProvider } from '../test/support/providers/fake-provider.ts'
import { STANDARD_CASES } from './kit/standard-cases.ts'
import { ROOT } from './source-files.ts'

const KEY = 'gsk_Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MA'
const OTHER_KEY = 'sk-another-providers-key-0123456789'

type Json = Readonly<Record<string, unknown>>

const folder = mkdtempSync(join(tmpdir(), 'turnpike-record-'))
const provider = await startFakeProvider(answer)
after(async () => {
  await provider.close()
  rmSync(folder, { recursive: true })
})
writeFileSync(join(folder, 'turnpike.yaml'), `providers: { groq: { base_url: "${provider.url}/v1" } }\n`)

/** A host that does as it is asked, in the format it was asked in. */
async function answer(call: ProviderCall, reply: Parameters<Script>[1]): Promise<void> {
  const request = JSON.parse(call.body)
  const fail = (status: number, message: string): void => {
    reply.head(status, { 'content-type': 'application/json', 'retry-after': '7', 'x-request-id': 'req-secret-1' })
    reply.end(JSON.stringify({ error: { message, type: 'invalid_request_error', code: null } }))
  }
  if (call.headers.authorization !== `Bearer ${KEY}`) return fail(401, 'Invalid API Key')
  if (request.model === 'no-such-model') return fail(404, 'The model does not exist.')
  if (request.messages[0].role === 'tool') return fail(400, 'A tool message must follow tool calls.')
  const message = messageFor(request)
  const finish = request.max_completion_tokens === 16 ? 'length' : message['tool_calls'] ? 'tool_calls' : 'stop'
  const usage = { prompt_tokens: 5, completion_tokens: 3, total_tokens: 8 }
  const head = { id: 'c-1', created: 1, model: request.model }
  if (!request.stream) {
    reply.head(200, {
      'content-type': 'application/json',
      'x-ratelimit-limit-tokens': '6000',
      'set-cookie': 'session=1',
    })
    const choices = [{ index: 0, message: { role: 'assistant', ...message }, finish_reason: finish }]
    return reply.end(JSON.stringify({ ...head, object: 'chat.completion', choices, usage }))
  }
  const chunk = { ...head, object: 'chat.completion.chunk' }
  const events = [
    { ...chunk, choices: [{ index: 0, delta: { role: 'assistant', ...message }, finish_reason: null }] },
    { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: finish }], x_groq: { usage } },
  ]
  reply.head(200, { 'content-type': 'text/event-stream' })
  for (const event of events) await reply.write(`data: ${JSON.stringify(event)}\r\n\r\n`)
  reply.end('data: [DONE]\r\n\r\n: goodbye\r\n\r\n')
}

function messageFor({ tools, messages, reasoning_effort: effort }: Record<string, Json[] | undefined>): Json {
  const last = messages?.at(-1)
  if (effort !== undefined) return { reasoning: 'Nine tenths.', content: '9.9' }
  if (tools === undefined || last?.['role'] === 'tool') return { content: 'Grüße, 世界 🌍' }
  const isTime = JSON.stringify(tools).includes('get_time')
  const cities = /both at once/.test(String(last?.['content'])) ? ['Oslo', 'Rome'] : ['Oslo']
  const calls = cities.map((city, index) => {
    const called = isTime
      ? { name: 'get_time', arguments: '{}' }
      : { name: 'get_weather', arguments: JSON.stringify({ city }) }
    return { index, id: `call_${index}`, type: 'function', function: called }
  })
  return { content: null, tool_calls: calls }
}

function run(script: readonly string[], environment: Readonly<Record<string, string>> = {}) {
  const { PATH = '', NODE_COMPILE_CACHE = '' } = process.env
  const env = { PATH, NODE_COMPILE_CACHE, GROQ_API_KEY: KEY, OPENAI_API_KEY: OTHER_KEY, ...environment }
  const child = spawn(
    process.execPath,
    script.map((word) => word),
    { cwd: folder, env },
  )
  let output = ''
  child.stdout.on('data', (piece) => (output += piece))
  child.stderr.on('data', (piece) => (output += piece))
  return new Promise<{ status: number | null; output: string }>((resolve) => {
    child.on('close', (status) => resolve({ status, output }))
  })
}

function record(out: string, ...options: string[]) {
  return run([join(ROOT, 'scripts/record.ts'), 'groq', '--model', 'their-model', '--out', out, ...options])
}

function entriesOf(out: string): Json[] {
  return JSON.parse(readFileSync(join(folder, out, 'manifest.json'), 'utf8')).entries
}

test('every standard case is stored unchanged with its request, and passes the tests of recordings', async () => {
  provider.answer(answer)
  const { status, output } = await record('all')
  assert.equal(status, 0, output)
  const entries = entriesOf('all')
  assert.deepEqual(entries.map((entry) => entry['case']).sort(), STANDARD_CASES.map(({ name }) => name).sort())
  const stream = entries.find((entry) => entry['case'] === 'stream-text') ?? {}
  assert.equal(stream['file'], 'groq/stream-text.sse')
  const bytes = readFileSync(join(folder, 'all', 'groq/stream-text.sse'), 'utf8')
  assert.match(bytes, /^data: \{.*\r\n\r\n/)
  assert.ok(bytes.endsWith('data: [DONE]\r\n\r\n: goodbye\r\n\r\n'), 'also what comes after the end')
  assert.equal(stream['bytes'], Buffer.byteLength(bytes))
  assert.deepEqual(stream['tags'], ['done-sentinel', 'fr:stop', 'stream', 'usage'])
  const sent = JSON.parse(readFileSync(join(folder, 'all', 'groq/stream-text.request.json'), 'utf8'))
  assert.deepEqual([sent.model, sent.stream, sent.max_completion_tokens], ['their-model', true, 2000])

  const memory = join(ROOT, 'test/contract/recordings-memory.test.ts')
  const suites = await run(['--test', memory], { TURNPIKE_RECORDINGS: join(folder, 'all') })
  assert.equal(suites.status, 0, suites.output)
  assert.match(suites.output, new RegExp(`recordings: ${STANDARD_CASES.length} of ${STANDARD_CASES.length} run`))
})

test('the reason of a rejection is shown', async () => {
  provider.answer(answer)
  const { output } = await record('reasons', '--only', 'error-request')
  assert.match(output, /error-request +400 rejected: A tool message must follow tool calls\./)
})

test('only listed headers are stored, and none identifies the account', async () => {
  provider.answer(answer)
  await record('headers', '--only', 'text,error-credential')
  const entries = entriesOf('headers')
  assert.deepEqual(
    entries.map(({ headers }) => headers),
    [
      { 'content-type': 'application/json', 'retry-after': '7' },
      { 'content-type': 'application/json', 'x-ratelimit-limit-tokens': '6000' },
    ],
  )
  assert.deepEqual(
    entries.map(({ status }) => status),
    [401, 200],
  )
})

test('a second run replaces its cases, keeps the others, and prints the outcomes', async () => {
  provider.answer(answer)
  await record('twice', '--only', 'text,stream-text')
  provider.answer((_, reply) => {
    reply.head(200, { 'content-type': 'text/html' })
    reply.end('<html>down for maintenance</html>')
  })
  const { status, output } = await record('twice', '--only', 'text')
  assert.equal(status, 0)
  assert.match(output, /text +200 the codec could not read it/)
  assert.ok(!existsSync(join(folder, 'twice', 'groq/text.json')), 'the earlier answer, which had another form')
  assert.deepEqual(
    entriesOf('twice').map(({ file }) => file),
    ['groq/stream-text.sse', 'groq/text.txt'],
  )
  assert.ok(!output.includes('maintenance'))
})

const split = (text: string): string[] => text.match(/.{1,3}/g) ?? []
const ECHOES: readonly (readonly [how: string, body: (key: string) => string, type?: string])[] = [
  ['as it is', (key) => JSON.stringify({ error: { message: `Incorrect API key provided: ${key}.` } })],
  [
    'with escapes',
    (key) => `{"echo":"${[...key].map((letter) => `\\u00${letter.charCodeAt(0).toString(16)}`).join('')}"}`,
  ],
  ['in base 64', (key) => JSON.stringify({ authorization: Buffer.from(`user:${key}`).toString('base64') })],
  ['in part', (key) => JSON.stringify({ error: { message: `The key ${key.slice(0, 20)}*** is wrong.` } })],
  [
    'piece by piece',
    (key) =>
      split(key)
        .map((content) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`)
        .join(''),
    'text/event-stream',
  ],
  ['as a name', (key) => JSON.stringify({ [key]: 1 })],
  ['of another provider', () => JSON.stringify({ seen: OTHER_KEY })],
]
for (const [how, body, type = 'application/json'] of ECHOES) {
  test(`a run writes nothing if a host echoes a key ${how}`, async () => {
    provider.answer((call, reply) => {
      if (JSON.parse(call.body).stop === undefined) return answer(call, reply)
      reply.head(200, { 'content-type': type })
      return reply.end(body(KEY))
    })
    const { status, output } = await record('echo', '--only', 'text,stop-seq')
    assert.equal(status, 1, output)
    assert.match(output, /Nothing was written, because the recordings contain keys:\n {2}.+ in groq\/stop-seq/)
    assert.ok(!output.includes(KEY) && !output.includes(OTHER_KEY))
    assert.ok(!existsSync(join(folder, 'echo')))
  })
}

test('a key in a stored header also prevents writing', async () => {
  provider.answer((_, reply) => {
    reply.head(200, { 'content-type': 'application/json', 'x-ratelimit-limit-requests': KEY })
    reply.end('{}')
  })
  const { status, output } = await record('header-echo', '--only', 'text')
  assert.equal(status, 1)
  assert.match(output, /in groq\/text\.json, manifest/)
  assert.ok(!existsSync(join(folder, 'header-echo')))
})

test('a host without errors has no error cases, and a broken answer no recording', async () => {
  provider.answer(async (_, reply) => {
    reply.head(200, { 'content-type': 'application/json', 'content-length': '100' })
    await reply.write('{"choices":')
    reply.reset()
  })
  const broken = await record('broken', '--only', 'text')
  assert.equal(broken.status, 1)
  assert.match(broken.output, /text +not recorded: [\s\S]*Nothing was recorded/)
  provider.answer((_, reply) => {
    reply.head(200, { 'content-type': 'application/json' })
    reply.end('{"choices":[{"index":0,"message":{"content":"fine"},"finish_reason":"stop"}]}')
  })
  const lenient = await record('lenient', '--only', 'text,error-model')
  assert.equal(lenient.status, 0)
  assert.match(lenient.output, /error-model +not kept: answered 200/)
  assert.deepEqual(readdirSync(join(folder, 'lenient', 'groq')).sort(), ['text.json', 'text.request.json'])
})

const script = join(ROOT, 'scripts/record.ts')
const WRONG: readonly (readonly [options: readonly string[], message: RegExp])[] = [
  [[], /^Usage: /],
  [['groq', 'mistral'], /^Usage: /],
  [['groq', '--only', 'everything'], /Unknown case 'everything'/],
  [['groq', '--no-such'], /no-such/],
  [['nobody'], /is not known by name/],
  [['mistral'], /needs a key in MISTRAL_API_KEY/],
  [['ollama'], /name one with --model/],
]
for (const [options, message] of WRONG) {
  test(`wrong usage exits with 2: ${options.join(' ') || 'nothing'}`, async () => {
    const { status, output } = await run([script, ...options])
    assert.equal(status, 2, output)
    assert.match(output, message)
  })
}
