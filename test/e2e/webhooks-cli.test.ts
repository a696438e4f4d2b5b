/**
 * `turnpike webhooks` against the real server, with receivers on this machine.
 * Runs on one database: it is about what is said and shown.
 */
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { type FaultProxy, startFaultProxy } from '../faults/kit/fault-proxy.ts'
import { eventually } from '../support/client.ts'
import { type Gateway, startGateway } from '../support/gateway.ts'
import { type Home, makeHome, type Running } from '../support/process/command-line.ts'
import { type Receiver, startReceiver, whole } from '../support/webhooks/receiver.ts'
import { type Customer, customerOf, LOOPBACK_ALLOWED } from '../support/webhooks/webhook-client.ts'

let gateway: Gateway
let proxy: FaultProxy
let receiver: Receiver
let customer: Customer
let home: Home

before(async () => {
  gateway = await startGateway({ config: LOOPBACK_ALLOWED })
  proxy = await startFaultProxy({ port: gateway.port })
  receiver = await startReceiver()
  const account = await gateway.cli('accounts', 'create', '--name', 'Example')
  customer = customerOf(gateway, await gateway.key('--account', account, '--scopes', 'webhooks'))
  home = makeHome({ TURNPIKE_URL: gateway.url, TURNPIKE_API_KEY: customer.key })
})
after(async () => {
  home?.remove()
  await receiver?.close()
  await proxy?.close()
  await gateway?.stop()
})

async function run(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await home.run(['webhooks', ...words])
  assert.equal(code, 0, stderr)
  return stdout
}

const running = new Set<Running>()
afterEach(() => {
  for (const { child } of running) child.kill('SIGKILL')
  running.clear()
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

const saw = (text: () => string, part: string) =>
  eventually(
    async () => text(),
    (all) => all.includes(part),
  )

async function stop(command: Running): Promise<void> {
  command.child.kill('SIGINT')
  assert.equal((await command.ended).code, 0, command.stderr())
}

test('WH-1: a triggered event arrives at the developer’s receiver, as the API shows it and signed', async () => {
  const before = await customer.trigger('agent.started')
  const command = await listen('--forward', `${receiver.url}/listen`)
  const id = (await run('trigger', 'agent.completed')).trim()
  await saw(command.stdout, id)
  await stop(command)
  const [request, ...others] = receiver.at('/listen')
  assert.ok(request)
  assert.equal(others.length, 0)
  assert.ok(!command.stdout().includes(before.id), 'what happened before is over')
  const [, secret = ''] = /^TURNPIKE_WEBHOOK_SECRET=(\S+)\n/.exec(command.stdout()) ?? []
  new Webhook(secret).verify(request.bytes, { ...request.headers })
  const { event_id: eventId, ...rest } = JSON.parse(request.bytes.toString())
  const [event] = await customer.events('&type=agent.completed')
  assert.deepEqual({ id: eventId, object: 'event', ...rest }, event)
  assert.equal(eventId, id)
})

test('events during a lost connection arrive when it is back', async () => {
  const command = await listen('--url', proxy.url, '--forward', `${receiver.url}/lost`)
  await proxy.down()
  await saw(command.stderr, 'Connection lost')
  const { id } = await customer.trigger('usage.alert')
  await proxy.up()
  await saw(command.stdout, id)
  await stop(command)
  assert.deepEqual(
    receiver.at('/lost').map(({ headers }) => headers['webhook-id']),
    [id],
  )
  assert.match(command.stderr(), /Reconnected after .*\n1 event: 1 delivered, 0 failed\.\n$/)
})

test('an endpoint is made, looked at, and deleted', async () => {
  const words = ['--events', 'agent.failed', '--description', 'mine']
  const secret = (await run('create', `${receiver.url}/made`, ...words)).trim()
  const [, id = ''] = /\n(whk_\w+) +http:\S+ +agent\.fai\S+ +enabled .* mine\n/.exec(await run('list')) ?? []
  await customer.attempted(id, 'webhook.test')
  const [request] = receiver.at('/made')
  assert.ok(request)
  new Webhook(secret).verify(request.bytes, { ...request.headers })
  assert.equal(await run('delete', id), `Deleted ${id}.\n`)
  assert.equal((await customer.ask('GET', `/v1/webhooks/${id}`)).status, 404)
})

test('a delivery is sent again', async () => {
  const { id } = await customer.create({ url: `${receiver.url}/again` })
  const { event_id: event } = await customer.attempted(id, 'webhook.test')
  const shown = await run('deliveries', id, '--status', 'delivered')
  const [, delivery = ''] = /\n(dlv_\w+) +evt_\S+ +webhook\.te\S+ +delivered +1 +200 /.exec(shown) ?? []
  assert.equal(await run('resend', delivery), `Delivery ${delivery} of ${event} is queued again for ${id}.\n`)
  await receiver.until('/again', 2)
  const sent = receiver.at('/again').map(({ headers }) => headers['webhook-id'])
  assert.deepEqual(sent, [event, event])
})

test('failed deliveries are sent again, all of them', async () => {
  receiver.answer('/gone', whole(410), whole(200))
  const { id } = await customer.create({ url: `${receiver.url}/gone` })
  await customer.attempted(id, 'webhook.test')
  assert.match(await run('list'), /disabled: gone/)
  assert.match(await run('deliveries', id, '--status', 'failed'), /webhook\.te\S+ +failed +1 /)
  await customer.patch(id, { status: 'enabled' })
  assert.equal(await run('resend', '--webhook', id, '--failed-since', '1h'), `1 delivery is queued again for ${id}.\n`)
  await customer.attempted(id, 'webhook.test', 2)
})

test('a wrong address and an unknown delivery are reported in the server’s words', async () => {
  const { code, stderr } = await home.run(['webhooks', 'create', 'ftp://example.com'])
  assert.equal(code, 1)
  assert.match(stderr, /\(invalid_value, req_\w+\)/)
  const { id } = await customer.create({ url: `${receiver.url}/hook` })
  const unknown = 'dlv_0000000000000000000000'
  const lost = await home.run(['webhooks', 'resend', unknown, '--webhook', id])
  assert.match(lost.stderr, /^turnpike: .*\(not_found, req_\w+\)\n$/)
  assert.match((await home.run(['webhooks', 'resend', unknown])).stderr, /Delivery \S+ does not exist in this account/)
})
