import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { slowStream } from '../support/answers.ts'
import { CHAT, eventually, hello, open } from '../support/client.ts'
import { startFakeProvider } from '../support/fake-provider.ts'
import { oneModel, startGateway } from '../support/gateway.ts'
import { everyRow, reconcile, type UsageRow } from '../support/money.ts'

const WORDS = 60
const EVENTS = 40
const GAP_MS = 5

const provider = await startFakeProvider(slowStream(WORDS, GAP_MS))
const gateway = await startGateway({ config: oneModel(provider.url) })
after(async () => {
  await gateway.stop()
  await provider.close()
})

/** Reads a stream until `events` content events have come, and leaves. */
async function leaveAfter(events: number, { key, name }: { readonly key: string; readonly name: string }) {
  const leaving = new AbortController()
  const headers = { 'x-client-request-id': name }
  const { body } = await open(gateway, CHAT, { key, body: hello({ stream: true }), headers, signal: leaving.signal })
  let text = ''
  body.on('error', () => undefined)
  for await (const piece of body) {
    text += String(piece)
    if (text.split(' hello').length - 1 >= events) break
  }
  leaving.abort()
}

test('INV-7, F11, TM2: who leaves at event k pays for what was generated until then, never nothing, never all', async () => {
  const key = await gateway.keyOfNewAccount()
  const delivered = new Map<string, number>()
  for (let events = 1; events <= EVENTS; events++) {
    const [name, bills] = [`left-after-${events}`, provider.bills.length]
    const call = provider.call(provider.calls.length)
    await leaveAfter(events, { key, name })
    await (await call).over
    await eventually(
      async () => provider.bills.length,
      (count) => count > bills,
    )
    delivered.set(name, provider.bills.at(-1)?.completionTokens ?? 0)
  }
  const rows = await eventually(
    () => everyRow<UsageRow>(gateway, key, '/v1/usage/completions?status=client_left'),
    ({ length }) => length === EVENTS,
  )
  assert.equal(rows.length, EVENTS)
  for (const { client_request_id: name, completion_tokens: charged, cost_usd: cost, usage_source: source } of rows) {
    const truth = delivered.get(name ?? '') ?? 0
    assert.ok(Math.abs(charged - truth) <= Math.max(20, truth * 0.05), `${name}: ${charged} of ${truth}`)
    assert.ok(charged > 0 && cost > 0, `${name} pays`)
    assert.ok(charged < WORDS, `${name} does not pay for all`)
    assert.equal(source, 'estimated')
  }
  assert.equal((await reconcile(gateway, key)).ok, true)
})
