/** The recorded answers of real providers, which live beside the project and not in it, and our own, which are in it. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { awsStream } from './aws-events.ts'
import { areRecordingsHere, NO_RECORDINGS, RECORDINGS_FOLDER } from './recordings-folder.ts'

export { RECORDINGS_FOLDER }

export interface Recording {
  /** `provider/case.ext`; `own-<protocol>/case.ext` for our own. */
  readonly file: string
  readonly provider: string
  readonly protocol: string
  /** The provider's name of the model that answered; '' where it is not known. */
  readonly model: string
  readonly status: number
  readonly stream: boolean
  readonly contentType: string
  /** Response headers worth keeping, lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly tags: readonly string[]
  /** The address that was called; '' where it is not known. */
  readonly url: string
  /** The file of the body that was sent, in the same folder; undefined where it is not known. */
  readonly requestFile: string | undefined
  readonly bytes: Buffer
}

interface ManifestEntry {
  readonly file: string
  readonly request_file?: string | null
  readonly provider: string
  readonly protocol: string
  readonly model?: string | null
  readonly status: number
  readonly stream: boolean
  readonly tags: readonly string[]
  readonly url?: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Folders of `src/protocols`, by the names that the manifest has for what is spoken there. */
const FOLDERS: Readonly<Record<string, string>> = {
  'openai-chat': 'openai-chat',
  'anthropic-messages': 'anthropic-messages',
  'gemini-generatecontent': 'gemini',
  'bedrock-converse': 'bedrock-converse',
}
export const PROTOCOL_NAMES = Object.keys(FOLDERS)
const ROOT = join(import.meta.dirname, '..', '..', '..')

/**
 * Those of one protocol, or of all, in the order of the manifest. Where there is no such folder: undefined, and the test
 * file that asks says that it skips what needs them.
 */
export function loadRecordings(protocol?: string): Recording[] | undefined {
  if (!areRecordingsHere()) return skipRecordings(protocol ?? 'all protocols')
  const manifest = join(RECORDINGS_FOLDER, 'manifest.json')
  const { entries } = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly entries: readonly ManifestEntry[] }
  return entries.filter((entry) => protocol === undefined || entry.protocol === protocol).map(load)
}

/** A test in the name of those that are not there: it is reported as skipped. */
export function skipRecordings(what: string): undefined {
  test(`recorded answers of providers (${what})`, { skip: NO_RECORDINGS })
}

/** The publisher's mock gave this error status 200; the manifest's notes say what it was. */
const ERROR_RECORDED_AS_200 = 'azure/content-filter.json'
const STREAM_TYPE = 'text/event-stream'
const BINARY_STREAM_TYPE = 'application/vnd.amazon.eventstream'

function load(entry: ManifestEntry): Recording {
  const { file, provider, protocol, status, stream, tags, headers = {} } = entry
  return {
    file,
    provider,
    protocol,
    model: entry.model ?? '',
    status: file === ERROR_RECORDED_AS_200 ? 400 : status,
    stream,
    contentType: headers['content-type'] ?? typeOf(file),
    headers,
    tags,
    url: entry.url ?? '',
    requestFile: entry.request_file ?? undefined,
    bytes: readFileSync(join(RECORDINGS_FOLDER, file)),
  }
}

function typeOf(file: string): string {
  if (file.endsWith('.sse')) return STREAM_TYPE
  if (file.endsWith('.bin')) return BINARY_STREAM_TYPE
  return file.endsWith('.txt') ? 'text/plain' : 'application/json'
}

/** The answers that we wrote ourselves for each protocol's tests. */
export function loadOwnRecordings(): Recording[] {
  return Object.entries(FOLDERS).flatMap(([protocol, name]) => {
    const folder = join(ROOT, 'src', 'protocols', name, 'fixtures')
    const files = readdirSync(folder).filter((file) => /\.(sse|answer\.json|events\.jsonl)$/.test(file))
    return files.map((file) => loadOwn(protocol, { folder, file }))
  })
}

function loadOwn(protocol: string, { folder, file }: { readonly folder: string; readonly file: string }): Recording {
  const bytes = readFileSync(join(folder, file))
  const isBinary = file.endsWith('.events.jsonl')
  const stream = isBinary || file.endsWith('.sse')
  return {
    file: `own-${protocol}/${file}`,
    provider: `own-${protocol}`,
    protocol,
    model: 'upstream',
    status: 200,
    stream,
    contentType: isBinary ? BINARY_STREAM_TYPE : typeOf(file),
    headers: {},
    tags: [],
    url: '',
    requestFile: undefined,
    bytes: isBinary ? awsStream(linesOf(bytes.toString('utf8'))) : bytes,
  }
}

function linesOf(text: string): Readonly<Record<string, unknown>>[] {
  const lines = text.trim().split('\n')
  return lines.map((line) => JSON.parse(line))
}

/** A small generator of repeatable chance (mulberry32): numbers in [0, 1). */
export function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}
