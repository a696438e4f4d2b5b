/** The secret of the installation, the keys that are derived from it, and secrets of the configuration from files. */
import { hkdfSync, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { link, mkdir, open, readFile, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { childOf, problemText, type SettingPath, type SourceNode } from './source-tree.ts'
import type { SchemaNode } from './validate.ts'

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

/* Secrets from files: a setting `NAME_file` in place of a secret setting `NAME` of the configuration file. */

/** Ends the name of a setting whose value is in a file. */
export const FILE_SUFFIX = '_file'

/** Whether a setting is a secret text, which may be in a file. */
export function isSecretText({ type, writeOnly }: SchemaNode): boolean {
  return type === 'string' && writeOnly === true
}

interface Read {
  readonly schema: SchemaNode
  readonly node: SourceNode
  readonly path: SettingPath
  /** Folder of relative paths. */
  readonly cwd: string
}

/** Replaces `NAME_file` by the secret in the file, whose last line break is not part of it. */
export function readSecretFiles(read: Read, problems: string[]): void {
  const { schema, node, path } = read
  const { content } = node
  if (content.type === 'list' && schema.items !== undefined) {
    const { items } = schema
    content.items.forEach((item, index) => {
      readSecretFiles({ ...read, schema: items, node: item, path: [...path, index] }, problems)
    })
  }
  if (content.type !== 'mapping') return
  const [free] = Object.values(schema.patternProperties ?? {})
  for (const [name, entry] of content.entries) {
    const each = free ?? schema.properties?.[name]
    if (each !== undefined)
      readSecretFiles({ ...read, schema: each, node: entry.node, path: [...path, name] }, problems)
  }
  for (const [name, each] of Object.entries(schema.properties ?? {})) {
    if (isSecretText(each)) readOne(read, name, problems)
  }
}

function readOne({ schema, node, path, cwd }: Read, name: string, problems: string[]): void {
  const named = childOf(node, name + FILE_SUFFIX)
  if (named === undefined || node.content.type !== 'mapping' || schema.properties?.[name + FILE_SUFFIX] !== undefined)
    return
  const { entries } = node.content
  const { content, origin } = named
  const report = (text: string) => problems.push(problemText(origin, [...path, name + FILE_SUFFIX], text))
  entries.delete(name + FILE_SUFFIX)
  if (content.type !== 'scalar' || typeof content.value !== 'string' || content.value === '') {
    report('found no path, allowed: the path of a file')
  } else if (entries.has(name)) {
    report(`found beside ${name}, allowed: one of the two`)
  } else {
    const secret = readSecretFile(resolve(cwd, content.value))
    if (typeof secret === 'string') {
      const value = { type: 'scalar', value: secret, loose: false } as const
      entries.set(name, { keyOrigin: origin, node: { origin, content: value } })
    } else report(`found a file that cannot be read (${secret.code})`)
  }
}

/** Returns the text of a file without its last line break. */
export function readSecretFile(path: string): string | { readonly code: string } {
  try {
    return readFileSync(path, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    return { code: error instanceof Error && 'code' in error ? String(error.code) : 'unreadable' }
  }
}
