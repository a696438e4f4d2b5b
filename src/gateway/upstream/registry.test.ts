import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { upstreamOf } from '../../../test/support/ledger/data-plane.ts'
import { type FakeProvider, startFakeProvider } from '../../../test/support/providers/fake-provider.ts'
import type { Transport } from '../../providers/provider.ts'
import { type ConfiguredProvider, createUpstreams, type Upstreams } from './registry.ts'

const nowhere: Transport = () => assert.fail('it is not called')

function configured(name: string, url: string, over: Partial<ConfiguredProvider> = {}): ConfiguredProvider {
  const { transport: _, ...facts } = upstreamOf({ transport: nowhere, name, baseUrl: `${url}/v1`, ...over })
  return facts
}

async function fakeProvider(t: TestContext): Promise<FakeProvider> {
  const fake = await startFakeProvider((_, reply) => {
    reply.head(200)
    reply.end('ok')
  })
  t.after(() => fake.close())
  return fake
}

function open(t: TestContext, providers: readonly ConfiguredProvider[]): Upstreams {
  const upstreams = createUpstreams(providers)
  t.after(() => upstreams.close())
  return upstreams
}

async function callOnce(upstreams: Upstreams, name: string): Promise<void> {
  const upstream = upstreams.find(name) ?? assert.fail(`no ${name}`)
  const exchange = upstream.transport({ url: `${upstream.baseUrl}/x`, headers: {}, body: '{}' })
  while ((await exchange.read()) !== undefined);
  await turn() // the pool knows of the end a moment later
}

test('providers are found by the operator’s name only', (t) => {
  const upstreams = open(t, [configured('a', 'http://a.test'), configured('b', 'http://b.test')])
  assert.deepEqual(upstreams.names, new Set(['a', 'b']))
  assert.equal(upstreams.find('a')?.baseUrl, 'http://a.test/v1')
  assert.equal(upstreams.find('c'), undefined)
})

test('a provider that is not reached over HTTP keeps its own transport', (t) => {
  const { provider } = configured('own', 'http://own.test')
  const upstreams = open(t, [configured('own', 'http://own.test')])
  assert.notEqual(upstreams.find('own')?.transport, nowhere)
  upstreams.replace([{ ...configured('own', 'simulator://built-in'), provider: { ...provider, transport: nowhere } }])
  assert.equal(upstreams.find('own')?.transport, nowhere)
})

test('connections survive a reload that does not change them, and no other', async (t) => {
  const fake = await fakeProvider(t)
  const upstreams = open(t, [configured('a', fake.url)])
  await callOnce(upstreams, 'a')
  upstreams.replace([configured('a', fake.url, { credentials: ['other'] }), configured('b', 'http://b.test')])
  assert.deepEqual(upstreams.find('a')?.credentials, ['other'])
  await callOnce(upstreams, 'a')
  const timeouts = { connect: 7_000, firstByte: 1, wholeAnswer: 1, idle: 1, total: 1 }
  upstreams.replace([configured('a', fake.url, { timeouts })])
  await callOnce(upstreams, 'a')
  const [first, second, third] = fake.calls.map(({ callerPort }) => callerPort)
  assert.equal(second, first)
  assert.notEqual(third, first)
  assert.deepEqual(upstreams.names, new Set(['a']))
})

test('a call in flight continues on its connection after its provider is removed from the configuration', async (t) => {
  const goOn = Promise.withResolvers<void>()
  const fake = await startFakeProvider(async (_, reply) => {
    reply.head(200)
    await reply.write('begun, ')
    await goOn.promise
    reply.end('ended')
  })
  t.after(() => fake.close())
  const upstreams = open(t, [configured('a', fake.url)])
  const exchange = upstreams.find('a')?.transport({ url: `${fake.url}/v1/x`, headers: {}, body: '{}' })
  assert.ok(exchange)
  let text = String(await exchange.read())
  upstreams.replace([])
  assert.equal(upstreams.find('a'), undefined)
  goOn.resolve()
  for (let bytes = await exchange.read(); bytes !== undefined; bytes = await exchange.read()) text += String(bytes)
  assert.equal(text, 'begun, ended')
})

test('two names for one address have their own connections', async (t) => {
  const fake = await fakeProvider(t)
  const upstreams = open(t, [configured('a', fake.url), configured('b', fake.url)])
  assert.notEqual(upstreams.find('a')?.transport, upstreams.find('b')?.transport)
  await callOnce(upstreams, 'a')
  await callOnce(upstreams, 'b')
  assert.equal(new Set(fake.calls.map(({ callerPort }) => callerPort)).size, 2)
})
