/** INV-3 for everything that a request may have: whatever it is, what is billed for it was held. */
import { after, before, test } from 'node:test'
import { type Gateway, startGateway } from '../support/gateway.ts'
import { billsAll, HEAVY_MODEL, HEAVY_PLAN, raceHeavy } from '../support/http/heavy-requests.ts'
import { type FakeProvider, startFakeProvider } from '../support/providers/fake-provider.ts'

const REQUESTS = 200

let provider: FakeProvider
let gateway: Gateway

before(async () => {
  provider = await startFakeProvider(billsAll)
  gateway = await startGateway({
    config: {
      providers: { up: { protocol: 'openai', base_url: `${provider.url}/v1`, api_key: 'sk-up' } },
      models: [HEAVY_MODEL],
      plans: { wide: HEAVY_PLAN },
      routing: { max_attempts: 1 },
    },
  })
})
after(async () => {
  await gateway.stop()
  await provider.close()
})

test(`${REQUESTS} concurrent requests of every kind, each kind on $1: no balance falls below zero`, () =>
  raceHeavy([gateway], REQUESTS))
