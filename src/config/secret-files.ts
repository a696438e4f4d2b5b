/** Secrets from files: a setting `NAME_file` in place of a secret setting `NAME` of the configuration file. */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { childOf, problemText, type SettingPath, type SourceNode } from './source-tree.ts'
import type { SchemaNode } from './validate.ts'

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
