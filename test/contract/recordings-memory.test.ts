/**
 * Recorded answers of real hosts, through framing and codec in memory. Where they are: `TURNPIKE_RECORDINGS`, else
 * `../shared/fixtures` beside the project; without them the project's own fixtures run alone.
 */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { ChatEvent, Usage } from '../../src/domain/chat.ts'
import { createSseDecoder } from '../../src/protocols/framing.ts'
import { MESSAGE_RULES } from '../../src/protocols/openai-chat/errors.ts'
import { openaiChat } from '../../src/protocols/openai-chat/index.ts'
import { type Frame, ProviderError, type UpstreamProtocol } from '../../src/protocols/protocol.ts'
import { withVendorField } from '../../src/providers/groq.ts'
import { PROVIDERS } from '../../src/providers/index.ts'
import { type ReadChoice, readStream, readWhole } from '../support/providers/recording-reader.ts'
import { loadRecordings } from '../support/providers/recordings.ts'

interface Recorded {
  /** `provider/case.ext`, or `own/case.ext`. */
  readonly file: string
  readonly status: number
  readonly bytes: Buffer
}

const OWN = join(import.meta.dirname, '../../src/protocols/openai-chat/fixtures')

/** Each host's recordings are read as that host's; others, and our own fixtures, as the plain format's. */
const PLAIN = withVendorField(openaiChat(), 'x_vendor')

function codecOf(file: string): UpstreamProtocol {
  const [host = ''] = file.split('/')
  return PROVIDERS[host]?.protocol ?? PLAIN
}

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

function eventsOf(file: string, frames: readonly Frame[]): ChatEvent[] {
  const parser = codecOf(file).streamParser()
  const events: ChatEvent[] = []
  for (const frame of frames) if (parser.push(frame, events)) break
  parser.end(events)
  return events
}

interface Collected {
  readonly choices: Record<number, ReadChoice>
  readonly usage: Usage | undefined
}

function collect(events: readonly ChatEvent[]): Collected {
  const choices: Record<number, { -readonly [Key in keyof ReadChoice]: ReadChoice[Key] }> = {}
  let usage: Usage | undefined
  for (const event of events) {
    if (event.type === 'usage') {
      usage = { ...usage, ...event.usage }
      continue
    }
    const choice = choices[event.index] ?? { text: '', reasoning: '', refusal: '', toolCalls: [], finish: undefined }
    choices[event.index] = choice
    if (event.type === 'text' || event.type === 'reasoning' || event.type === 'refusal')
      choice[event.type] += event.text
    else if (event.type === 'finish') choice.finish = event.reason
    else if (event.type === 'tool-call') choice.toolCalls = withFragment(choice, event)
  }
  return { choices, usage }
}

function withFragment(choice: ReadChoice, event: ChatEvent & { type: 'tool-call' }): ReadChoice['toolCalls'] {
  const { id, name, toolIndex, arguments: text } = event
  if (id === undefined || name === undefined) {
    const call = choice.toolCalls[toolIndex]
    assert.ok(call, 'a fragment comes after the call it belongs to')
    assert.ok(id === undefined && name === undefined, 'id and name come together')
    return choice.toolCalls.with(toolIndex, { ...call, arguments: call.arguments + text })
  }
  assert.equal(toolIndex, choice.toolCalls.length, 'calls are numbered from 0 without gaps, and begun once')
  return [...choice.toolCalls, { id, name, arguments: text }]
}

/** Legacy calls have no id on the wire; the codec's is any that is not empty. */
function withoutMadeUpIds(
  read: Readonly<Record<number, ReadChoice>>,
  found: Record<number, ReadChoice>,
): Collected['choices'] {
  const pairs = Object.entries(found).map(([index, choice]) => {
    const toolCalls = choice.toolCalls.map((call, position) => {
      assert.notEqual(call.id, '')
      return read[Number(index)]?.toolCalls[position]?.id === '' ? { ...call, id: '' } : call
    })
    return [index, { ...choice, toolCalls }]
  })
  return Object.fromEntries(pairs)
}

function assertSame(events: readonly ChatEvent[], read: ReturnType<typeof readWhole>): void {
  const found = collect(events)
  assert.deepEqual(withoutMadeUpIds(read.choices, found.choices), read.choices)
  assert.deepEqual(found.usage, read.usage)
}

const isProviderError = (error: unknown): boolean => error instanceof ProviderError

function runStream({ file, bytes }: Recorded): void {
  const read = readStream(bytes)
  const frames = framesOf([bytes])
  if (read.isError || read.terminalOffset === undefined)
    assert.throws(() => eventsOf(file, frames), isProviderError, file)
  else assertSame(eventsOf(file, frames), read)
  assertSplits(bytes, frames)
}

/**
 * Split once at each offset there is. A split touches only the frame it falls in and what that frame's end leaves
 * behind, so each is tried in the company of its neighbours; and all splits at once, byte by byte.
 */
function assertSplits(bytes: Buffer, frames: readonly Frame[]): void {
  const counts = countsByOffset(bytes)
  const ends = counts.flatMap((count, offset) => (offset > 0 && count > (counts[offset - 1] ?? 0) ? [offset] : []))
  assert.deepEqual(framesOf([...bytes].map((_, at) => bytes.subarray(at, at + 1))), frames)
  for (let cut = 1; cut < bytes.length; cut++) {
    const within = counts[cut] ?? 0
    const from = ends[within - 2] ?? 0
    const to = ends[within + 1] ?? bytes.length
    const split = framesOf([bytes.subarray(from, cut), bytes.subarray(cut, to)])
    const first = Math.max(0, within - 1)
    const same = split.every(
      ({ event, data }, at) => event === frames[first + at]?.event && data === frames[first + at]?.data,
    )
    assert.ok(same && split.length === Math.min(frames.length, within + 2) - first, `split at ${cut}`)
  }
}

/** How many frames are whole after so many bytes. */
function countsByOffset(bytes: Buffer): number[] {
  const decoder = createSseDecoder()
  const frames: Frame[] = []
  const counts = [0]
  for (let at = 0; at < bytes.length; at++) {
    decoder.push(bytes.subarray(at, at + 1), frames)
    counts.push(frames.length)
  }
  return counts
}

/** Every cut, in two steps: how many frames arrive for each, and what the codec makes of each such number. */
function runCuts({ file, bytes }: Recorded): void {
  const { terminalOffset, isError } = readStream(bytes)
  const frames = framesOf([bytes])
  const counts = countsByOffset(bytes).slice(0, terminalOffset ?? bytes.length + 1)
  for (const count of new Set(counts)) {
    assert.throws(() => eventsOf(file, frames.slice(0, count)), isProviderError, `${file}, cut after ${count} frames`)
  }
  if (!isError && terminalOffset !== undefined) eventsOf(file, framesOf([bytes.subarray(0, terminalOffset)]))
}

function runWhole({ file, bytes }: Recorded): void {
  const body = bytes.toString('utf8')
  const read = readWhole(body)
  if (read.isError) assert.throws(() => codecOf(file).parseResponse(body), isProviderError)
  else assertSame(codecOf(file).parseResponse(body), read)
}

/** Kinds of the recorded errors, by what the decisions say of each status and by what each body says. */
const SPECIAL_KINDS: Readonly<Record<string, string>> = {
  'azure/content-filter.json': 'content_filter',
  'deepseek/error-400.json': 'context_length',
  'ollama/error-400-2.json': 'context_length',
  'openrouter/error-400.json': 'context_length',
  'vllm/error-400.json': 'context_length',
  'xai/error-400.json': 'context_length',
  'openai/error-429-4.json': 'quota',
  'xai/error-429.json': 'quota',
}
const KINDS: Readonly<Record<number, string>> = {
  400: 'rejected',
  401: 'credentials',
  402: 'quota',
  403: 'credentials',
  404: 'not_found',
  408: 'failed',
  413: 'rejected',
  422: 'rejected',
  429: 'rate_limited',
  500: 'failed',
  502: 'failed',
  503: 'overloaded',
}

function runError({ file, status, bytes }: Recorded): void {
  const failure = codecOf(file).parseError({ status, headers: {}, body: bytes.toString('utf8') }, 0)
  const shown = failure.message
  assert.equal(failure.kind, SPECIAL_KINDS[file] ?? KINDS[status], file)
  assert.equal(failure.status, status)
  assert.ok(shown.length > 0 && shown.length <= 500)
  assert.doesNotMatch(shown, /<[a-z]|org-[A-Za-z0-9]{8}|sk-[A-Za-z0-9]/i)
}

function run(recording: Recorded): void {
  if (recording.status !== 200) runError(recording)
  else if (recording.file.endsWith('.sse')) runStream(recording)
  else runWhole(recording)
}

const recordings: readonly Recorded[] = loadRecordings('openai-chat') ?? []
const all = [...recordings, ...own()]

for (const recording of all) {
  test(`recorded: ${recording.file} has the same meaning for the codec as for a plain reader`, () => run(recording))
}

for (const recording of all.filter(({ file }) => file.endsWith('.sse'))) {
  test(`recorded: ${recording.file} is an error wherever it is cut before its end`, () => runCuts(recording))
}

/** Where each rule's words were seen, in the order of the rules. */
const EVIDENCE: readonly string[] = [
  'deepseek/error-400.json',
  'ollama/error-400-2.json',
  'xai/error-400.json',
  'openai/error-401.json',
  'xai/error-429.json',
]

test('every rule about the text of a message has a recording that needs it', () => {
  assert.equal(EVIDENCE.length, MESSAGE_RULES.length)
  for (const [position, rule] of MESSAGE_RULES.entries()) {
    const recording = recordings.find(({ file }) => file === EVIDENCE[position])
    if (recording === undefined) continue
    const { error } = JSON.parse(recording.bytes.toString('utf8'))
    assert.match(typeof error === 'string' ? error : error.message, rule.pattern)
  }
})

const count = recordings.length
console.log(count === 0 ? 'recordings: not found, 0 of N run' : `recordings: ${count} of ${count} run (openai-chat)`)
console.log(`own fixtures: ${all.length - count} run`)
