/**
 * The secrets that `webhooks listen` signs with. They are this machine's own and no server knows them; they stay the same,
 * so that a receiver under development is told once.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { mintWebhookSecret, webhookKey } from '../../domain/webhook-signature.ts'
import { isRecord, parseJson } from '../../lib/json.ts'
import { withLock } from './lock.ts'
import { isOpenToOthers, readPrivateFile, writePrivateFile } from './private-files.ts'
import type { Target } from './target.ts'

/** The secret of a profile or, for a key, of the server's address; made when it is first asked for. */
export function localWebhookSecret(folder: string, { profile, url }: Target): Promise<string> {
  const path = join(folder, 'webhook-secrets.json')
  const owner = profile?.name ?? url
  return withLock(`${path}.lock`, async () => {
    const all = await readAll(path)
    const known = all.get(owner)
    if (known !== undefined) return known
    const secret = mintWebhookSecret(randomBytes)
    await writePrivateFile(path, `${JSON.stringify(Object.fromEntries(all.set(owner, secret)), null, 2)}\n`)
    return secret
  })
}

async function readAll(path: string): Promise<Map<string, string>> {
  const text = await readPrivateFile(path)
  if (text === undefined) return new Map()
  if (await isOpenToOthers(path)) {
    throw new Error(`Others can read ${path}, which has secrets. Remove it: new ones are made.`)
  }
  const value = parseJson(text)
  const entries = isRecord(value) ? Object.entries(value) : undefined
  const all = entries?.flatMap(([owner, secret]) => (isSecret(secret) ? [[owner, secret] as const] : []))
  if (all === undefined || all.length !== entries?.length) {
    throw new Error(`${path} cannot be read. Remove it: new secrets are made.`)
  }
  return new Map(all)
}

function isSecret(value: unknown): value is string {
  return typeof value === 'string' && webhookKey(value) !== undefined
}
