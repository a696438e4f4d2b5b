import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { promptContent } from '../domain/bounds/reservation.ts'
import { GatewayError } from '../domain/errors.ts'
import { fingerprintOf, type LargeBody, MAX_BODY_VALUES } from '../domain/json-body.ts'
import { messagesApi } from '../protocols/anthropic-messages/client/index.ts'
import { parseChatRequest } from '../protocols/openai-chat/client/request.ts'
import { createLargeBodies, joinBody, PIECE_VALUES, type Piece, splitBody } from './large-bodies.ts'

const ENDPOINT = 'POST /v1/chat/completions'
const bodies = createLargeBodies()
after(() => bodies.close())

function large(text: string, over: Partial<LargeBody> = {}): LargeBody {
  const bytes = Buffer.from(text)
  return { bytes, owner: 'acc', endpoint: ENDPOINT, isKeyed: false, isAbandoned: () => false, ...over }
}

const image = `data:image/png;base64,${Buffer.alloc(600_000, 'abc').toString('base64')}`
const CHAT = JSON.stringify({
  model: 'm',
  messages: [
    { role: 'system', content: 'Grüße, 世界 — "quoted"\n'.repeat(20_000) },
    { role: 'user', content: [{ type: 'image_url', image_url: { url: image } }] },
  ],
  tools: [{ type: 'function', function: { name: 'f', parameters: { type: 'object' } } }],
})

test('a large chat completion parses as with JSON.parse, with its prompt and fingerprint', async () => {
  const { body, findings } = await bodies.parse(large(CHAT, { isKeyed: true }))
  const expected: unknown = JSON.parse(CHAT)
  assert.deepEqual(body, expected)
  assert.deepEqual(findings.prompt, promptContent(parseChatRequest(expected)))
  assert.deepEqual(findings.fingerprint, fingerprintOf({ endpoint: ENDPOINT, body: expected }))
  assert.equal(findings.bytes, Buffer.byteLength(CHAT))
})

test('a large message, and one whose tokens are to be counted, have their prompt measured', async () => {
  const { endpoint, parse } = messagesApi
  const tools = [{ name: 'f', input_schema: { type: 'object' } }]
  const counted = { model: 'm', system: 'Be brief. '.repeat(1_000), messages: [{ role: 'user', content: 'hi' }], tools }
  const message = { ...counted, max_tokens: 10 }
  const expected = promptContent(parse(message))
  for (const body of [message, counted]) {
    const { findings } = await bodies.parse(large(JSON.stringify(body), { endpoint }))
    assert.deepEqual(findings.prompt, expected)
  }
})

test('other bodies have no findings, whatever they were meant to be', async () => {
  for (const endpoint of [ENDPOINT, messagesApi.endpoint, undefined]) {
    const { body, findings } = await bodies.parse(large('{"messages":5}', { endpoint }))
    assert.deepEqual([body, findings.prompt, findings.fingerprint], [{ messages: 5 }, undefined, undefined])
  }
})

test('errors are the same as for small bodies, and the next body is parsed', async () => {
  const items = '[],'.repeat(9_000)
  const many = `{"a":[${Array.from({ length: Math.ceil(MAX_BODY_VALUES / 9_000) }, () => `[${items}0]`)}]}`
  for (const [text, code] of [
    ['{"a":', 'invalid_json'],
    ['[1]', 'invalid_type'],
    [`${'{"a":'.repeat(100)}1${'}'.repeat(100)}`, 'invalid_value'],
    ['{"__proto__":1}', 'invalid_value'],
    [many, 'invalid_value'],
  ] as const) {
    await assert.rejects(bodies.parse(large(text)), (error) => error instanceof GatewayError && error.code === code)
  }
  assert.deepEqual((await bodies.parse(large('{}'))).body, {})
})

test('owners are served round-robin, and the body of a disconnected client is not parsed', async () => {
  const ended: string[] = []
  const ask = (name: string, over: Partial<LargeBody> = {}) =>
    bodies.parse(large('{"a":1}', { owner: name.slice(0, 1), ...over })).then(
      () => void ended.push(name),
      (error: GatewayError) => void ended.push(`${name}: ${error.code}`),
    )
  await Promise.all([
    ...['x1', 'a1', 'a2', 'a3'].map((name) => ask(name)),
    ask('b1'),
    ask('c1', { isAbandoned: () => true }),
  ])
  assert.deepEqual(ended, ['x1', 'a1', 'b1', 'c1: client_left', 'a2', 'a3'])
})

test('bytes that are part of a larger buffer are copied, and the buffer stays intact', async () => {
  const all = Buffer.from('xx{"a":1}xx')
  assert.deepEqual((await bodies.parse(large('', { bytes: all.subarray(2, 9) }))).body, { a: 1 })
  assert.equal(all.toString(), 'xx{"a":1}xx')
})

/** As another thread receives them. */
function joined(pieces: readonly Piece[]): unknown {
  const add = joinBody()
  let body: unknown
  for (const piece of pieces) body = add(structuredClone(piece))
  return body
}

function valuesIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce((sum: number, inner) => sum + valuesIn(inner), 1)
}

const sizeOf = (piece: Piece): number =>
  piece.flatMap(({ values }) => values).reduce((sum: number, value) => sum + valuesIn(value), 0)

const name = fc.string({ maxLength: 4 }).filter((text) => text !== '__proto__')
const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom(null, true, 0, -0.5, '', 'x', [], {}),
    fc.array(tie('value'), { maxLength: 12 }),
    fc.dictionary(name, tie('value'), { maxKeys: 12 }),
  ),
}))

test('the pieces of a body join to the same JSON, each with less than twice the size', () => {
  fc.assert(
    fc.property(fc.dictionary(name, value), fc.integer({ min: 1, max: 20 }), (body, size) => {
      const pieces = [...splitBody(body, size)]
      for (const piece of pieces) assert.ok(sizeOf(piece) < 2 * size, `${sizeOf(piece)} values`)
      assert.equal(JSON.stringify(joined(pieces)), JSON.stringify(body))
    }),
  )
})

test('a body with many values in one list, in many lists or in names is split, a small one is not', () => {
  const lists = Array.from({ length: 20 }, () => Array.from({ length: 9_000 }, () => ({})))
  const names = Object.fromEntries(Array.from({ length: 19_000 }, (_, index) => [`k${index}`, [index]]))
  for (const body of [{ lists }, names, { deep: [[[{ names, lists }]]], after: 1 }]) {
    const pieces = [...splitBody(body)]
    assert.ok(pieces.length > 5)
    assert.ok(pieces.every((piece) => sizeOf(piece) < 2 * PIECE_VALUES))
    assert.equal(JSON.stringify(joined(pieces)), JSON.stringify(body))
  }
  assert.equal([...splitBody({ messages: [{ role: 'user', content: 'hi' }] })].length, 1)
})
