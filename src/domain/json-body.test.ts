import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { GatewayError } from './errors.ts'
import {
  checkJsonBytes,
  MAX_ARRAY_ITEMS,
  MAX_BODY_DEPTH,
  MAX_BODY_VALUES,
  MAX_ESCAPES,
  MAX_FIELD_NAMES,
  parseCheckedBody,
  parseJsonBody,
} from './json-body.ts'

const check = (text: string): ReturnType<typeof checkJsonBytes> => checkJsonBytes(Buffer.from(text))

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

const accepts = (text: string): boolean => codeOf(() => check(text)) === undefined
const nested = (depth: number): string => `${'{"a":'.repeat(depth - 1)}{}${'}'.repeat(depth - 1)}`
const list = (length: number, item: (at: number) => string): string =>
  `[${Array.from({ length }, (_, at) => item(at))}]`

test('PP-2: nesting up to the limit passes, one level more does not [limit: nesting]', () => {
  assert.ok(accepts(nested(MAX_BODY_DEPTH)))
  assert.ok(!accepts(nested(MAX_BODY_DEPTH + 1)))
})

test('PP-2: nesting of a hundred thousand levels is refused, not a stack overflow', () => {
  for (const text of ['['.repeat(100_000) + ']'.repeat(100_000), nested(100_000), '['.repeat(100_000)]) {
    assert.ok(!accepts(`{"model":"m","messages":${text}}`))
  }
})

test('PP-2: arrays up to the limit pass, one item more does not, wherever they are [limit: items]', () => {
  const body = (length: number) => `{"extra": {"list": ${list(length, (at) => ` ${at}`)} }}`
  assert.ok(accepts(body(MAX_ARRAY_ITEMS)))
  assert.ok(!accepts(body(MAX_ARRAY_ITEMS + 1)))
})

test('escape sequences up to the limit pass, one more does not, of whatever kind they are [limit: escapes]', () => {
  for (const sequence of ['\\"', '\\\\', '\\n', '\\u0001']) {
    // Text between them, and a body of one value: nothing else is exceeded.
    const body = (escapes: number) => `{"a":"${sequence.repeat(escapes)}${'x'.repeat(1_000)}"}`
    assert.ok(accepts(body(MAX_ESCAPES)), sequence)
    assert.ok(!accepts(body(MAX_ESCAPES + 1)), sequence)
  }
  assert.ok(accepts(`{"image":"${'A'.repeat(30 * 1024 * 1024)}"}`), 'images have none')
})

test('values up to the limit pass, one more does not, of whatever kind they are [limit: values]', () => {
  // The outermost object, its array and 21 arrays: the rest are items.
  const body = (values: number, item: string) =>
    `{"a":${list(21, (at) => list(at === 0 ? values - 23 - 20 * 9_500 : 9_500, () => item))}}`
  for (const item of ['1', '""', 'null', '-1.5e3', '"a,[{\\""', '[]', '{}']) {
    const { values } = check(body(MAX_BODY_VALUES, item))
    assert.equal(values, MAX_BODY_VALUES)
    assert.ok(!accepts(body(MAX_BODY_VALUES + 1, item)), item)
  }
})

test('different field names up to the limit pass, one more does not; repeated ones do [limit: field-names]', () => {
  const body = (names: number) =>
    `{"a":{${Array.from({ length: names - 1 }, (_, at) => `"k${at}":0`)}},"b":{"a":1}}`.replace('"b"', '"a"')
  assert.ok(accepts(body(MAX_FIELD_NAMES)))
  assert.ok(!accepts(body(MAX_FIELD_NAMES + 1)))
  assert.ok(accepts(`{"a":${list(9_000, () => '{"x":1,"y":2,"z":3}')}}`))
})

test('PP-1: an own __proto__ is refused at every level, however it is spelled', () => {
  for (const text of [
    '{"__proto__":{"x":1}}',
    '{"a":[{"__proto__":null}]}',
    '{"a":{"b":{"__proto__":5}}}',
    '{"\\u005f_proto__":1}',
    '{ "_\\u005Fproto\\u005f_" : 1}',
  ]) {
    assert.throws(() => check(text), { code: 'invalid_value', message: /named `__proto__`/ }, text)
  }
  for (const text of ['{"a":"__proto__"}', '{"a":["__proto__"]}', '{"__proto":1}', '{"a__proto__":1}']) {
    assert.ok(accepts(text), text)
  }
})

test('PP-1: a constructor is refused only when it reaches for a prototype', () => {
  assert.ok(!accepts('{"constructor":{"prototype":{"x":1}}}'))
  assert.ok(!accepts('{"c":{"constru\\u0063tor" : {"a":[{}],"prototyp\\u0065":1}}}'))
  for (const text of [
    '{"properties":{"constructor":{"type":"string"},"prototype":{}},"constructor":"x"}',
    '{"constructor":1,"a":{"prototype":1}}',
    '{"constructor":[{"prototype":1}]}',
    '{"constructor":{"a":{"prototype":1}}}',
  ]) {
    assert.ok(accepts(text), text)
  }
})

test('PP-1: after any refused body, plain objects have nothing new', () => {
  assert.ok(!accepts('{"model":"m","messages":[],"__proto__":{"polluted":1}}'))
  assert.equal(Reflect.get({}, 'polluted'), undefined)
})

interface Counted {
  readonly values: number
  readonly names: number
}

function count(value: unknown): Counted {
  if (typeof value !== 'object' || value === null) return { values: 1, names: 0 }
  const parts = Object.values(value).map(count)
  const names = Array.isArray(value) ? 0 : parts.length
  return parts.reduce((sum, part) => ({ values: sum.values + part.values, names: sum.names + part.names }), {
    values: 1,
    names,
  })
}

const hostile = /__proto__|"constructor":\{.*"prototype":/ // chance knows these names

test('of any JSON, however it is laid out, the figures are exact', () => {
  const blank = fc.constantFrom('', ' ', '\n\t  ')
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), blank, (value, indent) => {
      const text = JSON.stringify(value, null, indent)
      if (hostile.test(text)) return
      const { values, names } = check(text)
      assert.deepEqual({ values, names }, count(JSON.parse(text)))
    }),
  )
})

test('of text that is no JSON nothing but the limits is checked, and every string ends where it does', () => {
  for (const long of ['', 'x'.repeat(100), 'x'.repeat(5_000)]) {
    for (let escapes = 0; escapes < 140; escapes++) {
      const text = JSON.stringify({ a: `${long}${'\\'.repeat(escapes)}"`, b: [`"${long}`, '\\'] })
      assert.deepEqual(check(text), { values: 5, names: 2, excess: undefined })
      for (const cut of [3, 10, text.length - 1]) check(text.slice(0, cut))
    }
  }
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void codeOf(() => checkJsonBytes(Buffer.from(bytes)))),
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

test('a short body is checked like any other, whichever way it is read', () => {
  const bodies = [
    '{"a":1}',
    `{"a":${'['.repeat(MAX_BODY_DEPTH - 1)}${']'.repeat(MAX_BODY_DEPTH - 1)}}`,
    `{"a":${'['.repeat(MAX_BODY_DEPTH)}${']'.repeat(MAX_BODY_DEPTH)}}`,
    `{"a":"${'{['.repeat(MAX_BODY_DEPTH)}"}`,
    '{"__proto__":{"a":1}}',
    '{"\\u005f_proto__":{"a":1}}',
    '{"constructor":{"prototype":1}}',
    '{"text":"__proto__ and constructor"}',
    `{"a":[${'0,'.repeat(MAX_ARRAY_ITEMS)}0]}`,
    '{"a":',
    '',
  ]
  const outcome = (read: () => unknown): unknown => {
    try {
      return read()
    } catch (error) {
      return String(error)
    }
  }
  for (const text of bodies) {
    const bytes = Buffer.from(text)
    const scanned = outcome(() => {
      checkJsonBytes(bytes)
      return parseJsonBody(text)
    })
    assert.deepEqual(
      outcome(() => parseCheckedBody(bytes)),
      scanned,
      text.slice(0, 60),
    )
  }
})
