import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { type TestClient, type TestClientInput, testClient } from '../../../test/support/ledger/data-plane.ts'
import { GatewayError } from '../../domain/errors.ts'
import {
  createResumableStream,
  MAX_KEPT_STREAM_BYTES,
  type ResumableStream,
  type ResumableStreamInput,
} from './stream.ts'

const MIB = 1024 * 1024

function streamOf(over: Partial<ResumableStreamInput> = {}): { stream: ResumableStream; counted: () => number } {
  let bytes = 0
  const grow = (more: number): boolean => {
    bytes += more
    return true
  }
  const shrink = (fewer: number): void => {
    bytes -= fewer
  }
  const stream = createResumableStream({ graceMs: 15_000, grow, shrink, ...over })
  stream.expectStream(() => ({ 'x-turnpike-provider': 'up' }))
  return { stream, counted: () => bytes }
}

function listen(stream: ResumableStream, after?: number, input?: TestClientInput) {
  const client = testClient(input)
  const listening = stream.listen({ client, after, headers: (own) => ({ ...own }) })
  return { client, ...listening }
}

const textOf = ({ written }: TestClient): string => written.join('')
const eventsOf = (client: TestClient): string => textOf(client).replaceAll(': keep-alive\n\n', '')
const event = (name: number | string): string => `data: ${name}\n\n`
const numbered = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, index) => `id: ${from + index}\n${event(from + index)}`).join('')

async function settled(): Promise<void> {
  for (let count = 0; count < 20; count++) await turn()
}

test('any listener receives all events with the same IDs, however they are written', async () => {
  const writes = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 20 })
  const comers = fc.array(fc.record({ at: fc.nat(20), after: fc.nat(30), slow: fc.boolean() }), { maxLength: 6 })
  await fc.assert(
    fc.asyncProperty(writes, comers, async (sizes, listeners) => {
      const { stream } = streamOf()
      const first = listen(stream)
      const others: { after: number; had: number; client: TestClient; done: Promise<void> }[] = []
      let said = 0
      for (const [position, size] of sizes.entries()) {
        for (const { at, after, slow } of listeners) {
          if (Math.min(at, sizes.length - 1) !== position) continue
          const onWrite = slow ? () => turn() : () => undefined
          others.push({ after, had: Math.min(after, said), ...listen(stream, after, { onWrite }) })
        }
        const names = Array.from({ length: size }, (_, index) => said + index + 1)
        said += size
        assert.equal(stream.write(names.map(event).join('')), undefined, 'nobody holds it up')
      }
      stream.endStream()
      const late = listen(stream, said + 5)
      await Promise.all([first.done, late.done, ...others.map(({ done }) => done)])
      assert.equal(textOf(first.client), numbered(1, said))
      assert.equal(textOf(late.client), numbered(said, said), 'at least the end')
      for (const { had, client } of others) assert.equal(eventsOf(client), numbered(had + 1, said))
      assert.equal(
        [first, late, ...others].every(({ client }) => client.ended),
        true,
      )
    }),
    { numRuns: 200 },
  )
})

test('the whole text is known before the stream reports its end', () => {
  const { stream } = streamOf()
  const { client } = listen(stream)
  stream.write(event(1))
  const text = stream.textWith(event(2) + event(3))
  stream.write(event(2) + event(3))
  stream.endStream()
  assert.equal(text, numbered(1, 3))
  assert.equal(textOf(client), text)
})

test('the response head waits for the first event and is the same for all', () => {
  const { stream } = streamOf()
  const { client } = listen(stream)
  assert.equal(client.headers, undefined)
  stream.write(event(1))
  stream.expectStream(() => ({ 'x-turnpike-provider': 'later' }))
  stream.write(event(2))
  const other = listen(stream)
  assert.deepEqual([client.headers, other.client.headers], Array(2).fill({ 'x-turnpike-provider': 'up' }))
})

test('the grace period begins when the last listener leaves and ends when one arrives [limit: kept-stream-grace]', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { stream } = streamOf()
  let left = 0
  stream.onLeave(() => {
    left += 1
  })
  const [one, two] = [listen(stream), listen(stream)]
  one.client.leave()
  t.mock.timers.tick(60_000)
  assert.equal(left, 0, 'one still listens')
  two.client.leave()
  t.mock.timers.tick(14_999)
  const three = listen(stream)
  t.mock.timers.tick(60_000)
  assert.equal(left, 0, 'one came back')
  three.client.leave()
  t.mock.timers.tick(15_000)
  assert.equal(left, 1)
})

test('without a grace period the last listener’s leaving ends the stream; an ended stream ignores it', () => {
  for (const ended of [false, true]) {
    const { stream } = streamOf({ graceMs: 0 })
    let left = 0
    stream.onLeave(() => {
      left += 1
    })
    const { client } = listen(stream)
    if (ended) stream.endStream()
    client.leave()
    assert.equal(left, ended ? 0 : 1)
  }
})

test('a slow listener delays neither the stream nor the others, and receives all of it', async () => {
  const { stream } = streamOf()
  const gate = Promise.withResolvers<void>()
  const slow = listen(stream, undefined, { onWrite: (count) => (count === 1 ? gate.promise : undefined) })
  const quick = listen(stream)
  for (let name = 1; name <= 50; name++) assert.equal(stream.write(event(name)), undefined)
  stream.endStream()
  await quick.done
  assert.equal(textOf(quick.client), numbered(1, 50))
  assert.deepEqual([textOf(slow.client), slow.client.ended], [numbered(1, 1), false])
  gate.resolve()
  await slow.done
  assert.equal(textOf(slow.client), numbered(1, 50))
})

test('a late listener receives missed events in pieces', () => {
  const { stream } = streamOf()
  const large = 'x'.repeat(30_000)
  for (let name = 1; name <= 20; name++) stream.write(event(large))
  const { client } = listen(stream)
  assert.ok(client.written.length > 5)
  assert.ok(client.written.every(({ length }) => length < 128 * 1024))
})

test('[limit: kept-stream] a stream of more than 8 MiB continues for its listeners at the pace of the slowest', async () => {
  const { stream, counted } = streamOf()
  const gate = Promise.withResolvers<void>()
  const [quick, gone] = [listen(stream), listen(stream)]
  let names = 0
  const large = event('x'.repeat(MIB - 100))
  while (counted() + large.length + 20 <= MAX_KEPT_STREAM_BYTES) {
    assert.equal(stream.write(large), undefined)
    names += 1
  }
  assert.equal(names, 8)
  gone.client.leave()
  const slow = listen(stream, names, { onWrite: (count) => (count === 1 ? gate.promise : undefined) })
  const waiting = stream.write(large)
  assert.equal(counted(), 0, 'it is not kept any more')
  let taken = false
  void waiting?.then(() => {
    taken = true
  })
  await settled()
  assert.equal(taken, false)
  gate.resolve()
  await waiting
  assert.equal(stream.write(event('end')), undefined)
  assert.throws(() => listen(stream), { code: 'idempotency_result_too_large', status: 409 })
  assert.equal(stream.textWith(event('z')), undefined)
  stream.endStream()
  assert.match(eventsOf(slow.client), /^id: 9\ndata: x+\n\nid: 10\ndata: end\n\n$/)
  assert.equal(quick.client.written.length, 10)
})

test('a stream that is not kept ends with its last listener, because no other one can join', () => {
  const { stream } = streamOf({ grow: () => false })
  let left = 0
  stream.onLeave(() => {
    left += 1
  })
  const { client } = listen(stream)
  stream.write(event(1))
  client.leave()
  assert.equal(left, 1)
  const lonely = streamOf({ grow: () => false })
  lonely.stream.onLeave(() => {
    left += 1
  })
  lonely.stream.write(event(1))
  assert.equal(left, 2)
})

test('kept bytes are counted until no listener needs them', async () => {
  const { stream, counted } = streamOf()
  const gate = Promise.withResolvers<void>()
  const slow = listen(stream, undefined, { onWrite: (count) => (count === 1 ? gate.promise : undefined) })
  stream.write(event(1))
  stream.write(event(2))
  stream.endStream()
  stream.forget()
  assert.equal(counted(), numbered(1, 2).length)
  gate.resolve()
  await slow.done
  assert.equal(counted(), 0)
})

const BROKEN = new GatewayError('provider_error', 'Broken.')

test('contract rule 1: an early failure is a status for listeners without a head, and an event for the others', async () => {
  const { stream } = streamOf()
  const [quiet, told] = [listen(stream), listen(stream)]
  told.client.write(': keep-alive\n\n') // as the connection does by itself
  stream.fail(BROKEN, event('the error'))
  await assert.rejects(quiet.done, BROKEN)
  await told.done
  assert.deepEqual([quiet.client.ended, textOf(told.client)], [false, `: keep-alive\n\n${event('the error')}`])
  await assert.rejects(listen(stream).done, BROKEN)
})

test('a later failure ends the stream for all, with its IDs', async () => {
  const { stream } = streamOf()
  const { client, done } = listen(stream)
  stream.write(event(1))
  const last = event(2) + event(3)
  assert.equal(stream.textWith(last), numbered(1, 3))
  stream.fail(BROKEN, last)
  await done
  assert.equal(textOf(client), numbered(1, 3))
  assert.equal(textOf(listen(stream, 1).client), numbered(2, 3))
})

test('only the listener that is cut receives its error', async () => {
  const { stream } = streamOf()
  const [early, other] = [listen(stream), listen(stream)]
  early.cut(BROKEN, 'unused')
  await assert.rejects(early.done, BROKEN)
  stream.write(event(1))
  const late = listen(stream)
  late.cut(BROKEN, event('cut'))
  await late.done
  stream.write(event(2))
  stream.endStream()
  assert.equal(textOf(late.client), numbered(1, 1) + event('cut'))
  assert.equal(textOf(other.client), numbered(1, 2))
})

test('a listener with all events so far receives the head with its API’s keep-alive', () => {
  const ping = 'event: ping\ndata: {}\n\n'
  const { stream } = streamOf({ keepAlive: ping })
  stream.write('data: 1\n\n')
  const { client } = listen(stream, 1)
  assert.equal(textOf(client), ping)
})
