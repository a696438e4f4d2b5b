/**
 * The proxies of `deploy/proxies` in front of a gateway: every event of a stream arrives before the provider sends the next.
 * nginx is installed like the other tools; the others run where they are there. Runs on one database.
 */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { after, type TestContext, test } from 'node:test'
import { Agent, request } from 'undici'
import { findTool } from '../../scripts/kit/machine-tools.ts'
import { CHAT, eventually, hello } from '../support/client.ts'
import { oneModel, startGateway } from '../support/gateway.ts'
import { createTestAuthority } from '../support/identity/test-authority.ts'
import { freePort } from '../support/process/free-port.ts'
import { chunk, frame, ordinary, SSE_HEAD, sendFrames, textChunks } from '../support/providers/answers.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'

const PROXIES = join(import.meta.dirname, '..', '..', 'deploy', 'proxies')
const WORDS = 3

const folder = mkdtempSync(join(tmpdir(), 'turnpike-proxies-'))
const provider = await startFakeProvider(ordinary)
const gateway = await startGateway({ config: oneModel(provider.url) })
const key = await gateway.key()
after(async () => {
  await gateway.stop()
  await provider.close()
  rmSync(folder, { recursive: true })
})

/** Resolves once the proxy answers. */
async function startProxy(t: TestContext, { url, command }: { url: string; command: readonly string[] }) {
  const [program = '', ...words] = command
  const child: ChildProcess = spawn(program, words, { cwd: folder, env: { PATH: '', HOME: folder } })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (piece) => (output += String(piece)))
  t.after(async () => {
    child.kill('SIGTERM')
    await exited
  })
  const status = () => {
    assert.equal(child.exitCode, null, output)
    return call(url, '/healthz').then(
      ({ statusCode }) => statusCode,
      () => 0,
    )
  }
  await eventually(status, (code) => code === 200)
}

const dispatcher = new Agent({ connect: { rejectUnauthorized: false } })
after(() => dispatcher.close())

async function call(url: string, path: string) {
  const response = await request(url + path, { dispatcher })
  await response.body.dump()
  return response
}

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

function prepare(name: string, replaced: readonly (readonly [from: string, to: string])[]): string {
  let text = readFileSync(join(PROXIES, name), 'utf8')
  for (const [from, to] of [...replaced, ['127.0.0.1:7575', `127.0.0.1:${gateway.port}`] as const]) {
    assert.ok(text.includes(from), `${name} has ${from}`)
    text = text.replaceAll(from, to)
  }
  const file = join(folder, name)
  writeFileSync(file, text)
  return file
}

const { cert, key: privateKey } = createTestAuthority(after).certify('IP:127.0.0.1')
const certificate = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem'), both: join(folder, 'both.pem') }
writeFileSync(certificate.cert, cert)
writeFileSync(certificate.key, privateKey)
writeFileSync(certificate.both, cert + privateKey)

/** A test of a program that is not one of the tools of the tests: there is none where the program is not installed. */
function testWith(program: string, name: string, run: (t: TestContext, path: string) => Promise<void>): void {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin']
  const path = folders.map((each) => join(each, program)).find(existsSync)
  if (path !== undefined) test(name, (t) => run(t, path))
}

test('nginx passes on every event at once, with the configuration as it stands', async (t) => {
  const port = await freePort()
  const site = prepare('nginx.conf', [
    ['listen 443 ', `listen 127.0.0.1:${port} `],
    ['/etc/nginx/tls/ai.example.com.pem', certificate.cert],
    ['/etc/nginx/tls/ai.example.com.key', certificate.key],
  ])
  const main = join(folder, 'main.conf')
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  writeFileSync(
    main,
    `${user} daemon off; worker_processes 1; error_log stderr; pid ${folder}/nginx.pid; events {}
http { access_log off; client_body_temp_path ${folder}/body; proxy_temp_path ${folder}/proxy; include ${site}; }`,
  )
  const url = `https://127.0.0.1:${port}`
  await startProxy(t, { url, command: [findTool('nginx'), '-p', folder, '-c', main] })
  await assertStreams(url)
})

testWith('haproxy', 'HAProxy passes on every event at once, with the configuration as it stands', async (t, path) => {
  const port = await freePort()
  const file = prepare('haproxy.cfg', [
    ['bind :443 ', `bind 127.0.0.1:${port} `],
    ['/etc/haproxy/tls/ai.example.com.pem', certificate.both],
  ])
  const url = `https://127.0.0.1:${port}`
  await startProxy(t, { url, command: [path, '-db', '-f', file] })
  await assertStreams(url)
})

testWith('caddy', 'Caddy passes on every event at once, with the configuration as it stands', async (t, path) => {
  const port = await freePort()
  const file = prepare('Caddyfile', [['\nai.example.com {', `\n{\n\tadmin off\n}\nhttp://127.0.0.1:${port} {`]])
  const url = `http://127.0.0.1:${port}`
  await startProxy(t, { url, command: [path, 'run', '--adapter', 'caddyfile', '--config', file] })
  await assertStreams(url)
})
