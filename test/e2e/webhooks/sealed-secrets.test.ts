/** Where secrets of webhooks must not be found: lists, logs, the audit, the database's files. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { dialect, openLocation } from '../../support/database.ts'
import { type Gateway, startGateway } from '../../support/gateway.ts'
import { KINDS, type Receiver, startReceiver } from '../../support/webhooks/receiver.ts'
import { type Customer, LOOPBACK_ALLOWED, type NewWebhook, newCustomer } from '../../support/webhooks/webhook-client.ts'

let gateway: Gateway
let receiver: Receiver
let customer: Customer

before(async () => {
  const env = { LOG_LEVEL: 'trace' }
  ;[gateway, receiver] = await Promise.all([startGateway({ config: LOOPBACK_ALLOWED, env }), startReceiver()])
  customer = await newCustomer(gateway)
})

after(() => Promise.all([gateway?.stop(), receiver?.close()]))

/** As it is shown, without what it begins with, and as the bytes that it stands for. */
function formsOf(secret: string): readonly Buffer[] {
  const encoded = secret.slice('whsec_'.length)
  const key = Buffer.from(encoded, 'base64')
  return [Buffer.from(encoded), key, Buffer.from(key.toString('hex')), Buffer.from(key.toString('base64url'))]
}

function assertAbsent(bytes: Buffer, secrets: readonly string[], where: string): void {
  for (const form of secrets.flatMap(formsOf)) assert.ok(!bytes.includes(form), where)
}

/** An endpoint with all that can happen to it: two rotations, deliveries that go well and that do not. */
async function useWebhook(): Promise<{ webhook: NewWebhook; secrets: readonly string[] }> {
  receiver.answer('/used', KINDS.success, KINDS.broken, KINDS.hangsUp)
  const webhook = await customer.create({ url: `${receiver.url}/used` })
  await customer.attempted(webhook.id, 'webhook.test')
  const rotated = await customer.rotate(webhook.id)
  await customer.trigger('agent.failed')
  await customer.attempted(webhook.id, 'agent.failed')
  const again = await customer.rotate(webhook.id, { overlap: 3600 })
  await customer.trigger('agent.started')
  await customer.attempted(webhook.id, 'agent.started')
  return { webhook, secrets: [webhook.secret, rotated.secret, again.secret] }
}

test('WH-1: a secret is in the answers to creation and rotation, and nowhere else: no list, log, audit or file has it', async () => {
  const { webhook, secrets } = await useWebhook()
  const of = `/v1/webhooks/${webhook.id}`
  await customer.patch(webhook.id, { description: 'changed' })
  const [{ id: deliveryId } = { id: '' }] = await customer.deliveries(webhook.id)
  const paths = ['/v1/webhooks', of, `${of}/deliveries`, `${of}/deliveries/${deliveryId}`, '/v1/events', '/v1/audit']
  for (const path of paths) {
    const { text } = await customer.ask('GET', path)
    assertAbsent(Buffer.from(text), secrets, path)
    assert.ok(!text.includes('whsec_'), path)
  }
  for (const { bytes, headers } of receiver.received) {
    assertAbsent(Buffer.concat([bytes, Buffer.from(JSON.stringify(headers))]), secrets, 'what is sent')
  }
  assert.notEqual(gateway.output(), '', 'there is a log')
  assertAbsent(Buffer.from(gateway.output()), secrets, 'the log')
  assert.ok(!gateway.output().includes('whsec_'))
  if (dialect === 'sqlite') assertNotInFiles(secrets, webhook.id)
  else await assertNotInRows(secrets)
})

/** Also not in the log that has yet to be written back. @param id Of the endpoint: it is to be found. */
function assertNotInFiles(secrets: readonly string[], id: string): void {
  const files = readdirSync(gateway.dataDir, { recursive: true, withFileTypes: true }).filter((each) => each.isFile())
  const contents = files.map(({ parentPath, name }) => ({ name, bytes: contentOf(join(parentPath, name)) }))
  assert.ok(contents.some(({ name, bytes }) => name.startsWith('turnpike.db') && bytes.includes(id)))
  for (const { name, bytes } of contents) assertAbsent(bytes, secrets, name)
}

/** Nothing of a file that the running process has removed since it was listed. */
function contentOf(path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return Buffer.alloc(0)
    throw error
  }
}

async function assertNotInRows(secrets: readonly string[]): Promise<void> {
  const { db, close } = await openLocation(gateway.database)
  try {
    for (const table of ['webhook', 'event', 'delivery', 'delivery_attempt', 'job', 'audit'] as const) {
      for (const row of await db.selectFrom(table).selectAll().execute()) {
        for (const [column, value] of Object.entries(row)) {
          const bytes = value instanceof Uint8Array ? Buffer.from(value) : Buffer.from(String(value))
          assertAbsent(bytes, secrets, `${table}.${column}`)
        }
      }
    }
  } finally {
    await close()
  }
}
