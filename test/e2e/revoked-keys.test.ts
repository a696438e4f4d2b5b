import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { CHAT, hello, open, send } from '../support/client.ts'
import { oneModel, startGateway } from '../support/gateway.ts'
import { ordinary, streamUntil } from '../support/providers/answers.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'
import { readStream } from '../support/providers/sse.ts'

const provider = await startFakeProvider(ordinary)
const gateway = await startGateway({ config: oneModel(provider.url) })
after(async () => {
  await gateway.stop()
  await provider.close()
})

interface ListedKey {
  readonly id: string
  readonly name: string
}

async function idOf(name: string, key: string): Promise<string> {
  const { data } = JSON.parse((await send(gateway, '/v1/keys', { key })).text) as { data: readonly ListedKey[] }
  return data.find((each) => each.name === name)?.id ?? ''
}

for (const [way, revoke] of [
  ['over HTTP', (id: string, by: string) => send(gateway, `/v1/keys/${id}`, { key: by, method: 'DELETE' })],
  ['by another process', (id: string) => gateway.cli('keys', 'revoke', id)],
  ['for a time, by disabling it,', (id: string) => gateway.cli('keys', 'disable', id)],
] as const) {
  test(`KEY-4: streams of a key that is revoked ${way} end with an error, those of others continue`, async () => {
    const told = Promise.withResolvers<void>()
    provider.answer(streamUntil(told.promise))
    const admin = await gateway.key()
    const name = `victim ${way}`
    const key = await gateway.key('--name', name)
    const streams = await Promise.all(
      [key, admin].map((by) => open(gateway, CHAT, { key: by, body: hello({ stream: true }) })),
    )
    const [cut, whole] = streams.map(({ body }) => body.text())
    await revoke(await idOf(name, admin), admin)
    assert.equal(readStream((await cut) ?? '').error?.code, 'invalid_credential')
    told.resolve()
    const { error, done } = readStream((await whole) ?? '')
    assert.deepEqual([error, done], [undefined, true])
    assert.equal((await send(gateway, '/v1/models', { key })).status, 401)
  })
}

test('a stream that was admitted before its key expires may finish, and is charged', async () => {
  const told = Promise.withResolvers<void>()
  provider.answer(streamUntil(told.promise))
  const admin = await gateway.key()
  const key = await gateway.key('--name', 'expiring')
  const id = await idOf('expiring', admin)
  const stream = await open(gateway, CHAT, { key, body: hello({ stream: true }) })
  const text = stream.body.text()
  const body = { expires_at: new Date(Date.now() + 5_000).toISOString() }
  assert.equal((await send(gateway, `/v1/keys/${id}`, { key: admin, method: 'PATCH', body })).status, 200)
  while ((await send(gateway, '/v1/models', { key })).status !== 401) await sleep(20)
  told.resolve()
  const { error, done } = readStream(await text)
  assert.deepEqual([error, done], [undefined, true])
  const rows = async () =>
    JSON.parse((await send(gateway, `/v1/usage/completions?key_id=${id}`, { key: admin })).text).data
  let data = await rows()
  for (; data.length === 0; data = await rows()) await sleep(20) // it is visible within a second
  assert.deepEqual([data.length, data[0].status], [1, 'completed'])
  assert.ok(data[0].cost_usd > 0)
})

test('a key that another process rotates and disables by name changes in this one', async () => {
  const old = await gateway.key('--name', 'rotated')
  const statusOf = async (key: string) => (await send(gateway, '/v1/models', { key })).status
  assert.equal(await statusOf(old), 200)
  const key = (await gateway.cli('keys', 'rotate', 'rotated', '--overlap', '1h')).trim()
  assert.deepEqual([await statusOf(old), await statusOf(key)], [200, 200])
  const until = async (status: number) => {
    while ((await statusOf(key)) !== status) await sleep(20)
  }
  await gateway.cli('keys', 'disable', 'rotated')
  await until(401)
  assert.equal(await statusOf(old), 401)
  const enabled = JSON.parse(await gateway.cli('keys', 'enable', 'rotated', '--json'))
  assert.deepEqual([enabled.name, enabled.disabled_at], ['rotated', null])
  await until(200)
})
