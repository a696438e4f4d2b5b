/**
 * URLs that a tenant must not be able to have this machine connect to, given to the API as a tenant gives them.
 * Runs on one database: it is about addresses.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApp } from '../support/browser/signed-in.ts'

/** Global unicast to the letter, and given to nobody since 2006 (RFC 3701): nothing there ever answers. */
const NOBODY = 'https://[3ffe::1]:8443/'

const HOSTILE: Readonly<Record<string, readonly string[]>> = {
  'this machine, as an address': [
    'https://127.0.0.1/',
    'https://127.0.0.1:8443/',
    'https://127.255.255.254/',
    'https://127.0.0.1./',
    'https://[::1]/',
    'https://[0:0:0:0:0:0:0:1]/',
    'https://0.0.0.0/',
    'https://0/',
    'https://[::]/',
  ],
  'this machine, as a number that is an address': [
    'https://2130706433/',
    'https://0x7f000001/',
    'https://0x7f.1/',
    'https://0x7f.0x0.0x0.0x1/',
    'https://0177.0.0.1/',
    'https://017700000001/',
    'https://127.1/',
    'https://127.0.1/',
    'https://１２７.０.０.１/',
    'https://127。0。0。1/',
    'https://①②⑦.⓪.⓪.①/',
  ],
  'an IPv4 address inside an IPv6 one': [
    'https://[::ffff:127.0.0.1]/',
    'https://[::ffff:7f00:1]/',
    'https://[::ffff:a9fe:a9fe]/',
    'https://[::ffff:10.0.0.1]/',
    'https://[::127.0.0.1]/',
    'https://[::ffff:0:7f00:1]/',
    'https://[64:ff9b::7f00:1]/',
    'https://[64:ff9b::169.254.169.254]/',
    'https://[64:ff9b:1::a00:1]/',
    'https://[2002:7f00:1::]/',
    'https://[2002:a9fe:a9fe::1]/',
    'https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/',
    'https://[2606:4700::5efe:7f00:1]/',
  ],
  'services of platforms': [
    'https://169.254.169.254/latest/meta-data/',
    'http://169.254.169.254/latest/meta-data/',
    'https://2852039166/',
    'https://0xa9fea9fe/',
    'https://0251.0376.0251.0376/',
    'https://169.254.170.2/v2/credentials',
    'https://[fd00:ec2::254]/',
    'https://168.63.129.16/',
    'https://100.100.100.200/',
    'https://192.0.0.192/',
    'https://metadata.google.internal/',
  ],
  'private and special networks': [
    'https://10.0.0.1/',
    'https://172.16.0.1/',
    'https://172.31.255.255/',
    'https://192.168.1.1/',
    'https://3232235521/',
    'https://100.64.0.1/',
    'https://198.18.0.1/',
    'https://192.0.2.1/',
    'https://224.0.0.1/',
    'https://240.0.0.1/',
    'https://255.255.255.255/',
    'https://[fc00::1]/',
    'https://[fd12:3456:789a::1]/',
    'https://[fe80::1]/',
    'https://[fe80::1%25eth0]/',
    'https://[fec0::1]/',
    'https://[ff02::1]/',
    'https://[2001:db8::1]/',
  ],
  'names of networks': [
    'https://localhost/',
    'https://localhost./',
    'https://LOCALHOST/',
    'https://app.localhost/',
    'https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/',
    'https://printer.local/',
    'https://router.lan/',
    'https://router.home.arpa/',
    'https://vault.internal/',
    'https://redis/',
  ],
  'another host than the reader sees': [
    'https://user@hooks.customer.com/',
    'https://user:password@hooks.customer.com/',
    'https://hooks.customer.com@127.0.0.1/',
    'https://hooks.customer.com:443@127.0.0.1/',
    'https://hooks.customer.com\\@127.0.0.1/',
    'https:\\\\127.0.0.1\\',
    'https:/127.0.0.1/',
    'https:127.0.0.1',
    'https:///127.0.0.1/',
    'https://hooks.customer.com#@127.0.0.1/',
    'https://%31%32%37.0.0.1/',
    'https://127.0.\t0.1/',
    'https://hooks\u200b.customer.com/',
    'https://hooks.customer.com/\r\nX-Injected: 1',
    ' https://hooks.customer.com/',
  ],
  'ports and schemes': [
    'http://hooks.customer.com/',
    'https://hooks.customer.com:22/',
    'https://hooks.customer.com:80/',
    'https://hooks.customer.com:6379/',
    'https://hooks.customer.com:0/',
    'ftp://hooks.customer.com/',
    'file:///etc/passwd',
    'gopher://hooks.customer.com:6379/_FLUSHALL',
    'javascript:alert(1)',
    'data:text/plain,x',
    'unix:/var/run/docker.sock',
  ],
  'no URL': ['/hooks', '//127.0.0.1/', 'hooks.customer.com', 'https://', 'https://1.2.3.4.5/', 'https://[::1/'],
}

const COUNT = Object.values(HOSTILE).flat().length

test(`WH-4, F21: ${COUNT} hostile URLs are refused when an endpoint is made and when it is changed`, async (t) => {
  assert.ok(COUNT >= 60)
  const app = await openApp(t)
  const token = await app.key(await app.account())
  const made = await app.ask('POST', '/v1/webhooks', { token, body: { url: NOBODY } })
  assert.equal(made.statusCode, 201, made.body)
  const before = made.json<{ id: string; url: string }>()
  const attempts = [
    { method: 'POST', path: '/v1/webhooks' },
    { method: 'PATCH', path: `/v1/webhooks/${before.id}` },
  ] as const
  for (const [kind, urls] of Object.entries(HOSTILE)) {
    for (const url of urls) {
      for (const { method, path } of attempts) {
        const answer = await app.ask(method, path, { token, body: { url } })
        const where = `${kind}: ${method} ${url} ${answer.body}`
        assert.equal(answer.statusCode, 400, where)
        const { error } = answer.json<{ error: { type: string; code: string; param: string; message: string } }>()
        assert.deepEqual([error.type, error.code, error.param], ['invalid_request', 'invalid_value', 'url'], where)
        assert.doesNotMatch(error.message, /customer|127\.|169\.254|user:/, where)
      }
    }
  }
  const list = await app.ask('GET', '/v1/webhooks', { token })
  const { data } = list.json<{ data: { id: string; url: string }[] }>()
  assert.deepEqual(
    data.map(({ id, url }) => ({ id, url })),
    [{ id: before.id, url: NOBODY }],
    'nothing was made, nothing was changed',
  )
})

test('WH-4, F21: an endpoint’s address is kept in its canonical form, however it was spelled', async (t) => {
  const app = await openApp(t)
  const token = await app.key(await app.account())
  const answer = await app.ask('POST', '/v1/webhooks', { token, body: { url: 'HTTPS://[3FFE:0::0:1]:8443' } })
  assert.equal(answer.json<{ url: string }>().url, NOBODY)
})
