/** A recording as files: the answer's body as it came, the request's beside it, and an entry of `manifest.json`. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createDecoder } from '../../src/protocols/framing/index.ts'
import type { Frame, UpstreamProtocol } from '../../src/protocols/protocol.ts'
import type { Recorded } from './recording-transport.ts'
import { type SearchedText, spokenTexts } from './secret-search.ts'

export interface RecordedCase {
  readonly name: string
  /** Id in the registry, whose dialect it is. */
  readonly provider: string
  readonly protocol: UpstreamProtocol
  readonly model: string
  readonly stream: boolean
  /** ISO date. */
  readonly day: string
  readonly recorded: Recorded
}

/** A file that would be written. */
export interface RecordingFile {
  /** From the folder of recordings. */
  readonly path: string
  readonly content: Buffer
}

export interface Rendered {
  readonly files: readonly RecordingFile[]
  readonly entry: Readonly<Record<string, unknown>> & { readonly file: string }
  /** Everything of it that a key could be in. */
  readonly texts: readonly SearchedText[]
}

/** The headers worth testing; whoever sent them, these tell nothing of the account. */
const KEPT_HEADERS =
  /^(?:content-type|retry-after|retry-after-ms|x-should-retry|x-amzn-errortype|x-ratelimit-[a-z0-9-]+|anthropic-ratelimit-[a-z0-9-]+)$/

/** Names of the formats as manifests have them. */
const FORMATS: Readonly<Record<string, string>> = {
  anthropic: 'anthropic-messages',
  gemini: 'gemini-generatecontent',
  bedrock: 'bedrock-converse',
}
const MAX_EVENT_BYTES = 16 * 1024 * 1024

export function renderRecording(recording: RecordedCase): Rendered {
  const { name, provider, protocol, model, stream, day, recorded } = recording
  const { call, head, body } = recorded
  const values = valuesOf(recording)
  const base = `${provider}/${name}`
  const file = `${base}.${extensionOf(recording, values)}`
  const request = Buffer.from(call.body)
  const headers = Object.fromEntries(Object.entries(head.headers).filter(([header]) => KEPT_HEADERS.test(header)))
  const entry = {
    file,
    provider,
    protocol: FORMATS[protocol.id] ?? protocol.id,
    model,
    tags: tagsOf(recording, values),
    also: [],
    status: head.status,
    stream,
    origin: 'recorded',
    fidelity: 'wire',
    method: 'POST',
    url: call.url,
    headers,
    source: { recorded: day, with: 'npm run record' },
    case: name,
    request_file: `${base}.request.json`,
    bytes: body.length,
    sha256: createHash('sha256').update(body).digest('hex'),
  }
  const texts = [
    { place: 'answer', text: body.toString('utf8') },
    ...spokenTexts(values).map((text) => ({ place: 'answer, as text', text })),
    { place: 'request', text: call.body },
    ...spokenTexts([parsed(call.body)]).map((text) => ({ place: 'request, as text', text })),
    ...spokenTexts([entry]).map((text) => ({ place: 'manifest', text })),
  ]
  const files = [
    { path: file, content: body },
    { path: entry.request_file, content: request },
  ]
  return { files, entry, texts }
}

function isEventStream({ recorded: { head, body } }: RecordedCase): boolean {
  const type = head.headers['content-type'] ?? ''
  return type.includes('event') || (head.status < 300 && /^(?:event|data|id|retry)?:/.test(body.toString('latin1', 0, 8)))
}

/** The JSON values of an answer, one for each event of a stream. What is no JSON is left out: it is looked at raw. */
function valuesOf(recording: RecordedCase): unknown[] {
  const { protocol, recorded } = recording
  if (!isEventStream(recording)) return [parsed(recorded.body.toString('utf8'))]
  const frames: Frame[] = []
  try {
    createDecoder(protocol.framing, { maxEventBytes: MAX_EVENT_BYTES }).push(recorded.body, frames)
  } catch {
    // a framing that breaks is worth recording; what came before it is there
  }
  return frames.map(({ data }) => parsed(data))
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function extensionOf(recording: RecordedCase, values: readonly unknown[]): string {
  if (isEventStream(recording)) return recording.protocol.framing === 'sse' ? 'sse' : 'bin'
  return values[0] === undefined ? 'txt' : 'json'
}

/** What is in it, in words that tests choose recordings by. */
function tagsOf({ stream, recorded }: RecordedCase, values: readonly unknown[]): string[] {
  const tags = new Set<string>(stream ? ['stream'] : [])
  for (const value of values) tagValue(value, tags)
  if (/^data: ?\[DONE\]/m.test(recorded.body.toString('latin1'))) tags.add('done-sentinel')
  return [...tags]
}

const TAGGED: Readonly<Record<string, string>> = {
  usage: 'usage',
  usageMetadata: 'usage',
  error: 'error-object',
  tool_calls: 'tool-call',
  functionCall: 'tool-call',
  toolUse: 'tool-call',
  reasoning_content: 'reasoning',
  reasoning: 'reasoning',
  thinking: 'reasoning',
  reasoningContent: 'reasoning',
}

function tagValue(value: unknown, tags: Set<string>): void {
  if (typeof value !== 'object' || value === null) return
  for (const [key, child] of Object.entries(value)) {
    const tag = Object.hasOwn(TAGGED, key) ? TAGGED[key] : undefined
    if (tag !== undefined && child !== null && child !== '') tags.add(tag)
    if (/^(?:finish|stop)_?reason$/i.test(key) && typeof child === 'string') tags.add(`fr:${child}`)
    tagValue(child, tags)
  }
}

/** Writes all of them, over earlier ones of the same names, and brings the manifest up to date. */
export function writeRecordings(folder: string, recordings: readonly Rendered[]): void {
  for (const { path, content } of recordings.flatMap(({ files }) => files)) {
    const target = join(folder, path)
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, content)
  }
  const manifest = join(folder, 'manifest.json')
  const known = existsSync(manifest) ? JSON.parse(readFileSync(manifest, 'utf8')) : { set: 'own', entries: [] }
  const replaced = new Set(recordings.map(({ entry }) => entry.request_file))
  const kept = known.entries.filter((entry: Rendered['entry']) => !replaced.has(entry.request_file))
  const entries = [...kept, ...recordings.map(({ entry }) => entry)].sort((a, b) => (a.file < b.file ? -1 : 1))
  writeFileSync(manifest, `${JSON.stringify({ ...known, entries }, null, 1)}\n`)
}
