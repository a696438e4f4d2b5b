import { hkdfSync, randomBytes } from 'node:crypto'
import { link, mkdir, open, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'

const FILE = 'secret'
const BYTES = 32

/** Path of the secret where it is not configured. */
export function secretPath(dataDirectory: string): string {
  return join(dataDirectory, FILE)
}

/**
 * Returns the secret of the installation: the configured one, else that of the data directory, created (mode 0600) on
 * first start. It is the text of the file, so that it can be configured elsewhere. Of two processes that start at once, both
 * use the one that was created first.
 */
export async function loadSecret({ secret, data_dir }: { secret?: string; data_dir: string }): Promise<Buffer> {
  if (secret !== undefined) return Buffer.from(secret, 'utf8')
  await mkdir(data_dir, { mode: 0o700 }).catch((error: unknown) => {
    if (!isCode(error, 'EEXIST')) throw error
  })
  const path = secretPath(data_dir)
  const kept = (await readSecret(path)) ?? (await makeSecret(path))
  if (Buffer.from(kept.toString(), 'base64').length < BYTES)
    throw new Error(`The secret in ${path} is damaged: it is shorter than ${BYTES} bytes.`)
  return kept
}

async function readSecret(path: string): Promise<Buffer | undefined> {
  try {
    return Buffer.from((await readFile(path, 'utf8')).trim(), 'utf8')
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined
    throw error
  }
}

/** Links the complete file to its path, unless another process was faster. */
async function makeSecret(path: string): Promise<Buffer> {
  const draft = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`
  try {
    const file = await open(draft, 'wx', 0o600)
    await file.writeFile(`${randomBytes(BYTES).toString('base64')}\n`)
    await file.sync()
    await file.close()
    await link(draft, path)
  } catch (error) {
    if (!isCode(error, 'EEXIST')) throw error
  } finally {
    await rm(draft, { force: true })
  }
  return (await readSecret(path)) ?? Buffer.alloc(0)
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}

/** Derives a key of 32 bytes for one purpose; keys of different purposes are independent (RFC 5869). */
export function deriveKey(secret: Uint8Array, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `turnpike ${purpose}`, 32))
}

export interface RotatedSecret {
  /** The secret of the installation. */
  readonly secret: Uint8Array
  readonly config: { readonly secret_previous?: string | undefined }
}

/** Derives the keys of one purpose: the current one, and the previous one during a rotation of the secret. */
export function deriveKeys({ secret, config: { secret_previous: previous } }: RotatedSecret, purpose: string) {
  return {
    current: deriveKey(secret, purpose),
    previous: previous === undefined ? undefined : deriveKey(Buffer.from(previous, 'utf8'), purpose),
  }
}
