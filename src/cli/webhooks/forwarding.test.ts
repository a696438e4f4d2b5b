import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { freePort } from '../../../test/support/process/free-port.ts'
import { hexSignature, mintWebhookSecret, webhookKey } from '../../domain/webhook-signature.ts'
import { keyBearer } from '../remote/auth/bearer.ts'
import type { Target } from '../remote/target.ts'
import { createForwarder, type ForwarderOptions, localWebhookSecret, type Receipt } from './listen.ts'

const SECRET = mintWebhookSecret((size) => new Uint8Array(size).fill(7))
const EVENT = { id: 'evt_1', type: 'webhook.test', body: '{"event_id":"evt_1","type":"webhook.test","data":"ö"}' }

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()))
})

interface Got {
  readonly method: string | undefined
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

type Answering = (response: ServerResponse) => void

async function receiver(answer: Answering): Promise<{ readonly url: URL; readonly got: Got[] }> {
  const got: Got[] = []
  const server = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(piece)
    got.push({ method: request.method, headers: request.headers, body: Buffer.concat(pieces).toString() })
    answer(response)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => new Promise((resolve) => server.close(resolve).closeAllConnections()))
  return { url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/hook?a=1`), got }
}

async function send(url: URL, over: Partial<ForwarderOptions> = {}): Promise<Receipt> {
  const { signal } = new AbortController()
  const usual = { secret: SECRET, signal, userAgent: 'Turnpike-Webhooks/1.2.3', deadlineMs: 120_000 }
  const forwarder = createForwarder({ url, ...usual, ...over })
  closing.push(() => forwarder.close())
  return forwarder.send(EVENT)
}

test('WH-1: the receiver gets the unchanged body with both signatures', async () => {
  const { url, got } = await receiver((response) => response.writeHead(204).end())
  const receipt = await send(url)
  assert.deepEqual([receipt.status, receipt.error], [204, undefined])
  const [request] = got
  assert.ok(request)
  const { 'turnpike-signature': hex, 'user-agent': agent, 'content-type': type, ...headers } = request.headers
  assert.deepEqual(
    [request.method, request.body, agent, type],
    ['POST', EVENT.body, 'Turnpike-Webhooks/1.2.3', 'application/json'],
  )
  assert.equal(hex, hexSignature(EVENT.body, SECRET))
  assert.equal(headers['webhook-id'], 'evt_1')
  new Webhook(SECRET).verify(request.body, headers as Record<string, string>)
})

test('WH-4: a redirect is a failure and is not followed', async () => {
  const canary = await receiver((response) => response.end())
  const { url } = await receiver((response) => response.writeHead(302, { location: canary.url.href }).end())
  const receipt = await send(url)
  assert.deepEqual([receipt.status, receipt.error], [302, 'redirect'])
  assert.equal(canary.got.length, 0)
})

test('a failure has the start of the receiver’s response', async () => {
  const { url } = await receiver((response) => response.writeHead(500).end(`broken${'.'.repeat(9_999)}`))
  const { status, error, text } = await send(url)
  assert.deepEqual([status, error, text.slice(0, 8), text.length], [500, 'status 500', 'broken..', 4_096])
})

/** With a deadline that leaves time for the head, which a busy machine may need to be longer. */
async function sendUntilHead(url: URL, deadlineMs = 2_000): Promise<Receipt> {
  const receipt = await send(url, { deadlineMs })
  return receipt.status !== undefined || deadlineMs > 100_000 ? receipt : sendUntilHead(url, 10 * deadlineMs)
}

test('WH-6: headers and body share one deadline, and an incomplete response is a failure', async () => {
  const silent = await receiver(() => undefined)
  assert.deepEqual(shape(await send(silent.url, { deadlineMs: 50 })), [undefined, 'timeout'])
  const dripping = await receiver((response) => {
    response.writeHead(200)
    const timer = setInterval(() => response.write('.'), 5)
    response.on('close', () => clearInterval(timer))
  })
  assert.deepEqual(shape(await sendUntilHead(dripping.url)), [200, 'timeout'])
  const cut = await receiver((response) => {
    response.writeHead(200, { 'content-length': '10' }).write('half')
    setImmediate(() => response.destroy())
  })
  assert.deepEqual(shape(await send(cut.url)), [200, 'connection closed'])
  const port = await freePort()
  assert.deepEqual(shape(await send(new URL(`http://localhost:${port}`))), [undefined, 'connection refused'])
})

const shape = ({ status, error }: Receipt) => [status, error]

test('concurrent deliveries succeed', async () => {
  const warnings: Error[] = []
  const warn = (warning: Error) => warnings.push(warning)
  process.on('warning', warn)
  const { url } = await receiver((response) => response.end())
  const { signal } = new AbortController()
  const forwarder = createForwarder({ url, secret: SECRET, signal, userAgent: 'x', deadlineMs: 120_000 })
  closing.push(() => forwarder.close())
  const receipts = await Promise.all(Array.from({ length: 30 }, () => forwarder.send(EVENT)))
  assert.ok(receipts.every(({ status }) => status === 200))
  await new Promise(setImmediate)
  process.off('warning', warn)
  assert.deepEqual(warnings, [])
})

let folder: string
let path: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnpike-secrets-'))
  path = join(folder, 'webhook-secrets.json')
})
afterEach(() => rmSync(folder, { recursive: true }))

function target(name?: string, url = 'http://localhost:7575'): Target {
  const rest = { clientId: 'x', store: 'file', email: undefined, account: undefined } as const
  return { url, bearer: keyBearer('tp_x'), profile: name === undefined ? undefined : { name, url, ...rest } }
}

test('each profile, and each server with a key, has a fixed secret', async () => {
  const targets = [target('default'), target('work'), target(), target(undefined, 'https://ai.example.com')]
  const first = await Promise.all(targets.map((each) => localWebhookSecret(folder, each)))
  assert.equal(new Set(first).size, 4)
  for (const secret of first) assert.equal(webhookKey(secret)?.length, 32)
  assert.deepEqual(await Promise.all(targets.map((each) => localWebhookSecret(folder, each))), first)
  assert.equal(await localWebhookSecret(folder, target('work', 'https://moved.example.com')), first[1])
})

test('only the user can read the secrets; a file that others can read, and an invalid one, is rejected', async () => {
  await localWebhookSecret(folder, target('default'))
  assert.equal(statSync(path).mode & 0o777, 0o600)
  chmodSync(path, 0o644)
  await assert.rejects(localWebhookSecret(folder, target('default')), /Other users can read .*Delete it/)
  for (const text of ['[]', 'x', '{"default":"whsec_short"}']) {
    writeFileSync(path, text)
    chmodSync(path, 0o600)
    await assert.rejects(localWebhookSecret(folder, target('default')), /is invalid\. Delete it/)
  }
})
