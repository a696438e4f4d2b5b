import assert from 'node:assert/strict'
import { isIP } from 'node:net'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  type AddressKind,
  addressGroup,
  addressKind,
  allowedTargets,
  includesAddress,
  isLoopbackUrl,
  isWithin,
  parseAddressRange,
  reachOf,
  readTarget,
} from './ip-address.ts'

function includes(range: string, address: string): boolean {
  const parsed = parseAddressRange(range)
  assert.ok(parsed !== undefined, range)
  return includesAddress([parsed], address)
}

test('blocks hold their own addresses, at both edges', () => {
  assert.ok(includes('10.0.0.0/8', '10.0.0.0') && includes('10.0.0.0/8', '10.255.255.255'))
  assert.ok(!includes('10.0.0.0/8', '9.255.255.255') && !includes('10.0.0.0/8', '11.0.0.0'))
  assert.ok(includes('192.0.2.128/25', '192.0.2.128') && !includes('192.0.2.128/25', '192.0.2.127'))
  assert.ok(includes('2001:db8::/33', '2001:db8:7fff::1') && !includes('2001:db8::/33', '2001:db8:8000::1'))
  assert.ok(includes('0.0.0.0/0', '255.1.2.3') && includes('::/0', 'ff02::1'))
})

test('an address alone is itself, however it is written', () => {
  assert.ok(includes('2001:db8::1', '2001:0DB8:0:0::0001') && !includes('2001:db8::1', '2001:db8::2'))
  assert.ok(includes('::1', '::1%lo'))
})

test('mapped addresses are IPv4, in lists and on the wire', () => {
  assert.ok(includes('10.0.0.0/8', '::ffff:10.1.2.3') && includes('10.0.0.0/8', '::ffff:a01:203'))
  assert.ok(includes('::ffff:10.0.0.0/104', '10.1.2.3') && !includes('::ffff:10.0.0.0/104', '11.1.2.3'))
  assert.ok(!includes('::/0', '10.1.2.3') && !includes('::/0', '::ffff:10.1.2.3'))
})

test('what is no address is in no block', () => {
  for (const address of ['', 'localhost', '10.1', '0x0a000001', '10.0.0.1 ', '10.0.0.0/8/', '/tmp/socket']) {
    assert.ok(!includes('0.0.0.0/0', address) && !includes('::/0', address), address)
  }
})

test('a block is within another exactly when all of its addresses are', () => {
  const bits = fc.integer({ min: 0, max: 32 })
  const address = fc.ipV4()
  fc.assert(
    fc.property(address, bits, address, bits, (innerAddress, innerBits, outerAddress, outerBits) => {
      const inner = parseAddressRange(`${innerAddress}/${innerBits}`)
      const outer = parseAddressRange(`${outerAddress}/${outerBits}`)
      assert.ok(inner !== undefined && outer !== undefined)
      const [first, last] = edges(innerAddress, innerBits)
      const [least, most] = edges(outerAddress, outerBits)
      assert.equal(isWithin(inner, outer), first >= least && last <= most)
    }),
  )
})

function edges(address: string, bits: number): [number, number] {
  const value = address.split('.').reduce((sum, part) => sum * 256 + Number(part), 0)
  const size = 2 ** (32 - bits)
  const first = Math.floor(value / size) * size
  return [first, first + size - 1]
}

test('what node:net takes for an address is one here, and nothing else', () => {
  const part = fc.constantFrom(
    '',
    '0',
    '1',
    '00',
    '01',
    '255',
    '256',
    '.',
    ':',
    '::',
    'ffff',
    'fffff',
    'g',
    '%',
    'x',
    ' ',
  )
  const text = fc.oneof(
    fc.ipV4(),
    fc.ipV6(),
    fc.array(part, { maxLength: 12 }).map((parts) => parts.join('')),
  )
  fc.assert(
    fc.property(text, (address) => {
      fc.pre(!address.includes('%'))
      assert.equal(parseAddressRange(address) !== undefined, isIP(address) !== 0, address)
    }),
    { numRuns: 5000 },
  )
})

test('attempts are counted by IPv4 address and by the /64 of IPv6', () => {
  assert.equal(addressGroup('203.0.113.7'), '203.0.113.7')
  assert.equal(addressGroup('::ffff:203.0.113.7'), '203.0.113.7')
  assert.equal(addressGroup('2001:db8::1'), addressGroup('2001:db8::ffff:0:0:1'))
  assert.notEqual(addressGroup('2001:db8::1'), addressGroup('2001:db8:0:1::1'))
  assert.equal(addressGroup('fe80::1%eth0'), addressGroup('fe80::2'))
  assert.equal(addressGroup('unknown'), 'unknown')
})

test('loopback is localhost, 127.0.0.0/8 and ::1, and no name that only looks like it', () => {
  for (const host of ['localhost', '127.0.0.1:80', '127.9.9.9', '[::1]:8', '127.1', '0x7f.1']) {
    assert.equal(isLoopbackUrl(new URL(`http://${host}/x`)), true, host)
  }
  for (const host of ['127.0.0.1.example', 'localhost.example', '10.0.0.1', '[::2]', '0.0.0.0', 'me@example']) {
    assert.equal(isLoopbackUrl(new URL(`http://${host}/x`)), false, host)
  }
})

const STRICT = { allowPrivateNetworks: false }
const OPEN = { allowPrivateNetworks: true }

const KINDS: Readonly<Record<AddressKind, readonly string[]>> = {
  public: [
    '8.8.8.8',
    '1.1.1.1',
    '172.15.255.255',
    '172.32.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '168.63.129.15',
    '223.255.255.255',
    '::ffff:8.8.8.8', // that IPv4 address
    '2606:4700:4700::1111',
    '2a00:1450:4001:80b::200e',
  ],
  private: [
    '10.0.0.1',
    '10.255.255.255',
    '100.64.0.1',
    '127.0.0.1',
    '127.255.255.254',
    '172.16.0.1',
    '172.31.255.255',
    '192.168.1.1',
    '::1',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    'fc00::1',
    'fd12:3456:789a::1',
  ],
  forbidden: [
    '0.0.0.0',
    '0.1.2.3',
    '168.63.129.16',
    '::ffff:168.63.129.16',
    '100.100.100.200',
    '169.254.0.1',
    '169.254.169.254',
    '::ffff:a9fe:a9fe',
    '192.0.0.192',
    '192.0.2.1',
    '192.31.196.1',
    '192.52.193.1',
    '192.88.99.1',
    '192.175.48.1',
    '198.18.0.1',
    '198.51.100.1',
    '203.0.113.1',
    '224.0.0.1',
    '239.255.255.255',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::7f00:1', // IPv4-compatible
    '::127.0.0.1',
    '::ffff:0:127.0.0.1', // translated
    '64:ff9b::7f00:1', // NAT64
    '64:ff9b::8.8.8.8',
    '64:ff9b:1::a00:1',
    '100::1',
    '1::1',
    '2001::1', // Teredo
    '2001:0:4136:e378:8000:63bf:3fff:fdd2',
    '2001:2::1',
    '2001:10::1',
    '2001:20::1',
    '2001:db8::1',
    '2002:7f00:1::', // 6to4
    '2002:808:808::1',
    '2606:4700::5efe:7f00:1', // ISATAP
    '2606:4700::200:5efe:a00:1',
    '3fff::1',
    '4000::1',
    '5f00::1',
    'fe80::1',
    'fec0::1',
    'fd00:ec2::254',
    'fd20:ce::254',
    'fd00:c1::a9fe:a9fe',
    'fd00:42::42',
    'ff02::1',
    // not addresses, or not in their plain form
    '',
    'localhost',
    '127.1',
    '0177.0.0.1',
    '0x7f.0.0.1',
    '2130706433',
    '8.8.8.8/32',
    '8.8.8.8 ',
    '[::1]',
    'fe80::1%eth0',
    '::1%lo',
    '2606:4700::1%1',
    '1:2:3',
  ],
}

test('WH-4 F21: every address is public, private, or nobody’s to choose', () => {
  for (const [kind, addresses] of Object.entries(KINDS)) {
    for (const address of addresses) assert.equal(addressKind(address), kind, address)
  }
})

/** Refused whatever the operator says. */
const NEVER = [
  // metadata and other services of platforms, in every spelling
  'https://169.254.169.254/latest/meta-data/',
  'http://169.254.169.254/latest/meta-data/',
  'https://2852039166/',
  'https://0xa9fea9fe/',
  'https://0251.0376.0251.0376/',
  'https://169.254.43518/',
  'https://[::ffff:169.254.169.254]/',
  'https://[::ffff:a9fe:a9fe]/',
  'https://[0:0:0:0:0:ffff:a9fe:a9fe]/',
  'https://[fd00:ec2::254]/',
  'https://168.63.129.16/',
  'https://[::ffff:168.63.129.16]/',
  'https://100.100.100.200/',
  'https://192.0.0.192/',
  // IPv4 inside IPv6
  'https://[64:ff9b::7f00:1]/',
  'https://[64:ff9b::a9fe:a9fe]/',
  'https://[64:ff9b:1::a00:1]/',
  'https://[2002:7f00:1::]/',
  'https://[2002:a9fe:a9fe::1]/',
  'https://[2001:0:4136:e378:8000:63bf:3fff:fdd2]/',
  'https://[::127.0.0.1]/',
  'https://[::7f00:1]/',
  'https://[::ffff:0:7f00:1]/',
  'https://[2606:4700::5efe:7f00:1]/',
  // nowhere, everywhere, the neighbourhood
  'https://0/',
  'https://0.0.0.0/',
  'https://[::]/',
  'https://255.255.255.255/',
  'https://224.0.0.1/',
  'https://[ff02::1]/',
  'https://[fe80::1]/',
  'https://[fe80::1%25eth0]/',
  'https://[fe80::1%eth0]/',
  'https://192.0.2.1/',
  'https://[2001:db8::1]/',
  // who is meant depends on who reads
  'https://user@hooks.customer.com/',
  'https://user:password@hooks.customer.com/',
  'https://@hooks.customer.com/',
  'https://hooks.customer.com@127.0.0.1/',
  'https://127.0.0.1@hooks.customer.com/',
  'https://hooks.customer.com:443@127.0.0.1/',
  'https://hooks.customer.com\\@127.0.0.1/',
  'https://127.0.0.1\\.hooks.customer.com/',
  'https:\\\\127.0.0.1\\',
  'https://hooks.customer.com/\\127.0.0.1',
  'https:/127.0.0.1/',
  'https:127.0.0.1',
  'https:///127.0.0.1/',
  '//127.0.0.1/',
  '/hooks',
  'hooks.customer.com',
  ' https://hooks.customer.com/',
  'https://hooks.customer.com/\n',
  'https://hooks.customer.com/\r\nX-Injected: 1',
  'ht\ttps://127.0.0.1/',
  'https://127.0.\t0.1/',
  'https://hooks.customer.com/\u0000',
  'https://hooks\u200b.customer.com/',
  'https://%31%32%37.0.0.1/',
  'https://hooks.customer.com%2f@127.0.0.1/',
  'https://hooks.customer.com%00.internal/',
  'https://hooks.customer.com#@127.0.0.1/',
  'https://hooks.customer.com/#fragment',
  'https://hooks.customer.com/#',
  'https://localhost./',
  'https://hooks.customer.com./',
  'https://hooks..customer.com/',
  'https://.hooks.customer.com/',
  'https://-hooks.customer.com/',
  'https://1.2.3.4.5/',
  'https://256.256.256.256/',
  'https://[::1/',
  'https://[]/',
  'https://*/',
  'https://*.customer.com/',
  `https://${'a'.repeat(64)}.com/`,
  `https://${'a.'.repeat(127)}com/`,
  `https://hooks.customer.com/${'a'.repeat(2048)}`,
  'https://hooks.customer.com:0/',
  'https://hooks.customer.com:65536/',
  'https://hooks.customer.com:-1/',
  'https://hooks.customer.com:https/',
  'https://',
  '',
  // other schemes
  'ftp://hooks.customer.com/',
  'file:///etc/passwd',
  'gopher://hooks.customer.com:6379/_FLUSHALL',
  'ws://hooks.customer.com/',
  'wss://hooks.customer.com/',
  'javascript:alert(1)',
  'data:text/plain,x',
  'unix:/var/run/docker.sock',
  'http+unix://%2Fvar%2Frun%2Fdocker.sock/info',
  'blob:https://hooks.customer.com/1',
]

/** Refused unless the operator opens the private networks. */
const NOT_WITHOUT_THE_OPERATOR = [
  'https://127.0.0.1/',
  'https://127.1/',
  'https://127.0.1/',
  'https://0x7f.1/',
  'https://0x7f000001/',
  'https://0177.0.0.1/',
  'https://017700000001/',
  'https://2130706433/',
  'https://127.0.0.1./',
  'https://127.255.255.254/',
  'https://１２７.０.０.１/',
  'https://127。0。0。1/',
  'https://①②⑦.⓪.⓪.①/',
  'https://[::1]/',
  'https://[0000:0000:0000:0000:0000:0000:0000:0001]/',
  'https://[::ffff:127.0.0.1]/',
  'https://[::ffff:7f00:1]/',
  'https://10.0.0.1/',
  'https://012.0.0.1/',
  'https://172.16.0.1/',
  'https://192.168.0.1/',
  'https://3232235521/',
  'https://100.64.0.1/',
  'https://[fc00::1]/',
  'https://[fd12:3456:789a::1]/',
  'https://localhost/',
  'https://LOCALHOST/',
  'https://ⓛⓞⓒⓐⓛⓗⓞⓢⓣ/',
  'https://app.localhost/',
  'https://localhost.localdomain/',
  'https://printer.local/',
  'https://metadata.google.internal/',
  'https://router.home.arpa/',
  'https://redis/',
  'http://hooks.customer.com/',
  'http://127.0.0.1:6379/',
  'https://hooks.customer.com:22/',
  'https://hooks.customer.com:80/',
  'https://hooks.customer.com:6379/',
  'https://hooks.customer.com:8444/',
]

test('WH-4 F21: hostile URLs are refused, each with a reason that repeats nothing of them', () => {
  assert.ok(NEVER.length + NOT_WITHOUT_THE_OPERATOR.length >= 60)
  for (const text of [...NEVER, ...NOT_WITHOUT_THE_OPERATOR]) {
    const verdict = readTarget(text, STRICT)
    assert.ok('refusal' in verdict, text)
    assert.doesNotMatch(verdict.refusal, /customer|127|169|user:/)
  }
})

test('WH-4 F21: where private networks are open, only those URLs open up', () => {
  for (const text of NEVER) assert.ok('refusal' in readTarget(text, OPEN), text)
  for (const text of NOT_WITHOUT_THE_OPERATOR) assert.ok('url' in readTarget(text, OPEN), text)
})

test('WH-4: http and other ports are for private addresses, also where those are open', () => {
  for (const text of ['http://8.8.8.8/', 'https://8.8.8.8:9443/', 'http://[2606:4700:4700::1111]:8080/']) {
    assert.ok('refusal' in readTarget(text, OPEN), text)
  }
  assert.equal(reachOf({ protocol: 'http:', port: '' }, OPEN), 'private')
  assert.equal(reachOf({ protocol: 'https:', port: '9443' }, OPEN), 'private')
  assert.equal(reachOf({ protocol: 'https:', port: '' }, OPEN), 'both')
  assert.equal(reachOf({ protocol: 'https:', port: '8443' }, STRICT), 'public')
  assert.equal(reachOf({ protocol: 'http:', port: '' }, STRICT), undefined)
})

test('WH-4: ordinary targets are allowed, and come out in their one plain form', () => {
  const allowed = {
    'https://hooks.customer.com/turnpike?tenant=7&to=a%20b': 'https://hooks.customer.com/turnpike?tenant=7&to=a%20b',
    'https://hooks.customer.com': 'https://hooks.customer.com/',
    'HTTPS://Hooks.Customer.COM:443/A': 'https://hooks.customer.com/A',
    'https://hooks.customer.com:8443/': 'https://hooks.customer.com:8443/',
    'https://hooks.customer.com/a@b/%40': 'https://hooks.customer.com/a@b/%40',
    'https://hooks.customer.com/?to=user@customer.com': 'https://hooks.customer.com/?to=user@customer.com',
    'https://local.customer.com/': 'https://local.customer.com/',
    'https://notlocalhost.com/': 'https://notlocalhost.com/',
    'https://my_hooks.customer.com/': 'https://my_hooks.customer.com/',
    'https://münchen.de/': 'https://xn--mnchen-3ya.de/',
    'https://127.0.0.1.nip.io/': 'https://127.0.0.1.nip.io/', // what it leads to is known at the connection
    'https://8.8.8.8/': 'https://8.8.8.8/',
    'https://134744072/': 'https://8.8.8.8/',
    'https://[2606:4700:4700::1111]:8443/': 'https://[2606:4700:4700::1111]:8443/',
    'https://[::ffff:8.8.8.8]/': 'https://[::ffff:808:808]/',
  }
  for (const [text, href] of Object.entries(allowed)) {
    const verdict = readTarget(text, STRICT)
    assert.ok('url' in verdict, text)
    assert.equal(verdict.url.href, href)
  }
})

test('[limit: target-length] a URL of 2048 characters is read, a longer one is not', () => {
  const longest = 'https://hooks.customer.com/'.padEnd(2048, 'a')
  assert.ok('url' in readTarget(longest, STRICT))
  assert.deepEqual(readTarget(`${longest}a`, STRICT), { refusal: 'is longer than 2048 characters' })
})

test('what is allowed can be told', () => {
  assert.match(allowedTargets(STRICT), /^https:\/\/ URLs of public hosts on port 443 or 8443, all without/)
  assert.match(allowedTargets(OPEN), /http:\/\/ and https:\/\/ URLs of private or loopback hosts/)
})
