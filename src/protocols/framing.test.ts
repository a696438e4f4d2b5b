import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createSseDecoder } from './framing.ts'
import { type Frame, ProviderError } from './protocol.ts'

const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
const message = (data: string): Frame => ({ event: '', data })

function decodeAll(parts: readonly Uint8Array[]): { frames: Frame[]; rest: string } {
  const decoder = createSseDecoder()
  const frames: Frame[] = []
  for (const part of parts) decoder.push(part, frames)
  return { frames, rest: decoder.end() }
}

function splitAt(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b)
  return [...places, bytes.length].map((end, position) => bytes.slice(places[position - 1] ?? 0, end))
}

/** One vector for each rule of WHATWG HTML 9.2.6, named as the rule. */
const VECTORS: readonly { readonly name: string; readonly body: string; readonly frames: readonly Frame[] }[] = [
  {
    name: 'one leading byte order mark is dropped, a later one is part of a field name',
    body: '\uFEFFdata: first\n\n\uFEFFdata: lost\n\ndata: third\n\n',
    frames: [message('first'), message('third')],
  },
  { name: 'only one byte order mark is dropped', body: '\uFEFF\uFEFFdata: lost\n\n', frames: [] },
  {
    name: 'comments are ignored, alone and between the lines of an event',
    body: ': \n\n:keep-alive\ndata: 1\n:x\0y\ndata: 2\n: ::\n\n:\n\n',
    frames: [message('1\n2')],
  },
  {
    name: 'an event without its blank line is discarded',
    body: 'data: whole\n\ndata: torn\n',
    frames: [message('whole')],
  },
  {
    name: 'a field without a colon has the empty value',
    body: 'data:\n\ndata\ndata\n\ndata:test\n\n',
    frames: [message(''), message('\n'), message('test')],
  },
  {
    name: 'the event name is taken, and does not outlive its event',
    body: 'event: error\ndata: x\n\ndata: y\n\nevent:\ndata: z\n\nevent: a\nevent: b\ndata: w\n\n',
    frames: [{ event: 'error', data: 'x' }, message('y'), message('z'), { event: 'b', data: 'w' }],
  },
  { name: 'an event name without data dispatches nothing', body: 'event: ping\n\ndata: 1\n\n', frames: [message('1')] },
  {
    name: 'id and retry are read over, and odd field names are ignored',
    body: 'id: 7\nretry: 10\nretry: soon\n data: no\nDATA: no\ndata2: no\ndata : no\ndata:yes\n\n',
    frames: [message('yes')],
  },
  {
    name: 'one space after the colon is dropped, and no other white space',
    body: 'data:\tA\ndata:  B\ndata: \ndata:C \n\n',
    frames: [message('\tA\n B\n\nC ')],
  },
  {
    name: 'lines end with LF, CRLF or CR, even mixed',
    body: 'data: 1\r\ndata: 2\ndata: 3\rdata: 4\r\n\r\ndata: 5\r\rdata: 6\n\r\ndata: 7\r\n\ndata: 8\n\r',
    frames: ['1\n2\n3\n4', '5', '6', '7', '8'].map(message),
  },
  { name: 'the null character is text', body: 'data:\0\0\n\ndata\0:no\n\n', frames: [message('\0\0')] },
  { name: 'colons in the value belong to it', body: 'data:data:: x\n\n', frames: [message('data:: x')] },
  {
    name: 'blank lines between events say nothing',
    body: '\n\n\r\n\ndata: 1\n\n\n\n\ndata: 2\n\n',
    frames: [message('1'), message('2')],
  },
  {
    name: 'text is UTF-8 of any width, joined emoji too',
    body: 'data: é ḿ 漢 👩‍👩‍👧 ok\n\ndata: ❤️\n\n',
    frames: [message('é ḿ 漢 👩‍👩‍👧 ok'), message('❤️')],
  },
  { name: 'an empty body is no event', body: '', frames: [] },
]

for (const { name, body, frames } of VECTORS) {
  test(`SSE-1: ${name}`, () => {
    assert.deepEqual(decodeAll([encode(body)]).frames, frames)
  })
}

test('SSE-1: every vector reads the same wherever one or two cuts fall', () => {
  for (const { name, body, frames } of VECTORS) {
    const bytes = encode(body)
    for (let first = 0; first <= bytes.length; first++) {
      for (let second = first; second <= bytes.length; second++) {
        const parts = [bytes.slice(0, first), bytes.slice(first, second), bytes.slice(second)]
        assert.deepEqual(decodeAll(parts).frames, frames, `${name}, cut at ${first} and ${second}`)
      }
    }
  }
})

test('SSE-1: any stream reads the same whole, byte by byte, and under any split', () => {
  const end = fc.constantFrom('\n', '\r\n', '\r')
  const text = fc.array(fc.constantFrom('a', ':', ' ', 'é', '漢', '👩‍👧', '{', '\0', '\uFEFF'), { maxLength: 6 })
  const field = fc.constantFrom('data', 'data: ', 'data:', 'event: ', 'id: ', ':', '', 'retry:', 'x: ')
  const line = fc.tuple(field, text, end).map(([name, value, stop]) => `${name}${value.join('')}${stop}`)
  const body = fc.array(fc.oneof(line, end), { maxLength: 40 }).map((lines) => encode(lines.join('')))
  fc.assert(
    fc.property(body, fc.array(fc.nat(2000), { maxLength: 12 }), (bytes, cuts) => {
      const whole = decodeAll([bytes]).frames
      assert.deepEqual(decodeAll(splitAt(bytes, cuts)).frames, whole)
      assert.deepEqual(decodeAll([...bytes].map((byte) => Uint8Array.of(byte))).frames, whole)
    }),
    { numRuns: 400 },
  )
})

test('bytes that are not UTF-8 become replacement characters, under any split', () => {
  const bytes = Uint8Array.of(...encode('data: a'), 0xff, 0xe6, 0xbc, ...encode('b\n\n'))
  const expected = [message('a\uFFFD\uFFFDb')]
  for (let cut = 0; cut <= bytes.length; cut++) {
    assert.deepEqual(decodeAll([bytes.slice(0, cut), bytes.slice(cut)]).frames, expected)
  }
})

test('the bytes given may be overwritten afterwards', () => {
  const decoder = createSseDecoder()
  const frames: Frame[] = []
  const bytes = Buffer.from('data: one\n\ndata: tw')
  decoder.push(bytes, frames)
  bytes.fill(0x78)
  decoder.push(Buffer.from('o\n\n'), frames)
  assert.deepEqual(frames, [message('one'), message('two')])
})

test('an event larger than the cap is refused, whole or in pieces, and one of the cap is not', () => {
  const withCap = (size: number, pieces: number): number => {
    const decoder = createSseDecoder({ maxEventBytes: 100 })
    const frames: Frame[] = []
    const bytes = encode(`data: ${'é'.repeat((size - 8) / 2)}\n\n`)
    for (let at = 0; at < bytes.length; at += pieces) decoder.push(bytes.slice(at, at + pieces), frames)
    return frames.length
  }
  const isFailure = (error: unknown): boolean => error instanceof ProviderError && error.failure.kind === 'failed'
  for (const pieces of [1, 7, 64, 1000]) {
    assert.equal(withCap(100, pieces), 1)
    assert.throws(() => withCap(112, pieces), isFailure, `pieces of ${pieces}`)
  }
})

test('many events in one read may be larger than the cap together', () => {
  const decoder = createSseDecoder({ maxEventBytes: 64 })
  const frames: Frame[] = []
  decoder.push(encode('data: 1234567890\n\n'.repeat(50)), frames)
  assert.equal(frames.length, 50)
})

test('a large event in small reads is put together', () => {
  const text = 'x漢'.repeat(60_000)
  const bytes = encode(`data: ${text}\n\ndata: next\n\n`)
  const parts = splitAt(
    bytes,
    Array.from({ length: 5000 }, (_, position) => position * 48),
  )
  assert.deepEqual(decodeAll(parts).frames, [message(text), message('next')])
})

test('a body that is no event stream can be told from an unfinished frame', () => {
  const error = '{\n  "error": {\n    "message": "busy"\n  }\n}'
  assert.equal(decodeAll([encode(error)]).rest, error)
  assert.equal(decodeAll([encode(`${error}\n\n`)]).rest.trim(), error)
  assert.equal(decodeAll([encode('<html>\n\n</html>')]).rest, '</html>')
  assert.equal(decodeAll([encode(`data: 1\n\n${error}`)]).rest, error)
  assert.equal(decodeAll([encode('data: 1\n\ndata: {"a"')]).rest, 'data: {"a"')
  assert.equal(decodeAll([encode('data: 1\n\n: bye\n\n')]).rest, '')
})
