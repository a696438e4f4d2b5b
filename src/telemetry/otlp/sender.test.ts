import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type TestContext, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import { createSender } from './sender.ts'

/** A receiver that answers each request with the next status, the last one again. */
async function receiver(t: TestContext, ...statuses: number[]) {
  const bodies: Buffer[] = []
  const server = createServer(async (request, response) => {
    const parts: Buffer[] = []
    for await (const part of request) parts.push(part)
    bodies.push(Buffer.concat(parts))
    response
      .writeHead(statuses.length > 1 ? (statuses.shift() ?? 200) : (statuses[0] ?? 200), { 'retry-after': '0' })
      .end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`
  return { bodies, endpoint: { url, headers: {}, protocol: 'http/protobuf', gzip: true, timeoutMs: 60_000 } as const }
}

const BODY = Buffer.from('spans')

test('a body is compressed and accepted', async (t) => {
  const { endpoint, bodies } = await receiver(t, 200)
  assert.deepEqual(await createSender(endpoint).send(BODY), { ok: true })
  assert.deepEqual(gunzipSync(bodies[0] ?? BODY), BODY)
})

test('what OTLP calls retryable is retried, at most three times in all [limit: span-attempts]', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { endpoint, bodies } = await receiver(t, 503)
  const sending = createSender(endpoint).send(BODY)
  let result: unknown
  void sending.then((value) => (result = value))
  while (result === undefined) {
    t.mock.timers.tick(4_000)
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.deepEqual(result, { ok: false, reason: 'status 503', retryMs: 0 })
  assert.equal(bodies.length, 3)
})

test('other errors are not retried', async (t) => {
  const { endpoint, bodies } = await receiver(t, 400)
  const { ok } = await createSender(endpoint).send(BODY)
  assert.deepEqual([ok, bodies.length], [false, 1])
})

test('a receiver that is not there is a reason, at most 200 characters long [limit: export-reason]', async () => {
  const endpoint = { headers: {}, protocol: 'http/json', gzip: false, timeoutMs: 60_000 } as const
  const refused = await createSender({ ...endpoint, url: 'http://127.0.0.1:1/' }, undefined, 1).send(BODY)
  assert.equal(!refused.ok && refused.reason, 'ECONNREFUSED')
  const invalid = await createSender({ ...endpoint, url: `bad ${'x'.repeat(500)}` }, undefined, 1).send(BODY)
  assert.ok(!invalid.ok && invalid.reason.length <= 200)
})
