import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { renderWebhookBody, type WebhookEvent } from '../../../src/domain/webhook-event.ts'
import { mintWebhookSecret, signWebhook } from '../../../src/domain/webhook-signature.ts'
import { type VerifyOptions, verifyWebhook, WebhookVerificationError } from './index.ts'

const [SECRET, OTHER] = [1, 2].map((byte) => mintWebhookSecret((size) => new Uint8Array(size).fill(byte))) as [
  string,
  string,
]
const NOW_SECONDS = 1_795_000_000
const EVENT: WebhookEvent = {
  event_id: 'evt_1',
  type: 'webhook.test',
  created_at: '2026-11-18T13:46:40.000Z',
  data: { webhook_id: 'whk_1', message: 'Grüße, 世界 🎉' },
}
const BODY = renderWebhookBody(EVENT)
const AT_NOW: VerifyOptions = { now: NOW_SECONDS * 1000 }

function headersOf({ body = BODY, timestamp = NOW_SECONDS, secrets = [SECRET] as readonly string[] } = {}) {
  return { ...signWebhook({ id: 'evt_1', timestamp, body, secrets }) } as Record<string, string>
}

function without(headers: Record<string, string>, ...names: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)))
}

const hexAlone = (headers: Record<string, string>) =>
  without(headers, 'webhook-id', 'webhook-timestamp', 'webhook-signature')

function reasonOf(verify: () => unknown): string {
  try {
    verify()
  } catch (error) {
    assert.ok(error instanceof WebhookVerificationError, String(error))
    assert.doesNotMatch(error.message, /whsec_[A-Za-z0-9]/)
    return error.reason
  }
  return 'accepted'
}

const outcome = (body: string, headers: Record<string, string>, options = AT_NOW) =>
  reasonOf(() => verifyWebhook(body, headers, SECRET, options))

test('WH-1: what signWebhook signs is accepted, and its event returned, from text and from bytes', () => {
  assert.deepEqual(verifyWebhook(BODY, headersOf(), SECRET, AT_NOW), EVENT)
  assert.deepEqual(verifyWebhook(Buffer.from(BODY), headersOf(), SECRET, AT_NOW), EVENT)
  assert.deepEqual(verifyWebhook(new TextEncoder().encode(BODY), headersOf(), SECRET, AT_NOW), EVENT)
})

test('without options the clock is the real one', () => {
  const headers = headersOf({ timestamp: Math.floor(Date.now() / 1000) })
  assert.deepEqual(verifyWebhook(BODY, headers, SECRET), EVENT)
  assert.equal(
    reasonOf(() => verifyWebhook(BODY, headersOf({ timestamp: 1_700_000_000 }), SECRET)),
    'timestamp_too_old',
  )
})

test('headers may be a Headers object, in any case and order, or lists', () => {
  const headers = headersOf({ secrets: [OTHER, SECRET] })
  const entries = Object.entries(headers)
  const shapes = [
    new Headers(headers),
    Object.fromEntries(entries.toReversed()),
    Object.fromEntries(entries.map(([name, value]) => [name.toUpperCase(), value])),
    Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), [value]])),
    { ...headers, 'x-other': undefined, 'webhook-signature': headers['webhook-signature']?.split(' ') },
  ]
  for (const shape of shapes) assert.deepEqual(verifyWebhook(BODY, shape, SECRET, AT_NOW), EVENT)
})

test('WH-1: in a rotation the old secret, the new one, and both are accepted', () => {
  const both = headersOf({ secrets: [OTHER, SECRET] })
  for (const headers of [both, hexAlone(both)]) {
    for (const secret of [SECRET, OTHER, [OTHER, SECRET], [SECRET, OTHER]]) {
      assert.deepEqual(verifyWebhook(BODY, headers, secret, AT_NOW), EVENT)
    }
  }
  assert.deepEqual(verifyWebhook(BODY, headersOf(), [OTHER, SECRET], AT_NOW), EVENT)
  assert.equal(outcome(BODY, headersOf({ secrets: [OTHER] })), 'signature_mismatch')
})

test('Turnpike-Signature alone is accepted, whatever the time, unless a timestamp is required', () => {
  const headers = hexAlone(headersOf())
  assert.equal(outcome(BODY, headers, { now: 0 }), 'accepted')
  assert.equal(outcome(BODY, headers, { ...AT_NOW, requireTimestamp: true }), 'missing_signature')
})

test('where both signatures are present, a good Turnpike-Signature mends nothing', () => {
  assert.equal(outcome(BODY, { ...headersOf(), 'webhook-signature': 'v1,AAAA' }), 'signature_mismatch')
  assert.equal(outcome(BODY, without(headersOf(), 'webhook-id')), 'signature_mismatch')
  assert.equal(outcome(BODY, without(headersOf(), 'webhook-timestamp')), 'invalid_timestamp')
  assert.equal(outcome(BODY, headersOf({ timestamp: NOW_SECONDS - 301 })), 'timestamp_too_old')
})

test('TM16, WH-1: a timestamp may be 300 seconds old or early, not more', () => {
  const at = (offset: number, options = AT_NOW) =>
    outcome(BODY, headersOf({ timestamp: NOW_SECONDS + offset }), options)
  assert.deepEqual(
    [at(-300), at(300), at(-301), at(301)],
    ['accepted', 'accepted', 'timestamp_too_old', 'timestamp_too_new'],
  )
  assert.equal(at(-10, { ...AT_NOW, toleranceSeconds: 5 }), 'timestamp_too_old')
  assert.equal(at(-3600, { ...AT_NOW, toleranceSeconds: 3600 }), 'accepted')
  assert.equal(at(0, { ...AT_NOW, toleranceSeconds: Number.NaN }), 'timestamp_too_old')
  assert.equal(at(0, { now: Number.NaN }), 'timestamp_too_old')
})

test('TM16: a timestamp that was moved forward to pass the tolerance no longer fits its signature', () => {
  const old = headersOf({ timestamp: NOW_SECONDS - 4000 })
  assert.equal(outcome(BODY, { ...old, 'webhook-timestamp': String(NOW_SECONDS) }), 'signature_mismatch')
  for (const timestamp of ['', 'now', '-1', '1e9', `${NOW_SECONDS}.0`, ` ${NOW_SECONDS}`, `${NOW_SECONDS}x`]) {
    assert.equal(outcome(BODY, { ...old, 'webhook-timestamp': timestamp }), 'invalid_timestamp', timestamp)
  }
})

test('a request without any signature is refused', () => {
  assert.equal(outcome(BODY, {}), 'missing_signature')
  assert.equal(
    reasonOf(() => verifyWebhook(BODY, new Headers(), SECRET)),
    'missing_signature',
  )
})

test('a secret that is empty, missing or misspelt accepts nothing, not even what it signed', () => {
  const broken: readonly unknown[] = ['', [], [SECRET, ''], undefined, null, SECRET.slice(6), `${SECRET}\n`]
  for (const secret of broken) {
    assert.equal(
      reasonOf(() => verifyWebhook(BODY, headersOf(), secret as string, AT_NOW)),
      'invalid_secret',
    )
  }
})

test('a body that was parsed before is refused with the reason', () => {
  const parsed = JSON.parse(BODY) as string
  assert.equal(
    reasonOf(() => verifyWebhook(parsed, headersOf(), SECRET, AT_NOW)),
    'invalid_payload',
  )
})

test('what is signed but is no event is refused', () => {
  for (const body of ['', 'x', '[]', 'null', '{}', '{"event_id":"evt_1","type":"x","created_at":"y","data":1}']) {
    assert.equal(outcome(body, headersOf({ body })), 'invalid_event', body)
  }
})

test('a type that this version does not know is passed on', () => {
  const body = JSON.stringify({ ...EVENT, type: 'agent.paused' })
  assert.equal(verifyWebhook(body, headersOf({ body }), SECRET, AT_NOW).type, 'agent.paused')
})

test('TM16: no flipped bit of body, id, timestamp or signature is accepted', () => {
  const headers = headersOf()
  const flip = (bytes: Buffer, bit: number) => {
    const flipped = Buffer.from(bytes)
    flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    return flipped
  }
  const body = Buffer.from(BODY)
  for (const sent of [headers, hexAlone(headers)]) {
    for (let bit = 0; bit < body.length * 8; bit++) {
      assert.equal(
        reasonOf(() => verifyWebhook(flip(body, bit), sent, SECRET, AT_NOW)),
        'signature_mismatch',
      )
    }
    for (const [name, value] of Object.entries(sent)) {
      if (name === 'Turnpike-Signature' && sent === headers) continue // not the one that is checked
      for (let bit = 0; bit < value.length * 8; bit++) {
        const damaged = { ...sent, [name]: flip(Buffer.from(value, 'latin1'), bit).toString('latin1') }
        assert.notEqual(outcome(BODY, damaged), 'accepted', `${name}, bit ${bit}`)
      }
    }
  }
})

const bytesOfKey = fc.uint8Array({ minLength: 24, maxLength: 64 })
const secretText = bytesOfKey.map((bytes) => `whsec_${Buffer.from(bytes).toString('base64')}`)

test('WH-1: any event signed with any secrets is verified by each of them, and by no other', () => {
  const property = fc.property(
    fc.record({
      event_id: fc.string(),
      type: fc.string(),
      created_at: fc.string(),
      data: fc.dictionary(fc.string(), fc.jsonValue()),
    }),
    fc.uniqueArray(secretText, { minLength: 1, maxLength: 3 }),
    secretText,
    (event, secrets, otherSecret) => {
      const body = JSON.stringify(event)
      const headers = headersOf({ body, secrets })
      for (const sent of [headers, hexAlone(headers)]) {
        for (const secret of secrets) {
          assert.equal(JSON.stringify(verifyWebhook(body, sent, secret, AT_NOW)), JSON.stringify(JSON.parse(body)))
        }
        fc.pre(!secrets.includes(otherSecret))
        assert.equal(
          reasonOf(() => verifyWebhook(body, sent, otherSecret, AT_NOW)),
          'signature_mismatch',
        )
      }
    },
  )
  fc.assert(property, { numRuns: 200 })
})

test('FUZZ-2: whatever is sent, nothing but WebhookVerificationError is thrown, and nothing unsigned is accepted', () => {
  const name = fc.constantFrom('webhook-id', 'webhook-timestamp', 'webhook-signature', 'Turnpike-Signature', 'get', 'x')
  const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constant(String(NOW_SECONDS)))
  const headers = fc.dictionary(name, fc.oneof(text, fc.array(text), fc.constant(undefined)))
  const property = fc.property(fc.oneof(text, fc.uint8Array()), headers, (payload, sent) => {
    assert.notEqual(
      reasonOf(() => verifyWebhook(payload, sent, SECRET, AT_NOW)),
      'accepted',
    )
  })
  fc.assert(property, { numRuns: 500 })
})

test('FUZZ-2: a header of 16 KiB of signatures is read within 50 ms a kilobyte', () => {
  const started = process.cpuUsage()
  assert.equal(outcome(BODY, { ...headersOf(), 'webhook-signature': 'v1,A= '.repeat(2700) }), 'signature_mismatch')
  const { user, system } = process.cpuUsage(started)
  assert.ok((user + system) / 1000 < 16 * 50)
})
