/** `turnpike chat`, a client of the API. Runs on one database. */
import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { after, before, beforeEach, test } from 'node:test'
import { eventually } from '../../../test/support/client.ts'
import { type Gateway, oneModel, startGateway } from '../../../test/support/gateway.ts'
import { type Home, makeHome } from '../../../test/support/process/command-line.ts'
import {
  answerStream,
  bodyOf,
  chunk,
  counts,
  type ReceivedBody,
  sendFrames,
  slowStream,
  usageChunk,
} from '../../../test/support/providers/answers.ts'
import { type FakeProvider, type Script, startFakeProvider } from '../../../test/support/providers/fake-provider.ts'
import { keyBearer } from './auth/bearer.ts'
import { converse, streamAnswer } from './chat.ts'
import { createClient } from './client.ts'

let provider: FakeProvider
let gateway: Gateway
let home: Home
let key: string
before(async () => {
  provider = await startFakeProvider(() => undefined)
  gateway = await startGateway({ config: oneModel(provider.url) })
  key = await gateway.key()
  home = makeHome({ TURNPIKE_URL: gateway.url, TURNPIKE_API_KEY: key })
})
after(async () => {
  home?.remove()
  await gateway?.stop()
  await provider?.close()
})
beforeEach(() => {
  provider.answer(saying('Hello ', 'there'))
  provider.calls.length = 0
})

function saying(...pieces: readonly string[]): Script {
  const chunks = pieces.map((content) => chunk({ content }))
  return answerStream([...chunks, chunk({}, 'stop'), usageChunk(counts(10, 2))])
}

function messages(index: number): ReceivedBody['messages'] {
  const call = provider.calls[index]
  assert.ok(call)
  return bodyOf(call).messages
}

test('piped input is one question, and standard output has only the answer', async () => {
  const { code, stdout, stderr } = await home.run(['chat', 'm1', '--system', 'Be brief.'], { input: 'Who?\nWhy?\n' })
  assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: 'Hello there\n', stderr: '' })
  assert.deepEqual(messages(0), [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'Who?\nWhy?\n' },
  ])
})

test('the default is the first listed model; two models, or no question, are wrong usage', async () => {
  assert.equal((await home.run(['chat'], { input: 'Hi' })).stdout, 'Hello there\n')
  assert.equal((await home.run(['chat', '--model', 'm1'], { input: 'Hi' })).code, 0)
  assert.equal((await home.run(['chat', 'm1', '--model', 'm2'], { input: 'Hi' })).code, 2)
  const { code, stderr } = await home.run(['chat', 'm1'], { input: ' \n' })
  assert.deepEqual([code, stderr], [2, 'turnpike: standard input is empty.\n'])
})

test('TM8: an answer cannot control the terminal, however it is split', async () => {
  provider.answer(saying('\u001b', ']0;owned\u0007', '\u001b[2Jgone', '\u009b31m', '\u202ednalsi', 'line\rover'))
  const { stdout } = await home.run(['chat', 'm1'], { input: 'Hi' })
  assert.equal(stdout, ']0;owned[2Jgone31mdnalsiline\nover\n')
})

test('an error and an incomplete answer are failures with the reason', async () => {
  const unknown = await home.run(['chat', 'm2'], { input: 'Hi' })
  assert.equal(unknown.code, 1)
  assert.match(unknown.stderr, /^turnpike: http.*: .*'m2'.*\(model_not_found, req_\w+\)\.?\n$/)
  provider.answer(async (_, reply) => {
    reply.head(200, { 'content-type': 'text/event-stream' })
    await sendFrames(reply, [chunk({ content: 'Half ' }), chunk({ content: 'an ' })], 50)
    reply.cut()
  })
  const broken = await home.run(['chat', 'm1'], { input: 'Hi' })
  assert.equal(broken.code, 1)
  assert.equal(broken.stdout, 'Half an ')
  assert.match(broken.stderr, /^turnpike: .*\(provider_error, req_\w+\)\n$/)
})

interface Seat {
  readonly type: (text: string) => void
  readonly answers: () => string
  readonly notes: () => string
  /** Resolves when what was said contains it. */
  readonly seen: (text: string) => Promise<unknown>
  readonly left: Promise<void>
}

/** A conversation with the real gateway, from a keyboard made of a stream. */
function sit(): Seat {
  const client = createClient({ url: gateway.url, bearer: keyBearer(key), profile: undefined })
  const [input, answers, notes] = [new PassThrough(), new PassThrough(), new PassThrough()]
  const read = (stream: PassThrough) => {
    let text = ''
    stream.on('data', (piece: Buffer) => {
      text += piece.toString()
    })
    return () => text
  }
  const [answered, noted] = [read(answers), read(notes)]
  const left = converse({
    ...{ model: 'm1', system: undefined, input, answers, notes, dim: (text) => text },
    ask: (asking) => streamAnswer(client, asking),
  })
  const seen = (text: string) =>
    eventually(
      async () => answered() + noted(),
      (all) => all.includes(text),
    )
  return { type: (text) => input.write(text), answers: answered, notes: noted, seen, left }
}

test('a conversation keeps its messages, and prints tokens and cost after each answer', async () => {
  const seat = sit()
  seat.type('First\n')
  await seat.seen('10 + 2 tokens, $0.000014\n')
  provider.answer(saying('Again'))
  seat.type('/system Be brief.\nSecond\n')
  await seat.seen('Again')
  assert.deepEqual(messages(1), [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: 'First' },
    { role: 'assistant', content: 'Hello there' },
    { role: 'user', content: 'Second' },
  ])
  seat.type('/exit\n')
  await seat.left
  assert.equal(seat.answers(), 'Hello there\nAgain\n')
})

test('the model can be changed; a failed question is dropped, and the conversation continues', async () => {
  const seat = sit()
  seat.type('/model nobody\nLost\n')
  await seat.seen('model_not_found')
  seat.type('/model m1\n/frob\n')
  await seat.seen('Unknown command /frob.')
  seat.type('Kept\n')
  await seat.seen('Hello there')
  assert.deepEqual(messages(0), [{ role: 'user', content: 'Kept' }])
  seat.type('\u0004')
  await seat.left
})

test('Ctrl-C stops the answer and the provider’s call; twice exits', async () => {
  provider.answer(slowStream(1_000, 10))
  const seat = sit()
  seat.type('Talk\n')
  await seat.seen(' hello hello')
  seat.type('\u0003')
  await seat.seen('stopped')
  const call = await provider.call(0)
  await call.over
  assert.notEqual(call.abortedAtMs, undefined)
  provider.answer(saying('Yes'))
  seat.type('Still there?\n')
  await seat.seen('10 + 2 tokens') // while it answers, Ctrl-C stops the answer
  assert.match(String(messages(1)[1]?.content), /^ hello hello/, 'what was said until then is remembered')
  seat.type('\u0003')
  await seat.seen('Press Ctrl-C again')
  seat.type('\u0003')
  await seat.left
})

test('Ctrl-C twice exits during an answer', async () => {
  provider.answer(slowStream(1_000, 10))
  const seat = sit()
  seat.type('Talk\n')
  await seat.seen(' hello')
  seat.type('\u0003\u0003')
  await seat.left
})
