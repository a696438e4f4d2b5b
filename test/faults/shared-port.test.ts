/** `serve --processes`: three processes on one port, under 200 streams. What a killed one held is swept late, so this is slow. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'
import { CHAT, eventually, getJson, hello, open, send } from '../support/client.ts'
import { type Gateway, type GatewayOptions, oneModel, startGateway } from '../support/gateway.ts'
import { creditAtRest, everyRow, type LedgerRow, reconcile, type UsageRow } from '../support/ledger/money.ts'
import { chunk, frame, ordinary, SSE_HEAD, sendFrames, textChunks } from '../support/providers/answers.ts'
import { type Script, startFakeProvider } from '../support/providers/fake-provider.ts'

const PROCESSES = 3
const STREAMS = 200
const REPEAT_MS = 250
/** Of an even spread. */
const LEAST_SHARE = 0.3
/** A process is missed after 30 s. */
const SWEPT_WITHIN_MS = 180_000
const COST_USD = (10 * 1 + 2 * 2) / 1e6

const provider = await startFakeProvider(ordinary)
const optionsFor = (processes: number): GatewayOptions => ({
  config: oneModel(provider.url, {}, { server: { processes, metrics_open: true }, log: { sample: 0 } }),
  env: { LOG_LEVEL: 'info' },
})
const gateway = await startGateway(optionsFor(PROCESSES))
after(async () => {
  await gateway.stop()
  await provider.close()
})
const operator = await gateway.key('--operator')

interface Instance {
  readonly address: string
}

/** Those that serve: a killed one stays listed for half a minute. */
async function serving(of: Gateway): Promise<readonly Instance[]> {
  const { data } = await getJson<{ data: readonly { address: string | null }[] }>(of, operator, '/v1/admin/instances')
  const instances = data.flatMap(({ address }) => (address === null ? [] : [{ address }]))
  const alive = await Promise.all(
    instances.map(({ address }) =>
      request(`${address}/healthz`).then(
        ({ body }) => body.dump(),
        () => 'gone',
      ),
    ),
  )
  return instances.filter((_, index) => alive[index] !== 'gone')
}

const allServe = (of: Gateway) =>
  eventually(
    () => serving(of),
    ({ length }) => length === PROCESSES,
  )

async function activeAt({ address }: Instance): Promise<number> {
  const { body } = await request(`${address}/metrics`)
  return Number(/^turnpike_active_completions (\d+)$/m.exec(await body.text())?.[1])
}

function childrenOf(pid: number): readonly number[] {
  return execFileSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' })
    .trim()
    .split(/\s+/)
    .map(Number)
}

/** Streams that end when the test says so. */
function holdStreams() {
  const over = Promise.withResolvers<void>()
  const script: Script = async (_, reply) => {
    reply.head(200, SSE_HEAD)
    if (!(await reply.write(frame(chunk({ content: ' hello' }))))) return
    await over.promise
    reply.bill({ promptTokens: 10, completionTokens: 2 })
    if (await sendFrames(reply, textChunks(2).slice(-2))) reply.end(frame('[DONE]'))
  }
  provider.answer(script)
  return over.resolve
}

/** Repeats what a machine that runs other tests refuses, as clients do. On a connection of its own each time. */
async function openPatiently(key: string, headers: Readonly<Record<string, string>>, url = gateway.url) {
  for (;;) {
    const call = { key, headers, body: hello({ stream: true }), fresh: true }
    const { statusCode, body } = await open({ ...gateway, url }, CHAT, call)
    if (statusCode === 200) return body
    const text = await body.text()
    assert.match(text, /"code":"(?:overloaded|database_unavailable)"/)
    await sleep(REPEAT_MS)
  }
}

/** Each on a connection of its own, as from many clients. @returns What they have read, and how many of them began. */
function openStreams(key: string, prefix: string) {
  let begun = 0
  const read = async (index: number): Promise<string> => {
    const body = await openPatiently(key, { 'x-client-request-id': `${prefix}${index}` })
    let text = ''
    for await (const piece of body) {
      if (text === '') begun += 1
      text += String(piece)
    }
    return text
  }
  const texts = Promise.allSettled(Array.from({ length: STREAMS }, (_, index) => read(index)))
  return {
    texts,
    allBegun: () =>
      eventually(
        async () => begun,
        (count) => count === STREAMS,
      ),
  }
}

async function account() {
  const id = await gateway.cli('accounts', 'create', '--name', 'many', '--plan', 'unlimited')
  return { account: id, key: await gateway.key('--account', id) }
}

test('200 streams are spread over all processes, and each has its own metrics', async () => {
  const instances = await allServe(gateway)
  assert.equal(new Set(instances.map(({ address }) => address)).size, PROCESSES)
  assert.equal((await send(gateway, '/metrics')).status, 404)
  const { key } = await account()
  const end = holdStreams()
  const { texts, allBegun } = openStreams(key, 'spread-')
  await allBegun()
  const active = await Promise.all(instances.map(activeAt))
  console.log(`shared port: 200 streams are spread as ${active.join(', ')}`)
  end()
  for (const { value = '' } of (await texts) as { value?: string }[]) assert.match(value, /data: \[DONE\]\n\n$/)
  assert.equal(
    active.reduce((sum, count) => sum + count),
    STREAMS,
  )
  for (const count of active) assert.ok(count >= (LEAST_SHARE * STREAMS) / PROCESSES, active.join(', '))
})

test('idempotency keys are exact across the port, and every process resumes a stream', async () => {
  const owner = await account()
  const end = holdStreams()
  const called = provider.calls.length
  const ask = async (url?: string, headers = {}): Promise<string> =>
    (await openPatiently(owner.key, { 'idempotency-key': 'one', ...headers }, url)).text()
  const first = ask()
  await provider.call(called)
  const addresses = (await serving(gateway)).map(({ address }) => address)
  const others = [...addresses.map((address) => ask(address)), ...Array.from({ length: 20 }, () => ask())]
  end()
  const texts = await Promise.all([first, ...others])
  assert.equal(new Set(texts).size, 1)
  assert.match(texts[0] ?? '', /data: \[DONE\]\n\n$/)
  for (const address of addresses) {
    assert.match(await ask(address, { 'last-event-id': '1' }), /^id: 2\n[\s\S]*\[DONE\]\n\n$/)
  }
  assert.equal(provider.calls.length - called, 1)
  await creditAtRest(gateway, owner)
  assert.equal((await everyRow<LedgerRow>(gateway, owner.key, '/v1/ledger?kind=charge')).length, 1)
})

test('one killed under load: the others go on, it is restarted, and all is charged once', async () => {
  const owner = await account()
  const end = holdStreams()
  const { texts, allBegun } = openStreams(owner.key, 'killed-')
  await allBegun()
  const before = childrenOf(gateway.pid)
  const [victim = assert.fail()] = before.slice(1)
  process.kill(victim, 'SIGKILL')
  await eventually(
    async () => gateway.output(),
    (text) => text.includes('a process ended and is restarted'),
  )
  for (let count = 0; count < 50; count++) {
    assert.equal((await send(gateway, '/healthz', { fresh: true })).status, 200, 'new connections go to the others')
  }
  await allServe(gateway)
  assert.equal(childrenOf(gateway.pid).filter((pid) => !before.includes(pid)).length, 1)
  end()
  const whole = (await texts).filter(({ status }) => status === 'fulfilled').length
  console.log(`shared port: ${STREAMS - whole} streams were on the killed process`)
  assert.ok(whole > 0 && whole < STREAMS)
  const credit = await creditAtRest(gateway, owner, SWEPT_WITHIN_MS)
  assert.equal(credit.held_usd, 0)
  const rows = await everyRow<UsageRow>(gateway, owner.key, '/v1/usage/completions')
  assert.equal(rows.length, STREAMS)
  assert.equal(new Set(rows.map(({ client_request_id: name }) => name)).size, STREAMS)
  const exact = rows.filter(({ usage_source: source, cost_usd: cost }) => source === 'provider' && cost === COST_USD)
  assert.equal(exact.length, whole)
  assert.equal((await reconcile(gateway, owner.key)).ok, true)
})

test('one SIGHUP reloads all, one SIGTERM drains all, and nothing is cut', async () => {
  const owner = await account()
  const end = holdStreams()
  const { texts, allBegun } = openStreams(owner.key, 'drained-')
  await allBegun()
  const count = (message: string) => gateway.output().split(`"msg":"${message}"`).length - 1
  gateway.signal('SIGHUP')
  await eventually(
    async () => count('configuration reloaded'),
    (times) => times === PROCESSES,
  )
  for (let number = 1; number <= PROCESSES; number++) assert.ok(gateway.output().includes(`"process":${number}`))
  gateway.signal('SIGTERM')
  await eventually(
    async () => count('draining'),
    (times) => times === PROCESSES,
  )
  end()
  for (const { value = '' } of (await texts) as { value?: string }[]) assert.match(value, /data: \[DONE\]\n\n$/)
  assert.equal(await gateway.exited, 0, gateway.output())

  const next = await startGateway({ ...optionsFor(2), dataDir: gateway.dataDir })
  try {
    const rows = await everyRow<UsageRow>(next, owner.key, '/v1/usage/completions')
    assert.equal(rows.length, STREAMS)
    for (const { usage_source: source, cost_usd: cost } of rows)
      assert.deepEqual([source, cost], ['provider', COST_USD])
    assert.equal((await reconcile(next, owner.key)).ok, true)
    next.signal('SIGKILL')
    await eventually(
      () =>
        send(next, '/healthz', { fresh: true }).then(
          () => true,
          () => false,
        ),
      (serves) => !serves,
    )
  } finally {
    await next.stop()
  }
})
