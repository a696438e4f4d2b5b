import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import { request } from 'node:http'
import { after, test } from 'node:test'
import { CHAT, eventually, hello, send } from '../support/client.ts'
import { type Gateway, oneModel, startGateway } from '../support/gateway.ts'
import { everyRow, type LedgerRow, reconcile, type UsageRow } from '../support/ledger/money.ts'
import { answerStream, chunk, counts, ordinary, usageChunk } from '../support/providers/answers.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'
import { readStream } from '../support/providers/sse.ts'

const WORDS = 400
const CUTS = 100
/** Of an answer's body, before its connection is destroyed. */
const MAX_BYTES = 1_400

const seed = Number(process.env['TURNPIKE_TEST_SEED'] ?? randomInt(2 ** 31))

const provider = await startFakeProvider(ordinary)
const config = oneModel(provider.url, {}, { routing: { max_attempts: 1 } })
const gateway = await startGateway({ config })
const second = await startGateway({ config, dataDir: gateway.dataDir })
after(async () => {
  await second.stop()
  await gateway.stop()
  await provider.close()
})

/** Mulberry32: the same numbers for the same seed. */
function randomFrom(start: number): (below: number) => number {
  let state = start
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

interface Part {
  readonly at: Gateway
  readonly key: string
  /** The number of the last event received; 0: none. */
  readonly last: number
  readonly bytes: number
}

/** What a client receives before its connection is destroyed after so many bytes. */
function receive({ at, key, last, bytes }: Part): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = []
    let received = 0
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'idempotency-key': 'resumed',
      ...(last === 0 ? {} : { 'last-event-id': String(last) }),
    }
    const call = request(at.url + CHAT, { method: 'POST', agent: false, headers }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`status ${response.statusCode}`))
      const end = (): void => resolve(Buffer.concat(pieces).subarray(0, bytes))
      response.on('data', (piece: Buffer) => {
        pieces.push(piece)
        received += piece.length
        if (received >= bytes) call.destroy()
      })
      for (const name of ['end', 'close', 'error']) response.on(name, end)
    })
    call.on('error', (error) => {
      if (!call.destroyed) reject(error)
    })
    call.end(JSON.stringify(hello({ stream: true })))
  })
}

test('a stream that is cut off at random bytes and resumed each time is the uninterrupted one: one call, one charge', async () => {
  console.log(`resume: TURNPIKE_TEST_SEED=${seed}`)
  const random = randomFrom(seed)
  const words = Array.from({ length: WORDS }, (_, index) => chunk({ content: `wört${index}€😀 ` }))
  provider.answer(answerStream([...words, chunk({}, 'stop'), usageChunk(counts(10, WORDS))], 1))
  const key = await gateway.keyOfNewAccount()
  let text = ''
  let cuts = 0
  for (let last = 0; !text.endsWith('data: [DONE]\n\n'); cuts++) {
    const bytes = 1 + random(cuts < CUTS ? MAX_BYTES : 100_000)
    const part = (await receive({ at: random(2) === 0 ? gateway : second, key, last, bytes })).toString('latin1')
    const whole = part.slice(0, part.lastIndexOf('\n\n') + 2)
    text += whole.length < 2 ? '' : whole
    last = Number([...text.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1] ?? 0)
  }
  assert.ok(cuts > CUTS, `${cuts} cuts`)
  const joined = Buffer.from(text, 'latin1').toString().replaceAll(': keep-alive\n\n', '')
  const uninterrupted = await send(gateway, CHAT, {
    key,
    body: hello({ stream: true }),
    headers: { 'idempotency-key': 'resumed' },
  })
  assert.equal(joined, uninterrupted.text)
  const said = readStream(joined).chunks.map(({ choices }) => choices[0]?.delta.content ?? '')
  assert.equal(said.join(''), words.map((_, index) => `wört${index}€😀 `).join(''))
  assert.equal(provider.calls.length, 1)
  const rows = await eventually(
    () => everyRow<UsageRow>(gateway, key, '/v1/usage/completions'),
    ({ length }) => length > 0,
  )
  assert.deepEqual(
    rows.map(({ status }) => status),
    ['completed'],
  )
  assert.equal((await everyRow<LedgerRow>(gateway, key, '/v1/ledger?kind=charge')).length, 1)
  assert.equal((await reconcile(gateway, key)).ok, true)
})
