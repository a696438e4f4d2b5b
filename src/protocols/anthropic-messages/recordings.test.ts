/**
 * Recorded answers, and our own fixtures in the same shape, through framing and codec in memory. Where the recordings
 * are: `TURNPIKE_RECORDINGS`, else `../shared/fixtures` beside the project.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  type ReadMessage,
  readMessageStream,
  readWholeMessage,
} from '../../../test/support/providers/anthropic-reader.ts'
import { loadRecordings } from '../../../test/support/providers/recordings.ts'
import type { ChatEvent, Usage } from '../../domain/chat.ts'
import { createSseDecoder } from '../framing.ts'
import { type Frame, ProviderError } from '../protocol.ts'
import { MESSAGE_RULES } from './errors.ts'
import { anthropicMessages } from './index.ts'

interface Recorded {
  /** `provider/case.ext`, or `own/case.ext`. */
  readonly file: string
  readonly status: number
  readonly bytes: Buffer
}

const codec = anthropicMessages()
const OWN = join(import.meta.dirname, 'fixtures')

function own(): readonly Recorded[] {
  const files = readdirSync(OWN).filter((file) => /\.(sse|answer\.json)$/.test(file))
  return files.map((file) => ({ file: `own/${file}`, status: 200, bytes: readFileSync(join(OWN, file)) }))
}

function framesOf(parts: readonly Uint8Array[]): Frame[] {
  const decoder = createSseDecoder()
  const frames: Frame[] = []
  for (const part of parts) decoder.push(part, frames)
  return frames
}

function eventsOf(frames: readonly Frame[]): ChatEvent[] {
  const parser = codec.streamParser()
  const events: ChatEvent[] = []
  for (const frame of frames) if (parser.push(frame, events)) break
  parser.end(events)
  return events
}

function collect(events: readonly ChatEvent[]): Omit<ReadMessage, 'isError' | 'seals'> & { readonly context: unknown } {
  const calls: { id: string; name: string; arguments: string }[] = []
  const texts = { text: '', reasoning: '' }
  let usage: Usage = {}
  let finish: string | undefined
  let context: unknown
  for (const event of events) {
    assert.equal(finish, undefined, 'nothing comes after the finish but usage')
    if (event.type === 'text' || event.type === 'reasoning') texts[event.type] += event.text
    if (event.type === 'finish') finish = event.reason
    if (event.type === 'usage') usage = { ...usage, ...event.usage }
    if (event.type === 'extension') {
      assert.equal(context, undefined, 'the context comes once')
      context = event.value
    }
    if (event.type === 'tool-call') addFragment(calls, event)
  }
  return { ...texts, toolCalls: calls, finish, usage: usage as Record<string, number>, context }
}

function addFragment(
  calls: { id: string; name: string; arguments: string }[],
  event: ChatEvent & { type: 'tool-call' },
): void {
  const { id, name, toolIndex, arguments: text } = event
  const known = calls[toolIndex]
  if (known !== undefined) {
    assert.ok(id === undefined && name === undefined, 'id and name come once')
    known.arguments += text
    return
  }
  assert.equal(toolIndex, calls.length, 'calls are numbered from 0 without gaps')
  assert.ok(id !== undefined && name !== undefined, 'id and name come first')
  calls.push({ id, name, arguments: text })
}

/** Usage of a whole answer follows its finish. */
function usageLast(events: readonly ChatEvent[]): ChatEvent[] {
  return [...events.filter((event) => event.type === 'usage'), ...events.filter((event) => event.type !== 'usage')]
}

function assertSame(events: readonly ChatEvent[], { isError: _, seals, ...read }: ReadMessage): void {
  const { context, ...found } = collect(usageLast(events))
  assert.deepEqual(found, { ...read, usage: { ...read.usage } })
  const isReturnable = seals.length > 0 && (read.text !== '' || read.toolCalls.length > 0)
  assert.deepEqual(sealsOf(context), isReturnable ? seals : [])
}

function sealsOf(context: unknown): string[] {
  const { anthropic } = (context ?? {}) as { anthropic?: { blocks: Record<string, unknown>[] } }
  const blocks = anthropic?.blocks ?? []
  blocks.forEach(({ index }, position) => {
    assert.equal(index, position, 'every entry of the context has its index')
  })
  const thinking = blocks.filter(({ type }) => type === 'thinking' || type === 'redacted_thinking')
  return thinking.map(({ signature, data }) => String(signature ?? data))
}

const isProviderError = (error: unknown): boolean => error instanceof ProviderError

/** Split once at every offset there is, and at all of them at once: what the codec is given is the same. */
function runStream({ file, bytes }: Recorded): void {
  const { terminalOffset, ...read } = readMessageStream(bytes)
  const frames = framesOf([bytes])
  if (read.isError || terminalOffset === undefined) assert.throws(() => eventsOf(frames), isProviderError, file)
  else assertSame(eventsOf(frames), read)
  assert.deepEqual(framesOf([...bytes].map((_, at) => bytes.subarray(at, at + 1))), frames)
  for (let cut = 1; cut < bytes.length; cut++) {
    const split = framesOf([bytes.subarray(0, cut), bytes.subarray(cut)])
    const same = split.every(({ event, data }, at) => event === frames[at]?.event && data === frames[at]?.data)
    assert.ok(same && split.length === frames.length, `${file}, split at ${cut}`)
  }
}

/** Every cut, in two steps: how many frames arrive for each, and what the codec makes of each such number. */
function runCuts({ file, bytes }: Recorded): void {
  const { terminalOffset } = readMessageStream(bytes)
  const decoder = createSseDecoder()
  const frames: Frame[] = []
  const counts = new Set([0])
  for (let at = 1; at < (terminalOffset ?? bytes.length + 1); at++) {
    decoder.push(bytes.subarray(at - 1, at), frames)
    counts.add(frames.length)
  }
  for (const count of counts) {
    assert.throws(() => eventsOf(frames.slice(0, count)), isProviderError, `${file}, cut after ${count} frames`)
  }
  if (terminalOffset !== undefined) eventsOf(framesOf([bytes.subarray(0, terminalOffset)]))
}

function runWhole({ bytes }: Recorded): void {
  const body = bytes.toString('utf8')
  assertSame(codec.parseResponse(body), readWholeMessage(body))
}

/** By what the decisions say of each status, and by what each body says. */
const KINDS: Readonly<Record<string, string>> = {
  'anthropic/error-400-2.json': 'rejected',
  'anthropic/error-400-3.json': 'context_length',
  'anthropic/error-400-5.json': 'context_length',
  'anthropic/error-401.json': 'credentials',
  'anthropic/error-402.json': 'quota',
  'anthropic/error-404.json': 'not_found',
  'anthropic/error-429.json': 'rate_limited',
  'anthropic/error-500.json': 'failed',
  'anthropic/error-529-2.json': 'overloaded',
}

function runError({ file, status, bytes }: Recorded): void {
  const body = bytes.toString('utf8')
  const failure = codec.parseError({ status, headers: {}, body }, 0)
  assert.equal(failure.kind, KINDS[file], `${file} has a kind that the test knows`)
  assert.equal(failure.status, status)
  const { error } = JSON.parse(body)
  assert.equal(failure.message.slice(0, 60), error.message.slice(0, 60))
  assert.doesNotMatch(failure.message, /[0-9a-f]{8}-[0-9a-f]{4}-/)
}

function run(recording: Recorded): void {
  if (recording.status !== 200) runError(recording)
  else if (recording.file.endsWith('.sse')) runStream(recording)
  else runWhole(recording)
}

const found = loadRecordings('anthropic-messages')
const recordings: readonly Recorded[] = found ?? []
const all = [...recordings, ...own()]

for (const recording of all) {
  test(`recorded: ${recording.file} means the same to the codec as to a plain reader`, () => run(recording))
}

for (const recording of all.filter(({ file }) => file.endsWith('.sse'))) {
  test(`recorded: ${recording.file} is an error wherever it is cut before its end`, () => runCuts(recording))
}

test('every rule about the words of a message has a recording that shows them', () => {
  const evidence = ['anthropic/error-400-3.json', 'anthropic/error-402.json']
  assert.equal(evidence.length, MESSAGE_RULES.length)
  for (const [position, { pattern }] of MESSAGE_RULES.entries()) {
    const recording = recordings.find(({ file }) => file === evidence[position])
    if (recording !== undefined) assert.match(JSON.parse(recording.bytes.toString('utf8')).error.message, pattern)
  }
})

test('every recorded error is one that the test has an expectation for', () => {
  const errors = recordings.filter(({ status }) => status !== 200).map(({ file }) => file)
  if (errors.length > 0) assert.deepEqual(errors.sort(), Object.keys(KINDS).sort())
})

const count = recordings.length
console.log(
  found === undefined ? 'recordings: not found, none run' : `recordings: ${count} of ${count} run (anthropic-messages)`,
)
console.log(`own fixtures: ${all.length - count} run`)
