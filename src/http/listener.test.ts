import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { cutSlowReaders, LEAST_TAKEN_BYTES, MAX_UNSENT_BYTES, SLOW_READER_MS } from './listener.ts'

/** More than the sockets on both sides hold. */
const MUCH = 'x'.repeat(16 * 1024 * 1024)

interface Line {
  readonly client: Socket
  readonly response: ServerResponse
  readonly left: () => boolean
  /** Seconds go by, and the server looks once in each. */
  pass(seconds: number): void
}

/** A client that does not read, and the server's end of its request. */
async function open(t: TestContext): Promise<Line> {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let now = 0
  const server = createServer()
  cutSlowReaders(server, { clock: () => now })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.on('error', () => {})
  client.pause()
  client.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')
  const [, response] = (await once(server, 'request')) as [unknown, ServerResponse]
  t.after(() => {
    client.destroy()
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  return {
    client,
    response,
    left: () => response.socket?.destroyed !== false,
    pass(seconds) {
      for (let second = 0; second < seconds; second++) {
        now += 1_000
        t.mock.timers.tick(1_000)
      }
    },
  }
}

/** Turns of the event loop, not time: the system has made room, and the other side has noticed. */
async function noticed(): Promise<void> {
  for (let turns = 0; turns < 20; turns++) await sleep(1)
}

/** Reads until so many bytes are there, and what comes with them. */
async function take(client: Socket, bytes: number): Promise<void> {
  let taken = 0
  client.resume()
  while (taken < bytes) taken += ((await once(client, 'data')) as [Buffer])[0].length
  client.pause()
  await noticed()
}

/** Until the system has taken what it can take. */
async function filled({ response }: Line): Promise<void> {
  while (response.writableLength === 0) await sleep(1)
  await noticed()
}

const SECONDS = SLOW_READER_MS / 1_000

for (const [what, write] of [
  ['a stream', (response: ServerResponse) => response.write(MUCH)],
  ['a whole answer', (response: ServerResponse) => response.end(MUCH)],
] as const) {
  test(`OVL-3, F10: ${what} that nobody takes for 30 s is cut [limit: slow-reader]`, async (t) => {
    const line = await open(t)
    const closed = once(line.response, 'close')
    write(line.response)
    await filled(line)
    line.pass(SECONDS)
    assert.equal(line.left(), false)
    line.pass(1)
    assert.equal(line.left(), true)
    await closed
  })
}

test('OVL-3: with more than 1 MiB unsent, as much must be taken in 30 s [limit: unsent]', async (t) => {
  const line = await open(t)
  line.response.write(MUCH)
  await filled(line)
  line.pass(SECONDS - 1)
  await take(line.client, 5 * MAX_UNSENT_BYTES)
  line.pass(SECONDS)
  assert.equal(line.left(), false, 'it took enough')
  line.pass(2)
  assert.equal(line.left(), true, 'it took nothing since')
})

test('OVL-3: what is written and taken at once is never waited for, however long the stream', async (t) => {
  const line = await open(t)
  line.client.resume()
  for (let minute = 0; minute < 10; minute++) {
    line.response.write('data: 1\n\n')
    await once(line.client, 'data')
    while (line.response.writableLength > 0) await sleep(1)
    line.pass(60)
  }
  assert.equal(line.left(), false)
  assert.ok(LEAST_TAKEN_BYTES > SECONDS, 'a byte a second is too little')
})
