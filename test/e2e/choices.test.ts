/**
 * `n` for providers that give one choice a call: as many calls side by side, merged into one answer.
 * Runs on one database: it is about the wire.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import OpenAI from 'openai'
import { CHAT, eventually, open, send, usageReport } from '../support/client.ts'
import { model, startGateway } from '../support/gateway.ts'
import { answerBytes } from '../support/providers/answers.ts'
import { type ProviderCall, type Reply, type Script, startFakeProvider } from '../support/providers/fake-provider.ts'
import {
  answerNative,
  beginning,
  NATIVES,
  type Native,
  nativeProviders,
  refuseNative,
  type Said,
} from '../support/providers/native-answers.ts'
import { assemble, assertWireRules, readStream } from '../support/providers/sse.ts'

const provider = await startFakeProvider(answerBytes({}, '', 500))
const natives = Object.entries(NATIVES).filter(([name]) => name !== 'azure')
const gateway = await startGateway({
  config: {
    providers: nativeProviders(
      provider.url,
      natives.map(([name]) => name),
    ),
    models: natives.map(([name, native]) => model(name, name, native.model)),
    plans: { test: { billing: 'postpaid' } },
    accounts: { default_plan: 'test' },
    routing: { max_attempts: 1, breaker: { failures: 1000 } },
  },
})
const key = await gateway.key()
const client = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
/** Of an account on which nothing is metered but what tests wait for. */
const metered = await gateway.keyOfNewAccount()
const meteredClient = new OpenAI({ apiKey: metered, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
after(async () => {
  await gateway.stop()
  await provider.close()
})

const messages: OpenAI.ChatCompletionMessageParam[] = [{ role: 'user', content: 'Go on.' }]

/** What the call that comes as number `position` says: every one says something else, and costs something else. */
function saidBy(position: number): Said {
  const text = [`${position}a `, `${position}b `, `${position}c`]
  return { text, reasoning: `why ${position}`, promptTokens: 10, completionTokens: 5 + position }
}

/** For what a right gateway does not wait for. */
const STUCK_MS = 60_000

/** Each call is answered when all are there, so that they are under way together; pieces of all come in turns. */
function together(native: Native, count: number, special: Readonly<Record<number, Script>> = {}): Script {
  let arrived = 0
  const all = Promise.withResolvers<void>()
  return async (call, reply) => {
    const position = arrived++
    if (arrived === count) all.resolve()
    await all.promise
    const script = special[position] ?? inTurns(native, saidBy(position))
    await script(call, reply)
  }
}

function inTurns(native: Native, said: Said): Script {
  return async (call, reply) => {
    if (!native.isStreamed(call)) return answerNative(native, said)(call, reply)
    reply.head(200, { 'content-type': native.streamType })
    for (const piece of native.frames(said)) {
      await reply.write(piece)
      await reply.wait(2)
    }
    reply.end()
  }
}

/** Begins, and goes on when the client has `seen` the beginning of every choice. */
function inStep(native: Native, said: Said, seen: Promise<boolean>): Script {
  return async (_, reply) => {
    const frames = native.frames(said)
    const first = beginning(native, said)
    reply.head(200, { 'content-type': native.streamType })
    for (const piece of first) await reply.write(piece)
    await Promise.race([seen, reply.wait(STUCK_MS)])
    for (const piece of frames.slice(first.length)) await reply.write(piece)
    reply.end()
  }
}

/** Of every choice, which call it came from; fails where pieces of two calls are mixed. */
function sources(contents: readonly (string | null | undefined)[]): number[] {
  return contents.map((content) => {
    const position = Number(content?.[0])
    assert.equal(content, saidBy(position).text?.join(''))
    return position
  })
}

for (const [name, native] of natives) {
  test(`${name}: n: 3 is three calls side by side, their choices numbered and their usage summed`, async () => {
    const before = provider.calls.length
    provider.answer(together(native, 3))
    const answer = await client.chat.completions.create({ model: name, messages, n: 3 })
    assert.equal(provider.calls.length - before, 3)
    assert.deepEqual(
      answer.choices.map(({ index, finish_reason }) => [index, finish_reason]),
      [0, 1, 2].map((index) => [index, 'stop']),
    )
    const from = sources(answer.choices.map(({ message }) => message.content))
    assert.deepEqual(from.toSorted(), [0, 1, 2])
    const reasons = answer.choices.map(({ message }) => (message as { reasoning_content?: string }).reasoning_content)
    assert.deepEqual(
      reasons,
      from.map((position) => `why ${position}`),
    )
    assert.deepEqual([answer.usage?.prompt_tokens, answer.usage?.completion_tokens], [30, 18])
  })

  test(`${name}: n: 3 streamed separates the choices by index, with one usage`, async () => {
    const { text, isInStep } = await readInStep(name, native)
    assert.ok(isInStep, 'no choice waits for another to end')
    const stream = readStream(text)
    assertWireRules(stream, { model: name })
    const assembled = [0, 1, 2].map((index) => assemble(stream, index))
    assert.deepEqual(sources(assembled.map(({ content }) => content)).toSorted(), [0, 1, 2])
    assert.deepEqual(
      assembled.map(({ finishReason }) => finishReason),
      ['stop', 'stop', 'stop'],
    )
    assert.equal(stream.chunks.at(-1)?.usage?.completion_tokens, 18)
  })

  test(`${name}: n: 3 is put together by the SDK's stream helper, with include_usage`, async () => {
    provider.answer(together(native, 3))
    const final = await client.chat.completions
      .stream({ model: name, messages, n: 3, stream_options: { include_usage: true } })
      .finalChatCompletion()
    assert.deepEqual(sources(final.choices.map(({ message }) => message.content)).toSorted(), [0, 1, 2])
    assert.deepEqual([final.usage?.prompt_tokens, final.usage?.completion_tokens], [30, 18])
  })

  test(`${name}: tool calls of several choices each count from 0`, async () => {
    const calls = (position: number): Said => ({
      calls: [1, 2].map((each) => ({ id: `call_${position}_${each}`, name: 'look', input: { at: position } })),
    })
    provider.answer(together(native, 2, { 0: inTurns(native, calls(0)), 1: inTurns(native, calls(1)) }))
    const body = { model: name, messages, n: 2, stream: true, tools: [TOOL] }
    const stream = readStream((await send(gateway, CHAT, { key, body })).text)
    assertWireRules(stream, { model: name })
    const ids = [0, 1].map((index) => assemble(stream, index).toolCalls.map(({ id }) => id))
    assert.deepEqual(ids.toSorted(), [
      ['call_0_1', 'call_0_2'],
      ['call_1_1', 'call_1_2'],
    ])
  })
}

/** A stream of three choices, and whether the client had something of each before any of them went on. */
async function readInStep(name: string, native: Native): Promise<{ text: string; isInStep: boolean }> {
  const seen = Promise.withResolvers<boolean>()
  const positions = [0, 1, 2]
  provider.answer(
    together(
      native,
      3,
      positions.map((position) => inStep(native, saidBy(position), seen.promise)),
    ),
  )
  const { body } = await open(gateway, CHAT, { key, body: { model: name, messages, n: 3, stream: true } })
  let text = ''
  for await (const bytes of body) {
    text += String(bytes)
    const isAll = positions.every((position) => text.includes(`${position}a `))
    if (isAll && !/"content":"\dc"/.test(text)) seen.resolve(true)
  }
  seen.resolve(false)
  return { text, isInStep: await seen.promise }
}

const TOOL = {
  type: 'function',
  function: { name: 'look', parameters: { type: 'object', properties: { at: { type: 'integer' } } } },
}

test('each choice has its own seed, so that they differ', async () => {
  const native = NATIVES['google'] ?? assert.fail()
  const before = provider.calls.length
  provider.answer(together(native, 3))
  await client.chat.completions.create({ model: 'google', messages, n: 3, seed: 40 })
  const seeds = provider.calls.slice(before).map(({ body }) => JSON.parse(body).generationConfig.seed)
  assert.deepEqual(seeds.toSorted(), [40, 41, 42])
})

/** What was written before has the time to reach the gateway, which reads it before it answers `/healthz`. */
async function untilGatewayRead(): Promise<void> {
  await sleep(100)
  await send(gateway, '/healthz')
}

/** Says how it begins, and then nothing until the caller goes away; a caller that stays gets its end after a while. */
function unending(native: Native, said: Said, begun: () => void = () => {}): Script {
  return async (call, reply) => {
    reply.head(200, { 'content-type': native.isStreamed(call) ? native.streamType : 'application/json' })
    const pieces = native.isStreamed(call) ? beginning(native, said) : [native.whole(said).slice(0, -9)]
    for (const piece of pieces) await reply.write(piece)
    begun()
    if (await reply.wait(STUCK_MS)) reply.end()
  }
}

interface Failing {
  readonly name: string
  readonly native: Native
  readonly stream: boolean
  readonly fails: Script
  readonly by: OpenAI
}

/** @returns the tokens that are metered for what `run` does, as soon as there are any. */
async function tokensOf(run: () => Promise<void>): Promise<number> {
  const tokens = async (): Promise<number> => (await usageReport(gateway, metered)).total_tokens
  const before = await tokens()
  await run()
  return (await eventually(tokens, (now) => now > before)) - before
}

/** Two calls begin and do not end, the third fails a little later. */
async function failOne({
  name,
  native,
  stream,
  fails,
  by,
}: Failing): Promise<{ error: unknown; others: ProviderCall[] }> {
  const before = provider.calls.length
  const begun = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const [first, second] = begun.map(({ resolve }, at) => unending(native, saidBy(at), resolve))
  const late: Script = async (call, reply: Reply) => {
    await Promise.all(begun.map(({ promise }) => promise)) // a busy machine may take long to write them
    await untilGatewayRead()
    await fails(call, reply)
  }
  provider.answer(together(native, 3, { 0: first ?? assert.fail(), 1: second ?? assert.fail(), 2: late }))
  const asked = by.chat.completions.create({ model: name, messages, n: 3, stream })
  const error = await asked.then(
    () => assert.fail('it did not fail'),
    (reason: unknown) => reason,
  )
  const others = provider.calls.slice(before, before + 2)
  await Promise.all(others.map(({ over }) => over))
  return { error, others }
}

for (const [name, native] of natives) {
  for (const stream of [false, true]) {
    const how = stream ? 'streamed' : 'whole'
    test(`${name}, ${how}: one of several failing before it begins fails the whole with its error, and ends the others`, async () => {
      const refuses = refuseNative(native, 400, 'Not this one.')
      const { error, others } = await failOne({ name, native, stream, fails: refuses, by: client })
      assert.ok(error instanceof OpenAI.BadRequestError)
      assert.deepEqual([error.code, /Not this one\./.test(error.message)], ['provider_rejected', true])
      for (const { abortedAtMs } of others) assert.notEqual(abortedAtMs, undefined, 'the other calls were ended')
    })
  }

  test(`${name}, streamed: the output of the other choices when one failed is metered`, async () => {
    const tokens = await tokensOf(async () => {
      const fails = refuseNative(native, 500)
      const { error } = await failOne({ name, native, stream: true, fails, by: meteredClient })
      assert.ok(error instanceof OpenAI.InternalServerError)
    })
    assert.ok(tokens > 0, 'two calls had begun, and their provider bills them')
  })

  test(`${name}, whole: a choice that was complete when another failed is metered as its provider counted it`, async () => {
    const late: Script = async (call, reply) => {
      await untilGatewayRead()
      await refuseNative(native, 500)(call, reply)
    }
    const tokens = await tokensOf(async () => {
      provider.answer(together(native, 2, { 1: late }))
      const asked = meteredClient.chat.completions.create({ model: name, messages, n: 2 })
      await assert.rejects(asked, OpenAI.InternalServerError)
    })
    assert.equal(tokens, 15)
  })

  test(`${name}, streamed: one of several breaking off ends the stream in its error, without any finish reason`, async () => {
    const before = provider.calls.length
    const [begun, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const ends: Script = async (call, reply) => {
      await inTurns(native, saidBy(1))(call, reply)
      ended.resolve()
    }
    const breaks: Script = async (_, reply) => {
      reply.head(200, { 'content-type': native.streamType })
      for (const piece of beginning(native, saidBy(2))) await reply.write(piece)
      await Promise.all([begun.promise, ended.promise])
      await untilGatewayRead()
      reply.end(native.errorFrame('Overloaded'))
    }
    const tokens = await tokensOf(async () => {
      provider.answer(together(native, 3, { 0: unending(native, saidBy(0), begun.resolve), 1: ends, 2: breaks }))
      const body = { model: name, messages, n: 3, stream: true }
      const stream = readStream((await send(gateway, CHAT, { key: metered, body })).text)
      assertWireRules(stream, { model: name })
      assert.deepEqual([stream.error?.type, stream.error?.code], ['upstream_error', 'provider_error'])
    })
    const unended = provider.calls[before] ?? assert.fail()
    await unended.over
    assert.notEqual(unended.abortedAtMs, undefined)
    assert.ok(tokens > 16, 'the one that ended is counted, and what the others said')
  })
}

test('a client that leaves ends all of the calls', async () => {
  const native = NATIVES['anthropic'] ?? assert.fail()
  const before = provider.calls.length
  const script = unending(native, saidBy(0))
  provider.answer(together(native, 3, { 0: script, 1: script, 2: script }))
  const stream = await client.chat.completions.create({ model: 'anthropic', messages, n: 3, stream: true })
  for await (const _ of stream) break
  const calls = provider.calls.slice(before)
  assert.equal(calls.length, 3)
  await Promise.all(calls.map(({ over }) => over))
  for (const { abortedAtMs } of calls) assert.notEqual(abortedAtMs, undefined)
})
