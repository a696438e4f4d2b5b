import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readEvents, type StreamEvent } from './events.ts'

const encoder = new TextEncoder()

async function eventsOf(pieces: Iterable<Uint8Array>): Promise<readonly StreamEvent[]> {
  const events: StreamEvent[] = []
  for await (const event of readEvents(ReadableStream.from(pieces))) events.push(event)
  return events
}

function* cut(bytes: Uint8Array, length: number): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += length) yield bytes.subarray(at, at + length)
}

const TEXT = `: comment

id: 1
event: first
data: one
data:two

data: é

event: without data

data: cut off`
const EVENTS = [{ id: '1', event: 'first', data: 'one\ntwo' }, { data: 'é' }]

test('events are the same at every line ending, wherever the bytes are cut', async () => {
  const property = fc.asyncProperty(fc.constantFrom('\n', '\r', '\r\n'), fc.nat(12), async (ending, length) => {
    const bytes = encoder.encode(TEXT.replaceAll('\n', ending))
    assert.deepEqual(await eventsOf(cut(bytes, length + 1)), EVENTS)
  })
  await fc.assert(property, { numRuns: 40 })
})
