import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readStream, readWhole } from '../../test/support/providers/recording-reader.ts'
import { loadRecordings } from '../../test/support/providers/recordings.ts'
import type { ChatEvent, ChatRequest } from '../domain/chat.ts'
import { createDecoder } from '../protocols/framing.ts'
import { type Frame, ProviderError } from '../protocols/protocol.ts'
import { azure } from './azure.ts'
import { type ProviderConfig, resolveProvider } from './index.ts'

const CONFIG: ProviderConfig = { timeout_ms: { connect: 1, idle: 3, total: 4 }, on_disconnect: 'cancel' }
const REQUEST: ChatRequest = {
  model: 'm',
  messages: [{ role: 'user', content: 'Hi' }],
  stream: false,
  includeUsage: false,
  n: 1,
  maxTokens: 5,
  extra: {},
}

function rendered(config: Partial<ProviderConfig>): { url: string; body: Record<string, unknown> } {
  const { provider, baseUrl } = resolveProvider('azure', { ...CONFIG, ...config })
  const wire = provider.protocol.renderRequest(REQUEST, { model: 'my gpt/4', maxOutputTokens: undefined })
  return { url: baseUrl + wire.path, body: JSON.parse(wire.body) }
}

const HOST = 'https://res.openai.azure.com'
const DEPLOYMENT = `${HOST}/openai/deployments/my%20gpt%2F4/chat/completions?api-version=`

test('the deployment is part of the path, with a version', () => {
  assert.equal(rendered({ base_url: HOST }).url, `${DEPLOYMENT}2024-10-21`)
  assert.equal(rendered({ base_url: `${HOST}/` }).url, `${DEPLOYMENT}2024-10-21`)
  assert.equal(rendered({ base_url: `${HOST}/openai` }).url, `${DEPLOYMENT}2024-10-21`)
  assert.equal(rendered({ base_url: HOST, api_version: '2025-01-01-preview' }).url, `${DEPLOYMENT}2025-01-01-preview`)
})

test('at the newer API the deployment is the model, and no version is needed', () => {
  const { url, body } = rendered({ base_url: `${HOST}/openai/v1/` })
  assert.equal(url, `${HOST}/openai/v1/chat/completions`)
  assert.equal(body['model'], 'my gpt/4')
  assert.equal(body['max_completion_tokens'], 5)
  const versioned = rendered({ base_url: `${HOST}/openai/v1`, api_version: 'preview' })
  assert.equal(versioned.url, `${HOST}/openai/v1/chat/completions?api-version=preview`)
})

test('models of other makers have a path and a version of their own', () => {
  const { url, body } = rendered({ base_url: 'https://res.services.ai.azure.com/models' })
  assert.equal(url, 'https://res.services.ai.azure.com/models/chat/completions?api-version=2024-05-01-preview')
  assert.equal(body['max_tokens'], 5)
})

test('an address must be given', () => {
  assert.throws(() => resolveProvider('azure', CONFIG), /needs a base_url/)
})

test('the key is a header of its own', async () => {
  const call = { url: HOST, headers: {}, body: '' }
  await azure.authorize(call, 'k')
  assert.deepEqual(call.headers, { 'api-key': 'k' })
})

const recordings = (loadRecordings('openai-chat') ?? []).filter(({ provider }) => provider === 'azure')
const { protocol } = azure
/** Up to this size a recording is also split in two at every byte, which takes the square of its size. */
const SMALL_BYTES = 4096

function stream(parts: readonly Uint8Array[]): ChatEvent[] {
  const decoder = createDecoder(protocol.framing, { maxEventBytes: 1024 * 1024 })
  const parser = protocol.streamParser()
  const frames: Frame[] = []
  const events: ChatEvent[] = []
  for (const part of parts) decoder.push(part, frames)
  for (const frame of frames) if (parser.push(frame, events)) break
  parser.end(events)
  return events
}

/** By the decisions on each status, and by what the body says. */
const KINDS: Readonly<Record<string, string>> = {
  'azure/content-filter.json': 'content_filter',
  'azure/error-401.json': 'credentials',
  'azure/error-408.txt': 'failed',
  'azure/error-413.txt': 'rejected',
  'azure/error-429.json': 'rate_limited',
}

for (const { file, bytes, status, stream: isStream } of recordings) {
  test(`recorded: ${file} means the same to the provider's codec as to a plain reader`, () => {
    const body = bytes.toString('utf8')
    if (status !== 200) {
      assert.equal(protocol.parseError({ status, headers: {}, body }, 0).kind, KINDS[file])
      return
    }
    const read = isStream ? readStream(bytes) : readWhole(body)
    const whole = isStream ? stream([bytes]) : protocol.parseResponse(body)
    assertSame(whole, read)
    assert.doesNotMatch(JSON.stringify(whole), /filter_result|severity/)
    if (!isStream) return
    assert.deepEqual(stream(Array.from(bytes, (byte) => Buffer.of(byte))), whole, 'byte by byte')
    if (bytes.length <= SMALL_BYTES) {
      for (let cut = 1; cut < bytes.length; cut++) {
        assert.deepEqual(stream([bytes.subarray(0, cut), bytes.subarray(cut)]), whole, `split at ${cut}`)
      }
    }
    assertCuts(bytes)
  })
}

/** Every prefix up to the end of the answer, one byte longer each, is an answer that was cut. */
function assertCuts(bytes: Buffer): void {
  const { terminalOffset = 0 } = readStream(bytes)
  assert.notEqual(terminalOffset, 0)
  const decoder = createDecoder(protocol.framing, { maxEventBytes: 1024 * 1024 })
  const parser = protocol.streamParser()
  for (let cut = 0; cut < terminalOffset; cut++) {
    assert.throws(() => parser.end([]), ProviderError, `cut at ${cut}`)
    const frames: Frame[] = []
    decoder.push(bytes.subarray(cut, cut + 1), frames)
    for (const frame of frames) parser.push(frame, [])
  }
  parser.end([])
}

function assertSame(events: readonly ChatEvent[], read: ReturnType<typeof readWhole>): void {
  const { 0: choice, ...others } = read.choices
  assert.deepEqual(others, {})
  const joined = (type: 'text' | 'reasoning' | 'refusal') =>
    events.map((event) => (event.type === type ? event.text : '')).join('')
  const calls: { id: string; name: string; arguments: string }[] = []
  for (const event of events) {
    if (event.type !== 'tool-call') continue
    const { id = '', name = '', arguments: text, toolIndex } = event
    const known = calls[toolIndex]
    if (known === undefined) calls[toolIndex] = { id, name, arguments: text }
    else known.arguments += text
  }
  const finish = events.findLast((event) => event.type === 'finish')?.reason
  const found = {
    text: joined('text'),
    reasoning: joined('reasoning'),
    refusal: joined('refusal'),
    toolCalls: calls,
    finish,
  }
  assert.deepEqual(found, choice)
  assert.deepEqual(events.findLast((event) => event.type === 'usage')?.usage, read.usage)
}

console.log(`recordings: ${recordings.length} of ${recordings.length} run (azure)`)
