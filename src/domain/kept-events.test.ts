import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { brokenEnd, eventsAfter, isEventStream, numberedEvents } from './kept-events.ts'

const DATA = fc.string({ unit: 'grapheme' }).map((text) => `data: ${JSON.stringify(text)}\n\n`)

test('each event gets the next number, whatever it says', () => {
  assert.deepEqual(numberedEvents('data: a\n\ndata: b\n\n', 3), ['id: 3\ndata: a\n\n', 'id: 4\ndata: b\n\n'])
  assert.deepEqual(numberedEvents('', 3), [])
})

test('what follows an event, and the events up to it, are the whole', () => {
  fc.assert(
    fc.property(fc.array(DATA, { minLength: 1, maxLength: 40 }), fc.nat(60), (events, after) => {
      const blocks = numberedEvents(events.join(''), 1)
      const text = blocks.join('')
      const rest = eventsAfter(text, after)
      const known = Math.min(after, blocks.length - 1)
      assert.equal(blocks.slice(0, known).join('') + rest, text)
    }),
  )
})

test('who has everything is told the end again', () => {
  const text = numberedEvents('data: 1\n\ndata: [DONE]\n\n', 1).join('')
  for (const after of [1, 2, 3, 1e18]) assert.equal(eventsAfter(text, after), 'id: 2\ndata: [DONE]\n\n')
  for (const after of [undefined, 0]) assert.equal(eventsAfter(text, after), text)
})

test('what became of a stream is for everybody, whatever they have', () => {
  const text = brokenEnd({ code: 'c', message: 'm\n\n"', requestId: 'req_1' })
  assert.equal(eventsAfter(text, 7), text)
  const [event = '', done, ...rest] = text.split('\n\n')
  assert.deepEqual(JSON.parse(event.slice('data: '.length)), {
    error: { type: 'upstream_error', message: 'm\n\n"', code: 'c', request_id: 'req_1' },
  })
  assert.deepEqual([done, ...rest], ['data: [DONE]', ''])
})

test('an event stream is known by its type', () => {
  assert.equal(isEventStream({ headers: { 'content-type': 'text/event-stream; charset=utf-8' } }), true)
  assert.equal(isEventStream({ headers: { 'content-type': 'application/json' } }), false)
  assert.equal(isEventStream({ headers: {} }), false)
})
