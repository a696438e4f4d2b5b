/**
 * Recorded answers of both hosts and our own fixtures, through framing and codec in memory. Where the recordings are:
 * `TURNPIKE_RECORDINGS`, else `../shared/fixtures` beside the project; without them our own fixtures run alone.
 */
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  type ReadGeminiAnswer,
  readGeminiStream,
  readGeminiWhole,
} from '../../../test/support/providers/gemini-reader.ts'
import { canonical, toChatRequest } from '../../../test/support/providers/gemini-request.ts'
import { loadRecordings, RECORDINGS_FOLDER, type Recording } from '../../../test/support/providers/recordings.ts'
import type { ChatEvent, Usage } from '../../domain/chat.ts'
import { createSseDecoder } from '../framing.ts'
import { parseChatRequest } from '../openai-chat/client/request.ts'
import { type Frame, ProviderError } from '../protocol.ts'
import { MESSAGE_RULES } from './errors.ts'
import { gemini } from './index.ts'

type Recorded = Pick<Recording, 'file' | 'status' | 'bytes'>

const OWN = join(import.meta.dirname, 'fixtures')
const codec = gemini()

function own(): readonly Recorded[] {
  const files = readdirSync(OWN).filter((file) => /\.(sse|answer\.json)$/.test(file))
  return files.map((file) => ({ file: `own/${file}`, status: 200, bytes: readFileSync(join(OWN, file)) }))
}

function framesOf(parts: readonly Uint8Array[]): { readonly frames: readonly Frame[]; readonly residue: string } {
  const decoder = createSseDecoder()
  const frames: Frame[] = []
  for (const part of parts) decoder.push(part, frames)
  return { frames, residue: decoder.end() }
}

/** As a caller reads a stream: what is no event at its end, and looks like JSON, is an error's body. */
function eventsOf({ frames, residue }: ReturnType<typeof framesOf>): ChatEvent[] {
  const parser = codec.streamParser()
  const events: ChatEvent[] = []
  for (const frame of frames) if (parser.push(frame, events)) break
  if (residue.trimStart().startsWith('{')) {
    throw new ProviderError(codec.parseError({ status: 200, headers: {}, body: residue }, 0))
  }
  parser.end(events)
  return events
}

interface Choice {
  text: string
  reasoning: string
  refusal: string
  toolCalls: { id: string; name: string; arguments: string }[]
  finish: string | undefined
  signatures: string[]
  images: string[]
}

function collect(events: readonly ChatEvent[]): { choices: Record<number, Choice>; usage: Usage | undefined } {
  const choices: Record<number, Choice> = {}
  let usage: Usage | undefined
  for (const event of events) {
    if (event.type === 'usage') {
      usage = { ...usage, ...event.usage }
      continue
    }
    const choice = choices[event.index] ?? emptyChoice()
    choices[event.index] = choice
    if (event.type === 'text' || event.type === 'reasoning' || event.type === 'refusal')
      choice[event.type] += event.text
    else if (event.type === 'finish') choice.finish = event.reason
    else if (event.type === 'tool-call') addFragment(choice, event)
    else if (event.type === 'extension') addExtension(choice, event)
  }
  return { choices, usage }
}

function emptyChoice(): Choice {
  return { text: '', reasoning: '', refusal: '', toolCalls: [], finish: undefined, signatures: [], images: [] }
}

function addFragment(choice: Choice, event: ChatEvent & { type: 'tool-call' }): void {
  const { id, name, toolIndex, arguments: text } = event
  const known = choice.toolCalls[toolIndex]
  assert.equal(id === undefined, name === undefined, 'id and name come together')
  if (id !== undefined && name !== undefined) {
    assert.equal(toolIndex, choice.toolCalls.length, 'calls are numbered from 0 without gaps, and begun once')
    choice.toolCalls.push({ id, name, arguments: text })
  } else {
    assert.ok(known, 'a fragment comes after the call it belongs to')
    known.arguments += text
  }
}

// biome-ignore lint/suspicious/noExplicitAny: an extension is any JSON
function addExtension(choice: Choice, event: { readonly field: string; readonly value: any }): void {
  const { field, value } = event
  if (field === 'annotations') return // pages that it is grounded in: server-tools.test.ts
  const list = field === 'images' ? value : value.gemini.signatures
  for (const [at, entry] of list.entries()) assert.equal(entry.index, at, 'every entry has its index')
  if (field === 'images') choice.images = list.map((entry: { image_url: { url: string } }) => entry.image_url.url)
  else choice.signatures = list.map((entry: { signature: string }) => entry.signature)
}

/** Most calls have no id on the wire; the codec's is any of its own kind, and never the same twice. */
function assertSame(events: readonly ChatEvent[], read: ReadGeminiAnswer): void {
  const { choices, usage } = collect(events)
  const ids = Object.values(choices).flatMap(({ toolCalls }) => toolCalls.map(({ id }) => id))
  assert.equal(new Set(ids).size, ids.length, 'ids are unique')
  for (const [index, { toolCalls }] of Object.entries(choices)) {
    toolCalls.forEach((call, at) => {
      const recorded = read.choices[Number(index)]?.toolCalls
      const isOwn = recorded?.[at]?.id !== '' && recorded?.findIndex(({ id }) => id === recorded[at]?.id) === at
      if (isOwn) return
      assert.match(call.id, /^call_[\w-]{1,24}_\d+_\d+$/)
      call.id = recorded?.[at]?.id ?? ''
    })
  }
  assert.deepEqual(choices, read.choices)
  assert.deepEqual(usage, read.usage)
}

const isProviderError = (error: unknown): boolean => error instanceof ProviderError

function tryStream(parts: readonly Uint8Array[]): ChatEvent[] | ProviderError {
  try {
    return eventsOf(framesOf(parts))
  } catch (error) {
    assert.ok(error instanceof ProviderError, String(error))
    return error
  }
}

function runStream({ file, bytes }: Recorded): void {
  const read = readGeminiStream(bytes)
  const whole = tryStream([bytes])
  if (read.isError || read.terminalOffset === undefined) assert.ok(whole instanceof ProviderError, `${file} must fail`)
  else {
    assert.ok(!(whole instanceof ProviderError), `${file} must not fail`)
    assertSame(whole, read)
  }
  const { frames, residue } = framesOf([bytes])
  for (let cut = 1; cut < bytes.length; cut++) {
    const split = framesOf([bytes.subarray(0, cut), bytes.subarray(cut)])
    assert.equal(split.frames.length, frames.length, `${file}, split at ${cut}`)
    const isSame = split.frames.every(({ event, data }, at) => event === frames[at]?.event && data === frames[at]?.data)
    assert.ok(isSame && split.residue.trim() === residue.trim(), `${file}, split at ${cut}`)
  }
}

/** Before the first place where all choices are finished, and wherever something that is no event has begun. */
function runCuts({ file, bytes }: Recorded): void {
  const { terminalOffset, strayOffset = bytes.length, isError } = readGeminiStream(bytes)
  const enough = terminalOffset && framesOf([bytes.subarray(0, terminalOffset)]).frames.length
  let known = ''
  for (let cut = 0; cut <= bytes.length; cut++) {
    const cutShort = framesOf([bytes.subarray(0, cut)])
    const { frames, residue } = cutShort
    if (enough !== undefined && frames.length >= enough && cut <= strayOffset) continue
    // What the codec sees is the same until the next frame is whole.
    const seen = `${frames.length} ${residue.startsWith('{')}`
    if (seen === known) continue
    known = seen
    assert.throws(() => eventsOf(cutShort), isProviderError, `${file}, cut at ${cut}`)
  }
  if (!isError && terminalOffset !== undefined) eventsOf(framesOf([bytes.subarray(0, terminalOffset)]))
}

function runWhole({ bytes }: Recorded): void {
  const body = bytes.toString('utf8')
  const read = readGeminiWhole(body)
  if (read.isError) assert.throws(() => codec.parseResponse(body), isProviderError)
  else assertSame(codec.parseResponse(body), read)
}

/** Kinds of the recorded errors, by what each body says; the others go by their status. */
const SPECIAL_KINDS: Readonly<Record<string, string>> = {
  'gemini/error-400.json': 'context_length',
  'gemini/error-400-4.json': 'credentials',
}
const KINDS: Readonly<Record<number, string>> = {
  400: 'rejected',
  403: 'credentials',
  404: 'not_found',
  429: 'rate_limited',
  500: 'failed',
  503: 'overloaded',
  504: 'failed',
}

function runError({ file, status, bytes }: Recorded): void {
  const failure = codec.parseError({ status, headers: {}, body: bytes.toString('utf8') }, 0)
  assert.equal(failure.kind, SPECIAL_KINDS[file] ?? KINDS[status], file)
  assert.equal(failure.status, status)
  assert.equal(failure.retryAfterMs, file === 'gemini/error-429.json' ? 30_000 : undefined)
  assert.ok(failure.message.length > 0 && failure.message.length <= 500)
  assert.doesNotMatch(failure.message, /<[a-z]|AIza|project[= ]\d/i)
}

function run(recording: Recorded): void {
  if (recording.status !== 200) runError(recording)
  else if (recording.file.endsWith('.sse')) runStream(recording)
  else runWhole(recording)
}

const recordings = loadRecordings('gemini-generatecontent') ?? []
const all: readonly Recorded[] = [...recordings, ...own()]

for (const recording of all) {
  test(`recorded: ${recording.file} means the same to the codec as to a plain reader`, () => run(recording))
}
for (const recording of all.filter(({ file }) => file.endsWith('.sse'))) {
  test(`recorded: ${recording.file} is an error wherever it is cut before its end`, () => runCuts(recording))
}

test('every rule about the words of a message has a recording that shows them', () => {
  for (const rule of MESSAGE_RULES) {
    const shown = recordings.find(({ file }) => file === rule.recording)
    if (recordings.length === 0) continue
    assert.ok(shown, rule.recording)
    assert.match(JSON.parse(shown.bytes.toString('utf8')).error.message, rule.pattern)
  }
})

const MASSIVE = 'x'.repeat(16)
const notRun: string[] = []
let requestsRun = 0

for (const { file, provider, stream } of recordings) {
  const path = join(RECORDINGS_FOLDER, file.replace(/\.\w+$/, '.request.json'))
  if (!existsSync(path)) continue
  const native = JSON.parse(readFileSync(path, 'utf8').replaceAll('<MASSIVE_TEXT>', MASSIVE))
  const converted = toChatRequest(native)
  if ('reason' in converted) {
    notRun.push(`${file}: ${converted.reason}`)
    continue
  }
  requestsRun++
  test(`recorded: the request for ${file} is rendered as it was sent`, () => {
    const protocol = provider === 'vertex' ? gemini({ pathPrefix: '', serviceTier: false }) : codec
    const request = parseChatRequest({ ...converted.request, stream })
    const wire = protocol.renderRequest(request, { model: modelOf(file), maxOutputTokens: undefined })
    const body = JSON.parse(wire.body)
    assert.deepEqual(canonical(body, native), canonical(native, native))
    assert.equal(wire.path, pathOf(file, stream), 'the path is the one that was recorded')
  })
}

function entryOf(file: string): { readonly file: string; readonly model: string; readonly url: string } {
  const { entries } = JSON.parse(readFileSync(join(RECORDINGS_FOLDER, 'manifest.json'), 'utf8'))
  return entries.find((entry: { readonly file: string }) => entry.file === file)
}

function modelOf(file: string): string {
  return entryOf(file).model
}

/** What was sent to, behind the address that an operator gives. */
function pathOf(file: string, stream: boolean): string {
  const { url } = entryOf(file)
  const from = url.indexOf(file.startsWith('vertex/') ? '/models/' : '/v1beta/')
  return stream ? url.slice(from) : url.slice(from).replace(/\?.*/, '')
}

const count = recordings.length
console.log(
  count === 0 ? 'recordings: not found, 0 of N run (gemini)' : `recordings: ${count} of ${count} run (gemini)`,
)
if (count > 0) console.log(`recordings of requests: ${requestsRun} of ${requestsRun + notRun.length} run (gemini)`)
for (const reason of notRun) console.log(`recordings of requests: not run: ${reason}`)
console.log(`own fixtures: ${all.length - count} run (gemini)`)
