import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type EgressOptions, hostMatcher, openEgressProxy, SOCKET_NAME } from '../../../src/runner/sandbox/egress.ts'
import { SMALL, testSandbox } from '../../support/agents/sandbox-kit.ts'

const ADDRESSES: Readonly<Record<string, readonly string[]>> = {
  'allowed.test': ['127.0.0.1'],
  'deep.below.test': ['127.0.0.1'],
  'metadata.below.test': ['169.254.169.254'],
  'mixed.below.test': ['127.0.0.1', '169.254.169.254'],
  'mapped.below.test': ['::ffff:169.254.169.254'],
  'none.below.test': [],
}

/** A host that says who it is, wherever it is allowed to be. */
async function startHost(t: TestContext): Promise<{ readonly port: number; readonly hits: () => number }> {
  let hits = 0
  const server = createServer((socket) => {
    hits++
    socket.on('error', () => undefined)
    socket.end('hello from outside\n')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return { port: (server.address() as AddressInfo).port, hits: () => hits } // of a server on TCP
}

function optionsOf(asked: string[] = []): EgressOptions {
  return {
    hosts: ['allowed.test', '.below.test'],
    rule: { allowPrivateNetworks: true },
    resolve: async (name) => {
      asked.push(name)
      return ADDRESSES[name] ?? Promise.reject(new Error('no such name'))
    },
  }
}

async function startProxy(t: TestContext, options: EgressOptions): Promise<(request: string) => Promise<string>> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-proxy-'))
  const proxy = await openEgressProxy(options, folder)
  t.after(() => {
    proxy.close()
    rmSync(folder, { recursive: true, force: true })
  })
  return async (request) => {
    const socket = connect(join(proxy.folder, SOCKET_NAME))
    socket.on('error', () => undefined)
    socket.write(request)
    let answer = ''
    for await (const chunk of socket) answer += chunk
    return answer
  }
}

test('SBX-5: a host of the list is reached, at the address that was checked', async (t) => {
  const host = await startHost(t)
  const ask = await startProxy(t, optionsOf())
  for (const name of ['allowed.test', 'ALLOWED.test', 'deep.below.test']) {
    const answer = await ask(`CONNECT ${name}:${host.port} HTTP/1.1\r\nhost: x\r\n\r\n`)
    assert.equal(answer, 'HTTP/1.1 200 Connection established\r\n\r\nhello from outside\n')
  }
  assert.equal(host.hits(), 3)
})

test('SBX-5 TM11: other names, and names that others would read differently, are neither resolved nor reached', async (t) => {
  const host = await startHost(t)
  const asked: string[] = []
  const ask = await startProxy(t, optionsOf(asked))
  const names = [
    'other.test',
    'below.test',
    'evilallowed.test',
    'allowed.test.evil.test',
    'evil.test\0.below.test',
    'evil.test%00.below.test',
    'user@allowed.test',
    'allowed.test@evil.test',
    'evil.test#.below.test',
    'evil.test/.below.test',
    'allowed.test.',
    '.below.test',
    '127.0.0.1',
    '2130706433',
    '0x7f.1',
    '[::1]',
    'аllowed.test', // its first letter is Cyrillic
    'allowed.test:443',
    '',
  ]
  for (const name of names) {
    const answer = await ask(`CONNECT ${name}:${host.port} HTTP/1.1\r\nhost: x\r\n\r\n`)
    assert.match(answer, /^HTTP\/1\.1 40[03] /, name)
  }
  assert.deepEqual(asked, [])
  assert.equal(host.hits(), 0)
})

test('SBX-5 F27: a name of the list that leads to metadata is not followed, nor one of several addresses', async (t) => {
  const host = await startHost(t)
  const ask = await startProxy(t, optionsOf())
  for (const name of [
    'metadata.below.test',
    'mixed.below.test',
    'mapped.below.test',
    'none.below.test',
    'unknown.below.test',
  ]) {
    assert.match(await ask(`CONNECT ${name}:${host.port} HTTP/1.1\r\nhost: x\r\n\r\n`), /^HTTP\/1\.1 403 /, name)
  }
  assert.equal(host.hits(), 0)
})

test('SBX-5: by default neither private addresses nor other ports are reached [limit: agent-egress-headers]', async (t) => {
  const host = await startHost(t)
  const { hosts, resolve } = optionsOf()
  const ask = await startProxy(t, { hosts, resolve })
  const port = await ask(`CONNECT allowed.test:${host.port} HTTP/1.1\r\nhost: x\r\n\r\n`)
  assert.match(port, /403 Forbidden[\s\S]*Only ports 443 and 8443/)
  const address = await ask('CONNECT allowed.test:443 HTTP/1.1\r\nhost: x\r\n\r\n')
  assert.match(address, /403 Forbidden[\s\S]*resolves to an address that is not allowed/)
  assert.match(await ask('CONNECT allowed.test:99999 HTTP/1.1\r\nhost: x\r\n\r\n'), /403 Forbidden/)
  assert.match(
    await ask('GET http://allowed.test/ HTTP/1.1\r\nhost: allowed.test\r\nconnection: close\r\n\r\n'),
    /^HTTP\/1\.1 403 /,
  )
  assert.match(await ask(`CONNECT allowed.test:443 HTTP/1.1\r\nx: ${'y'.repeat(10_000)}\r\n\r\n`), /^HTTP\/1\.1 431 /)
  assert.equal(host.hits(), 0)
})

test('SBX-5: names are compared as they are sent, also where the list has them in other letters', () => {
  const isAllowed = hostMatcher(['Bücher.example', '.EXAMPLE.org'])
  assert.deepEqual(['xn--bcher-kva.example', 'a.example.org', 'example.org', 'aexample.org'].map(isAllowed), [
    true,
    true,
    false,
    false,
  ])
  for (const entry of ['', '.', 'a b', 'https://x.test', 'x.test:443', 'x\0.test', '*.test']) {
    assert.throws(() => hostMatcher([entry]), RangeError, entry)
  }
})

test('SBX-5: programs in the sandbox find the proxy by their environment, and no other route', async (t) => {
  const host = await startHost(t)
  const limits = { ...SMALL, memoryBytes: 2 ** 30 }
  const { sh } = await testSandbox(t, { network: optionsOf(), limits })
  const { stdout, stderr } = await sh(
    `echo $HTTPS_PROXY $https_proxy
     for name in allowed.test other.test metadata.below.test; do
       exec 5<>/dev/tcp/127.0.0.1/3128
       printf 'CONNECT %s:${host.port} HTTP/1.1\\r\\nhost: x\\r\\n\\r\\n' $name >&5
       cat <&5 | tr -d '\\r' | grep -E '^HTTP|hello'
     done
     (exec 6<>/dev/tcp/127.0.0.1/${host.port}) 2>/dev/null && echo direct
     ls /run/turnpike/egress; rm -f /run/turnpike/egress/* 2>/dev/null; tail -n +3 /proc/net/dev | wc -l`,
  )
  const proxy = 'http://127.0.0.1:3128'
  const answers =
    'HTTP/1.1 200 Connection established\nhello from outside\nHTTP/1.1 403 Forbidden\nHTTP/1.1 403 Forbidden\n'
  assert.deepEqual([stdout, stderr], [`${proxy} ${proxy}\n${answers}${SOCKET_NAME}\n1\n`, ''])
  assert.equal(host.hits(), 1)
})

test('SBX-5: a list without hosts means no network, and the proxy ends with the sandbox', async (t) => {
  const { sh } = await testSandbox(t, { network: { ...optionsOf(), hosts: [] } })
  assert.equal((await sh('echo "[$HTTPS_PROXY]"; ls /run 2>/dev/null')).stdout, '[]\n')
  const online = await testSandbox(t, { network: optionsOf(), limits: { ...SMALL, memoryBytes: 2 ** 30 } })
  await online.sh('true')
  await online.close()
  assert.ok(existsSync(online.workspace))
})

test('SBX-5: connections beyond those of one sandbox are closed immediately [limit: agent-egress]', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-proxy-'))
  const proxy = await openEgressProxy(optionsOf(), folder)
  const sockets = Array.from({ length: 80 }, () => connect(join(proxy.folder, SOCKET_NAME)))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    proxy.close()
    rmSync(folder, { recursive: true, force: true })
  })
  let closed = 0
  const { promise, resolve } = Promise.withResolvers<void>()
  for (const socket of sockets) {
    socket
      .on('error', () => undefined)
      .on('close', () => ++closed === 16 && resolve())
      .resume()
  }
  await promise
  assert.equal(closed, 16)
})
