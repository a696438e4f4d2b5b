/** Recorded exchanges with the Converse API: bytes of answers, requests where they are known, headers. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { RECORDINGS_FOLDER } from './recordings.ts'

export interface BedrockRecording {
  readonly file: string
  readonly status: number
  readonly stream: boolean
  readonly headers: Readonly<Record<string, string>>
  readonly url: string
  readonly bytes: Buffer
  /** The body that was sent; undefined where it is not known. */
  readonly request: unknown
}

interface ManifestEntry {
  readonly file: string
  readonly request_file?: string | null
  readonly protocol: string
  readonly status: number
  readonly stream: boolean
  readonly url: string
  readonly headers?: Readonly<Record<string, string>>
}

/** Undefined where there are no recordings on this machine. */
export function loadBedrockRecordings(): readonly BedrockRecording[] | undefined {
  const manifest = join(RECORDINGS_FOLDER, 'manifest.json')
  if (!existsSync(manifest)) return undefined
  const { entries } = JSON.parse(readFileSync(manifest, 'utf8')) as { readonly entries: readonly ManifestEntry[] }
  return entries.filter(({ protocol }) => protocol === 'bedrock-converse').map(load)
}

function load({ file, request_file: requestFile, status, stream, url, headers = {} }: ManifestEntry): BedrockRecording {
  const bytes = readFileSync(join(RECORDINGS_FOLDER, file))
  const request = requestFile ? JSON.parse(readFileSync(join(RECORDINGS_FOLDER, requestFile), 'utf8')) : undefined
  return { file, status, stream, url, headers, bytes, request }
}
