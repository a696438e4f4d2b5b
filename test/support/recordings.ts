/** The recorded answers of real providers, which live beside the project and not in it. */
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'

export interface Recording {
  /** `provider/case.ext`. */
  readonly file: string
  readonly provider: string
  readonly status: number
  readonly stream: boolean
  readonly contentType: string
  readonly tags: readonly string[]
  readonly bytes: Buffer
}

interface ManifestEntry {
  readonly file: string
  readonly provider: string
  readonly protocol: string
  readonly status: number
  readonly stream: boolean
  readonly tags: readonly string[]
  readonly headers?: Readonly<Record<string, string>>
}

export const RECORDINGS_FOLDER = resolve(
  join(import.meta.dirname, '..', '..'),
  process.env['TURNPIKE_RECORDINGS'] ?? '../shared/fixtures',
)

/** Those of one protocol, in the order of the manifest; undefined where there is no such folder. */
export function loadRecordings(protocol: string): Recording[] | undefined {
  const manifest = join(RECORDINGS_FOLDER, 'manifest.json')
  if (!existsSync(manifest)) return undefined
  const { entries } = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly entries: readonly ManifestEntry[] }
  return entries.filter((entry) => entry.protocol === protocol).map(load)
}

/** The publisher's mock gave this error status 200; the manifest's notes say what it was. */
const ERROR_RECORDED_AS_200 = 'azure/content-filter.json'

function load({ file, provider, status, stream, tags, headers }: ManifestEntry): Recording {
  const fallback = stream ? 'text/event-stream' : file.endsWith('.txt') ? 'text/plain' : 'application/json'
  return {
    file,
    provider,
    status: file === ERROR_RECORDED_AS_200 ? 400 : status,
    stream,
    contentType: headers?.['content-type'] ?? fallback,
    tags,
    bytes: readFileSync(join(RECORDINGS_FOLDER, file)),
  }
}

/** Offsets just behind each blank line, which is where frames end; the end of the bytes not among them. */
export function frameBoundaries(bytes: Buffer): number[] {
  const text = bytes.toString('latin1')
  return [...text.matchAll(/\r?\n\r?\n/g)]
    .map(({ 0: blank, index }) => index + blank.length)
    .filter((at) => at < bytes.length)
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
