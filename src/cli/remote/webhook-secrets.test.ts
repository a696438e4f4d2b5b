import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { webhookKey } from '../../domain/webhook-signature.ts'
import { keyBearer } from './bearer.ts'
import type { Target } from './target.ts'
import { localWebhookSecret } from './webhook-secrets.ts'

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnpike-secrets-'))
  path = join(folder, 'webhook-secrets.json')
})
afterEach(() => rmSync(folder, { recursive: true }))

function target(name?: string, url = 'http://localhost:7575'): Target {
  const rest = { clientId: 'x', store: 'file', email: undefined, account: undefined } as const
  return { url, bearer: keyBearer('tp_x'), profile: name === undefined ? undefined : { name, url, ...rest } }
}

test('a profile, and a server that one has a key for, have each a secret that stays', async () => {
  const targets = [target('default'), target('work'), target(), target(undefined, 'https://ai.example.com')]
  const first = await Promise.all(targets.map((each) => localWebhookSecret(folder, each)))
  assert.equal(new Set(first).size, 4)
  for (const secret of first) assert.equal(webhookKey(secret)?.length, 32)
  assert.deepEqual(await Promise.all(targets.map((each) => localWebhookSecret(folder, each))), first)
  assert.equal(await localWebhookSecret(folder, target('work', 'https://moved.example.com')), first[1])
})

test('only this person can read them; a file that others can read, or nobody, is not used', async () => {
  await localWebhookSecret(folder, target('default'))
  assert.equal(statSync(path).mode & 0o777, 0o600)
  chmodSync(path, 0o644)
  await assert.rejects(localWebhookSecret(folder, target('default')), /Others can read .*Remove it/)
  for (const text of ['[]', 'x', '{"default":"whsec_short"}']) {
    writeFileSync(path, text)
    chmodSync(path, 0o600)
    await assert.rejects(localWebhookSecret(folder, target('default')), /cannot be read\. Remove it/)
  }
})
