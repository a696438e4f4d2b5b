/**
 * Failures of every endpoint at every stage raise the exceptions of OpenAI's SDK, whole and streamed: before the first
 * byte, in the middle, refused by the gateway or by the provider. A client that leaves is charged once, and the provider's
 * call ends. Runs on one database: it is about the wire.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import OpenAI from 'openai'
import { eventually, send } from '../support/client.ts'
import { model, startGateway } from '../support/gateway.ts'
import { everyRow, reconcile, type UsageRow } from '../support/ledger/money.ts'
import { answerBytes, answerJson } from '../support/providers/answers.ts'
import { type Script, startFakeProvider } from '../support/providers/fake-provider.ts'
import { answerNative, beginning, NATIVES, nativeProviders, refuseNative } from '../support/providers/native-answers.ts'

const NAMES = ['responses', 'anthropic', 'google', 'azure'] as const
const kindOf = (id: string, kind: string) => ({ ...model(id, 'own', `their-${id}`), kind, capabilities: undefined })
const provider = await startFakeProvider(answerBytes({}, '', 500))
const gateway = await startGateway({
  config: {
    server: { body_limit_bytes: 1024 * 1024 },
    providers: {
      ...nativeProviders(provider.url, NAMES),
      own: { protocol: 'openai', base_url: `${provider.url}/own/v1` },
    },
    models: [
      ...NAMES.map((name) => ({ ...model(name, name, NATIVES[name]?.model ?? ''), max_output_tokens: 4000 })),
      { ...model('own', 'own', 'their-model'), max_output_tokens: 4000 },
      kindOf('vectors', 'embedding'),
      kindOf('ranks', 'rerank'),
    ],
    plans: {
      test: { billing: 'postpaid' },
      poor: { billing: 'prepaid' },
      slow: { billing: 'postpaid', requests_per_minute: 1 },
      narrow: { billing: 'postpaid', tokens_per_minute: 10 },
    },
    accounts: { default_plan: 'test' },
    routing: { max_attempts: 1, breaker: { failures: 1000 } },
  },
})
const key = await gateway.key()
const clientOf = (apiKey: string) => new OpenAI({ apiKey, baseURL: `${gateway.url}/v1`, maxRetries: 0 })
const client = clientOf(key)
after(async () => {
  await gateway.stop()
  await provider.close()
})

interface Asked {
  readonly model: string
  /** Of the request, in the words of its API. */
  readonly over?: object
  readonly prompt?: string
  readonly by?: OpenAI
  /** Called with each piece of text. */
  readonly seen?: (text: string) => void
}

/** A way to ask. */
type Ask = (asked: Asked) => Promise<unknown>

function chatBody({ model: named, prompt = 'Go on.', over }: Asked) {
  const body = { model: named, max_tokens: 100, messages: [{ role: 'user', content: prompt }], ...over }
  return body as OpenAI.ChatCompletionCreateParamsNonStreaming
}

function responseBody({ model: named, prompt: input = 'Go on.', over }: Asked) {
  const body = { model: named, max_output_tokens: 100, input, ...over }
  return body as OpenAI.Responses.ResponseCreateParamsNonStreaming
}

const chat: Ask = (asked) => (asked.by ?? client).chat.completions.create(chatBody(asked))
const chatStream: Ask = async (asked) => {
  const stream = await (asked.by ?? client).chat.completions.create({ ...chatBody(asked), stream: true })
  for await (const { choices } of stream) asked.seen?.(choices[0]?.delta.content ?? '')
}
const response: Ask = (asked) => (asked.by ?? client).responses.create(responseBody(asked))
const responseStream: Ask = async (asked) => {
  const stream = (asked.by ?? client).responses.stream(responseBody(asked) as object)
  stream.on('response.output_text.delta', ({ delta }) => asked.seen?.(delta))
  await stream.finalResponse()
}

const completionBody = ({
  model: named,
  prompt = 'Go on.',
  over,
}: Asked): OpenAI.CompletionCreateParamsNonStreaming => ({
  ...{ model: named, max_tokens: 100, prompt },
  ...over,
})
const text: Ask = (asked) => (asked.by ?? client).completions.create(completionBody(asked))
const textStream: Ask = async (asked) => {
  const stream = await (asked.by ?? client).completions.create({ ...completionBody(asked), stream: true })
  for await (const { choices } of stream) asked.seen?.(choices[0]?.text ?? '')
}
const vectors: Ask = ({ model: named, prompt: input = 'Go on.', over, by = client }) =>
  by.embeddings.create({ model: named, input, ...over })
/** The SDK has no method for it. */
const ranks: Ask = ({ model: named, prompt: query = 'Go on.', over, by = client }) =>
  by.post('/rerank', { body: { model: named, query, documents: ['a', 'b'], ...over } })

interface Fault {
  readonly Kind: new (...args: never[]) => Error
  readonly status: number
  readonly code: string
}

async function faultOf(act: Promise<unknown>): Promise<InstanceType<typeof OpenAI.APIError>> {
  const fault = await act.then(
    () => assert.fail('answered'),
    (error: unknown) => error,
  )
  return fault instanceof OpenAI.APIError ? fault : assert.fail(String(fault))
}

async function assertFault(act: Promise<unknown>, { Kind, status, code }: Fault): Promise<void> {
  const fault = await faultOf(act)
  assert.ok(fault instanceof Kind, String(fault))
  assert.deepEqual([fault.status, fault.code], [status, code], fault.message)
  assert.match(fault.requestID ?? '', /^req_/)
}

const { APIError, BadRequestError, InternalServerError, PermissionDeniedError, RateLimitError } = OpenAI
const { AuthenticationError, UnprocessableEntityError } = OpenAI
const nativeOf = (name: string) => NATIVES[name] ?? assert.fail(name)
/** A connection that ends before the head, and one that ends inside the body of a whole answer. */
const CUTS: readonly Script[] = [
  (_, reply) => reply.cut(),
  async (_, reply) => {
    reply.head(200, { 'content-type': 'application/json' })
    await reply.write('{"id":"up-1",')
    reply.cut()
  },
]
const tool = (over: object) => ({ tools: [{ type: 'function', ...over }] })

/** By API: wrong fields, and the code that names what is wrong. */
const WRONG_CHAT: readonly (readonly [string, object, string])[] = [
  ['no messages', { messages: [] }, 'invalid_value'],
  ['a role that does not exist', { messages: [{ role: 'nobody', content: 'x' }] }, 'invalid_value'],
  ['content of the wrong type', { messages: [{ role: 'user', content: 7 }] }, 'invalid_type'],
  ['a limit of the wrong type', { max_tokens: '100' }, 'invalid_type'],
  ['a temperature above 2', { temperature: 3 }, 'out_of_range'],
  ['a tool without a name', tool({ function: {} }), 'missing_field'],
  [
    'a tool choice that does not exist',
    { ...tool({ function: { name: 'a' } }), tool_choice: 'maybe' },
    'invalid_value',
  ],
]
const WRONG_RESPONSES: readonly (readonly [string, object, string])[] = [
  ['no items', { input: [] }, 'invalid_value'],
  ['a role that does not exist', { input: [{ role: 'nobody', content: 'x' }] }, 'invalid_value'],
  ['content of the wrong type', { input: [{ role: 'user', content: 7 }] }, 'invalid_type'],
  ['a part without its text', { input: [{ role: 'user', content: [{ type: 'input_text' }] }] }, 'missing_field'],
  ['instructions of the wrong type', { instructions: 7 }, 'invalid_type'],
  ['a limit of the wrong type', { max_output_tokens: '100' }, 'invalid_type'],
  ['a limit below 1', { max_output_tokens: 0 }, 'out_of_range'],
  ['a temperature above 2', { temperature: 3 }, 'out_of_range'],
  ['a tool without a name', tool({}), 'missing_field'],
  ['a tool choice that does not exist', { ...tool({ name: 'a' }), tool_choice: 'maybe' }, 'invalid_value'],
  ['an effort that does not exist', { reasoning: { effort: 'endless' } }, 'invalid_value'],
]
const WRONG_COMPLETIONS: typeof WRONG_CHAT = [
  ['a prompt of the wrong type', { prompt: 7 }, 'invalid_type'],
  ['several prompts', { prompt: ['a', 'b'] }, 'out_of_range'],
  ['a suffix of the wrong type', { suffix: 7 }, 'invalid_type'],
  ['a limit of the wrong type', { max_tokens: '100' }, 'invalid_type'],
  ['a temperature above 2', { temperature: 3 }, 'out_of_range'],
]
const WRONG_EMBEDDINGS: typeof WRONG_CHAT = [
  ['an input of the wrong type', { input: 7 }, 'invalid_type'],
  ['no input', { input: [] }, 'invalid_value'],
  ['an empty list of token IDs', { input: [[]] }, 'invalid_value'],
  ['dimensions of the wrong type', { dimensions: 'many' }, 'invalid_type'],
  ['an encoding that does not exist', { encoding_format: 'hex' }, 'invalid_value'],
]
const WRONG_RERANK: typeof WRONG_CHAT = [
  ['a query of the wrong type', { query: 7 }, 'invalid_type'],
  ['no documents', { documents: [] }, 'invalid_value'],
  ['a document of the wrong type', { documents: [7] }, 'invalid_type'],
  ['a number of results below 1', { top_n: 0 }, 'out_of_range'],
]

interface Way {
  readonly ask: Ask
  readonly wrong: typeof WRONG_CHAT
  /** The model that it calls; `azure` by default. */
  readonly named?: string
  /** What the provider of that model answers. */
  readonly answer?: object
  /** The models whose providers fail. */
  readonly failing?: readonly string[]
}

const COUNTS = { prompt_tokens: 10, total_tokens: 10 }
const VECTORS = { data: [{ index: 0, embedding: [0.5] }], usage: COUNTS }
const RANKS = { results: [{ index: 1, relevance_score: 0.5 }], usage: COUNTS }
const WAYS: Readonly<Record<string, Way>> = {
  'chat completions, whole': { ask: chat, wrong: WRONG_CHAT },
  'chat completions, streamed': { ask: chatStream, wrong: WRONG_CHAT },
  'responses, whole': { ask: response, wrong: WRONG_RESPONSES },
  'responses, streamed': { ask: responseStream, wrong: WRONG_RESPONSES },
  'completions, whole': { ask: text, wrong: WRONG_COMPLETIONS, failing: ['own', 'anthropic'] },
  'completions, streamed': { ask: textStream, wrong: WRONG_COMPLETIONS, failing: ['own', 'anthropic'] },
  embeddings: { ask: vectors, wrong: WRONG_EMBEDDINGS, named: 'vectors', answer: VECTORS, failing: ['vectors'] },
  rerank: { ask: ranks, wrong: WRONG_RERANK, named: 'ranks', answer: RANKS, failing: ['ranks'] },
}

async function clientOfPlan(plan: string): Promise<OpenAI> {
  return clientOf(
    await gateway.key('--account', await gateway.cli('accounts', 'create', '--name', plan, '--plan', plan)),
  )
}

const noScope = clientOf(await gateway.key('--scopes', 'usage:read'))
const otherModels = clientOf(await gateway.key('--models', 'google'))
const capped = clientOf(await gateway.key('--monthly-budget-usd', '0.000001'))

for (const [way, { ask, wrong, named = 'azure', answer, failing = NAMES }] of Object.entries(WAYS)) {
  for (const [what, over, code] of wrong) {
    test(`${way}: ${what} is a bad request`, async () => {
      const before = provider.calls.length
      await assertFault(ask({ model: named, over }), { Kind: BadRequestError, status: 400, code })
      assert.equal(provider.calls.length, before)
    })
  }

  test(`${way}: a key that is wrong, without the scope, without the model, above its rates, or without credit`, async () => {
    const wrongKey = { Kind: AuthenticationError, status: 401, code: 'invalid_credential' }
    await assertFault(ask({ model: named, by: clientOf('tp_wrong') }), wrongKey)
    const denied = { Kind: PermissionDeniedError, status: 403 }
    await assertFault(ask({ model: named, by: noScope }), { ...denied, code: 'insufficient_scope' })
    await assertFault(ask({ model: named, by: otherModels }), { ...denied, code: 'model_not_allowed' })
    provider.answer(answer === undefined ? answerNative(nativeOf('azure'), { text: ['Yes.'] }) : answerJson(answer))
    for (const plan of ['slow', 'narrow']) {
      const by = await clientOfPlan(plan)
      await ask({ model: named, by })
      const limited = { Kind: RateLimitError, status: 429, code: 'rate_limit_exceeded' }
      await assertFault(ask({ model: named, by }), limited)
    }
    const before = provider.calls.length
    const budget = { Kind: APIError, status: 402, code: 'key_budget_exceeded' }
    await assertFault(ask({ model: named, by: capped }), budget)
    const poor = await clientOfPlan('poor')
    await assertFault(ask({ model: named, by: poor }), { ...budget, code: 'insufficient_credit' })
    assert.equal(provider.calls.length, before)
  })

  test(`${way}: a model that does not exist, and a body that is too large`, async () => {
    const unknown = { Kind: UnprocessableEntityError, status: 422, code: 'model_not_found' }
    await assertFault(ask({ model: 'nothing' }), unknown)
    const large = { Kind: APIError, status: 413, code: 'body_too_large' }
    await assertFault(ask({ model: named, prompt: 'x'.repeat(1024 * 1024) }), large)
  })

  for (const name of failing) {
    const native = NATIVES[name] ?? nativeOf('azure')
    test(`${way}: ${name} rejects, is overloaded, or breaks off before or during its answer`, async () => {
      provider.answer(refuseNative(native, 400, 'No.'))
      assert.ok((await faultOf(ask({ model: name }))) instanceof BadRequestError)
      const ends: Script[] = [401, 429, 500, 503].map((status) => refuseNative(native, status))
      for (const end of [...ends, ...CUTS]) {
        provider.answer(end)
        const fault = await faultOf(ask({ model: name }))
        assert.ok(fault instanceof InternalServerError, String(fault))
        assert.equal(fault.status, 503)
      }
    })
  }
}

for (const path of ['chat/completions', 'responses', 'completions', 'embeddings', 'rerank'].map(
  (end) => `/v1/${end}`,
)) {
  test(`${path}: a body that is no JSON, or no object, is a bad request in the form of the API`, async () => {
    for (const body of ['{"model": ', '[]', '"x"', '']) {
      const { status, text } = await send(gateway, path, { key, body, method: 'POST' })
      const { error } = JSON.parse(text)
      assert.deepEqual([status, error.type, typeof error.code], [400, 'invalid_request', 'string'], body)
    }
  })
}

const STREAMS: readonly (readonly [way: string, ask: Ask, names: readonly string[]])[] = [
  ['chat completions', chatStream, NAMES],
  ['responses', responseStream, NAMES],
  ['completions', textStream, ['azure', 'anthropic']],
]
for (const [way, ask, names] of STREAMS) {
  for (const name of names) {
    test(`${way}, ${name}: an error in the middle of a stream and a stream that is cut raise an APIError`, async () => {
      const native = nativeOf(name)
      const ends: readonly Script[] = [(_, reply) => reply.end(native.errorFrame('Broken.')), (_, reply) => reply.cut()]
      for (const end of ends) {
        const seen = Promise.withResolvers<void>()
        provider.answer(async (call, reply) => {
          reply.head(200, { 'content-type': native.streamType })
          for (const piece of beginning(native, { text: ['Hello ', 'world'] })) await reply.write(piece)
          await seen.promise
          return end(call, reply)
        })
        let text = ''
        const take = (piece: string): void => {
          text += piece
          if (text !== '') seen.resolve()
        }
        const fault = await faultOf(ask({ model: name, seen: take }))
        assert.equal(text, 'Hello ')
        assert.match(fault.message, /partial response/)
        const told = fault.error as { readonly request_id?: string }
        assert.match(told.request_id ?? '', /^req_/)
        assert.equal(told.request_id, fault.requestID)
      }
    })
  }
}

test('a client of the Responses API that leaves after a function_call is charged once, and the call ends', async () => {
  // Gemini's call comes with the end of its answer.
  for (const name of NAMES.filter((each) => each !== 'google')) {
    const own = await gateway.keyOfNewAccount()
    const native = nativeOf(name)
    const said = { calls: [{ id: 'call_1', name: 'look', input: { at: 'left' } }], promptTokens: 1000 }
    const frames = native.frames(said)
    const left = Promise.withResolvers<void>()
    provider.answer(async (_, reply) => {
      reply.head(200, { 'content-type': native.streamType })
      for (const piece of frames.slice(0, frames.findIndex((each) => each.includes('left')) + 1)) {
        await reply.write(piece)
      }
      while (await reply.wait(1000));
      left.resolve()
    })
    const tools = [{ type: 'function' as const, name: 'look', strict: false, parameters: { type: 'object' } }]
    const stream = clientOf(own).responses.stream({ model: name, input: 'Go on.', tools })
    const failed = stream.finalResponse().catch((error: unknown) => error)
    await new Promise<void>((resolve) => stream.on('response.output_item.added', () => resolve()))
    stream.abort()
    assert.ok((await failed) instanceof OpenAI.APIUserAbortError)
    await left.promise
    const rows = await eventually(
      () => everyRow<UsageRow>(gateway, own, '/v1/usage/completions'),
      ({ length }) => length > 0,
    )
    assert.deepEqual(
      rows.map(({ status, api }) => [status, api]),
      [['client_left', 'responses']],
    )
    assert.ok((rows[0]?.cost_usd ?? 0) > 0)
    assert.equal((await reconcile(gateway, own)).ok, true)
  }
})
