/** INV-3 for everything that a request may have: whatever it is, what is billed for it was held. */
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { CHAT, hello, send } from '../support/client.ts'
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts'
import { type Gateway, model, startGateway } from '../support/gateway.ts'
import { billsAll, HEAVY } from '../support/heavy-requests.ts'
import { creditAtRest, reconcile } from '../support/money.ts'

const REQUESTS = 200
/** A tariff with a long-context tier and fees, of a model whose pictures are tiles. */
const PRICED = {
  ...model('gpt-4o', 'up', 'gpt-4o'),
  context_window: 200_000,
  max_output_tokens: 2000,
  pricing: { input_per_million: 2, output_per_million: 8 },
}

let provider: FakeProvider
let gateway: Gateway

before(async () => {
  provider = await startFakeProvider(billsAll)
  gateway = await startGateway({
    config: {
      providers: { up: { protocol: 'openai', base_url: `${provider.url}/v1`, api_key: 'sk-up' } },
      models: [PRICED],
      plans: { wide: { requests_per_minute: 1_000_000, tokens_per_minute: 1_000_000_000, max_in_flight: 5_000 } },
      routing: { max_attempts: 1 },
    },
  })
})
after(async () => {
  await gateway.stop()
  await provider.close()
})

test(`${REQUESTS} requests of every kind at once, each kind on $1: the balance never falls below zero`, async () => {
  const kinds = Object.entries(HEAVY)
  const accounts = await Promise.all(
    kinds.map(async ([kind]) => {
      const account = await gateway.cli('accounts', 'create', '--name', kind, '--plan', 'wide')
      await gateway.cli('credits', 'grant', '--account', account, '--usd', '1')
      return { account, key: await gateway.key('--account', account) }
    }),
  )
  const answers = await Promise.all(
    Array.from({ length: REQUESTS }, async (_, at) => {
      const [kind, body] = kinds[at % kinds.length] ?? assert.fail()
      const { status, text } = await send(gateway, CHAT, {
        key: accounts[at % kinds.length]?.key ?? '',
        body: hello({ model: 'gpt-4o', ...body, ...(at % 2 === 0 ? { max_tokens: 500 } : {}) }),
      })
      return { kind, status, text }
    }),
  )
  for (const [at, { account, key }] of accounts.entries()) {
    const [kind = ''] = kinds[at] ?? []
    const own = answers.filter((answer) => answer.kind === kind)
    assert.ok(
      own.some(({ status }) => status === 200),
      `${kind}: ${own[0]?.text}`,
    )
    for (const { status, text } of own) assert.ok([200, 402].includes(status), `${kind}: ${text}`)
    const credit = await creditAtRest(gateway, { account, key })
    assert.ok(credit.balance_usd >= 0, `${kind}: ${credit.balance_usd}`)
    assert.equal((await reconcile(gateway, key)).ok, true)
  }
})
