import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  callerOf,
  deployment,
  healthOf,
  incomingOf,
  modelOf,
  playNetwork,
  refusal,
  type Script,
  testClient,
  testPorts,
  upstreamOf,
  whole,
} from '../../../test/support/ledger/data-plane.ts'
import { type FakeCredit, fakeCredit } from '../../../test/support/ledger/fake-credit.ts'
import { hello } from '../../../test/support/ledger/plane.ts'
import { completion as answer, counts } from '../../../test/support/providers/answers.ts'
import type { AccountCredential } from '../../domain/account-credential.ts'
import type { CompletionRecord } from '../../domain/completion.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { ProviderCredentialId } from '../../domain/ids.ts'
import type { Model } from '../../domain/model.ts'
import { createGateway } from '../pipeline.ts'

const FAST = { retryBudget: 0.2, breaker: { failures: 2, openMs: 30_000 } }
const GOOD = whole(answer({ content: 'Hi' }, { usage: counts(1_000, 100) }))
/** $1 and $2 a million. */
const LIST_NANO_USD = 1_000_000n + 200_000n
const ID = 'pcr_1' as ProviderCredentialId // an id is born in a test

const credentialAt = (provider: string, over: Partial<AccountCredential> = {}): AccountCredential => ({
  id: ID,
  provider,
  secret: `own-${provider}`,
  allowFallback: false,
  ...over,
})

interface PlaneInput {
  readonly script: (host: string, credential: string) => Script
  readonly own: readonly AccountCredential[]
  readonly models?: readonly Model[]
  readonly feePpm?: number
}

interface Plane {
  /** `host/credential` of the calls since the last time. */
  readonly calls: () => string[]
  readonly records: readonly CompletionRecord[]
  readonly credit: FakeCredit
  /** @param isOwner Whether the caller is of the account with credentials. */
  ask(isOwner?: boolean, body?: object): Promise<{ readonly code: string | undefined; readonly route: string }>
}

/** A gateway before the providers `a` and `b`, under mocked time, which nobody lets go on. */
function plane(t: TestContext, { script, own, models, feePpm = 50_000 }: PlaneInput): Plane {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_000_000 })
  const clock = () => Date.now()
  const made: string[] = []
  const network = playNetwork((call) => {
    const host = new URL(call.url).hostname.replace('.test', '')
    const credential = call.headers['authorization']?.replace('Bearer ', '') ?? ''
    made.push(`${host}/${credential}`)
    return script(host, credential)
  })
  const upstreams = ['a', 'b'].map((name) =>
    upstreamOf({ transport: network.transport, name, credentials: ['operator'] }),
  )
  const health = healthOf({ clock, now: clock }, FAST)
  health.use(upstreams)
  const credit = fakeCredit()
  const credentials = { byProvider: new Map(own.map((each) => [each.provider, each])) }
  const { ports, records } = testPorts({
    ...{ health, upstreams, clock, now: clock, credit },
    models: models ?? [modelOf({ deployments: [deployment('a', { priority: 0 }), deployment('b', { priority: 1 })] })],
    byok: {
      credentialsOf: ({ providerCredentials }) => (providerCredentials === undefined ? undefined : credentials),
      feePpm: () => feePpm,
    },
  })
  const gateway = createGateway(ports, () => ({ maxAttempts: 3 }))
  return {
    calls: () => made.splice(0),
    records,
    credit,
    async ask(isOwner = true, body = hello()) {
      const client = testClient()
      const caller = callerOf(isOwner ? { providerCredentials: 1 } : {})
      try {
        await gateway.complete(incomingOf(body, { caller, receivedAt: clock() }), client)
        return { code: undefined, route: client.headers?.['x-turnpike-route'] ?? '' }
      } catch (error) {
        assert.ok(error instanceof GatewayError, String(error))
        return { code: error.code, route: error.headers?.['x-turnpike-route'] ?? '' }
      }
    },
  }
}

test('only the account’s credential is called; the hold and the charge are the fee', async (t) => {
  const { ask, calls, records, credit } = plane(t, { script: () => GOOD, own: [credentialAt('b')] })
  const { code, route } = await ask()
  assert.deepEqual([code, calls()], [undefined, ['b/own-b']])
  assert.match(route, /^b;model="b-model";byok;why=only;outcome=answered$/)
  const [record] = records
  assert.equal(record?.costNanoUsd, LIST_NANO_USD / 20n)
  assert.deepEqual(record?.usageDetail, { byok: { feePpm: 50_000, listNanoUsd: String(LIST_NANO_USD) } })
  assert.deepEqual([record?.priceRule, record?.attemptLog?.[0]?.credentialId], ['byok', ID])
  const [hold] = credit.asks
  assert.deepEqual([hold?.byokFeePpm, hold?.rates.inputMicroUsd, hold?.rates.outputMicroUsd], [50_000, 50_000, 100_000])
  await ask(false)
  assert.deepEqual(calls(), ['a/operator'])
})

test('without a fee nothing is held and nothing is charged', async (t) => {
  const { ask, records, credit } = plane(t, { script: () => GOOD, own: [credentialAt('a')], feePpm: 0 })
  await ask()
  assert.deepEqual([records[0]?.costNanoUsd, credit.holds[0]?.amountNanoUsd], [0n, 0n])
})

test('failures with an account’s credential open its own breaker, not the operator’s', async (t) => {
  let isDown = true
  const { ask, calls } = plane(t, {
    script: (_, credential) => (isDown && credential !== 'operator' ? { body: [], head: new Error('reset') } : GOOD),
    own: [credentialAt('a')],
    models: [modelOf({ deployments: [deployment('a')] })],
  })
  for (let at = 0; at < 3; at++) {
    const asked = ask()
    for (let step = 0; step < 200; step++) {
      t.mock.timers.tick(50)
      await Promise.resolve()
    }
    assert.equal((await asked).code, 'provider_error')
  }
  calls()
  const { route } = await ask(false)
  assert.match(route, /why=only;outcome=answered$/, 'the operator’s breaker is closed')
  assert.deepEqual(calls(), ['a/operator'])
  isDown = false
  assert.match((await ask()).route, /why=(last|probe);outcome=answered$/, 'its own was open')
})

test('a refused credential is the account’s error, without fallback to the operator’s', async (t) => {
  const script = (_: string, credential: string) => (credential === 'operator' ? GOOD : refusal(401))
  const { ask, calls, records } = plane(t, { script, own: [credentialAt('a')] })
  assert.equal((await ask()).code, 'own_credential_refused')
  assert.deepEqual(calls(), ['a/own-a'])
  assert.deepEqual([records[0]?.status, records[0]?.costNanoUsd], ['failed', 0n])
  await ask(false)
  assert.deepEqual(calls(), ['a/operator'], 'the operator’s is not cooling')
})

test('with `allowFallback` on all of them the operator’s follow, held and charged in full', async (t) => {
  const script = (_: string, credential: string) => (credential === 'operator' ? GOOD : refusal(401))
  const own = [credentialAt('b', { allowFallback: true })]
  const { ask, calls, records, credit } = plane(t, { script, own })
  assert.equal((await ask()).code, undefined)
  assert.deepEqual(calls(), ['b/own-b', 'a/operator'])
  assert.deepEqual([records[0]?.costNanoUsd, records[0]?.usageDetail], [LIST_NANO_USD, undefined])
  assert.deepEqual([credit.asks[0]?.byokFeePpm, credit.asks[0]?.rates.inputMicroUsd], [undefined, 1_000_000])
})

test('one credential without `allowFallback` excludes the operator’s', async (t) => {
  const script = (_: string, credential: string) => (credential === 'operator' ? GOOD : refusal(401))
  const own = [credentialAt('a', { allowFallback: true }), credentialAt('b')]
  const { ask, calls } = plane(t, { script, own })
  assert.equal((await ask()).code, 'own_credential_refused')
  assert.deepEqual(calls(), ['a/own-a', 'b/own-b'])
})

test('a fallback model that would use the operator’s credential is excluded', async (t) => {
  const script = (_: string, credential: string) => (credential === 'operator' ? GOOD : refusal(401))
  const models = [
    modelOf({ id: 'a', deployments: [deployment('a')] }),
    modelOf({ id: 'b', deployments: [deployment('b')] }),
  ]
  const body = hello({ model: 'a', models: ['a', 'b'] })
  const { ask, calls } = plane(t, { script, own: [credentialAt('a')], models })
  const { code, route } = await ask(true, body)
  assert.deepEqual([code, calls()], ['own_credential_refused', ['a/own-a']])
  assert.match(route, /skipped=own_credential/)
  await ask(false, body)
  assert.deepEqual(calls(), ['a/operator'])
})
