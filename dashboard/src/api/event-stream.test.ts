import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createEventParser, readEvents, type StreamEvent } from './event-stream.ts'

function parsed(...pieces: readonly string[]): readonly StreamEvent[] {
  const events: StreamEvent[] = []
  const push = createEventParser((event) => events.push(event))
  for (const piece of pieces) push(piece)
  return events
}

function streamed(chunks: readonly Uint8Array[], hooks: { onCancel?: () => void; isEndless?: boolean } = {}): Response {
  const left = [...chunks]
  return new Response(
    new ReadableStream<Uint8Array>({
      pull(controller) {
        const chunk = left.shift()
        if (chunk !== undefined) controller.enqueue(chunk)
        else if (hooks.isEndless !== true) controller.close()
      },
      cancel: () => hooks.onCancel?.(),
    }),
  )
}

test('fields, comments and unknown fields', () => {
  const text = ': keep-alive\n\nid: 7\nevent: run.started\ndata: {"a":\ndata:1}\nretry: 10\nother: x\n\ndata\n\n'
  assert.deepEqual(parsed(text), [
    { id: '7', event: 'run.started', data: '{"a":\n1}' },
    { id: '7', data: '' },
  ])
})

test('an id stays until another is named, an empty one takes it away, and one with a null is none', () => {
  assert.deepEqual(parsed('id: 1\ndata: a\n\ndata: b\n\nid: 2\0\ndata: c\n\nid\ndata: d\n\n'), [
    { id: '1', data: 'a' },
    { id: '1', data: 'b' },
    { id: '1', data: 'c' },
    { data: 'd' },
  ])
})

test('an event without data is none, and its name does not stay', () => {
  assert.deepEqual(parsed('event: ping\n\ndata: a\n\n'), [{ data: 'a' }])
})

test('only one space after the colon belongs to the format', () => {
  assert.deepEqual(parsed('data:  a: b \n\n'), [{ data: ' a: b ' }])
})

test('what is cut off is dropped', () => {
  assert.deepEqual(parsed('data: a\n\ndata: b\n'), [{ data: 'a' }])
  assert.deepEqual(parsed('data: a\n\ndata: b'), [{ data: 'a' }])
})

test('reading in any pieces is reading whole, with every kind of line end', () => {
  const line = fc.constantFrom('data: a', 'data:b', 'data', 'event: e', 'id: 1', ': c', '', 'data: é漢🎉')
  const end = fc.constantFrom('\n', '\r', '\r\n')
  fc.assert(
    fc.property(fc.array(fc.tuple(line, end)), fc.array(fc.nat({ max: 80 }), { maxLength: 12 }), (lines, cuts) => {
      const whole = parsed(lines.map(([text]) => `${text}\n`).join(''))
      const text = lines.map(([content, ending], index) => {
        // CR and LF of two lines, one of them empty, would be one line end.
        const next = lines[index + 1]
        return content + (ending === '\r' && next?.[0] === '' && next[1] === '\n' ? '\n' : ending)
      })
      assert.deepEqual(parsed(...split(text.join(''), cuts)), whole)
    }),
  )
})

function split(text: string, cuts: readonly number[]): readonly string[] {
  const places = [0, ...cuts.filter((cut) => cut <= text.length).sort((a, b) => a - b), text.length]
  return places.slice(1).map((place, index) => text.slice(places[index], place))
}

test('characters are whole although their bytes arrive one by one, and a byte order mark is none', async () => {
  const bytes = new TextEncoder().encode('\ufeffdata: é漢🎉\r\n\r\n')
  const events: StreamEvent[] = []
  await readEvents(streamed([...bytes].map((byte) => Uint8Array.of(byte))), (event) => events.push(event))
  assert.deepEqual(events, [{ data: 'é漢🎉' }])
})

test('a signal gives the answer up and throws its reason, also while nothing arrives', async () => {
  let isCancelled = false
  const onCancel = (): void => {
    isCancelled = true
  }
  const abort = new AbortController()
  const first = new TextEncoder().encode('data: a\n\n')
  const reading = readEvents(
    streamed([first], { onCancel, isEndless: true }),
    () => setTimeout(() => abort.abort(), 5),
    abort.signal,
  )
  await assert.rejects(reading, { name: 'AbortError' })
  assert.ok(isCancelled)
  await assert.rejects(
    readEvents(streamed([first]), () => assert.fail(), abort.signal),
    { name: 'AbortError' },
  )
})

test('an error of the listener ends the reading', async () => {
  let isCancelled = false
  const onCancel = (): void => {
    isCancelled = true
  }
  const fail = (): never => {
    throw new Error('not JSON')
  }
  const first = new TextEncoder().encode('data: a\n\n')
  await assert.rejects(readEvents(streamed([first], { onCancel, isEndless: true }), fail), /not JSON/)
  assert.ok(isCancelled)
})

test('an answer without a body has no events', async () => {
  await readEvents(new Response(null, { status: 204 }), () => assert.fail())
})
