/**
 * Clients of the Responses API and of embeddings other than OpenAI's SDK for JavaScript: OpenAI's SDK and Agents SDK for
 * Python, and LangChain. Runs on one database: it is about the wire. The clients are installed once per machine, in the
 * temporary folder.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { OpenAIEmbeddings } from '@langchain/openai'
import { model, startGateway } from '../support/gateway.ts'
import { checkRows } from '../support/ledger/money.ts'
import { CLIENT_PACKAGES, pythonWith } from '../support/process/python-environment.ts'
import { answerBytes } from '../support/providers/answers.ts'
import { type Script, startFakeProvider } from '../support/providers/fake-provider.ts'
import { answerNative, NATIVES, nativeProviders, type Said } from '../support/providers/native-answers.ts'

const run = promisify(execFile)
const PROGRAM = join(import.meta.dirname, '../support/openai/openai_clients.py')
const NAMES = ['azure', 'anthropic', 'google', 'responses'] as const
const CALL = { id: 'call_one', name: 'look', input: { at: 'left' } }
const CALLS: Said = { text: ['I look.'], calls: [CALL] }
const DONE: Said = { text: ['It is there.'] }
const VECTOR = [0.5, -0.25, 1]
const PACKED = Buffer.from(Float32Array.from(VECTOR).buffer).toString('base64')

const provider = await startFakeProvider(answerBytes({}, '', 500))
const gateway = await startGateway({
  config: {
    providers: {
      ...nativeProviders(provider.url, NAMES),
      vectors: { protocol: 'openai', base_url: `${provider.url}/vectors` },
    },
    models: [
      ...NAMES.map((name) => ({ ...model(name, name, NATIVES[name]?.model ?? ''), max_output_tokens: 8000 })),
      { ...model('vectors', 'vectors', 'their-vectors'), kind: 'embedding', capabilities: undefined },
    ],
    plans: { test: { billing: 'postpaid' } },
    accounts: { default_plan: 'test' },
    routing: { max_attempts: 1, breaker: { failures: 1000 } },
  },
})
const key = await gateway.key()
after(async () => {
  await gateway.stop()
  await provider.close()
})

const answerVectors: Script = ({ body }, reply) => {
  const { input, encoding_format: format } = JSON.parse(body)
  const embedding = format === 'base64' ? PACKED : VECTOR
  const data = input.map((_: string, index: number) => ({ object: 'embedding', index, embedding }))
  const usage = { prompt_tokens: 7 * input.length, total_tokens: 7 * input.length }
  reply.head(200, { 'content-type': 'application/json' })
  reply.end(JSON.stringify({ object: 'list', model: 'their-vectors', data, usage }))
}

/** Calls the tool until a result is in the conversation; the path begins with the provider's name. */
const answer: Script = (call, reply) => {
  const [, name = ''] = call.path.split('/')
  if (name === 'vectors') return answerVectors(call, reply)
  const hasResult = /tool_result|functionResponse|function_call_output|"role":"tool"/.test(call.body)
  return answerNative(NATIVES[name] ?? assert.fail(call.path), hasResult ? DONE : CALLS)(call, reply)
}
provider.answer(answer)

test('Python: tool loops of the SDK and the Agents SDK on every protocol, embeddings, and exceptions', async () => {
  const python = await pythonWith(CLIENT_PACKAGES)
  const env = {
    ...process.env,
    GATEWAY_URL: gateway.url,
    GATEWAY_KEY: key,
    GATEWAY_MODELS: JSON.stringify(NAMES),
    LANGSMITH_TRACING: 'false',
  }
  const { stdout } = await run(python, [PROGRAM], { env, timeout: 300_000 })
  const { loops, agents, faults, vectors, documents, query } = JSON.parse(stdout)
  const ways = NAMES.flatMap((name) => ['whole', 'streamed'].map((way) => `${name}, ${way}`))
  for (const way of ways) assert.deepEqual(loops[way], [[CALL.input], 'It is there.'], way)
  for (const name of NAMES) assert.deepEqual(agents[name], ['It is there.', 'It is there.'], name)
  assert.ok(provider.calls.some(({ body }) => body.includes('nothing at left')))
  assert.deepEqual(faults, {
    key: ['AuthenticationError', 401, 'invalid_credential', 'req_'],
    model: ['UnprocessableEntityError', 422, 'model_not_found', 'req_'],
    body: ['BadRequestError', 400, 'invalid_value', 'req_'],
    stream: ['BadRequestError', 400, 'invalid_value', 'req_'],
    embedding: ['BadRequestError', 400, 'invalid_value', 'req_'],
  })
  assert.deepEqual([vectors, documents, query], [[VECTOR, VECTOR], [VECTOR, VECTOR], VECTOR])
})

test('LangChain for JavaScript embeds documents and queries', async () => {
  const configuration = { baseURL: `${gateway.url}/v1` }
  const embeddings = new OpenAIEmbeddings({ model: 'vectors', apiKey: key, maxRetries: 0, configuration })
  assert.deepEqual(await embeddings.embedDocuments(['first', 'second']), [VECTOR, VECTOR])
  assert.deepEqual(await embeddings.embedQuery('first'), VECTOR)
})

test('every call of a provider is one row, at its exact cost', async () => {
  assert.ok(provider.calls.length > 0)
  await checkRows(gateway, key, provider.calls.length)
})
