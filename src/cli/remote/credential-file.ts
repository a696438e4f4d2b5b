/** Tokens in a file, for machines without a credential store. Whoever can read the file is signed in. */
import { join } from 'node:path'
import { isRecord, parseJson } from '../../lib/json.ts'
import type { CredentialStore } from './credential-store.ts'
import { withLock } from './lock.ts'
import { isOpenToOthers, readPrivateFile, writePrivateFile } from './private-files.ts'
import { parseTokens, renderTokens, type Tokens } from './tokens.ts'

export function credentialFile(folder: string): string {
  return join(folder, 'credentials.json')
}

export function fileStore(folder: string): CredentialStore {
  const path = credentialFile(folder)
  const change = (edit: (all: Map<string, Tokens>) => void) =>
    withLock(`${path}.lock`, async () => {
      const all = await readAll(path)
      edit(all)
      const texts = [...all].map(([owner, tokens]) => [owner, JSON.parse(renderTokens(tokens))])
      await writePrivateFile(path, `${JSON.stringify(Object.fromEntries(texts), null, 2)}\n`)
    })
  return {
    kind: 'file',
    check: async () => void (await readAll(path)),
    read: async (owner) => (await readAll(path)).get(owner),
    write: (owner, tokens) => change((all) => all.set(owner, tokens)),
    remove: (owner) => change((all) => all.delete(owner)),
  }
}

async function readAll(path: string): Promise<Map<string, Tokens>> {
  const text = await readPrivateFile(path)
  if (text === undefined) return new Map()
  if (await isOpenToOthers(path)) {
    throw new Error(`Others can read ${path}, which has tokens. Run 'chmod 600 ${path}', and 'turnpike login' anew.`)
  }
  const value = parseJson(text)
  if (!isRecord(value)) throw unreadable(path)
  const tokens = Object.entries(value).map(([owner, entry]) => {
    const tokens = parseTokens(JSON.stringify(entry))
    if (tokens === undefined) throw unreadable(path)
    return [owner, tokens] as const
  })
  return new Map(tokens)
}

function unreadable(path: string): Error {
  return new Error(`${path} cannot be read. Remove it, and run 'turnpike login --insecure-file'.`)
}
