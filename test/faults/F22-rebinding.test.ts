/**
 * Names whose addresses change between one look and the next, with a name server of the attacker's.
 * Runs on one database: it is about addresses.
 */
import assert from 'node:assert/strict'
import { promises as dns } from 'node:dns'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type AppForTests, openApp } from '../support/browser/signed-in.ts'
import { eventually } from '../support/client.ts'
import { temporaryPath } from '../support/database.ts'
import type { WireDelivery } from '../support/webhooks/webhook-client.ts'
import { type DnsRecord, type DnsTable, startDnsStub } from './kit/dns-stub.ts'

const PORT = 8443 // of the two that the guard allows, the one that needs no right
/** Global unicast to the letter, and given to nobody since 2006 (RFC 3701): nothing there ever answers. */
const NOBODY = '3ffe::1'
const ATTEMPTED_WITHIN_MS = 60_000
/** By a name server of this process's, however long that stands still. */
const ANSWERED_WITHIN_MS = 60_000

const a = (value: string, name?: string): DnsRecord => ({ type: 'A', value, ...(name === undefined ? {} : { name }) })
const aaaa = (value: string): DnsRecord => ({ type: 'AAAA', value })

/** The names of the world are those of the table, until the test ends. */
async function useNames(t: TestContext, table: DnsTable) {
  const stub = await startDnsStub(table)
  const usual = dns.Resolver
  class StubResolver extends usual {
    constructor(options?: ConstructorParameters<typeof usual>[0]) {
      super({ ...options, timeout: ANSWERED_WITHIN_MS }) // one that asks again would take the next turn
      this.setServers([stub.server])
    }
  }
  t.mock.property(dns, 'Resolver', StubResolver)
  t.after(() => stub.close())
  return stub
}

/** Listens where an attacker would like the gateway to connect to, on an address of this process's own. */
async function startCanary(t: TestContext) {
  let connections = 0
  const server = createServer((socket) => {
    connections++
    socket.destroy()
  })
  const address =
    process.platform === 'linux'
      ? `127.${64 + (process.pid >> 16)}.${(process.pid >> 8) & 255}.${process.pid & 255}`
      : '127.0.0.1'
  server.listen(PORT, address)
  await once(server, 'listening')
  t.after(() => server.close())
  return { address, count: () => connections }
}

interface Tenant {
  readonly app: AppForTests
  readonly token: string
  create(url: string): ReturnType<AppForTests['ask']>
  /** Deliveries of an endpoint, when all have been attempted or are over. */
  attempted(webhookId: string): Promise<readonly WireDelivery[]>
}

async function tenantOf(t: TestContext, settings: Readonly<Record<string, string>> = {}): Promise<Tenant> {
  const app = await openApp(t, { settings })
  const token = await app.key(await app.account())
  return {
    app,
    token,
    create: (url) => app.ask('POST', '/v1/webhooks', { token, body: { url } }),
    attempted: (webhookId) =>
      eventually(
        async () => {
          const answer = await app.ask('GET', `/v1/webhooks/${webhookId}/deliveries`, { token })
          return answer.json<{ data: WireDelivery[] }>().data
        },
        (all) => all.every(({ attempts }) => attempts.length > 0),
        ATTEMPTED_WITHIN_MS,
      ),
  }
}

test('WH-4, F22: a name that resolves to an internal address is rejected when it is saved, in any family, position or alias', async (t) => {
  const canary = await startCanary(t)
  const names: DnsTable = {
    'inside.customer.com': [[a(canary.address)]],
    'mixed.customer.com': [[a('8.8.8.8'), a(canary.address)]],
    'families.customer.com': [[a('8.8.8.8'), aaaa('0:0:0:0:0:0:0:1')]],
    'mapped.customer.com': [[a('8.8.8.8'), aaaa('0:0:0:0:0:ffff:7f00:1')]],
    'metadata.customer.com': [[a('169.254.169.254')]],
    'alias.customer.com': [[{ type: 'CNAME', value: 'db.internal' }, a(canary.address, 'db.internal')]],
  }
  await useNames(t, names)
  const tenant = await tenantOf(t)
  for (const name of Object.keys(names)) {
    const answer = await tenant.create(`https://${name}:${PORT}/`)
    assert.equal(answer.statusCode, 400, `${name}: ${answer.body}`)
    const { error } = answer.json<{ error: { code: string; param: string; message: string } }>()
    assert.deepEqual([error.code, error.param], ['invalid_value', 'url'])
    assert.doesNotMatch(error.message, /127\.|169\.|::1|internal/, 'what lies inside is nobody’s to explore')
  }
  assert.equal(canary.count(), 0)
})

test('WH-4, F22: a name that is public when saved and internal at the attempt receives no connection', async (t) => {
  const canary = await startCanary(t)
  const names: Readonly<Record<string, readonly (readonly DnsRecord[])[]>> = {
    'rebind.customer.com': [[a('8.8.8.8')], [a(canary.address)]],
    'mixed.customer.com': [[a('8.8.8.8')], [a('8.8.8.8'), a(canary.address)]],
    'families.customer.com': [[aaaa(NOBODY)], [aaaa(NOBODY), a(canary.address)]],
    'alias.customer.com': [[a('8.8.8.8')], [{ type: 'CNAME', value: 'db.internal' }, a(canary.address, 'db.internal')]],
  }
  const stub = await useNames(t, names)
  const tenant = await tenantOf(t)
  for (const name of Object.keys(names)) {
    const answer = await tenant.create(`https://${name}:${PORT}/`)
    assert.equal(answer.statusCode, 201, `${name}: ${answer.body}`)
    const [delivery] = await tenant.attempted(answer.json<{ id: string }>().id)
    const [attempt] = delivery?.attempts ?? []
    assert.deepEqual([delivery?.status, attempt?.status_code], ['pending', null], name)
    assert.match(attempt?.error ?? '', /not allowed/, name)
    assert.doesNotMatch(attempt?.error ?? '', /127\.|internal/)
    const asked = stub.queries.filter((query) => query.name === name && query.type === 'A').length
    assert.equal(asked, 2, 'once at each look: what was checked is what would be connected to')
  }
  assert.equal(canary.count(), 0)
})

test('WH-4, F22: a name that does not resolve yet may be saved, and is checked when it does', async (t) => {
  const canary = await startCanary(t)
  const table: Record<string, readonly (readonly DnsRecord[])[]> = {}
  await useNames(t, table)
  const tenant = await tenantOf(t)
  const answer = await tenant.create(`https://later.customer.com:${PORT}/`)
  assert.equal(answer.statusCode, 201, answer.body)
  const { id } = answer.json<{ id: string }>()
  const [first] = await tenant.attempted(id)
  assert.match(first?.attempts[0]?.error ?? '', /\w/)
  table['later.customer.com'] = [[a(canary.address)]]
  const again = await tenant.app.ask('POST', `/v1/webhooks/${id}/test`, { token: tenant.token, body: {} })
  assert.equal(again.statusCode, 202, again.body)
  const [second] = await tenant.attempted(id)
  assert.match(second?.attempts[0]?.error ?? '', /not allowed/)
  assert.equal(canary.count(), 0)
})

test('WH-4, F22: the canary does sing where the operator opened the private networks', async (t) => {
  const canary = await startCanary(t)
  const file = join(dirname(await temporaryPath(t)), 'turnpike.yaml')
  writeFileSync(file, JSON.stringify({ webhooks: { allow_private_networks: true } }))
  const tenant = await tenantOf(t, { TURNPIKE_CONFIG: file })
  const answer = await tenant.create(`https://${canary.address}:${PORT}/`)
  assert.equal(answer.statusCode, 201, answer.body)
  await tenant.attempted(answer.json<{ id: string }>().id)
  assert.ok(canary.count() > 0)
})
