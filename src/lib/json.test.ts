import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { canonicalJson } from './json.ts'

/** What `JSON.parse` can give: it never gives -0 for anything but `-0`, which is 0 here. */
const jsonValue = fc.jsonValue({ maxDepth: 6 }).map((value): unknown => JSON.parse(JSON.stringify(value)))

/** The same value, its fields put in another order. */
function shuffled(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shuffled)
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value).map(([name, field]) => [name, shuffled(field)] as const)
  return Object.fromEntries(fields.reverse())
}

/** The same value, set with white space and read again. */
function spaced(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value, undefined, ' \t'))
}

test('IDEM-2: the order of fields and white space never matter', () => {
  fc.assert(
    fc.property(jsonValue, (value) => {
      const text = canonicalJson(value)
      assert.equal(canonicalJson(shuffled(value)), text)
      assert.equal(canonicalJson(spaced(value)), text)
    }),
    { numRuns: 2_000 },
  )
})

test('IDEM-2: the text is JSON of the same value, so different values always differ', () => {
  fc.assert(
    fc.property(jsonValue, (value) => assert.deepEqual(JSON.parse(canonicalJson(value)), value)),
    { numRuns: 2_000 },
  )
  fc.assert(
    fc.property(jsonValue, jsonValue, (one, other) => {
      assert.equal(canonicalJson(one) === canonicalJson(other), isEqual(one, other))
    }),
    { numRuns: 2_000 },
  )
})

function isEqual(one: unknown, other: unknown): boolean {
  try {
    assert.deepEqual(one, other)
    return true
  } catch {
    return false
  }
}

test('values that are easily taken for one another differ', () => {
  const texts = [
    '1',
    '"1"',
    'null',
    '"null"',
    '[]',
    '{}',
    '[[]]',
    '[null]',
    'true',
    '""',
    '0',
    'false',
    '1e400',
    '-1e400',
  ]
    .concat([
      '{"a":null}',
      '{"a":1,"b":2}',
      '{"a":{"b":2}}',
      '{"a,b":1}',
      '["a","b"]',
      '["a,b"]',
      '"\\ud800"',
      '"\\\\ud800"',
    ])
    .concat(['{"__proto__":1}', '{"10":1,"9":2}'])
    .map((text) => canonicalJson(JSON.parse(text)))
  assert.equal(new Set(texts).size, texts.length)
})

test('numbers are what they are read as', () => {
  assert.equal(canonicalJson(JSON.parse('[1.0,1e2,-0,0.1]')), '[1,100,0,0.1]')
})

test('names that look like indexes, and `__proto__`, are fields like others', () => {
  assert.equal(
    canonicalJson(JSON.parse('{"b":1,"10":2,"9":3,"__proto__":{"x":4}}')),
    '{"10":2,"9":3,"__proto__":{"x":4},"b":1}',
  )
})

test('a body nested as deep as bodies may be has a text', () => {
  const text = `${'{"a":['.repeat(32)}1${']}'.repeat(32)}`
  assert.equal(canonicalJson(JSON.parse(text)), text)
})
