/** LED-5, LED-7 over HTTP: a provider that reports and delivers whatever it likes takes no balance below the overrun cap. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { CHAT, hello, send } from '../support/client.ts'
import { model, oneModel, startGateway } from '../support/gateway.ts'
import { creditAtRest, everyRow, race, reconcile, type UsageRow } from '../support/ledger/money.ts'
import { bodyOf, completion, counts, slowStream } from '../support/providers/answers.ts'
import { type Script, startFakeProvider } from '../support/providers/fake-provider.ts'

const CAP_USD = 0.005
const LIMIT = 100
const WORDS = 3000
const IN_FLIGHT = 20

let called = 0
const allCalled = Promise.withResolvers<void>()

/** Ten times the limit as text, and a billion tokens of either kind as figures; streams go on long past the limit. */
const lies: Script = async (call, reply) => {
  if (bodyOf(call).stream === true)
    return slowStream(String(call.body).includes('endless') ? 1e6 : WORDS, 1)(call, reply)
  called += 1
  if (called === IN_FLIGHT) allCalled.resolve()
  await allCalled.promise // the first answer may leave nothing to hold for the last request
  reply.head(200, { 'content-type': 'application/json' })
  reply.end(JSON.stringify(completion({ content: 'word '.repeat(10 * LIMIT) }, { usage: counts(1e9, 1e9) })))
}

const provider = await startFakeProvider(lies)
/** Output alone costs: the limit is a thousandth of a dollar. */
const priced = { ...model('m1', 'up', 'up-model'), pricing: { input_per_million: 0, output_per_million: 10 } }
const gateway = await startGateway({
  config: oneModel(
    provider.url,
    {},
    { models: [priced], plans: { wide: { requests_per_minute: 100_000, max_overrun_usd: CAP_USD } } },
  ),
})
after(async () => {
  await gateway.stop()
  await provider.close()
})

async function prepaid(usd: string) {
  const account = await gateway.cli('accounts', 'create', '--name', 'lied to', '--plan', 'wide')
  await gateway.cli('credits', 'grant', '--account', account, '--usd', usd, '--note', 'for the test')
  return { account, key: await gateway.key('--account', account) }
}

function rowsOf(key: string): Promise<UsageRow[]> {
  return everyRow<UsageRow>(gateway, key, '/v1/usage/completions')
}

test(`LED-7, TM15: ${IN_FLIGHT} lies in flight are charged no further than the overrun cap`, async () => {
  const { account, key } = await prepaid('0.02')
  const answers = await race([gateway], { key, count: IN_FLIGHT, body: { max_tokens: LIMIT } })
  assert.equal(answers.filter(({ status }) => status === 200).length, IN_FLIGHT, 'each is held for, and all fit')
  const { balance_usd: balance } = await creditAtRest(gateway, { account, key })
  assert.equal(balance, -CAP_USD, 'what they used is charged up to the cap, and not beyond')
  assert.equal((await reconcile(gateway, key)).ok, true)
  const rows = await rowsOf(key)
  assert.deepEqual([...new Set(rows.map(({ usage_source: source }) => source))], ['bounded'])
  const refused = await send(gateway, CHAT, { key, body: hello({ max_tokens: LIMIT }) })
  assert.equal(refused.status, 402)
})

test('LED-5: a stream that runs past its limit is ended where the credit does not pay for more', async () => {
  const { account, key } = await prepaid('0.001')
  const messages = [{ role: 'user', content: 'endless' }]
  const { status, text } = await send(gateway, CHAT, {
    key,
    body: hello({ stream: true, max_tokens: LIMIT, messages }),
  })
  assert.equal(status, 200)
  assert.match(text, /insufficient_credit/)
  assert.ok(text.endsWith('data: [DONE]\n\n'))
  const { balance_usd: balance } = await creditAtRest(gateway, { account, key })
  assert.ok(balance >= -CAP_USD && balance <= 0, String(balance))
  const [row] = await rowsOf(key)
  assert.equal(row?.status, 'incomplete')
  assert.ok(row.completion_tokens >= LIMIT && row.completion_tokens < WORDS, String(row.completion_tokens))
})

test('LED-5: a stream that runs past its limit is topped up where the credit pays for it', async () => {
  const { account, key } = await prepaid('1')
  const { text } = await send(gateway, CHAT, { key, body: hello({ stream: true, max_tokens: LIMIT }) })
  assert.doesNotMatch(text, /"error"/)
  const { balance_usd: balance } = await creditAtRest(gateway, { account, key })
  const [row] = await rowsOf(key)
  assert.equal(row?.status, 'completed')
  // Delivered beyond the limit counts up to as much again and 1,024 tokens.
  assert.deepEqual([row.completion_tokens, row.usage_source], [2 * LIMIT + 1024, 'bounded'])
  assert.ok(Math.abs(balance + row.cost_usd - 1) < 1e-9, String(balance))
})
