/** The commands against what the contract says a server answers; `test/e2e/webhooks-cli.test.ts` has the real one. */
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, afterEach, before, beforeEach, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { eventually } from '../../../test/support/client.ts'
import { type Home, makeHome, type Running } from '../../../test/support/process/command-line.ts'
import {
  bodyOfEvent,
  type EventServer,
  error,
  page,
  startEventServer,
} from '../../../test/support/webhooks/event-server.ts'
import { isRecord, textOf } from '../../lib/json.ts'
import { parseDeliveryId, parseEventTypes, parsePastTime, parseReceiver, parseWebhookId } from '../option-values.ts'

interface Received {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

let server: EventServer
let home: Home
let receiverUrl: string
let status = 204
const received: Received[] = []
const receiver = createServer(async (request, response) => {
  const pieces: Buffer[] = []
  for await (const piece of request) pieces.push(piece)
  received.push({ headers: request.headers as Record<string, string>, body: Buffer.concat(pieces).toString() })
  response.writeHead(status).end(status === 500 ? 'no\u001b[31m database' : undefined)
})

before(async () => {
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
  receiverUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`
})
after(() => {
  receiver.close()
  receiver.closeAllConnections()
})

const running = new Set<Running>()
beforeEach(async () => {
  server = await startEventServer()
  home = makeHome({ TURNPIKE_URL: server.url, TURNPIKE_API_KEY: 'tp_key' })
  received.length = 0
  status = 204
})
afterEach(async () => {
  for (const { child } of running) child.kill('SIGKILL')
  running.clear()
  home.remove()
  await server.close()
})

async function listen(...words: string[]): Promise<Running> {
  const command = home.start(['webhooks', 'listen', ...words])
  running.add(command)
  await eventually(
    async () => command.stderr(),
    (text) => text.includes('Listening'),
  )
  return command
}

async function stop(command: Running): Promise<void> {
  command.child.kill('SIGINT')
  assert.equal((await command.ended).code, 0, command.stderr())
}

const saw = (text: () => string, part: string | RegExp) =>
  eventually(
    async () => text(),
    (all) => (typeof part === 'string' ? all.includes(part) : part.test(all)),
  )

const started = { event_id: 'evt_1', type: 'agent.started', data: { name: 'x\u001b]0;owned\u0007' } }
const alert = { event_id: 'evt_2', type: 'usage.alert', data: {} }

test('listen posts events to a receiver, signed with the secret that its first line shows', async () => {
  const command = await listen('--forward', receiverUrl)
  server.record(started)
  await saw(command.stdout, /evt_1 .*\n/)
  const [, secret = ''] = /^TURNPIKE_WEBHOOK_SECRET=(whsec_\S+)\n/.exec(command.stdout()) ?? []
  const [got] = received
  assert.ok(got)
  assert.equal(got.body, bodyOfEvent(started))
  assert.match(String(got.headers['turnpike-signature']), /^[0-9a-f]{64}$/)
  assert.match(String(got.headers['user-agent']), /^Turnpike-Webhooks\/\d/)
  new Webhook(secret).verify(got.body, got.headers)
  status = 500
  server.record(alert)
  await saw(command.stdout, 'evt_2')
  await stop(command)
  const [, first, second] = command.stdout().split('\n')
  assert.match(String(first), /^\d\d:\d\d:\d\d {2}agent\.started {5}evt_1 {2}204 {2}\d+ ms$/)
  assert.match(String(second), /^\d\d:\d\d:\d\d {2}usage\.alert {7}evt_2 {2}500 {2}\d+ ms {2}no\[31m database$/)
  assert.match(command.stderr(), /\n2 events: 1 delivered, 1 failed\.\n$/)
  const again = await listen('--forward', receiverUrl)
  await stop(again)
  assert.equal(again.stdout(), `TURNPIKE_WEBHOOK_SECRET=${secret}\n`)
})

test('a lost and restored connection is reported once, and no event is missed', async () => {
  const command = await listen('--forward', receiverUrl)
  server.record(started)
  await saw(command.stdout, 'evt_1')
  server.refuseStreams(503)
  server.cut()
  await saw(command.stderr, 'Connection lost: connection reset. Reconnecting.\n')
  server.record(alert)
  server.refuseStreams(undefined)
  await saw(command.stdout, 'evt_2')
  await stop(command)
  assert.match(
    command.stderr(),
    /Reconnected after \d+\.\d s; missed events follow\.\n2 events: 2 delivered, 0 failed\.\n$/,
  )
  assert.deepEqual(
    received.map(({ headers }) => headers['webhook-id']),
    ['evt_1', 'evt_2'],
  )
  assert.equal(server.asked.at(-1)?.authorization, 'Bearer tp_key')
})

test('without a receiver events are printed without control sequences; --events selects types', async () => {
  const command = await listen('--events', 'agent.started,agent.failed')
  server.record(alert)
  server.record(started)
  await saw(command.stdout, 'evt_1')
  await stop(command)
  assert.match(
    command.stdout(),
    /^\d\d:\d\d:\d\d {2}agent\.started {5}evt_1 {2}\{"name":"x\\u001b\]0;owned\\u0007"\}\n$/,
  )
  assert.match(command.stderr(), /^Listening to http:\S+\. Pass --forward URL .*\n1 event\.\n$/)
})

test('--print-json prints only bodies to standard output, one per line', async () => {
  const secret = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
  const command = await listen('--print-json', '--forward', receiverUrl, '--secret', secret)
  server.record(started)
  server.record(alert)
  await saw(command.stderr, 'evt_2')
  await stop(command)
  const lines = command.stdout().trimEnd().split('\n')
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)),
    [started, alert].map((event) => JSON.parse(bodyOfEvent(event))),
  )
  assert.doesNotMatch(command.stdout(), /\u001b/)
  assert.match(command.stderr(), /^TURNPIKE_WEBHOOK_SECRET=whsec_AQEB/)
  for (const { body, headers } of received) new Webhook(secret).verify(body, headers)
})

test('listen fails at once without permission, or if the server does not respond', async () => {
  server.refuseStreams(403)
  const forbidden = await home.run(['webhooks', 'listen'])
  assert.deepEqual([forbidden.code, forbidden.stdout], [1, ''])
  assert.match(forbidden.stderr, /^turnpike: http.*: Not now\. \(overloaded\)\n$/)
  const nobody = await home.run(['webhooks', 'listen', '--url', 'http://127.0.0.1:9'])
  assert.equal(nobody.code, 1)
  assert.match(nobody.stderr, /is unreachable/)
})

const run = async (...words: string[]) => {
  const { code, stdout, stderr } = await home.run(['webhooks', ...words])
  return { code, stdout, stderr }
}

const WEBHOOK = {
  ...{ id: 'whk_1', object: 'webhook', url: 'https://example.com/hook', events: null, description: 'a\u001bb' },
  ...{ status: 'enabled', disabled_reason: null, failing_since: null, created_at: '2026-11-20T16:30:00.000Z' },
}

test('create prints only the secret; --json the whole response', async () => {
  server.answers.set('POST /v1/webhooks', { status: 201, body: { ...WEBHOOK, secret: 'whsec_x' } })
  const made = await run('create', 'https://example.com/hook', '--events', 'agent.failed', '--description', 'mine')
  assert.deepEqual([made.code, made.stdout], [0, 'whsec_x\n'])
  assert.match(
    made.stderr,
    /^Endpoint whk_1 receives all events at https:\/\/example\.com\/hook\.\nThe line above is its secret/,
  )
  assert.deepEqual(server.asked.at(-1)?.body, {
    ...{ url: 'https://example.com/hook', events: ['agent.failed'], description: 'mine' },
  })
  const json = await run('create', 'https://example.com/hook', '--json')
  assert.deepEqual(JSON.parse(json.stdout), { ...WEBHOOK, secret: 'whsec_x' })
  assert.deepEqual(server.asked.at(-1)?.body, { url: 'https://example.com/hook' })
})

test('list and deliveries print tables, with --json the page', async () => {
  const failing = { ...WEBHOOK, id: 'whk_2', events: ['usage.alert'], failing_since: '2026-11-19T10:00:00.000Z' }
  const gone = { ...WEBHOOK, id: 'whk_3', status: 'disabled', disabled_reason: 'by_request' }
  server.answers.set('GET /v1/webhooks', { body: page([WEBHOOK, failing, gone]) })
  const lines = (await run('list')).stdout.split('\n')
  assert.match(String(lines[1]), /^whk_1 +https:\/\/example\.com\/ho… +all +enabled +2026-11-20 16:30 +ab$/)
  assert.match(String(lines[2]), /usage\.alert +failing since 2026-11-1…/)
  assert.match(String(lines[3]), /disabled: by request/)
  assert.deepEqual(JSON.parse((await run('list', '--json')).stdout), page([WEBHOOK, failing, gone]))
  const attempts = [{ number: 1, status_code: 500, error: 'status 500' }]
  const delivery = { id: 'dlv_1', event_id: 'evt_1', type: 'agent.failed', status: 'pending', attempts, error: null }
  server.answers.set('GET /v1/webhooks/whk_1/deliveries', {
    body: page([{ ...delivery, created_at: '2026-11-20T16:30:00.000Z', next_attempt_at: null }], 'more'),
  })
  const shown = await run('deliveries', 'whk_1', '--status', 'pending', '--limit', '1')
  assert.match(shown.stdout, /\ndlv_1 +evt_1 +agent\.failed +pending +1 +status 500 +2026-11-20 16:30 +-\n$/)
  assert.equal(shown.stderr, 'More deliveries: pass --cursor more\n')
  assert.equal(server.asked.at(-1)?.what, 'GET /v1/webhooks/whk_1/deliveries?status=pending&limit=1')
})

test('delete prints the deleted ID; an unknown one is a failure with the server’s message', async () => {
  server.answers.set('DELETE /v1/webhooks/whk_1', { status: 204 })
  assert.deepEqual(await run('delete', 'whk_1'), { code: 0, stdout: 'Deleted whk_1.\n', stderr: '' })
  const { code, stderr } = await run('delete', 'whk_2')
  assert.deepEqual([code, stderr], [1, `turnpike: ${server.url}: There is nothing here. (not_found)\n`])
})

test('trigger prints only the event’s ID; for an unknown type it lists the known ones', async () => {
  server.answers.set('POST /v1/events/trigger', { status: 202, body: { id: 'evt_9', object: 'event' } })
  assert.deepEqual(await run('trigger', 'agent.failed'), { code: 0, stdout: 'evt_9\n', stderr: '' })
  assert.deepEqual(server.asked.at(-1)?.body, { type: 'agent.failed' })
  assert.deepEqual(JSON.parse((await run('trigger', 'webhook.test', '--json')).stdout), {
    id: 'evt_9',
    object: 'event',
  })
  const { code, stderr } = await run('trigger', 'agent.exploded')
  assert.equal(code, 2)
  assert.match(stderr, /Allowed: agent\.started, .*, webhook\.test\.\n$/)
})

test('resend finds the endpoint of a delivery, or uses the named one', async () => {
  const delivery = { id: 'dlv_1', event_id: 'evt_1' }
  server.answers.set('GET /v1/webhooks', { body: page([WEBHOOK, { ...WEBHOOK, id: 'whk_2' }]) })
  server.answers.set('GET /v1/webhooks/whk_2/deliveries/dlv_1', { body: delivery })
  server.answers.set('POST /v1/webhooks/whk_2/deliveries/dlv_1/redeliver', { status: 202, body: delivery })
  assert.deepEqual(await run('resend', 'dlv_1'), {
    ...{ code: 0, stdout: 'Delivery dlv_1 of evt_1 is queued again for whk_2.\n', stderr: '' },
  })
  const asked = server.asked.length
  assert.equal((await run('resend', 'dlv_1', '--webhook', 'whk_2', '--json')).stdout, `${JSON.stringify(delivery)}\n`)
  assert.equal(server.asked.length, asked + 1)
  const unknown = await run('resend', 'dlv_2')
  assert.deepEqual([unknown.code, /Delivery dlv_2 does not exist/.test(unknown.stderr)], [1, true])
  const body = error('conflict', 'This delivery is pending.')
  server.answers.set('POST /v1/webhooks/whk_2/deliveries/dlv_1/redeliver', { status: 409, body })
  assert.match((await run('resend', 'dlv_1')).stderr, /This delivery is pending\. \(conflict\)/)
})

test('resend --failed-since resends the failed deliveries of an endpoint since a time or for a duration', async () => {
  server.answers.set('POST /v1/webhooks/whk_1/redeliver', { status: 202, body: { redelivered: 3 } })
  const { stdout } = await run('resend', '--webhook', 'whk_1', '--failed-since', '2026-11-20T10:00:00Z')
  assert.equal(stdout, '3 deliveries are queued again for whk_1.\n')
  assert.deepEqual(server.asked.at(-1)?.body, { failed_since: '2026-11-20T10:00:00.000Z' })
  const before = Date.now()
  assert.equal(
    (await run('resend', '--webhook', 'whk_1', '--failed-since', '2h', '--json')).stdout,
    '{"redelivered":3}\n',
  )
  const { body } = server.asked.at(-1) ?? {}
  const since = isRecord(body) ? textOf(body['failed_since']) : ''
  const late = Date.parse(since) - (before - 7_200_000)
  assert.ok(late >= 0 && late <= Date.now() - before, since)
})

test('wrong usage exits with 2 without a request; messages omit the secret', async () => {
  const wrong = [
    ['resend'],
    ['resend', 'dlv_1', '--failed-since', '2h'],
    ['resend', '--webhook', 'whk_1'],
    ['delete', '../keys'],
    ['listen', '--forward', 'localhost:3000', '--secret', 'whsec_nearly'],
    ['listen', '--secret', 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'],
  ]
  for (const words of wrong) {
    const { code, stdout, stderr } = await run(...words)
    assert.deepEqual([code, stdout], [2, ''], words.join(' '))
    assert.doesNotMatch(stderr, /nearly|AAAA/)
  }
  assert.deepEqual(server.asked, [])
})

test('a receiver is accepted in short forms', () => {
  const named: Readonly<Record<string, string>> = {
    '3000': 'http://localhost:3000/',
    ':3000/hook?a=1': 'http://localhost:3000/hook?a=1',
    'localhost:3000/hook': 'http://localhost:3000/hook',
    '127.0.0.1:3000': 'http://127.0.0.1:3000/',
    '[::1]:3000': 'http://[::1]:3000/',
    'example.test/hook': 'https://example.test/hook',
    'http://192.168.1.5:8080/': 'http://192.168.1.5:8080/',
  }
  for (const [text, url] of Object.entries(named)) assert.equal(parseReceiver(text).href, url, text)
  for (const wrong of ['', 'ftp://x', 'http://', 'http://a:b@localhost', '99999', 'http://localhost:x']) {
    assert.throws(() => parseReceiver(wrong), /Allowed: an http or https address/, wrong)
  }
})

test('invalid values are rejected, so that none becomes part of a path', () => {
  const refused: readonly (readonly [read: (text: string) => unknown, wrong: readonly string[]])[] = [
    [parseEventTypes, ['', 'agent.exploded', 'agent.failed,,agent.started']],
    [parseWebhookId, ['', 'whk_', 'dlv_1', 'whk_1/..', 'whk_1?a']],
    [parseDeliveryId, ['', 'evt_1', 'dlv_1/redeliver']],
    [parsePastTime, ['', 'yesterday', '0h', '2 h', '2026-02-30', '20260101d']],
  ]
  for (const [read, wrong] of refused) {
    for (const text of wrong) assert.throws(() => read(text), /Allowed: /, text)
  }
  assert.equal(parsePastTime('2026-01-31'), Date.UTC(2026, 0, 31))
})
