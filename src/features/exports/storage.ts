/** Where exported files go: a bucket of S3-compatible storage, or a folder. Knows nothing of what is in them. */
import { mkdir, open, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface StorageSettings {
  /** `s3://bucket/prefix` or `file:///folder`. */
  readonly url: string
  /** Undefined: that of AWS in the region. */
  readonly endpoint?: string | undefined
  readonly region?: string | undefined
  /** Undefined: the machine's own. */
  readonly access_key_id?: string | undefined
  readonly secret_access_key?: string | undefined
}

interface PutRequest {
  readonly method: 'PUT'
  readonly url: string
  /** Signing adds its own. */
  readonly headers: Record<string, string>
  readonly body: Uint8Array
}

/** Adds a version 4 signature. Without `credential` (`ID:SECRET`) the machine's own credentials sign. */
export type SignRequest = (
  request: PutRequest,
  signing: { readonly region: string; readonly service: 's3'; readonly credential: string },
) => Promise<void>

/** Writes a file, in place of an earlier one at the path. Rejects unless it is complete and durable. */
export type PutFile = (path: string, bytes: Uint8Array, signal: AbortSignal) => Promise<void>

export function createStorage(settings: StorageSettings, sign: SignRequest): PutFile {
  return settings.url.startsWith('file:') ? createFolder(fileURLToPath(settings.url)) : createBucket(settings, sign)
}

function createFolder(folder: string): PutFile {
  return async (path, bytes) => {
    const target = join(folder, path)
    const draft = `${target}.part`
    await mkdir(dirname(target), { recursive: true })
    const file = await open(draft, 'w')
    try {
      await file.writeFile(bytes)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(draft, target)
  }
}

const DEFAULT_REGION = 'us-east-1'
const PUT_WITHIN_MS = 120_000
/** Of an error's body: its beginning has the code. */
const ERROR_CHARACTERS = 2_000

function createBucket(settings: StorageSettings, sign: SignRequest): PutFile {
  const { region = DEFAULT_REGION, access_key_id: id, secret_access_key: secret } = settings
  const credential = id === undefined ? '' : `${id}:${secret ?? ''}`
  const base = addressOf(settings, region)
  return async (path, body, signal) => {
    const url = `${base}/${path.split('/').map(encodeURIComponent).join('/')}`
    const headers = { 'content-type': 'application/vnd.apache.parquet' }
    const request = { method: 'PUT', url, headers, body } as const
    await sign(request, { region, service: 's3', credential })
    await send(request, signal)
  }
}

/** Of the prefix. Other servers than AWS's, and names with dots, which its certificates do not cover, have the bucket in the path. */
function addressOf({ url, endpoint }: StorageSettings, region: string): string {
  const [, bucket = '', prefix = ''] = /^s3:\/\/([^/]+)\/?(.*)$/.exec(url) ?? []
  const folder = prefix.split('/').filter((part) => part !== '')
  const path = folder.map((part) => `/${encodeURIComponent(part)}`).join('')
  if (endpoint !== undefined) return `${endpoint}/${bucket}${path}`
  const domain = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com'
  const host = `s3.${region}.${domain}`
  return bucket.includes('.') ? `https://${host}/${bucket}${path}` : `https://${bucket}.${host}${path}`
}

async function send({ method, url, headers, body }: PutRequest, signal: AbortSignal): Promise<void> {
  const { request } = await import('undici')
  const within = AbortSignal.any([signal, AbortSignal.timeout(PUT_WITHIN_MS)])
  const response = await request(url, { method, headers, body, signal: within })
  if (response.statusCode === 200) {
    await response.body.dump()
    return
  }
  let text = ''
  for await (const piece of response.body) {
    text += String(piece)
    if (text.length > ERROR_CHARACTERS) break
  }
  const code = /<Code>(\w{1,80})<\/Code>/.exec(text)?.[1]
  throw new Error(`The storage answered ${response.statusCode}${code === undefined ? '' : ` (${code})`}.`)
}
