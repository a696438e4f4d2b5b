import assert from 'node:assert/strict'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { eventually, send } from '../support/client.ts'
import { startGateway } from '../support/gateway.ts'

/** Far more than any of it takes. */
const WITHIN_MS = 60_000

const gateway = await startGateway({ config: { webhooks: { allow_private_networks: true } } })
after(() => gateway.stop())

interface Posted {
  readonly headers: IncomingMessage['headers']
  readonly body: string
}
const posted: Posted[] = []
const receiver = createServer(async (request, response) => {
  posted.push({ headers: request.headers, body: (await buffer(request)).toString() })
  response.writeHead(200).end('thanks')
})
await new Promise<void>((resolve) => void receiver.listen(0, '127.0.0.1', resolve))
after(() => receiver.close())
const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`

test('WH-1, WH-3: an endpoint is created and receives an event, and the log shows its answer; a redelivery is the same event', async () => {
  const key = await gateway.key('--scopes', 'webhooks')
  const made = await send(gateway, '/v1/webhooks', { key, body: { url, events: ['agent.failed'] } })
  assert.equal(made.status, 201, made.text)
  const { id, secret } = JSON.parse(made.text)
  const list = () => send(gateway, `/v1/webhooks/${id}/deliveries`, { key })
  const told = await eventually(list, ({ text }) => text.includes('"delivered"'), WITHIN_MS)
  const [delivery] = JSON.parse(told.text).data
  assert.deepEqual([delivery.type, delivery.status, delivery.attempts.length], ['webhook.test', 'delivered', 1])
  const [attempt] = delivery.attempts
  assert.deepEqual(
    [attempt.number, attempt.status_code, attempt.error, attempt.response_body],
    [1, 200, null, 'thanks'],
  )
  const again = await send(gateway, `/v1/webhooks/${id}/deliveries/${delivery.id}/redeliver`, { key, method: 'POST' })
  assert.equal(again.status, 202, again.text)
  await eventually(
    async () => posted,
    ({ length }) => length === 2,
    WITHIN_MS,
  )
  for (const { headers, body } of posted) {
    new Webhook(secret).verify(body, headers as Record<string, string>)
    assert.equal(JSON.parse(body).event_id, delivery.event_id)
  }
  const one = await eventually(
    () => send(gateway, `/v1/webhooks/${id}/deliveries/${delivery.id}`, { key }),
    ({ text }) => JSON.parse(text).attempts.length === 2,
    WITHIN_MS,
  )
  assert.deepEqual(JSON.parse(one.text).payload, JSON.parse(posted[0]?.body ?? ''))
})

test('F17: SIGTERM ends event streams immediately, and the process exits with 0', async () => {
  const key = await gateway.key()
  const response = await fetch(`${gateway.url}/v1/events/stream`, { headers: { authorization: `Bearer ${key}` } })
  assert.equal(response.status, 200)
  const triggered = await send(gateway, '/v1/events/trigger', { key, body: { type: 'usage.alert' } })
  const { id } = JSON.parse(triggered.text)
  const chunks = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let heard = ''
  let begun = 0
  for (let step = await chunks?.read(); step?.done === false; step = await chunks?.read()) {
    heard += step.value
    if (begun !== 0 || !heard.includes(id)) continue
    begun = performance.now()
    gateway.signal('SIGTERM')
  }
  console.log(`the stream ended ${Math.round(performance.now() - begun)} ms after SIGTERM`)
  const events = heard.replaceAll(/^:.*\n\n/gm, '') // comments fill a long silence
  assert.match(events, new RegExp(`^retry: 2000\n\nid: ${id}\nevent: usage.alert\ndata: \\{.*\\}\n\n$`))
  assert.equal(await gateway.exited, 0)
  console.log(`the process ended ${Math.round(performance.now() - begun)} ms after SIGTERM`)
})
