/** Files of a recording: the unchanged response body, the request body, and an entry of `manifest.json`. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { parseJson } from '../../src/lib/json.ts'
import type { UpstreamProtocol } from '../../src/protocols/protocol.ts'
import type { Recorded } from './recording-transport.ts'
import { isEventStream, tagsOf, valuesOf } from './recording-values.ts'
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
  readonly entry: Readonly<Record<string, unknown>> & { readonly file: string; readonly request_file: string }
  /** All texts that could contain a key. */
  readonly texts: readonly SearchedText[]
}

/** Headers that tests need, and that reveal nothing about the account. */
const KEPT_HEADERS =
  /^(?:content-type|retry-after|retry-after-ms|x-should-retry|x-amzn-errortype|x-ratelimit-[a-z0-9-]+|anthropic-ratelimit-[a-z0-9-]+)$/

/** Names of the formats in manifests. */
const FORMATS: Readonly<Record<string, string>> = {
  anthropic: 'anthropic-messages',
  gemini: 'gemini-generatecontent',
  bedrock: 'bedrock-converse',
}

export function renderRecording(recording: RecordedCase): Rendered {
  const { name, provider, protocol, model, stream, day, recorded } = recording
  const { call, head, body } = recorded
  const values = valuesOf(recorded, protocol.framing)
  const base = `${provider}/${name}`
  const file = `${base}.${extensionOf(recording, values)}`
  const request = Buffer.from(call.body)
  const headers = Object.fromEntries(Object.entries(head.headers).filter(([header]) => KEPT_HEADERS.test(header)))
  const entry = {
    file,
    provider,
    protocol: FORMATS[protocol.id] ?? protocol.id,
    model,
    tags: tagsOf(values, { stream, body }),
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
    ...spokenTexts([parseJson(call.body)]).map((text) => ({ place: 'request, as text', text })),
    ...spokenTexts([entry]).map((text) => ({ place: 'manifest', text })),
  ]
  const files = [
    { path: file, content: body },
    { path: entry.request_file, content: request },
  ]
  return { files, entry, texts }
}

const EXTENSIONS = ['json', 'sse', 'bin', 'txt'] as const

function extensionOf(recording: RecordedCase, values: readonly unknown[]): (typeof EXTENSIONS)[number] {
  if (isEventStream(recording.recorded)) return recording.protocol.framing === 'sse' ? 'sse' : 'bin'
  return values[0] === undefined ? 'txt' : 'json'
}

/** Writes recordings, replaces earlier ones of the same cases, and updates the manifest. */
export function writeRecordings(folder: string, recordings: readonly Rendered[]): void {
  const manifest = join(folder, 'manifest.json')
  const known = existsSync(manifest) ? JSON.parse(readFileSync(manifest, 'utf8')) : { set: 'own', entries: [] }
  const replaced = new Set(recordings.map(({ entry }) => entry.request_file))
  const kept = known.entries.filter((entry: Rendered['entry']) => !replaced.has(entry.request_file))
  for (const request of replaced) {
    const base = join(folder, request.slice(0, -'.request.json'.length))
    for (const extension of EXTENSIONS) rmSync(`${base}.${extension}`, { force: true })
  }
  for (const { path, content } of recordings.flatMap(({ files }) => files)) {
    const target = join(folder, path)
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, content)
  }
  const entries = [...kept, ...recordings.map(({ entry }) => entry)].sort((a, b) => (a.file < b.file ? -1 : 1))
  writeFileSync(manifest, `${JSON.stringify({ ...known, entries }, null, 1)}\n`)
}
