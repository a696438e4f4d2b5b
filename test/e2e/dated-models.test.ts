/** Prices that ended and models that were shut down, over HTTP; nothing of it is in the database. Runs on one database. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { CHAT, hello, send } from '../support/client.ts'
import { model, startGateway } from '../support/gateway.ts'
import { ordinary } from '../support/providers/answers.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'

const provider = await startFakeProvider(ordinary)
const OVER = '2026-01-31'
const pricing = { input_per_million: 1, output_per_million: 2 }
const config = {
  providers: { up: { protocol: 'openai', base_url: `${provider.url}/v1`, api_key: 'sk-up' } },
  models: [
    model('m1', 'up', 'up-model'),
    { ...model('ended', 'up', 'up-model'), pricing: { ...pricing, ends: OVER } },
    {
      ...model('followed', 'up', 'up-model'),
      pricing: { ...pricing, ends: OVER, successors: [{ ...pricing, starts: '2026-02-01' }] },
    },
    { ...model('old', 'up', 'up-model'), deprecation_date: OVER, replacement: 'm1' },
  ],
}
const gateway = await startGateway({ config })
const key = await gateway.key('--operator')
after(async () => {
  await gateway.stop()
  await provider.close()
})

test('a model whose price ended without a successor answers 503 and reaches no provider; one with a successor continues', async () => {
  const before = provider.calls.length
  const { status, text } = await send(gateway, CHAT, { key, body: hello({ model: 'ended' }) })
  const { error } = JSON.parse(text)
  assert.deepEqual([status, error.code, error.type], [503, 'model_not_priced', 'service_unavailable'])
  assert.equal(provider.calls.length, before)
  const followed = await send(gateway, CHAT, { key, body: hello({ model: 'followed' }) })
  assert.equal(followed.status, 200)
})

test('the operator sees the end of a price in a metric, in a list, and in the log', async () => {
  const endsAt = Date.UTC(2026, 1, 1)
  const { text } = await send(gateway, '/metrics', { key })
  const series = [...text.matchAll(/^turnpike_model_price_end_timestamp_seconds\{model="(.*)"\} (\S+)$/gm)]
  assert.deepEqual(
    series.map(([, name, value]) => [name, Number(value)]),
    [['ended', endsAt / 1000]],
  )
  const listed = await send(gateway, '/v1/admin/price_ends', { key })
  assert.deepEqual(JSON.parse(listed.text).data, [
    { id: 'ended', object: 'price_end', model: 'ended', ends_at: new Date(endsAt).toISOString(), ended: true },
  ])
  assert.match(gateway.output(), /the price of a model has ended/)
})

test('answers of a model that was shut down carry Deprecation and Sunset, whole and streamed, and its entry too', async () => {
  const said = ['@1769817600', 'Sat, 31 Jan 2026 00:00:00 GMT']
  const headersOf = async (path: string, body?: object) => {
    const { headers } = await send(gateway, path, body === undefined ? { key } : { key, body })
    return [headers['deprecation'], headers['sunset']]
  }
  assert.deepEqual(await headersOf(CHAT, hello({ model: 'old' })), said)
  assert.deepEqual(await headersOf(CHAT, hello({ model: 'old', stream: true })), said)
  assert.deepEqual(await headersOf('/v1/models/old'), said)
  assert.deepEqual(await headersOf('/v1/models/m1'), [undefined, undefined])
})
