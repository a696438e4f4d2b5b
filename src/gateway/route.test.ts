import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { deployment, modelOf, playNetwork, upstreamOf } from '../../test/support/data-plane.ts'
import { GatewayError } from '../domain/errors.ts'
import type { Deployment } from '../domain/model.ts'
import { routeTargets } from './route.ts'

const { transport } = playNetwork(() => ({}))
const CONFIGURED = ['a', 'b', 'c', 'd'].map((name) => upstreamOf({ transport, name }))
const provider = (name: string) => CONFIGURED.find((upstream) => upstream.name === name)

/** Mulberry32: the same numbers every time. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

function order(deployments: readonly Deployment[], random: () => number): string[] {
  return routeTargets(modelOf({ deployments }), { provider, random }).map(({ upstream }) => upstream.name)
}

test('the lowest priority number is tried first, whatever chance and weight say', () => {
  const deployments = [
    deployment('c', { priority: 2, weight: 1000 }),
    deployment('a', { priority: 0 }),
    deployment('b', { priority: 1, weight: 50 }),
  ]
  const random = seeded(1)
  for (let i = 0; i < 200; i++) assert.deepEqual(order(deployments, random), ['a', 'b', 'c'])
})

test('within one priority the first place is drawn in proportion to weight', () => {
  const deployments = [
    deployment('a', { weight: 6 }),
    deployment('b', { weight: 3 }),
    deployment('c', { weight: 1 }),
    deployment('d', { priority: 1, weight: 90 }),
  ]
  const random = seeded(2)
  const draws = 20_000
  const firsts = new Map<string, number>()
  for (let i = 0; i < draws; i++) {
    const [first = ''] = order(deployments, random)
    firsts.set(first, (firsts.get(first) ?? 0) + 1)
  }
  for (const [name, share] of [
    ['a', 0.6],
    ['b', 0.3],
    ['c', 0.1],
  ] as const) {
    assert.ok(Math.abs((firsts.get(name) ?? 0) / draws - share) < 0.015, `${name}: ${firsts.get(name)}`)
  }
  assert.equal(firsts.get('d'), undefined)
})

test('the second place is drawn in proportion among those that are left', () => {
  const deployments = [deployment('a', { weight: 6 }), deployment('b', { weight: 3 }), deployment('c', { weight: 1 })]
  const random = seeded(3)
  let afterA = 0
  let bAfterA = 0
  for (let i = 0; i < 20_000; i++) {
    const [first, second] = order(deployments, random)
    if (first !== 'a') continue
    afterA += 1
    if (second === 'b') bAfterA += 1
  }
  assert.ok(Math.abs(bAfterA / afterA - 0.75) < 0.02)
})

test('a deployment without weight is the last of its priority', () => {
  const random = seeded(4)
  for (let i = 0; i < 200; i++) {
    assert.deepEqual(order([deployment('a', { weight: 0 }), deployment('b', { weight: 1 })], random), ['b', 'a'])
  }
})

test('every configured deployment is a target once, and no other', () => {
  const names = fc.array(fc.constantFrom('a', 'b', 'c', 'missing', 'gone'), { minLength: 1, maxLength: 8 })
  fc.assert(
    fc.property(names, fc.infiniteStream(fc.double({ min: 0, max: 0.999, noNaN: true })), (listed, chances) => {
      const known = listed.filter((name) => provider(name) !== undefined)
      const random = (): number => chances.next().value
      const route = (): string[] =>
        order(
          listed.map((name) => deployment(name)),
          random,
        )
      if (known.length === 0) assert.throws(route, { code: 'provider_error' })
      else assert.deepEqual(route().sort(), known.sort())
    }),
  )
})

test('a model whose providers are not configured is 503 and says so', () => {
  const error = (() => {
    try {
      order([deployment('missing')], () => 0)
    } catch (thrown) {
      return thrown
    }
    return undefined
  })()
  assert.ok(error instanceof GatewayError)
  assert.equal(error.status, 503)
  assert.match(error.message, /'m1'/)
})

test('calls are spread over the keys of a provider, and a provider without keys is called with none', () => {
  const keys = ['k1', 'k2', 'k3']
  const keyed = upstreamOf({ transport, name: 'a', credentials: keys })
  const random = seeded(5)
  const drawn = new Map<string, number>()
  for (let i = 0; i < 3000; i++) {
    const [target] = routeTargets(modelOf({ deployments: [deployment('a')] }), { provider: () => keyed, random })
    drawn.set(target?.credential ?? '', (drawn.get(target?.credential ?? '') ?? 0) + 1)
  }
  assert.deepEqual([...drawn.keys()].sort(), keys)
  for (const count of drawn.values()) assert.ok(Math.abs(count - 1000) < 120, String(count))

  const bare = upstreamOf({ transport, name: 'a', credentials: [] })
  const [target] = routeTargets(modelOf({ deployments: [deployment('a')] }), { provider: () => bare, random })
  assert.equal(target?.credential, '')
})

test('a target has the provider’s own name of the model', () => {
  const [target] = routeTargets(modelOf({ deployments: [deployment('a', { model: 'theirs' })] }), {
    provider,
    random: () => 0,
  })
  assert.equal(target?.model, 'theirs')
})
