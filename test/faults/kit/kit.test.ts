import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import { connect } from 'node:net'
import { type TestContext, test } from 'node:test'
import { Agent, request } from 'undici'
import { awaitRequest, body, delay, end, fin, garbage, head, rst, send, split, stall } from './byte-script.ts'
import { createTestClock, skewedClock } from './clock.ts'
import { startDnsStub } from './dns-stub.ts'
import { type FakeUpstream, startFakeUpstream } from './fake-upstream.ts'
import { startFaultProxy, type Toxic } from './fault-proxy.ts'
import { goodAnswer, goodStream, streamBegun } from './openai-script.ts'

/** One connection at a time, so that connections can be counted. */
const dispatcher = new Agent({ connections: 1 })

const chat = (prompt: string): string => JSON.stringify({ messages: [{ role: 'user', content: prompt }] })

async function ask(url: string, prompt = 'hi'): Promise<{ status: number; text: string }> {
  const { statusCode, body: answer } = await request(url, { dispatcher, method: 'POST', body: chat(prompt) })
  return { status: statusCode, text: await answer.text() }
}

async function upstream(t: TestContext, ...first: Parameters<typeof startFakeUpstream>): Promise<FakeUpstream> {
  const started = await startFakeUpstream(...first)
  t.after(() => started.close())
  return started
}

test('FP: a good stream arrives whole, whatever pieces it is cut into, and every token is on the bill', async (t) => {
  const provider = await upstream(t, [split(1, 7, 3), ...goodStream({ words: 3 })])
  for (const prompt of ['a', 'b', 'b']) {
    const { status, text } = await ask(provider.url, prompt)
    assert.equal(status, 200)
    assert.equal(text.match(/ hello/g)?.length, 3)
    assert.ok(text.endsWith('data: [DONE]\n\n'))
  }
  assert.deepEqual(Object.fromEntries(provider.bills), {
    a: { promptTokens: 10, completionTokens: 3, calls: 1 },
    b: { promptTokens: 20, completionTokens: 6, calls: 2 },
  })
  assert.equal(provider.connections().opened, 1, 'a proper end keeps the connection')
})

test('FP: every framing carries the same body', async (t) => {
  const provider = await upstream(t, [])
  for (const framing of ['chunked', 'close', 10] as const) {
    provider.answer([head(200, {}, framing), body('hello'), body('world'), end])
    assert.deepEqual(await ask(provider.url), { status: 200, text: 'helloworld' })
  }
  provider.answer(goodAnswer(2))
  assert.match((await ask(provider.url)).text, / hello hello/)
})

test('FP: a body breaks off as the script says', async (t) => {
  const provider = await upstream(t, [...streamBegun({ words: 2 }), fin])
  await assert.rejects(ask(provider.url), { code: 'UND_ERR_SOCKET' })
  provider.answer([...streamBegun({ words: 2 }), delay(20), rst])
  await assert.rejects(ask(provider.url), { code: 'ECONNRESET' })
  provider.answer([send(garbage(100))])
  await assert.rejects(ask(provider.url), { name: 'HTTPParserError' })
})

test('FP: a caller that leaves is seen, and the moment noted', async (t) => {
  const provider = await upstream(t, [...streamBegun({ words: 2 }), stall])
  const leaving = new AbortController()
  const { body: answer } = await request(provider.url, { method: 'POST', body: chat('x'), signal: leaving.signal })
  const call = await provider.call(0)
  assert.equal(call.abortedAtMs, undefined)
  leaving.abort()
  await assert.rejects(answer.text())
  await call.over
  assert.ok((call.abortedAtMs ?? 0) > call.receivedAtMs)
  assert.ok(call.sentBytes > 100)
})

test('FP: a connection has a script of its own, before any request', async (t) => {
  const provider = await upstream(t, goodAnswer(1))
  provider.accept((connection) => (connection === 0 ? [fin] : [awaitRequest, ...goodAnswer(7)]))
  await assert.rejects(ask(provider.url))
  assert.match((await ask(provider.url, 'x')).text, / hello/)
  assert.equal(provider.bills.get('x')?.completionTokens, 7)
  assert.match((await ask(provider.url, 'y')).text, / hello/)
  assert.equal(provider.bills.get('y')?.completionTokens, 1)
})

const HARMLESS: readonly (readonly Toxic[])[] = [
  [],
  [{ type: 'latency', ms: 20, jitterMs: 10 }],
  [{ type: 'bandwidth', bytesPerSecond: 50_000 }],
  [{ type: 'slicer', averageSize: 5, variation: 4 }],
  [{ type: 'slow_close', ms: 20 }],
]
test('TX: a delay alone changes nothing', async (t) => {
  const provider = await upstream(t, [...goodStream({ words: 20, framing: 'close' })])
  const plain = await ask(provider.url)
  const proxy = await startFaultProxy(provider)
  t.after(() => proxy.close())
  for (const toxics of HARMLESS) {
    proxy.set('upstream', ...toxics)
    proxy.set('downstream', ...toxics)
    assert.deepEqual(await ask(proxy.url), plain)
  }
})

test('TX: a break of a connection ends when it is removed', async (t) => {
  const provider = await upstream(t, goodStream({ words: 20 }))
  const proxy = await startFaultProxy(provider)
  t.after(() => proxy.close())
  const breaking: readonly Toxic[] = [
    { type: 'limit_data', bytes: 500 },
    { type: 'reset_peer', ms: 10 },
    { type: 'timeout', ms: 10 },
  ]
  for (const toxic of breaking) {
    proxy.set('downstream', toxic)
    await assert.rejects(ask(proxy.url), toxic.type)
    proxy.set('downstream')
    assert.equal((await ask(proxy.url)).status, 200)
  }
  await proxy.down()
  await assert.rejects(ask(proxy.url), { code: /^ECONN(RESET|REFUSED)$/ })
  await proxy.up()
  assert.equal((await ask(proxy.url)).status, 200)
})

test('TX: after a timeout of 0 a connection stays and its data is lost', async (t) => {
  const provider = await upstream(t, goodStream({ words: 1 }))
  const proxy = await startFaultProxy(provider)
  t.after(() => proxy.close())
  const socket = connect(proxy.port, '127.0.0.1')
  t.after(() => socket.destroy())
  proxy.set('downstream', { type: 'timeout', ms: 0 })
  socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n`)
  await (await provider.call(0)).over
  assert.equal(proxy.connections().open, 1)
  proxy.set('downstream')
  socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n`)
  const [bytes] = await once(socket, 'data')
  assert.match(String(bytes), /^HTTP\/1\.1 200/)
})

test('DNS: a name answers differently at every turn, through CNAMEs and in both families', async (t) => {
  const stub = await startDnsStub({
    'rebind.test': [[{ type: 'A', value: '203.0.113.7' }], [{ type: 'A', value: '127.0.0.1' }]],
    'both.test': [
      [
        { type: 'A', value: '203.0.113.8' },
        { type: 'AAAA', value: '2001:db8::1' },
        { type: 'AAAA', value: '::1' },
      ],
    ],
    'alias.test': [
      [
        { type: 'CNAME', value: 'inner.test' },
        { type: 'A', value: '10.0.0.1', name: 'inner.test' },
      ],
    ],
  })
  t.after(() => stub.close())
  const resolver = new Resolver({ timeout: 60_000 }) // one that asks again would take the next turn
  resolver.setServers([stub.server])
  assert.deepEqual(await resolver.resolve4('rebind.test'), ['203.0.113.7'])
  assert.deepEqual(await resolver.resolve4('rebind.test'), ['127.0.0.1'])
  assert.deepEqual(await resolver.resolve4('rebind.test'), ['127.0.0.1'])
  assert.deepEqual(await resolver.resolve6('both.test'), ['2001:db8::1', '::1'])
  assert.deepEqual(await resolver.resolve4('alias.test'), ['10.0.0.1'])
  await assert.rejects(resolver.resolve4('nowhere.test'), { code: 'ENOTFOUND' })
  assert.deepEqual(stub.queries[0], { name: 'rebind.test', type: 'A' })
})

test('CK: timers, clocks and their promises follow the test', async (t) => {
  const time = createTestClock(t)
  const seen: number[] = []
  const again = async (): Promise<void> => {
    seen.push(time.clock())
    await Promise.resolve()
    if (seen.length < 3) setTimeout(() => void again(), 1000)
  }
  setTimeout(() => void again(), 500)
  await time.advance(2500)
  assert.deepEqual(seen, [500, 1500, 2500])
  assert.equal(time.now() - Date.UTC(2026, 0, 1), 2500)
})

test('CK: a process can be given a clock that is wrong', () => {
  const env = { ...process.env, ...skewedClock(3_600_000) }
  const told = Number(execFileSync(process.execPath, ['-p', 'new Date().getTime()'], { env, encoding: 'utf8' }))
  assert.ok(told - Date.now() > 3_500_000)
})
