/** OpenRouter's own clients send their request bodies as they are: their routing fields decide here. Runs on one database. */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { createOpenRouter, type OpenRouterChatSettings } from '@openrouter/ai-sdk-provider'
import { generateText, streamText, tool } from 'ai'
import { z } from 'zod'
import { model, startGateway } from '../support/gateway.ts'
import { checkRows } from '../support/ledger/money.ts'
import { npmClient } from '../support/process/npm-client.ts'
import { bodyOf, ordinary } from '../support/providers/answers.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'

const provider = await startFakeProvider(ordinary)
const at = (name: string, over: object = {}) => ({
  ...{ protocol: 'openai', base_url: `${provider.url}/${name}/v1`, api_key: 'sk-up' },
  ...over,
})
const gateway = await startGateway({
  config: {
    providers: { groq: at('groq'), together: at('together', { zdr: true }) },
    models: [
      {
        ...model('m1', 'groq', 'm'),
        deployments: ['groq', 'together'].map((name, priority) => ({ provider: name, model: 'm', priority })),
      },
      model('m2', 'together', 'm-two'),
    ],
    routing: { max_attempts: 1 },
  },
})
const key = await gateway.key()
const openrouter = createOpenRouter({ apiKey: key, baseURL: `${gateway.url}/v1` })
after(async () => {
  await gateway.stop()
  await provider.close()
})

const ask = (settings: OpenRouterChatSettings, id = 'm1') =>
  generateText({ model: openrouter.chat(id, settings), prompt: 'Hi', maxRetries: 0 })

/** Which provider was called, and with what. */
function lastCall() {
  const call = provider.calls.at(-1) ?? assert.fail('no provider was called')
  return { host: call.path.split('/')[1], body: bodyOf(call) as unknown as Readonly<Record<string, unknown>> }
}

/** Not written out, since a test's own option has this name. */
const limitedTo = (name: string) => Object.fromEntries([['only', [name]]])

const CASES: readonly (readonly [what: string, settings: OpenRouterChatSettings, host: string])[] = [
  ['nothing', {}, 'groq'],
  ['order', { provider: { order: ['together', 'groq'] } }, 'together'],
  ['only', { provider: limitedTo('together') }, 'together'],
  ['ignore', { provider: { ignore: ['groq'] } }, 'together'],
  ['order without fallbacks', { provider: { order: ['together/turbo'], allow_fallbacks: false } }, 'together'],
  ['zdr', { provider: { zdr: true } }, 'together'],
  ['sort and parameters', { provider: { sort: 'price', require_parameters: true } }, 'groq'],
  ['max_price', { provider: { max_price: { prompt: 5, completion: '10' } } }, 'groq'],
  ['quantizations', { provider: { quantizations: ['fp8'], data_collection: 'allow' } }, 'groq'],
  ['models', { models: ['m2'], user: 'ada', usage: { include: true }, reasoning: { effort: 'low' } }, 'groq'],
]

for (const [what, settings, host] of CASES) {
  test(`the body with ${what} is accepted and has its effect`, async () => {
    const { text, usage } = await ask(settings)
    assert.ok(text !== '' && (usage.totalTokens ?? 0) > 0)
    const called = lastCall()
    assert.equal(called.host, host)
    for (const field of ['provider', 'models', 'route']) assert.equal(called.body[field], undefined, field)
  })
}

/** The part of `@openrouter/sdk` that is used. It is not among the dependencies: only this test needs it. */
interface ChatRequest {
  readonly model: string
  readonly messages: readonly object[]
  readonly stream?: boolean
  readonly models?: readonly string[]
  readonly provider?: object
}
interface ChatResult extends AsyncIterable<{ readonly choices: readonly { readonly delta: { content?: string } }[] }> {
  readonly model: string
  readonly choices: readonly { readonly message: { readonly content: string } }[]
}
interface Sdk {
  readonly chat: { send(asked: { readonly chatRequest: ChatRequest }): Promise<ChatResult> }
}

const sdkFolder = await npmClient('@openrouter/sdk@1.3.19')
const { OpenRouter }: { OpenRouter: new (options: object) => Sdk } = await import(
  pathToFileURL(join(sdkFolder, 'node_modules/@openrouter/sdk/esm/index.js')).href
)
const sdk = new OpenRouter({ serverURL: `${gateway.url}/v1`, apiKey: key, retryConfig: { strategy: 'none' } })
const HELLO = { model: 'm1', messages: [{ role: 'user', content: 'Hi' }] }

const SDK_CASES: readonly (readonly [what: string, over: Partial<ChatRequest>, host: string])[] = [
  ['nothing', {}, 'groq'],
  ['order', { provider: { order: ['together', 'groq'] } }, 'together'],
  ['only', { provider: limitedTo('together') }, 'together'],
  ['ignore', { provider: { ignore: ['groq'] } }, 'together'],
  ['order without fallbacks', { provider: { order: ['together'], allowFallbacks: false } }, 'together'],
  ['zdr', { provider: { zdr: true, dataCollection: 'allow' } }, 'together'],
  ['sort and parameters', { provider: { sort: 'price', requireParameters: true } }, 'groq'],
  ['max_price', { provider: { maxPrice: { prompt: '5', completion: '10' } } }, 'groq'],
  ['models and a suffix', { model: 'm1:floor', models: ['m2'] }, 'groq'],
]

for (const [what, over, host] of SDK_CASES) {
  test(`the body of @openrouter/sdk with ${what} is accepted and has its effect`, async () => {
    const { choices } = await sdk.chat.send({ chatRequest: { ...HELLO, ...over } })
    assert.ok((choices[0]?.message.content ?? '') !== '')
    const called = lastCall()
    assert.equal(called.host, host)
    for (const field of ['provider', 'models', 'route']) assert.equal(called.body[field], undefined, field)
  })
}

test('@openrouter/sdk reads a stream', async () => {
  let said = ''
  for await (const { choices } of await sdk.chat.send({ chatRequest: { ...HELLO, stream: true } }))
    said += choices[0]?.delta.content ?? ''
  assert.ok(said !== '')
})

test('streams, tools and the suffixes of models work', async () => {
  const { textStream } = streamText({ model: openrouter.chat('m1:floor'), prompt: 'Hi' })
  let said = ''
  for await (const piece of textStream) said += piece
  assert.ok(said !== '')
  const look = tool({ description: 'Look.', inputSchema: z.object({ at: z.string() }), execute: async () => 'a tree' })
  await generateText({ model: openrouter.chat('m1:nitro'), prompt: 'Hi', tools: { look } })
  assert.ok(Array.isArray(lastCall().body['tools']))
})

test('a request that no provider can satisfy is rejected with a reason that the client shows', async () => {
  await assert.rejects(ask({ provider: limitedTo('nowhere') }), /nowhere|provider/)
  await assert.rejects(ask({ provider: { max_price: { prompt: 0.0001 } } }), /price/)
  await checkRows(gateway, key, provider.calls.length)
})
