import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { GatewayError } from './errors.ts'
import { guardBody, MAX_ARRAY_ITEMS, MAX_BODY_DEPTH, parseJsonBody } from './json-body.ts'

function readBody(text: string): unknown {
  const body = parseJsonBody(text)
  guardBody(body)
  return body
}

function codeOf(action: () => unknown): string | undefined {
  try {
    action()
    return undefined
  } catch (error) {
    assert.ok(error instanceof GatewayError, String(error))
    assert.equal(error.status, 400)
    return error.code
  }
}

const nested = (depth: number): string => `${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`

test('PP-2: nesting up to the limit passes, one level more does not [limit: nesting]', () => {
  assert.equal(
    codeOf(() => guardBody(JSON.parse(nested(MAX_BODY_DEPTH)))),
    undefined,
  )
  assert.equal(
    codeOf(() => guardBody(JSON.parse(nested(MAX_BODY_DEPTH + 1)))),
    'invalid_value',
  )
})

test('PP-2: nesting of a hundred thousand levels is refused, not a stack overflow', () => {
  for (const text of ['['.repeat(100_000) + ']'.repeat(100_000), nested(100_000)]) {
    assert.equal(
      codeOf(() => readBody(`{"model":"m","messages":${text}}`)),
      'invalid_value',
    )
  }
})

test('PP-2: arrays up to the limit pass, one item more does not, wherever they are [limit: items]', () => {
  const body = (length: number) => ({ extra: { list: Array.from({ length }, () => 0) } })
  assert.equal(
    codeOf(() => guardBody(body(MAX_ARRAY_ITEMS))),
    undefined,
  )
  assert.equal(
    codeOf(() => guardBody(body(MAX_ARRAY_ITEMS + 1))),
    'invalid_value',
  )
})

test('PP-1: an own __proto__ is refused at every level', () => {
  for (const text of ['{"__proto__":{"x":1}}', '{"a":[{"__proto__":null}]}', '{"a":{"b":{"__proto__":5}}}']) {
    assert.equal(
      codeOf(() => guardBody(JSON.parse(text))),
      'invalid_value',
      text,
    )
  }
})

test('PP-1: a constructor is refused only when it reaches for a prototype', () => {
  assert.equal(
    codeOf(() => guardBody(JSON.parse('{"constructor":{"prototype":{"x":1}}}'))),
    'invalid_value',
  )
  const schema = '{"properties":{"constructor":{"type":"string"},"prototype":{}},"constructor":"x"}'
  assert.equal(
    codeOf(() => guardBody(JSON.parse(schema))),
    undefined,
  )
})

test('PP-1: after any refused body, plain objects have nothing new', () => {
  codeOf(() => readBody('{"model":"m","messages":[],"__proto__":{"polluted":1}}'))
  assert.equal(Reflect.get({}, 'polluted'), undefined)
})

test('any JSON of modest size passes, and the walk never throws but its own error', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
      const parsed: unknown = JSON.parse(JSON.stringify(value))
      const hostile = /__proto__|"constructor":\{.*"prototype":/.test(JSON.stringify(parsed)) // chance knows these names
      if (!hostile)
        assert.equal(
          codeOf(() => guardBody(parsed)),
          undefined,
        )
    }),
  )
})

test('a body that is no JSON is refused with what is wrong and where', () => {
  const messageOf = (text: string): string => {
    try {
      parseJsonBody(text)
    } catch (error) {
      assert.ok(error instanceof GatewayError)
      assert.equal(error.code, 'invalid_json')
      return error.message
    }
    return assert.fail(`accepted ${text}`)
  }
  assert.match(messageOf(''), /empty/)
  assert.match(messageOf(' \n'), /empty/)
  assert.match(messageOf('{"model":'), /ends early, at position 9/)
  assert.match(messageOf('{"model":"m" "messages":[]}'), /position 13/)
  assert.match(messageOf('a=b'), /a=b/)
  assert.ok(messageOf(`{"a":${'x'.repeat(100_000)}`).length < 300)
})

test('JSON that is no object is of the wrong type', () => {
  for (const text of ['[]', 'null', '5', '"x"', 'true'])
    assert.equal(
      codeOf(() => parseJsonBody(text)),
      'invalid_type',
    )
})
