import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { type TestContext, test } from 'node:test'
import { request } from 'undici'
import { type DnsRecord, type DnsTable, startDnsStub } from '../../test/faults/kit/dns-stub.ts'
import { createTestAuthority } from '../../test/support/identity/test-authority.ts'
import { GatewayError } from '../domain/errors.ts'
import {
  checkTarget,
  checkTargetAddresses,
  createGuardedAgent,
  type GuardedAgentOptions,
  nameServerResolver,
  type ResolveAddresses,
  TargetRefusedError,
} from './guarded-agent.ts'

const STRICT = { allowPrivateNetworks: false }
const OPEN = { allowPrivateNetworks: true }
const NAME = 'hooks.customer.com'
/** Global unicast to the letter, and given to nobody since 2006 (RFC 3701): nothing there ever answers. */
const NOBODY = '3ffe::1'
const HTTPS_PORT = 8443 // of the two that the guard allows, the one that needs no right
/** Of this process alone (there are less than 2 to the 22nd), so that the fixed port is free. */
const OWN_ADDRESS = `127.${128 + (process.pid >> 16)}.${(process.pid >> 8) & 255}.${process.pid & 255}`

interface Canary {
  readonly address: string
  /** How often somebody connected. */
  count(): number
}

/** Listens where an attacker would like the gateway to connect to, on a port that the guard would not refuse. */
async function startCanary(t: TestContext): Promise<Canary> {
  let connections = 0
  const server = createServer((socket) => {
    connections++
    socket.destroy()
  })
  const address = process.platform === 'linux' ? OWN_ADDRESS : '127.0.0.1'
  server.listen(HTTPS_PORT, address)
  await once(server, 'listening')
  t.after(() => server.close())
  return { address, count: () => connections }
}

async function listenOnLoopback(t: TestContext, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  // a server on TCP that listens has an address of this form
  return (server.address() as AddressInfo).port
}

function agentOf(t: TestContext, options: GuardedAgentOptions) {
  const agent = createGuardedAgent({ connectTimeoutMs: 60_000, ...options })
  t.after(() => agent.destroy())
  return agent
}

/** A resolver that asks again would take the next turn. */
const ANSWERED_WITHIN_MS = 60_000

async function stubbed(t: TestContext, table: DnsTable) {
  const stub = await startDnsStub(table)
  t.after(() => stub.close())
  return { stub, resolve: nameServerResolver([stub.server], ANSWERED_WITHIN_MS) }
}

const always =
  (...addresses: readonly string[]): ResolveAddresses =>
  async () =>
    addresses

const a = (value: string, name?: string): DnsRecord => ({ type: 'A', value, ...(name === undefined ? {} : { name }) })
const aaaa = (value: string): DnsRecord => ({ type: 'AAAA', value })

const isRefusal = (error: unknown): boolean => error instanceof TargetRefusedError && error.code === 'TARGET_REFUSED'
const isOtherFailure = (error: unknown): boolean => error instanceof Error && !(error instanceof TargetRefusedError)

test('WH-4 F22: a name that is public first and internal next never leads to a connection inside', async (t) => {
  const canary = await startCanary(t)
  const { stub, resolve } = await stubbed(t, { [NAME]: [[aaaa(NOBODY)], [a(canary.address)]] })
  const agent = agentOf(t, { ...STRICT, resolve, connectTimeoutMs: 3_000 })
  const url = `https://${NAME}:${HTTPS_PORT}/`
  await assert.rejects(request(url, { dispatcher: agent }), isOtherFailure)
  // what was checked is what was connected to: nobody asked a second time, when the answer would have been another
  assert.deepEqual(stub.queries.map(({ type }) => type).sort(), ['A', 'AAAA'])
  for (let attempt = 0; attempt < 3; attempt++) await assert.rejects(request(url, { dispatcher: agent }), isRefusal)
  assert.equal(stub.queries.length, 8)
  assert.equal(canary.count(), 0)
})

test('WH-4 F22: one internal address among public ones refuses the name, in whatever family and place', async (t) => {
  const canary = await startCanary(t)
  const tables: readonly (readonly DnsRecord[])[] = [
    [a(canary.address), aaaa(NOBODY)],
    [a('8.8.8.8'), a(canary.address)],
    [a('8.8.8.8'), aaaa('0:0:0:0:0:0:0:1')],
    [a('8.8.8.8'), aaaa('0:0:0:0:0:ffff:7f4d:101')],
    [aaaa(NOBODY), aaaa('64:ff9b::7f00:1')],
    [a('8.8.8.8'), a('169.254.169.254')],
    [aaaa('0:0:0:0:0:0:7f00:1')],
    [a('0.0.0.0')],
  ]
  for (const records of tables) {
    const { resolve } = await stubbed(t, { [NAME]: [records] })
    const agent = agentOf(t, { ...STRICT, resolve })
    await assert.rejects(request(`https://${NAME}:${HTTPS_PORT}/`, { dispatcher: agent }), isRefusal)
  }
  assert.equal(canary.count(), 0)
})

test('WH-4 F22: an alias to an internal name is where the alias leads to', async (t) => {
  const canary = await startCanary(t)
  const records: readonly DnsRecord[] = [{ type: 'CNAME', value: 'db.internal' }, a(canary.address, 'db.internal')]
  const { resolve } = await stubbed(t, { [NAME]: [records] })
  const agent = agentOf(t, { ...STRICT, resolve })
  await assert.rejects(request(`https://${NAME}:${HTTPS_PORT}/`, { dispatcher: agent }), isRefusal)
  assert.equal(canary.count(), 0)
})

test('WH-4 F22: the canary does sing where the operator opened the private networks', async (t) => {
  const canary = await startCanary(t)
  const { resolve } = await stubbed(t, { [NAME]: [[a(canary.address)]] })
  const agent = agentOf(t, { ...OPEN, resolve })
  await assert.rejects(request(`https://${NAME}:${HTTPS_PORT}/`, { dispatcher: agent }), isOtherFailure)
  await assert.rejects(request(`https://${canary.address}:${HTTPS_PORT}/`, { dispatcher: agent }), isOtherFailure)
  assert.equal(canary.count(), 2)
})

test('WH-4 F21: literals are checked at the connection too, where no name is resolved', async (t) => {
  const canary = await startCanary(t)
  const agent = agentOf(t, { ...STRICT, resolve: () => assert.fail('a literal was resolved') })
  const [, b, c, d] = canary.address.split('.').map(Number)
  const number = `0x7f${[b, c, d].map((part) => (part ?? 0).toString(16).padStart(2, '0')).join('')}`
  for (const host of [canary.address, number, `[::ffff:${canary.address}]`, '[::1]', '169.254.169.254', '[fe80::1]']) {
    await assert.rejects(request(`https://${host}:${HTTPS_PORT}/`, { dispatcher: agent }), isRefusal, host)
  }
  assert.equal(canary.count(), 0)
})

test('WH-4: the scheme and the port are checked at the connection too', async (t) => {
  const resolve = () => assert.fail('the name was resolved')
  const agent = agentOf(t, { ...STRICT, resolve })
  for (const url of [`http://${NAME}/`, `http://${NAME}:443/`, `https://${NAME}:22/`, `https://${NAME}:9443/`]) {
    await assert.rejects(request(url, { dispatcher: agent }), isRefusal, url)
  }
})

test('WH-4: where private networks are open, nobody may go to platform services or in clear to the public', async (t) => {
  const agent = agentOf(t, { ...OPEN, resolve: always('169.254.169.254') })
  for (const url of [`http://${NAME}/`, 'http://169.254.169.254/', 'http://[fd00:ec2::254]/', 'http://0.0.0.0/']) {
    await assert.rejects(request(url, { dispatcher: agent }), isRefusal, url)
  }
  const inClear = agentOf(t, { ...OPEN, resolve: always('8.8.8.8') })
  await assert.rejects(request(`http://${NAME}/`, { dispatcher: inClear }), isRefusal)
})

test('WH-4: what answers a name is not trusted to answer with addresses', async (t) => {
  for (const answer of [['localhost'], [''], ['127.1'], ['fe80::1%lo'], ['8.8.8.8/0'], ['8.8.8.8', 'localhost'], []]) {
    const agent = agentOf(t, { ...STRICT, resolve: always(...answer) })
    await assert.rejects(request(`https://${NAME}/`, { dispatcher: agent }), isRefusal, answer.join())
  }
})

test('a name that does not resolve fails as that', async (t) => {
  const { resolve } = await stubbed(t, {})
  const agent = agentOf(t, { ...STRICT, resolve })
  await assert.rejects(request(`https://${NAME}/`, { dispatcher: agent }), { code: 'ENOTFOUND' })
})

test('WH-4: redirects are answers, and nobody follows them', async (t) => {
  const canary = await startCanary(t)
  let asked = 0
  const port = await listenOnLoopback(
    t,
    createHttpServer((_request, response) => {
      asked++
      response.writeHead(302, { location: `https://${canary.address}:${HTTPS_PORT}/` }).end()
    }),
  )
  const agent = agentOf(t, { ...OPEN, resolve: always('127.0.0.1') })
  const { statusCode, body } = await request(`http://${NAME}:${port}/`, { dispatcher: agent })
  await body.dump()
  assert.equal(statusCode, 302)
  assert.equal(asked, 1)
  assert.equal(canary.count(), 0)
})

test('of several allowed addresses, one that is dead does not matter; the host keeps its name', async (t) => {
  const port = await listenOnLoopback(
    t,
    createHttpServer((incoming, response) => response.end(incoming.headers.host)),
  )
  for (const addresses of [
    ['::1', '127.0.0.1'],
    ['127.0.0.1', '::1'],
  ]) {
    const agent = agentOf(t, { ...OPEN, resolve: always(...addresses) })
    const { body } = await request(`http://${NAME}:${port}/`, { dispatcher: agent })
    assert.equal(await body.text(), `${NAME}:${port}`)
  }
})

test('the names of the machine itself resolve where private networks are open', async (t) => {
  const port = await listenOnLoopback(
    t,
    createHttpServer((_request, response) => response.end('here')),
  )
  const { body } = await request(`http://localhost:${port}/`, { dispatcher: agentOf(t, OPEN) })
  assert.equal(await body.text(), 'here')
})

test('TLS is with the name of the target, and by an authority that is trusted', async (t) => {
  const authority = createTestAuthority((remove) => t.after(remove))
  const server = createHttpsServer(authority.certify(`DNS:${NAME}`), (_request, response) => response.end('safe'))
  const names: unknown[] = []
  server.on('secureConnection', ({ servername }) => names.push(servername))
  const port = await listenOnLoopback(t, server)
  const resolve = always('127.0.0.1')
  const agent = agentOf(t, { ...OPEN, resolve, ca: authority.ca })
  const { body } = await request(`https://${NAME}:${port}/`, { dispatcher: agent })
  assert.equal(await body.text(), 'safe')
  assert.deepEqual(names, [NAME])
  for (const url of [`https://other.customer.com:${port}/`, `https://127.0.0.1:${port}/`]) {
    await assert.rejects(request(url, { dispatcher: agent }), { code: 'ERR_TLS_CERT_ALTNAME_INVALID' })
  }
  const wary = agentOf(t, { ...OPEN, resolve })
  await assert.rejects(request(`https://${NAME}:${port}/`, { dispatcher: wary }), {
    code: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  })
})

test('[limit: target-headers] response headers beyond 16 KiB fail the call', async (t) => {
  const port = await listenOnLoopback(
    t,
    createHttpServer(({ url }, response) => response.setHeader('x-long', 'a'.repeat(Number(url?.slice(1)))).end()),
  )
  const agent = agentOf(t, { ...OPEN, resolve: always('127.0.0.1') })
  const { statusCode, body } = await request(`http://${NAME}:${port}/15000`, { dispatcher: agent })
  await body.dump()
  assert.equal(statusCode, 200)
  await assert.rejects(request(`http://${NAME}:${port}/16400`, { dispatcher: agent }), {
    code: 'UND_ERR_HEADERS_OVERFLOW',
  })
})

test('WH-4: what one rule admitted is not there for another', async (t) => {
  let connections = 0
  const server = createHttpServer((_request, response) => response.end('inside'))
  server.on('connection', () => connections++)
  const port = await listenOnLoopback(t, server)
  const url = `http://${NAME}:${port}/`
  const open = agentOf(t, { ...OPEN, resolve: always('127.0.0.1'), connections: 1 })
  for (let turn = 0; turn < 2; turn++) await (await request(url, { dispatcher: open })).body.text()
  assert.equal(connections, 1, 'a connection is kept and used again under its own rule')
  const strict = agentOf(t, { ...STRICT, resolve: always('127.0.0.1') })
  await assert.rejects(request(url, { dispatcher: strict }), isRefusal)
  assert.equal(connections, 1)
})

test('WH-4: checkTarget says what is allowed and repeats nothing of what was given', () => {
  assert.equal(checkTarget('https://Hooks.Customer.com', STRICT).href, 'https://hooks.customer.com/')
  assert.throws(
    () => checkTarget('https://someone:hunter2@127.0.0.1/', { ...STRICT, param: 'target' }),
    (error) => {
      assert.ok(error instanceof GatewayError)
      assert.equal(error.code, 'invalid_value')
      assert.equal(error.param, 'target')
      assert.equal(
        error.message,
        'The target contains a user name or a password. Allowed are https:// URLs of public hosts on port 443 or 8443, ' +
          'all without user name, password or fragment.',
      )
      return true
    },
  )
  assert.throws(() => checkTarget('http://8.8.8.8/', OPEN), { code: 'invalid_value', param: 'url' })
})

test('WH-4 F22: when a target is given, a name that leads inside is refused; one that leads nowhere yet is not', async (t) => {
  const url = new URL(`https://${NAME}/`)
  const { resolve } = await stubbed(t, { [NAME]: [[a('8.8.8.8')], [a('8.8.8.8'), a('10.0.0.1')]] })
  await checkTargetAddresses(url, { ...STRICT, resolve })
  await assert.rejects(checkTargetAddresses(url, { ...STRICT, resolve }), {
    code: 'invalid_value',
    param: 'url',
    message: /^The target has a name that resolves to an address that is not public\. Allowed are https:/,
  })
  await checkTargetAddresses(url, { ...OPEN, resolve })
  await checkTargetAddresses(new URL('https://new.customer.com/'), { ...STRICT, resolve })
  await checkTargetAddresses(url, { ...STRICT, resolve: () => new Promise(() => {}), timeoutMs: 1 })
  await checkTargetAddresses(new URL('https://8.8.8.8/'), { ...STRICT, resolve: () => assert.fail() })
})
