/** Runs on one database: it is about the wire. */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { HumanMessage } from '@langchain/core/messages'
import { tool as langchainTool } from '@langchain/core/tools'
import { ChatOpenAI } from '@langchain/openai'
import { generateText, streamText, tool } from 'ai'
import { z } from 'zod'
import type { TurnpikeError as TurnpikeFailure } from '../../packages/client/src/index.ts'
import { buildPythonClient, PYTHON_CLIENT_TOOLS } from '../../scripts/python-client.ts'
import { oneModel, startGateway } from '../support/gateway.ts'
import { installPackage } from '../support/process/packed-packages.ts'
import { pythonWith } from '../support/process/python-environment.ts'
import {
  bodyOf,
  chunk,
  completion,
  counts,
  frame,
  ordinary,
  SSE_HEAD,
  sendFrames,
  textChunks,
  usageChunk,
} from '../support/providers/answers.ts'
import { type Script, startFakeProvider } from '../support/providers/fake-provider.ts'

const provider = await startFakeProvider(ordinary)
const gateway = await startGateway({ config: oneModel(provider.url) })
const key = await gateway.key()
after(async () => {
  await gateway.stop()
  await provider.close()
})

const ai = createOpenAICompatible({ name: 'turnpike', baseURL: `${gateway.url}/v1`, apiKey: key, includeUsage: true })
const langchain = new ChatOpenAI({
  model: 'm1',
  apiKey: key,
  maxRetries: 0,
  configuration: { baseURL: `${gateway.url}/v1` },
})

const TOOL_CALL = { id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"city":"Oslo"}' } }

/** Calls the tool when there is no result in the conversation yet, and answers with the result when there is. */
const weatherModel: Script = async (call, reply) => {
  const { messages, stream } = bodyOf(call)
  const result = messages.find(({ role }) => role === 'tool')
  const said = { content: `It is ${JSON.stringify(result?.content)}.` }
  if (stream !== true) {
    reply.head(200, { 'content-type': 'application/json' })
    reply.end(JSON.stringify(completion(result ? said : { content: null, tool_calls: [TOOL_CALL] })))
    return
  }
  reply.head(200, SSE_HEAD)
  const delta = result ? said : { tool_calls: [{ index: 0, ...TOOL_CALL }] }
  const frames = [
    chunk({ role: 'assistant' }),
    chunk(delta),
    chunk({}, result ? 'stop' : 'tool_calls'),
    usageChunk(counts(7, 3)),
  ]
  if (await sendFrames(reply, frames)) reply.end(frame('[DONE]'))
}

test('the AI SDK generates text and reads its usage', async () => {
  provider.answer(ordinary)
  const answer = await generateText({ model: ai('m1'), prompt: 'hi', maxRetries: 0 })
  assert.equal(answer.text, 'Hello from upstream')
  assert.equal(answer.finishReason, 'stop')
  assert.deepEqual([answer.usage.inputTokens, answer.usage.outputTokens], [10, 5])
})

test('the AI SDK streams text and reads its usage', async () => {
  provider.answer(async (_, reply) => {
    reply.head(200, SSE_HEAD)
    if (await sendFrames(reply, textChunks(4))) reply.end(frame('[DONE]'))
  })
  const answer = streamText({ model: ai('m1'), prompt: 'hi', maxRetries: 0 })
  const pieces: string[] = []
  for await (const piece of answer.textStream) pieces.push(piece)
  assert.equal(pieces.join(''), 't0 t1 t2 t3 ')
  assert.equal((await answer.usage).outputTokens, 4)
})

for (const mode of ['whole', 'streamed'] as const) {
  test(`the AI SDK runs a tool and sends its result back, ${mode}`, async () => {
    provider.answer(weatherModel)
    const weather = tool({
      inputSchema: z.object({ city: z.string() }),
      execute: async ({ city }) => `rain in ${city}`,
    })
    const settings = { model: ai('m1'), prompt: 'Weather?', tools: { weather }, maxRetries: 0 }
    const run = mode === 'whole' ? await generateText(settings) : streamText(settings)
    const [call] = await run.toolCalls
    assert.deepEqual(call?.input, { city: 'Oslo' })
    const [result] = await run.toolResults
    assert.equal(result?.output, 'rain in Oslo')
  })
}

test('LangChain invokes and streams', async () => {
  provider.answer(ordinary)
  const answer = await langchain.invoke([new HumanMessage('hi')])
  assert.equal(answer.content, 'Hello from upstream')
  assert.equal((answer.usage_metadata as { readonly total_tokens: number } | undefined)?.total_tokens, 15)
  const pieces: string[] = []
  for await (const piece of await langchain.stream('hi')) pieces.push(String(piece.content))
  assert.equal(pieces.join(''), 't0 t1 t2 t3 t4 ')
})

for (const mode of ['whole', 'streamed'] as const) {
  test(`LangChain reads tool calls, ${mode}`, async () => {
    provider.answer(weatherModel)
    const weather = langchainTool(({ city }: { city: string }) => `rain in ${city}`, {
      name: 'weather',
      schema: z.object({ city: z.string() }),
    })
    const bound = langchain.bindTools([weather])
    let calls: readonly { name: string; args: unknown }[] | undefined
    if (mode === 'whole') calls = (await bound.invoke('Weather?')).tool_calls
    else {
      const stream = await bound.stream('Weather?')
      let all: Awaited<ReturnType<typeof bound.invoke>> | undefined
      for await (const piece of stream) all = all === undefined ? piece : all.concat(piece)
      calls = all?.tool_calls
    }
    assert.deepEqual(
      calls?.map(({ name, args }) => [name, args]),
      [['weather', { city: 'Oslo' }]],
    )
  })
}

const clients = await mkdtemp(join(tmpdir(), 'turnpike-clients-'))
after(() => rm(clients, { recursive: true, force: true }))
installPackage('client', clients)
const installedClient = createRequire(join(clients, 'program.js')).resolve('@turnpike/client')
const { createTurnpike, TurnpikeError } = (await import(installedClient)) as ClientPackage
type ClientPackage = typeof import('../../packages/client/src/index.ts')
const turnpike = createTurnpike({ baseUrl: `${gateway.url}/`, apiKey: key })

test('@turnpike/client calls endpoints by their types, and reads streams event by event', async () => {
  provider.answer(ordinary)
  const answer = await turnpike.api.POST('/v1/chat/completions', {
    body: { model: 'm1', messages: [{ role: 'user', content: 'hi' }] },
  })
  assert.equal(answer.response.status, 200)
  const { data: usage } = await turnpike.api.GET('/v1/usage', { params: { query: { group_by: 'model' } } })
  assert.ok((usage?.total_requests ?? 0) > 0)
  const texts: string[] = []
  for await (const { data } of turnpike.stream('/v1/chat/completions', WEATHERLESS)) texts.push(data)
  assert.ok(texts.length > 1)
  assert.ok(texts.every((text) => JSON.parse(text).object === 'chat.completion.chunk'))
  const kinds: (string | undefined)[] = []
  for await (const { event } of turnpike.stream('/v1/messages', { ...WEATHERLESS, max_tokens: 9 })) kinds.push(event)
  assert.deepEqual([kinds[0], kinds.at(-1)], ['message_start', 'message_stop'])
})

const WEATHERLESS = { model: 'm1', messages: [{ role: 'user', content: 'hi' }] }

test('@turnpike/client rejects with the code of a refusal, and of a stream that fails', async () => {
  const read = async (body: object) => {
    for await (const event of turnpike.stream('/v1/chat/completions', body)) void event
  }
  await assert.rejects(read({ ...WEATHERLESS, model: 'none' }), (error: TurnpikeFailure) => {
    assert.ok(error instanceof TurnpikeError)
    assert.deepEqual([error.status, error.code], [422, 'model_not_found'])
    return /^req_/.test(error.requestId ?? '')
  })
  provider.answer(async (_, reply) => {
    reply.head(200, SSE_HEAD)
    await reply.write(frame(chunk({ content: 'one' })))
    reply.cut()
  })
  await assert.rejects(read(WEATHERLESS), (error) => error instanceof TurnpikeError && error.code !== undefined)
})

const USE = join(import.meta.dirname, '../support/python-client/use.py')

/** A wheel of the package, installed where nothing else is; what it requires is in the environment. */
async function installPythonClient(python: string, source: string): Promise<string> {
  const pip = (...words: readonly string[]) => promisify(execFile)(python, ['-m', 'pip', ...words, '--no-index'])
  await pip('wheel', '--no-deps', '--no-build-isolation', '--wheel-dir', clients, source)
  const [wheel = ''] = globSync(join(clients, 'turnpike_client-*.whl'))
  await pip('install', '--dry-run', wheel)
  const folder = join(clients, 'python')
  await pip('install', '--no-deps', '--target', folder, wheel)
  return folder
}

test('the wheel of the Python client calls endpoints and reads streams, with codes of errors', async () => {
  const description = await fetch(`${gateway.url}/openapi.json`)
  const source = join(clients, 'python-source')
  await buildPythonClient((await description.json()) as object, source)
  const python = await pythonWith(PYTHON_CLIENT_TOOLS)
  const folder = await installPythonClient(python, source)
  const env = { ...process.env, PYTHONPATH: folder, GATEWAY_URL: gateway.url, GATEWAY_KEY: key }
  provider.answer(ordinary)
  const { stdout } = await promisify(execFile)(python, [USE], { env })
  const { requests, types, rejected } = JSON.parse(stdout)
  assert.ok(Number(requests) > 0)
  assert.deepEqual(types, ['message_start', 'message_stop'])
  assert.deepEqual(rejected, [422, 'model_not_found', true])
})
