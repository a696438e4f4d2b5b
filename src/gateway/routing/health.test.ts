import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deployment, healthOf, modelOf, playNetwork, upstreamOf } from '../../../test/support/ledger/data-plane.ts'
import type { UpstreamProvider } from '../upstream/transport.ts'
import { candidatesOf } from './candidates.ts'
import { deploymentOf } from './health.ts'

const { transport } = playNetwork(() => ({}))
const upstream = (over: Partial<UpstreamProvider> = {}): UpstreamProvider => upstreamOf({ transport, ...over })

test('a reload keeps the health of providers, and removes that of deleted ones', () => {
  const health = healthOf()
  health.use([upstream(), upstream({ name: 'gone' })])
  const [kept, gone] = [health.providerOf(upstream()), health.providerOf(upstream({ name: 'gone' }))]
  health.use([upstream({ maxInFlight: 7 })])
  assert.equal(health.providerOf(upstream()), kept)
  assert.notEqual(health.providerOf(upstream({ name: 'gone' })), gone)
  assert.deepEqual(
    health.status().map(({ name, maxInFlight }) => [name, maxInFlight]),
    [['up', 7]],
  )
})

test('a reload applies another concurrency limit immediately', () => {
  const health = healthOf()
  health.use([upstream({ maxInFlight: 1 })])
  const { limiter } = health.providerOf(upstream())
  limiter.acquire(1)
  assert.equal(limiter.hasCapacity(1), false)
  health.use([upstream({ maxInFlight: 2 })])
  assert.equal(limiter.hasCapacity(1), true)
})

test('a provider at another address is another provider', () => {
  const health = healthOf()
  const before = health.providerOf(upstream())
  assert.notEqual(health.providerOf(upstream({ baseUrl: 'http://elsewhere.test/v1' })), before)
})

test('the candidates of a model are computed once a reload', () => {
  const health = healthOf()
  const model = modelOf({ deployments: [deployment('up')] })
  const input = { health, provider: () => upstream() }
  const first = candidatesOf(model, input)
  assert.equal(candidatesOf(model, input), first)
  health.use([upstream()])
  assert.notEqual(candidatesOf(model, input), first)
})

test('OVL-1: the oldest idle models of a provider are forgotten first [limit: deployments]', () => {
  const provider = healthOf().providerOf(upstream())
  const busy = deploymentOf(provider, 'm0')
  busy.inFlight = 1
  for (let i = 1; i <= 1_500; i++) deploymentOf(provider, `m${i}`)
  assert.equal(provider.deployments.size, 1_000)
  assert.equal(deploymentOf(provider, 'm0'), busy)
})

test('a provider without credentials is called without one', () => {
  const health = healthOf()
  const bare = upstream({ credentials: [] })
  const { candidates } = candidatesOf(modelOf(), { health, provider: () => bare })
  assert.deepEqual(
    candidates[0]?.targets.map(({ credential }) => credential),
    [''],
  )
})
