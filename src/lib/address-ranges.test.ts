import assert from 'node:assert/strict'
import { isIP } from 'node:net'
import { test } from 'node:test'
import fc from 'fast-check'
import { addressGroup, includesAddress, isWithin, parseAddressRange } from './address-ranges.ts'

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
