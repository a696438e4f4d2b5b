/**
 * Every OpenAI-compatible recording through a fake provider and the whole gateway: what a client receives must be what
 * the recording says, read by a reader that shares nothing with the gateway, however the network cuts the bytes.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { PROVIDERS } from '../src/providers/index.ts'
import { bodyOf } from './support/answers.ts'
import { type Answer, CHAT, completionOf, errorOf, send } from './support/client.ts'
import { type Script, startFakeProvider } from './support/fake-provider.ts'
import { model, startGateway } from './support/gateway.ts'
import {
  type ReadAnswer,
  type ReadChoice,
  readStream as readRecordedStream,
  readWhole,
} from './support/recording-reader.ts'
import { frameBoundaries, loadRecordings, RECORDINGS_FOLDER, type Recording, seeded } from './support/recordings.ts'
import { type Assembled, assemble, assertWireRules, readStream, type WireUsage } from './support/sse.ts'

const SEED = 20_261_120
const RANDOM_SPLITS = 32
const RANDOM_CUTS = 6
const IN_FLIGHT = 8

const recordings = loadRecordings('openai-chat') ?? []
if (recordings.length === 0) console.log(`recordings, whole gateway: not found in ${RECORDINGS_FOLDER}, 0 run`)

/** What the provider does with a recording's bytes; told in the prompt, so that requests can run side by side. */
interface Plan {
  readonly recording: number
  /** Two writes, with a flush between them. */
  readonly splitAt?: number
  /** Ends there, well or inside the chunk. */
  readonly cut?: { readonly at: number; readonly how: 'end' | 'fin' | 'reset' }
}

const play: Script = async (call, reply) => {
  const { recording, splitAt, cut } = JSON.parse(String(bodyOf(call).messages.at(-1)?.content)) as Plan
  const { bytes, status, contentType } = recordings[recording] ?? assert.fail()
  const delimited = splitAt === undefined && cut === undefined ? { 'content-length': String(bytes.length) } : {}
  reply.head(status, { 'content-type': contentType, ...delimited })
  if (splitAt !== undefined) {
    await reply.write(bytes.subarray(0, splitAt))
    await new Promise((resolve) => setImmediate(resolve))
    return reply.end(bytes.subarray(splitAt))
  }
  if (cut === undefined) return reply.end(bytes)
  await reply.write(bytes.subarray(0, cut.at))
  if (cut.how === 'end') return reply.end()
  await reply.wait(5) // what was sent is on its way before the connection ends
  if (cut.how === 'fin') reply.cut()
  else reply.reset()
}

const provider = await startFakeProvider(play)
const names = [...new Set(recordings.map((recording) => recording.provider))]
const gateway = await startGateway({
  config: {
    providers: Object.fromEntries(
      names.map((name) => {
        const dialect = name in PROVIDERS ? { kind: name } : { protocol: 'openai' }
        return [`p-${name}`, { ...dialect, base_url: `${provider.url}/${name}`, api_key: 'k' }]
      }),
    ),
    models: names.map((name) => model(`m-${name}`, `p-${name}`, 'upstream')),
    plans: { test: { billing: 'postpaid' } },
    accounts: { default_plan: 'test' },
    routing: { max_attempts: 1, breaker: { failures: 1000 } },
  },
})
const key = await gateway.key()
after(async () => {
  await gateway.stop()
  await provider.close()
})

function request(recording: Recording, plan: Omit<Plan, 'recording'> = {}, choices = 1): Promise<Answer> {
  const content = JSON.stringify({ recording: recordings.indexOf(recording), ...plan } satisfies Plan)
  const body = {
    model: `m-${recording.provider}`,
    messages: [{ role: 'user', content }],
    stream: recording.stream,
    n: choices,
  }
  return send(gateway, CHAT, { key, body })
}

/** Runs the tasks, a few at a time. */
async function each<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const left = items.values()
  await Promise.all(
    Array.from({ length: IN_FLIGHT }, async () => {
      for (const item of left) await run(item)
    }),
  )
}

function assertUsage(usage: WireUsage | null | undefined, read: ReadAnswer): void {
  assert.ok(usage)
  if (read.usage === undefined) return
  const { promptTokens, completionTokens, ...details } = read.usage
  assert.equal(usage.prompt_tokens, promptTokens)
  assert.equal(usage.completion_tokens, completionTokens)
  assert.equal(usage.total_tokens, (promptTokens ?? 0) + (completionTokens ?? 0))
  assert.equal(usage.prompt_tokens_details?.cached_tokens, details.cachedTokens)
  assert.equal(usage.prompt_tokens_details?.cache_write_tokens, details.cacheWriteTokens)
  assert.equal(usage.completion_tokens_details?.reasoning_tokens, details.reasoningTokens)
  assert.equal(usage.cost, ((promptTokens ?? 0) + 2 * (completionTokens ?? 0)) / 1e6)
}

/** Legacy calls have no id on the wire; ours is any that is not empty. */
function assertChoice(found: Omit<Assembled, 'role'>, read: ReadChoice): void {
  assert.equal(found.content, read.text)
  assert.equal(found.reasoning, read.reasoning)
  assert.equal(found.refusal, read.refusal)
  assert.equal(found.finishReason, read.finish)
  assert.equal(found.toolCalls.length, read.toolCalls.length)
  for (const [position, call] of found.toolCalls.entries()) {
    const wanted = read.toolCalls[position]
    assert.deepEqual([call.name, call.arguments], [wanted?.name, wanted?.arguments])
    if (wanted?.id === '') assert.notEqual(call.id, '')
    else assert.equal(call.id, wanted?.id)
  }
}

function assertWhole(answer: Answer, read: ReadAnswer): void {
  assert.equal(answer.status, 200, answer.text)
  const { choices, usage } = completionOf(answer)
  assert.deepEqual(
    choices.map(({ index }) => String(index)),
    Object.keys(read.choices),
  )
  for (const { index, message, finish_reason } of choices) {
    assert.equal(message.role, 'assistant')
    const toolCalls = (message.tool_calls ?? []).map((call) => ({ id: call.id, ...call.function }))
    const { content, reasoning_content: reasoning = '', refusal } = message
    const found = { content: content ?? '', reasoning, refusal: refusal ?? '', toolCalls, finishReason: finish_reason }
    assertChoice(found, read.choices[index] ?? assert.fail())
  }
  assertUsage(usage, read)
}

function assertStream(answer: Answer, recording: Recording, read: ReadAnswer): void {
  assert.equal(answer.status, 200, answer.text)
  const stream = readStream(answer.text)
  assertWireRules(stream, { model: `m-${recording.provider}` })
  assert.equal(stream.error, undefined)
  for (const [index, choice] of Object.entries(read.choices)) assertChoice(assemble(stream, Number(index)), choice)
  assertUsage(stream.chunks.at(-1)?.usage, read)
}

/** A failure before the first event has a status of its own; after it, an error event. */
function assertBrokenOff(answer: Answer, recording: Recording): void {
  if (answer.status !== 200) {
    assertProviderError(answer)
    return
  }
  const stream = readStream(answer.text)
  assertWireRules(stream, { model: `m-${recording.provider}` })
  assert.equal(stream.error?.type, 'upstream_error')
}

function assertProviderError(answer: Answer): void {
  assert.ok(answer.status === 503 || answer.status === 400, `${answer.status} ${answer.text}`)
  assert.ok(errorOf(answer).code)
}

/** Without what differs from one request to the next, and without counts of ours, which depend on the prompt. */
function comparable(text: string, read: ReadAnswer): string {
  const anonymous = text.replace(/"id":"chatcmpl-[^"]+"/g, '"id":"-"').replace(/"created":\d+/g, '"created":0')
  return read.usage === undefined ? anonymous.replace(/"usage":\{[^}]*\}/g, '"usage":{}') : anonymous
}

function splitsOf({ bytes }: Recording): number[] {
  const random = seeded(SEED + bytes.length)
  const offsets = Array.from({ length: RANDOM_SPLITS }, () => 1 + Math.floor(random() * (bytes.length - 1)))
  return [...frameBoundaries(bytes), ...offsets]
}

function cutsBefore(terminalOffset: number): Plan['cut'][] {
  const random = seeded(SEED + terminalOffset)
  const ways = ['end', 'fin', 'reset'] as const
  return Array.from({ length: RANDOM_CUTS }, (_, i) => ({
    at: 1 + Math.floor(random() * (terminalOffset - 1)),
    how: ways[i % ways.length] ?? 'end',
  }))
}

async function runStream(recording: Recording): Promise<void> {
  const read = readRecordedStream(recording.bytes)
  const choices = Object.keys(read.choices).length
  const whole = await request(recording, {}, choices)
  const broken = read.isError || read.terminalOffset === undefined
  if (broken) assertBrokenOff(whole, recording)
  else assertStream(whole, recording, read)
  if (whole.status === 200) {
    await each(splitsOf(recording), async (splitAt) => {
      const { text } = await request(recording, { splitAt }, choices)
      assert.equal(comparable(text, read), comparable(whole.text, read), `split at ${splitAt}`)
    })
  }
  const cuts = cutsBefore(read.terminalOffset ?? recording.bytes.length)
  await each(cuts, async (cut) => {
    if (cut === undefined) return
    assertBrokenOff(await request(recording, { cut }, choices), recording)
  })
  if (broken || read.terminalOffset === undefined) return
  const atTerminal = await request(recording, { cut: { at: read.terminalOffset, how: 'end' } }, choices)
  assertStream(atTerminal, recording, { ...read, usage: undefined })
}

const CONTENT_CODES = ['provider_rejected', 'context_length_exceeded', 'content_filter']

function assertMappedError(answer: Answer, status: number): void {
  const { type, code } = errorOf(answer)
  if (status === 400 || status === 413 || status === 422) {
    assert.deepEqual([answer.status, type], [400, 'invalid_request'], answer.text)
    assert.ok(CONTENT_CODES.includes(code), code)
    return
  }
  assert.deepEqual([answer.status, type], [503, 'service_unavailable'], answer.text)
  if (status === 401 || status === 403) assert.equal(code, 'provider_credentials')
  else if (status === 429) assert.equal(code, 'provider_rate_limited')
  else assert.equal(code, 'provider_error')
  assert.match(answer.headers['retry-after'] ?? '', /^([1-9]|[1-5]\d|60)$/)
}

const ran = new Set<string>()
for (const recording of recordings) {
  const { file, status, stream } = recording
  test(`${file}: ${status >= 300 ? 'the error is mapped' : stream ? 'the same however it is cut' : 'the answer is right'}`, async () => {
    if (status >= 300) assertMappedError(await request(recording), status)
    else if (stream) await runStream(recording)
    else {
      const read = readWhole(recording.bytes.toString())
      const answer = await request(recording, {}, Math.max(1, Object.keys(read.choices).length))
      if (read.isError) assertProviderError(answer)
      else assertWhole(answer, read)
    }
    ran.add(file)
  })
}

if (recordings.length > 0) {
  test('every recording ran', () => {
    console.log(`recordings, whole gateway: ${ran.size} of ${recordings.length} run`)
    const notRun = recordings.map(({ file }) => file).filter((file) => !ran.has(file))
    for (const file of notRun) console.log(`recordings, whole gateway, failed: ${file}`)
    assert.deepEqual(notRun, [])
  })
}
