/** Providers that refuse the gateway: its key, its account, a model. The client must not retry, and the operator is alerted. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import OpenAI from 'openai'
import { eventually } from '../../support/client.ts'
import { model, startGateway } from '../../support/gateway.ts'
import { answerJson, bodyOf, ordinary } from '../../support/providers/answers.ts'
import { startFakeProvider } from '../../support/providers/fake-provider.ts'
import { startReceiver } from '../../support/webhooks/receiver.ts'
import { customerOf, LOOPBACK_ALLOWED, newCustomer, type WireBody } from '../../support/webhooks/webhook-client.ts'

const WITHIN_MS = 60_000

const REFUSALS: Readonly<Record<string, ReturnType<typeof answerJson>>> = {
  gone: answerJson({ error: { message: 'no such model', code: 'model_not_found' } }, 404),
  unauthorised: answerJson({ error: { message: 'bad key' } }, 401),
  forbidden: answerJson({ error: { message: 'not in your region' } }, 403),
  unpaid: answerJson({ error: { message: 'pay first', code: 'insufficient_quota', type: 'insufficient_quota' } }, 429),
}

const provider = await startFakeProvider((call, reply) => (REFUSALS[bodyOf(call).model] ?? ordinary)(call, reply))
const receiver = await startReceiver()
const upstream = { protocol: 'openai', base_url: `${provider.url}/v1`, api_key: 'sk-up' }
const deployments = ['gone', 'fine'].map((name, priority) => ({ provider: name, model: name, priority }))
const gateway = await startGateway({
  config: {
    ...LOOPBACK_ALLOWED,
    // A provider each: a refused key is put aside for all models of its provider.
    providers: Object.fromEntries([...Object.keys(REFUSALS), 'fine'].map((name) => [name, upstream])),
    models: [
      ...Object.keys(REFUSALS).map((name) => model(name, name, name)),
      { ...model('either', 'gone', 'gone'), deployments },
    ],
  },
})
after(async () => {
  await gateway.stop()
  await receiver.close()
  await provider.close()
})

const operator = customerOf(gateway, await gateway.key())
const tenant = await newCustomer(gateway)
const client = new OpenAI({ apiKey: tenant.key, baseURL: `${gateway.url}/v1`, maxRetries: 3 })
const ask = (name: string) =>
  client.chat.completions.create({ model: name, messages: [{ role: 'user', content: 'hi' }] })

test('a refusal by the provider is final for the client, and one event and log line for the operator', async () => {
  await operator.create({ url: `${receiver.url}/operator`, events: ['provider.refused'] })
  await tenant.create({ url: `${receiver.url}/tenant` })
  for (let time = 0; time < 3; time++) assert.equal((await ask('either')).choices[0]?.message.role, 'assistant')
  for (const name of Object.keys(REFUSALS)) {
    const before = provider.calls.length
    await assert.rejects(ask(name), (error) => {
      assert.ok(error instanceof OpenAI.APIError)
      assert.deepEqual([error.status, error.headers?.get('x-should-retry')], [503, 'false'], name)
      return true
    })
    assert.equal(provider.calls.length, before + 1, `the SDK did not retry: ${name}`)
  }

  const read = () => operator.events('&type=provider.refused')
  const events = await eventually(read, ({ length }) => length >= Object.keys(REFUSALS).length, WITHIN_MS)
  const alerts = events.map(({ data }) => JSON.stringify(data)).sort()
  const expected = [
    { provider: 'forbidden', model: 'forbidden', reason: 'credentials', status: 403 },
    { provider: 'gone', model: 'gone', reason: 'not_found', status: 404 },
    { provider: 'unauthorised', model: 'unauthorised', reason: 'credentials', status: 401 },
    { provider: 'unpaid', model: 'unpaid', reason: 'quota', status: 429 },
  ].map((data) => JSON.stringify(data))
  assert.deepEqual(alerts, expected)

  const received = await receiver.until('/operator', 1 + expected.length)
  const bodies = received.map(({ bytes }) => JSON.parse(bytes.toString()) as WireBody)
  const sent = bodies.filter(({ type }) => type === 'provider.refused').map(({ data }) => JSON.stringify(data))
  assert.deepEqual(sent.sort(), expected)
  const warnings = () =>
    gateway
      .output()
      .split('\n')
      .filter((line) => line.includes('a provider refuses the gateway'))
  assert.equal(
    (
      await eventually(
        async () => warnings(),
        ({ length }) => length >= 4,
        WITHIN_MS,
      )
    ).length,
    4,
  )
})

test('other accounts are not informed', async () => {
  assert.deepEqual(
    (await tenant.events()).filter(({ type }) => type !== 'webhook.test'),
    [],
  )
})
