import assert from 'node:assert/strict'
import { createHmac, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { mintWebhookSecret, signWebhook, webhookKey } from './webhook-signature.ts'

const SECRET = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8='
const OTHER = 'whsec_Hx4dHBsaGRgXFhUUExIREA8ODQwLCgkIBwYFBAMCAQA='
const MESSAGE = { id: 'evt_1', timestamp: 1_700_000_000, body: '{"a":"é"}' }

test('a new secret is whsec_ and the base64 of 32 random bytes', () => {
  assert.equal(
    mintWebhookSecret((size) => Uint8Array.from({ length: size }, (_, index) => index)),
    SECRET,
  )
  const secret = mintWebhookSecret(randomBytes)
  assert.match(secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  assert.equal(webhookKey(secret)?.length, 32)
})

test('WH-1: Turnpike-Signature is the hex HMAC of the body alone, keyed with the secret as it is shown', () => {
  const headers = signWebhook({ ...MESSAGE, secrets: [SECRET] })
  const expected = createHmac('sha256', Buffer.from(SECRET, 'utf8')).update(Buffer.from(MESSAGE.body, 'utf8'))
  assert.equal(headers['Turnpike-Signature'], expected.digest('hex'))
})

test('WH-1: webhook-signature covers id, time and body, keyed with the bytes that the secret stands for', () => {
  const headers = signWebhook({ ...MESSAGE, secrets: [SECRET] })
  const key = Uint8Array.from({ length: 32 }, (_, index) => index)
  const expected = createHmac('sha256', key).update('evt_1.1700000000.{"a":"é"}').digest('base64')
  assert.equal(headers['webhook-signature'], `v1,${expected}`)
  assert.equal(headers['webhook-id'], 'evt_1')
  assert.equal(headers['webhook-timestamp'], '1700000000')
})

test('WH-1: while a rotation overlaps, both secrets sign, the newest first', () => {
  const both = signWebhook({ ...MESSAGE, secrets: [OTHER, SECRET] })
  const [newest, oldest] = [OTHER, SECRET].map((secret) => signWebhook({ ...MESSAGE, secrets: [secret] }))
  assert.equal(both['Turnpike-Signature'], `${newest?.['Turnpike-Signature']},${oldest?.['Turnpike-Signature']}`)
  assert.equal(both['webhook-signature'], `${newest?.['webhook-signature']} ${oldest?.['webhook-signature']}`)
})

test('text is signed as the UTF-8 that is sent', () => {
  const asText = signWebhook({ ...MESSAGE, secrets: [SECRET] })
  const asBytes = signWebhook({ ...MESSAGE, body: new TextEncoder().encode(MESSAGE.body), secrets: [SECRET] })
  assert.deepEqual(asBytes, asText)
})

test('nothing is signed without a secret, or with one that is none', () => {
  assert.throws(() => signWebhook({ ...MESSAGE, secrets: [] }), TypeError)
  assert.throws(() => signWebhook({ ...MESSAGE, secrets: [SECRET, ''] }), TypeError)
})

test('a secret that is cut, padded, respelt or has no prefix stands for no key', () => {
  const tooShort = `whsec_${Buffer.alloc(23).toString('base64')}`
  const tooLong = `whsec_${Buffer.alloc(65).toString('base64')}`
  const respelt = SECRET.replace('Hh8=', 'Hh9=')
  for (const secret of ['', 'whsec_', SECRET.slice(6), `${SECRET} `, SECRET.slice(0, -1), tooShort, tooLong, respelt]) {
    assert.equal(webhookKey(secret), undefined, secret)
  }
})
