/** The configuration, read again by a running service; it is not in the database. Runs on one database. */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { CHAT, eventually, hello, open, send } from '../support/client.ts'
import { model, oneModel, startGateway } from '../support/gateway.ts'
import { ordinary, streamUntil } from '../support/providers/answers.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'
import { readStream } from '../support/providers/sse.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-reload-'))
const file = join(folder, 'turnpike.yaml')
const provider = await startFakeProvider(ordinary)
const config = (models: readonly string[]): string =>
  JSON.stringify(oneModel(provider.url, {}, { models: models.map((id) => model(id, 'up', 'up-model')) }))
writeFileSync(file, config(['m1']))
const gateway = await startGateway({ env: { TURNPIKE_CONFIG: file, LOG_LEVEL: 'info' } })
// It is ready a moment before it greets.
gateway.signal('SIGHUP')
const key = await gateway.key()
after(async () => {
  await gateway.stop()
  await provider.close()
  rmSync(folder, { recursive: true })
})

async function listed(): Promise<readonly string[]> {
  const { data } = JSON.parse((await send(gateway, '/v1/models', { key })).text) as { data: readonly { id: string }[] }
  return data.map(({ id }) => id)
}

test('SIGHUP reloads the file without an effect on requests in flight', async () => {
  const told = Promise.withResolvers<void>()
  provider.answer(streamUntil(told.promise))
  const stream = await open(gateway, CHAT, { key, body: hello({ stream: true }) })
  writeFileSync(file, config(['m1', 'm2']))
  gateway.signal('SIGHUP')
  const models = await eventually(listed, (ids) => ids.includes('m2'))
  assert.ok(models.includes('m2'), models.join(' '))
  told.resolve()
  const { error, done } = readStream(await stream.body.text())
  assert.deepEqual([error, done], [undefined, true])
  provider.answer(ordinary)
  assert.equal((await send(gateway, CHAT, { key, body: { ...hello(), model: 'm2' } })).status, 200)
})

test('a file with an error leaves the running configuration in force, and the log names its position', async () => {
  writeFileSync(file, 'providers:\n  up: { protocl: openai }\n')
  gateway.signal('SIGHUP')
  const log = await eventually(
    async () => gateway.output(),
    (text) => text.includes('reload failed'),
  )
  assert.match(log, /turnpike\.yaml:2:\d+/)
  assert.match(log, /did you mean/i)
  assert.ok((await listed()).includes('m2'))
  assert.equal((await send(gateway, CHAT, { key, body: hello() })).status, 200)
})

test('turnpike reload reports the answer of every process on the data, and removes the file of a killed one', async () => {
  const socket = join(gateway.dataDir, `control-${gateway.pid}.sock`)
  assert.equal(statSync(socket).mode & 0o777, 0o600)
  writeFileSync(file, config(['m1', 'm3']))
  assert.equal(await gateway.cli('reload'), `Process ${gateway.pid} reloaded its configuration.`)
  assert.ok((await listed()).includes('m3'))
  writeFileSync(file, 'plans: { free: { requests_per_minute: lots } }\n')
  await assert.rejects(gateway.cli('reload'), /turnpike\.yaml:1:\d+/, 'the command reads the file as well')
  assert.ok((await listed()).includes('m3'), 'what ran stays in force')
  writeFileSync(file, config(['m1']))
  const second = await startGateway({ env: { TURNPIKE_CONFIG: file }, dataDir: gateway.dataDir })
  second.signal('SIGKILL')
  await second.exited
  const reloaded = JSON.parse(await gateway.cli('reload', '--json'))
  assert.deepEqual(reloaded, { data: [{ pid: gateway.pid, problems: [] }] })
  const sockets = readdirSync(gateway.dataDir).filter((name) => name.endsWith('.sock'))
  assert.deepEqual(sockets, [`control-${gateway.pid}.sock`])
})

test('when a key was last used is written, at the latest when the service ends', async () => {
  writeFileSync(file, config(['m1']))
  await send(gateway, '/v1/models', { key })
  gateway.signal('SIGTERM')
  assert.equal(await gateway.exited, 0)
  const { data } = JSON.parse(await gateway.cli('keys', 'list', '--json')) as {
    data: readonly { last_used_at: string | null }[]
  }
  assert.ok(data.some(({ last_used_at }) => last_used_at !== null))
})
