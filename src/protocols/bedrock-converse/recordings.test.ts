/**
 * Answers through framing and codec in memory: the recorded ones of the service (`TURNPIKE_RECORDINGS`, else
 * `../shared/fixtures` beside the project), and our own, written after its documentation.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { messageEnds, type ReadAnswer, readStream, readWhole } from '../../../test/support/providers/bedrock-reader.ts'
import { bedrockToOpenAi } from '../../../test/support/providers/bedrock-to-openai.ts'
import { loadOwnRecordings, loadRecordings, RECORDINGS_FOLDER } from '../../../test/support/providers/recordings.ts'
import type { ChatEvent, Usage } from '../../domain/chat.ts'
import { createDecoder } from '../framing.ts'
import { type Frame, ProviderError } from '../protocol.ts'
import { MESSAGE_RULES } from './errors.ts'
import { bedrockConverse } from './index.ts'

const codec = bedrockConverse()

const recordings = loadRecordings('bedrock-converse')
const answered = (recordings ?? []).filter(({ status }) => status === 200)
const owned = loadOwnRecordings().filter(({ protocol }) => protocol === 'bedrock-converse')
const wholes = [...answered, ...owned].filter(({ stream: isStream }) => !isStream)
const streams = [...answered, ...owned].filter(({ stream: isStream }) => isStream)

/** As the caller of a codec would do it. */
function stream(parts: readonly Uint8Array[]): ChatEvent[] {
  const decoder = createDecoder('aws-event-stream', { maxEventBytes: 1024 * 1024 })
  const parser = codec.streamParser()
  const events: ChatEvent[] = []
  const frames: Frame[] = []
  for (const part of parts) decoder.push(part, frames)
  for (const frame of frames) if (parser.push(frame, events)) break
  parser.end(events)
  return events
}

function outcome(parts: readonly Uint8Array[]): ChatEvent[] | ProviderError['failure'] {
  try {
    return stream(parts)
  } catch (error) {
    assert.ok(error instanceof ProviderError, String(error))
    return error.failure
  }
}

const isProviderError = (error: unknown): boolean => error instanceof ProviderError

/** What a client has put together of the events. */
function collect(events: readonly ChatEvent[]): Omit<ReadAnswer, 'isError'> {
  let usage: Usage | undefined
  const calls: { id: string; name: string; arguments: string }[] = []
  const texts = { text: '', reasoning: '', refusal: '' }
  let finish: string | undefined
  let signed: ReadAnswer['signed'] = []
  for (const event of events) {
    if (event.type === 'usage') usage = { ...usage, ...event.usage }
    else if (event.type === 'finish') finish = event.reason
    else if (event.type === 'extension') signed = signedIn(event.value)
    else if (event.type === 'tool-call') addFragment(calls, event)
    else if (event.type !== 'native') texts[event.type] += event.text
  }
  return { choice: { ...texts, toolCalls: calls, finish }, usage, signed }
}

function addFragment(
  calls: { id: string; name: string; arguments: string }[],
  event: ChatEvent & { type: 'tool-call' },
) {
  const { toolIndex, id, name, arguments: text } = event
  const known = calls[toolIndex]
  if (known === undefined) {
    assert.equal(toolIndex, calls.length, 'calls are numbered from 0 without gaps')
    assert.ok(id !== undefined && name !== undefined, 'a call begins with id and name')
    calls.push({ id, name, arguments: text })
    return
  }
  assert.ok(id === undefined && name === undefined, 'id and name come once')
  known.arguments += text
}

function signedIn(value: unknown): ReadAnswer['signed'] {
  const { bedrock } = value as {
    bedrock: { blocks: { index: number; text?: string; signature?: string; redacted?: string }[] }
  }
  return bedrock.blocks.map(({ index, text, signature, redacted }, place) => {
    assert.equal(index, place)
    return redacted === undefined ? { text: text ?? '', signature: signature ?? '' } : { redacted }
  })
}

function assertSame(events: readonly ChatEvent[], { isError: _, ...read }: ReadAnswer): void {
  const { choice, usage, signed } = read
  assert.deepEqual(collect(events), { choice, usage, signed })
}

for (const { file, bytes } of wholes) {
  test(`${file} means the same to the codec as to a plain reader`, () => {
    const read = readWhole(bytes.toString('utf8'))
    if (read.isError) assert.throws(() => codec.parseResponse(bytes.toString('utf8')), isProviderError)
    else assertSame(codec.parseResponse(bytes.toString('utf8')), read)
  })
}

for (const { file, bytes } of streams) {
  test(`${file} means the same to the codec as to a plain reader, wherever it is split`, () => {
    const read = readStream(bytes)
    const whole = outcome([bytes])
    if (read.isError || read.terminalOffset === undefined) assert.throws(() => stream([bytes]), isProviderError)
    else assertSame(stream([bytes]), read)
    for (let cut = 1; cut < bytes.length; cut++) {
      assert.deepEqual(outcome([bytes.subarray(0, cut), bytes.subarray(cut)]), whole, `split at ${cut}`)
    }
  })

  test(`${file} is an error wherever it is cut before its end`, () => {
    const { terminalOffset, isError } = readStream(bytes)
    const end = isError ? bytes.length : (terminalOffset ?? bytes.length + 1)
    for (let cut = 0; cut < end; cut++) {
      assert.throws(() => stream([bytes.subarray(0, cut)]), isProviderError, `cut at ${cut} of ${end}`)
    }
    if (!isError && terminalOffset !== undefined) {
      const { usage, choice } = collect(stream([bytes.subarray(0, terminalOffset)]))
      assert.notEqual(choice.finish, undefined)
      if (terminalOffset === messageEnds(bytes).at(-2))
        assert.equal(usage, undefined, 'usage comes after the stop reason')
    }
  })
}

const ERROR_KINDS: Readonly<Record<string, string>> = {
  'bedrock/converse-error-400-2.json': 'context_length',
  'bedrock/converse-error-403.json': 'credentials',
}

for (const { file, status, headers, bytes } of (recordings ?? []).filter((recording) => recording.status !== 200)) {
  test(`${file} is understood`, () => {
    const failure = codec.parseError({ status, headers, body: bytes.toString('utf8') }, 0)
    assert.equal(failure.kind, ERROR_KINDS[file])
    assert.equal(failure.status, status)
    assert.equal(failure.message, JSON.parse(bytes.toString('utf8')).message)
  })
}

test('every rule about the words of a message has a recording that shows them', () => {
  for (const { pattern, recording } of MESSAGE_RULES) {
    const found = recordings?.find(({ file }) => file === recording)
    if (found !== undefined) assert.match(JSON.parse(found.bytes.toString('utf8')).message, pattern)
  }
})

let requestsRun = 0
const requestsNotRun: string[] = []

for (const { file, url, requestFile, stream: streamed } of recordings ?? []) {
  const request = requestFile && JSON.parse(readFileSync(join(RECORDINGS_FOLDER, requestFile), 'utf8'))
  const asked = request === undefined ? 'its request is not recorded' : bedrockToOpenAi(request, streamed)
  if (typeof asked === 'string') {
    requestsNotRun.push(`${file}: ${asked}`)
    continue
  }
  requestsRun += 1
  test(`the request behind ${file} is what we would have sent`, () => {
    const model = decodeURIComponent(new URL(url.replace('<AWS_REGION>', 'us-east-1')).pathname.split('/')[2] ?? '')
    const wire = codec.renderRequest(asked, { model, maxOutputTokens: undefined })
    assert.equal(wire.path, `/model/${encodeURIComponent(model)}/${streamed ? 'converse-stream' : 'converse'}`)
    assert.deepEqual(whatMatters(JSON.parse(wire.body)), whatMatters(request))
    assert.deepEqual(wire.warnings, [])
  })
}

/** Without what says nothing: empty settings. */
function whatMatters(body: unknown): unknown {
  const { inferenceConfig, ...rest } = body as { readonly inferenceConfig?: Record<string, unknown> }
  return Object.keys(inferenceConfig ?? {}).length === 0 ? rest : { ...rest, inferenceConfig }
}

const total = recordings?.length ?? 0
console.log(total === 0 ? 'recordings: not found' : `recordings: ${total} of ${total} answers run (bedrock)`)
console.log(`recordings: ${requestsRun} of ${total} requests run (bedrock)`)
for (const reason of requestsNotRun) console.log(`recordings of requests: not run: ${reason}`)
console.log(`own fixtures: ${owned.length} answers run (bedrock)`)
