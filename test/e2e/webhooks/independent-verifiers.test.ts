/** What Turnpike signs, checked by code that is not ours. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import fc from 'fast-check'
import OpenAI from 'openai'
import { Webhook } from 'standardwebhooks'
import { verifyWebhook } from '../../../packages/webhooks/src/index.ts'
import { exampleWebhookEvent, renderWebhookBody, WEBHOOK_EVENT_TYPES } from '../../../src/domain/webhook-event.ts'
import { mintWebhookSecret, signWebhook } from '../../../src/domain/webhook-signature.ts'
import { SECRET } from '../../support/webhooks/secrets.ts'

const OTHER = mintWebhookSecret((size) => new Uint8Array(size).fill(9))
const ID = 'evt_00000000exampleexample'
const CLIENT = new OpenAI({ apiKey: 'unused', baseURL: 'http://127.0.0.1:9' })

const nowSeconds = (): number => Math.floor(Date.now() / 1000)

function sign(body: string, changes: { secrets?: readonly string[]; timestamp?: number } = {}) {
  return { ...signWebhook({ id: ID, timestamp: nowSeconds(), body, secrets: [SECRET], ...changes }) }
}

const BODIES = WEBHOOK_EVENT_TYPES.map((type) =>
  renderWebhookBody(
    exampleWebhookEvent(type, { eventId: ID, createdAt: Date.now(), accountId: 'acc_1', webhookId: 'whk_1' }),
  ),
)
const [BODY = ''] = BODIES

test('WH-1: standardwebhooks verifies every event, and during a rotation with either secret', () => {
  for (const body of BODIES) {
    assert.deepEqual(new Webhook(SECRET).verify(body, sign(body)), JSON.parse(body))
    const both = sign(body, { secrets: [OTHER, SECRET] })
    for (const secret of [SECRET, OTHER]) assert.deepEqual(new Webhook(secret).verify(body, both), JSON.parse(body))
  }
})

test('WH-1: standardwebhooks rejects another body, another secret and another time', () => {
  const verifier = new Webhook(SECRET)
  assert.throws(() => verifier.verify(`${BODY} `, sign(BODY)), /No matching signature/)
  assert.throws(() => verifier.verify(BODY, sign(BODY, { secrets: [OTHER] })), /No matching signature/)
  assert.throws(() => verifier.verify(BODY, sign(BODY, { timestamp: nowSeconds() - 400 })), /too old/)
})

test('WH-1: standardwebhooks and the gateway compute the same signature for any body', () => {
  const property = fc.property(fc.string({ unit: 'grapheme' }), fc.nat(2 ** 32), (body, timestamp) => {
    const ours = sign(body, { timestamp })['webhook-signature']
    assert.equal(ours, new Webhook(SECRET).sign(ID, new Date(timestamp * 1000), body))
  })
  fc.assert(property, { numRuns: 200 })
})

test('WH-1: verifyWebhook accepts what standardwebhooks signs', () => {
  const timestamp = nowSeconds()
  const signature = new Webhook(SECRET).sign(ID, new Date(timestamp * 1000), BODY)
  const headers = { 'webhook-id': ID, 'webhook-timestamp': String(timestamp), 'webhook-signature': signature }
  assert.deepEqual(verifyWebhook(BODY, headers, SECRET), JSON.parse(BODY))
})

test("WH-1: the official openai SDK's webhooks.unwrap verifies every event, and during a rotation", async () => {
  for (const body of BODIES) {
    assert.deepEqual(await CLIENT.webhooks.unwrap(body, sign(body), SECRET), JSON.parse(body))
    const both = new Headers(sign(body, { secrets: [OTHER, SECRET] }))
    for (const secret of [SECRET, OTHER]) {
      assert.deepEqual(await CLIENT.webhooks.unwrap(body, both, secret), JSON.parse(body))
    }
  }
  await assert.rejects(CLIENT.webhooks.unwrap(`${BODY} `, sign(BODY), SECRET), OpenAI.InvalidWebhookSignatureError)
  const old = sign(BODY, { timestamp: nowSeconds() - 400 })
  await assert.rejects(CLIENT.webhooks.unwrap(BODY, old, SECRET), OpenAI.InvalidWebhookSignatureError)
})

test('WH-1: Turnpike-Signature equals the output of openssl dgst, for each secret of a rotation', () => {
  const secrets = [OTHER, SECRET]
  for (const body of BODIES) {
    const printed = secrets.map((secret) => {
      const { stdout } = spawnSync('openssl', ['dgst', '-sha256', '-hmac', secret], { input: body, encoding: 'utf8' })
      return /[0-9a-f]{64}/.exec(stdout)?.[0]
    })
    assert.equal(sign(body, { secrets })['Turnpike-Signature'], printed.join(','))
  }
})
