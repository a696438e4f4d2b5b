/**
 * Clients of the Messages and Responses APIs other than their SDKs for JavaScript: Anthropic's SDK for Python, and
 * `@ai-sdk/anthropic` and `@ai-sdk/openai`. Runs on one database: it is about the wire. The clients are installed once per
 * machine, in the temporary folder.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { generateText, type LanguageModel, stepCountIs, streamText, tool } from 'ai'
import { z } from 'zod'
import { model, startGateway } from '../support/gateway.ts'
import { checkRows } from '../support/ledger/money.ts'
import { npmClient } from '../support/process/npm-client.ts'
import { CLIENT_PACKAGES, pythonWith } from '../support/process/python-environment.ts'
import { answerBytes } from '../support/providers/answers.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'
import { answerNative, NATIVES, nativeProviders, refuseNative, type Said } from '../support/providers/native-answers.ts'

const run = promisify(execFile)
const PROGRAM = join(import.meta.dirname, '../support/anthropic/messages_sdk.py')
const NAMES = ['anthropic', 'google', 'bedrock', 'azure'] as const
const CALL = { id: 'call_one', name: 'look', input: { at: 'left' } }
const CALLS: Said = { text: ['I look.'], calls: [CALL] }
const DONE: Said = { text: ['It is there.'] }

const provider = await startFakeProvider(answerBytes({}, '', 500))
const gateway = await startGateway({
  config: {
    providers: nativeProviders(provider.url, NAMES),
    models: NAMES.map((name) => ({ ...model(name, name, NATIVES[name]?.model ?? ''), max_output_tokens: 8000 })),
    plans: { test: { billing: 'postpaid' } },
    accounts: { default_plan: 'test' },
    responses: { store: true },
    routing: { max_attempts: 1, breaker: { failures: 1000 } },
  },
})
const key = await gateway.key()
after(async () => {
  await gateway.stop()
  await provider.close()
})

/** Calls the tool until a result is in the conversation; the path begins with the provider's name. */
function lookOnce(): void {
  provider.answer((call, reply) => {
    const native = NATIVES[call.path.split('/')[1] ?? ''] ?? assert.fail(call.path)
    const hasResult = /tool_result|functionResponse|toolResult|"role":"tool"/.test(call.body)
    return answerNative(native, hasResult ? DONE : CALLS)(call, reply)
  })
}

type CreateModel = (name: string) => LanguageModel

/** What its package exports, as far as this test uses it. */
interface Package {
  readonly createAnthropic: (settings: Settings) => CreateModel
  readonly createOpenAI: (settings: Settings) => CreateModel & { readonly chat: CreateModel }
}
interface Settings {
  readonly baseURL: string
  readonly apiKey: string
  readonly fetch?: typeof fetch
}

async function installed(name: string, version: string): Promise<Package> {
  const folder = await npmClient(`${name}@${version}`)
  return (await import(pathToFileURL(join(folder, 'node_modules', name, 'dist/index.js')).href)) as Package
}

const settings: Settings = { baseURL: `${gateway.url}/v1`, apiKey: key }
const { createAnthropic } = await installed('@ai-sdk/anthropic', '4.0.105')
const { createOpenAI } = await installed('@ai-sdk/openai', '4.0.118')
const openai = createOpenAI(settings)
const PROVIDERS = {
  '@ai-sdk/anthropic': createAnthropic(settings),
  '@ai-sdk/openai, chat': openai.chat,
  '@ai-sdk/openai': openai,
}
/** Otherwise the Responses API is sent references to items that it has stored. */
const providerOptions = { openai: { store: false } }
const tools = {
  look: tool({ inputSchema: z.object({ at: z.string() }), execute: async ({ at }) => `nothing at ${at}` }),
}

test('the SDK for Python: tool loops, whole and streamed, on every protocol, and its own exceptions', async () => {
  const python = await pythonWith(CLIENT_PACKAGES)
  lookOnce()
  const env = {
    ...process.env,
    GATEWAY_URL: gateway.url,
    GATEWAY_KEY: key,
    GATEWAY_MODELS: JSON.stringify(NAMES),
  }
  const { stdout } = await run(python, [PROGRAM], { env, timeout: 300_000 })
  const { loops, faults, models, tokens } = JSON.parse(stdout)
  const expected = NAMES.flatMap((name) => ['whole', 'streamed'].map((way) => `${name}, ${way}`))
  for (const way of expected) assert.deepEqual(loops[way], ['tool_use', [CALL.input], 'It is there.'], way)
  assert.deepEqual(faults, {
    key: ['AuthenticationError', 401, 'authentication_error', 'req_'],
    model: ['NotFoundError', 404, 'not_found_error', 'req_'],
    body: ['BadRequestError', 400, 'invalid_request_error', 'req_'],
    stream: ['BadRequestError', 400, 'invalid_request_error', 'req_'],
  })
  for (const name of NAMES) assert.ok(models.includes(name), name)
  assert.ok(tokens > 0)
})

for (const id of NAMES) {
  test(`@ai-sdk/openai, ${id}: a tool loop that refers to stored items, whole and streamed`, async () => {
    lookOnce()
    const sent: string[] = []
    const noting: typeof fetch = (url, init) => {
      sent.push(String(init?.body))
      return fetch(url, init)
    }
    const create = createOpenAI({ ...settings, fetch: noting })
    const request = { model: create(id), prompt: 'Look.', tools, stopWhen: stepCountIs(3), maxRetries: 0 }
    const { text, steps } = await generateText(request)
    assert.deepEqual([text, steps.length], ['It is there.', 2])
    assert.match(sent[1] ?? '', /"type":"item_reference"/)
    assert.match(provider.calls.at(-1)?.body ?? '', /nothing at left/)
    const stream = streamText(request)
    assert.equal((await stream.steps).length, 2)
    assert.match(provider.calls.at(-1)?.body ?? '', /nothing at left/)
  })
}

for (const [name, create] of Object.entries(PROVIDERS)) {
  for (const id of NAMES) {
    test(`${name}, ${id}: a tool loop, whole and streamed`, async () => {
      lookOnce()
      const request = {
        ...{ model: create(id), prompt: 'Look.', tools, providerOptions },
        ...{ stopWhen: stepCountIs(3), maxRetries: 0 },
      }
      const whole = await generateText(request)
      assert.deepEqual([whole.text, whole.steps.length, whole.finishReason], ['It is there.', 2, 'stop'])
      assert.match(provider.calls.at(-1)?.body ?? '', /nothing at left/)
      const stream = streamText(request)
      let text = ''
      for await (const piece of stream.textStream) text += piece
      assert.equal(text, 'I look.It is there.')
      const { inputTokens, outputTokens } = await stream.totalUsage
      assert.deepEqual([inputTokens, outputTokens], [20, 10])
    })
  }

  test(`${name}: an answer without options`, async () => {
    provider.answer(answerNative(NATIVES['azure'] ?? assert.fail(), DONE))
    assert.equal((await generateText({ model: create('azure'), prompt: 'Look.' })).text, 'It is there.')
  })

  test(`${name}: a refusal of the provider is an error with the status`, async () => {
    provider.answer(refuseNative(NATIVES['azure'] ?? assert.fail(), 400, 'No.'))
    await assert.rejects(generateText({ model: create('azure'), prompt: 'Look.', maxRetries: 0 }), { statusCode: 400 })
  })
}

test('every call of a provider is one row, at its exact cost', async () => {
  assert.ok(provider.calls.length > 0)
  await checkRows(gateway, key, provider.calls.length)
})
