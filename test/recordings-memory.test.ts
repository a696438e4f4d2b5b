/**
 * Recorded answers of real hosts, through framing and codec in memory. Where they are: `TURNPIKE_RECORDINGS`, else
 * `../shared/fixtures` beside the project; without them the project's own fixtures run alone.
 */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import type { ChatEvent, Usage } from '../src/domain/chat.ts'
import { createSseDecoder } from '../src/protocols/framing/sse.ts'
import { MESSAGE_RULES } from '../src/protocols/openai-chat/errors.ts'
import { openaiChat } from '../src/protocols/openai-chat/index.ts'
import { type Frame, ProviderError } from '../src/protocols/protocol.ts'
import { type ReadChoice, readStream, readWhole } from './support/recording-reader.ts'

interface Recording {
  readonly name: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly bytes: Buffer
}

const ROOT = join(import.meta.dirname, '..')
const RECORDINGS = resolve(process.env['TURNPIKE_RECORDINGS'] ?? join(ROOT, '../shared/fixtures'))
const OWN = join(ROOT, 'src/protocols/openai-chat/fixtures')
const codec = openaiChat()

interface ManifestEntry {
  readonly file: string
  readonly protocol: string
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
}

function recorded(): { readonly recordings: readonly Recording[]; readonly others: number } {
  const manifest = join(RECORDINGS, 'manifest.json')
  if (!existsSync(manifest)) return { recordings: [], others: 0 }
  const { entries }: { entries: readonly ManifestEntry[] } = JSON.parse(readFileSync(manifest, 'utf8'))
  const ours = entries.filter(({ protocol }) => protocol === 'openai-chat')
  const recordings = ours.map(({ file, status, headers = {} }) => ({
    name: file,
    status,
    headers,
    bytes: readFileSync(join(RECORDINGS, file)),
  }))
  return { recordings, others: entries.length - ours.length }
}

function own(): readonly Recording[] {
  const files = readdirSync(OWN).filter((file) => /\.(sse|answer\.json)$/.test(file))
  return files.map((file) => ({ name: `own/${file}`, status: 200, headers: {}, bytes: readFileSync(join(OWN, file)) }))
}

/** Frames and events of a body given in these parts; as the caller of a codec would do it. */
function stream(parts: readonly Uint8Array[]): ChatEvent[] {
  const decoder = createSseDecoder()
  const parser = codec.streamParser()
  const events: ChatEvent[] = []
  const frames: Frame[] = []
  for (const part of parts) decoder.push(part, frames)
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
    if (event.type === 'text' || event.type === 'reasoning' || event.type === 'refusal') choice[event.type] += event.text
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
function withoutMadeUpIds(read: Readonly<Record<number, ReadChoice>>, found: Record<number, ReadChoice>): Collected['choices'] {
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

function runStream({ name, bytes }: Recording): void {
  const read = readStream(bytes)
  const whole = tryStream([bytes])
  if (read.isError || read.terminalOffset === undefined) assert.ok(whole instanceof ProviderError, `${name} must fail`)
  else assertSame(eventsOf(whole), read)
  for (let cut = 1; cut < bytes.length; cut++) {
    const split = tryStream([bytes.subarray(0, cut), bytes.subarray(cut)])
    assert.deepEqual(outcome(split), outcome(whole), `${name}, split at ${cut}`)
  }
}

function runCuts({ name, bytes }: Recording): void {
  const { terminalOffset, isError } = readStream(bytes)
  const end = isError ? bytes.length : (terminalOffset ?? bytes.length + 1)
  for (let cut = 0; cut < end; cut++) {
    assert.throws(() => stream([bytes.subarray(0, cut)]), isProviderError, `${name}, cut at ${cut} of ${end}`)
  }
  if (!isError && terminalOffset !== undefined) stream([bytes.subarray(0, terminalOffset)])
}

function tryStream(parts: readonly Uint8Array[]): ChatEvent[] | ProviderError {
  try {
    return stream(parts)
  } catch (error) {
    assert.ok(error instanceof ProviderError, String(error))
    return error
  }
}

function eventsOf(result: ChatEvent[] | ProviderError): ChatEvent[] {
  if (result instanceof ProviderError) throw result
  return result
}

function outcome(result: ChatEvent[] | ProviderError): unknown {
  return result instanceof ProviderError ? result.failure : result
}

function runWhole({ bytes }: Recording): void {
  const body = bytes.toString('utf8')
  const read = readWhole(body)
  if (read.isError) assert.throws(() => codec.parseResponse(body), isProviderError)
  else assertSame(codec.parseResponse(body), read)
}

/** Kinds of the recorded errors, by what the decisions say of each status and by what each body says. */
const SPECIAL_KINDS: Readonly<Record<string, string>> = {
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

function runError({ name, status, headers, bytes }: Recording): void {
  const failure = codec.parseError({ status, headers, body: bytes.toString('utf8') }, 0)
  const shown = failure.message
  assert.equal(failure.kind, SPECIAL_KINDS[name] ?? KINDS[status], name)
  assert.equal(failure.status, status)
  assert.ok(shown.length > 0 && shown.length <= 500)
  assert.doesNotMatch(shown, /<[a-z]|org-[A-Za-z0-9]{8}|sk-[A-Za-z0-9]/i)
}

function run(recording: Recording): void {
  if (recording.status !== 200) runError(recording)
  else if (recording.name.endsWith('.sse')) runStream(recording)
  else runWhole(recording)
}

const { recordings, others } = recorded()
const all = [...recordings, ...own()]

for (const recording of all) test(`recorded: ${recording.name} means the same to the codec as to a plain reader`, () => run(recording))

for (const recording of all.filter(({ name }) => name.endsWith('.sse'))) {
  test(`recorded: ${recording.name} is an error wherever it is cut before its end`, () => runCuts(recording))
}

test('every rule about the words of a message has a recording that shows them', () => {
  const known = recordings.map(({ name }) => name)
  for (const rule of MESSAGE_RULES) {
    if (!known.includes(rule.recording)) continue
    const body = recordings.find(({ name }) => name === rule.recording)?.bytes.toString('utf8') ?? ''
    const { error } = JSON.parse(body)
    assert.match(typeof error === 'string' ? error : error.message, rule.pattern)
  }
})

const count = recordings.length
console.log(count === 0 ? 'recordings: not found, 0 of N run' : `recordings: ${count} of ${count} run (openai-chat)`)
if (others > 0) console.log(`recordings: ${others} not run here: of another protocol`)
console.log(`own fixtures: ${all.length - count} run`)
