/**
 * Failures of the Messages API at every stage raise the exceptions of its SDK, whole and streamed: before the first byte,
 * in the middle, refused by the gateway or by the provider. A client that leaves is charged once, and the provider's call
 * ends. Runs on one database: it is about the wire.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import Anthropic from '@anthropic-ai/sdk'
import { eventually, send } from '../support/client.ts'
import { model, startGateway } from '../support/gateway.ts'
import { everyRow, type UsageRow } from '../support/ledger/money.ts'
import { answerBytes, SSE_HEAD } from '../support/providers/answers.ts'
import { type Script, startFakeProvider } from '../support/providers/fake-provider.ts'
import {
  answerNative,
  beginning,
  messageFrames,
  NATIVES,
  nativeProviders,
  refuseNative,
} from '../support/providers/native-answers.ts'

const NAMES = ['anthropic', 'google', 'azure'] as const
const provider = await startFakeProvider(answerBytes({}, '', 500))
const gateway = await startGateway({
  config: {
    server: { body_limit_bytes: 1024 * 1024 },
    providers: nativeProviders(provider.url, NAMES),
    models: NAMES.map((name) => ({ ...model(name, name, NATIVES[name]?.model ?? ''), max_output_tokens: 4000 })),
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
const clientOf = (apiKey: string) => new Anthropic({ apiKey, baseURL: gateway.url, maxRetries: 0 })
const client = clientOf(key)
after(async () => {
  await gateway.stop()
  await provider.close()
})

type Request = Anthropic.MessageCreateParamsNonStreaming
const WAYS = {
  whole: (body: Request, by = client): Promise<unknown> => by.messages.create(body),
  streamed: (body: Request, by = client): Promise<unknown> => by.messages.stream(body).finalMessage(),
} as const
const ask = (name: string, over: object = {}): Request =>
  ({ model: name, max_tokens: 100, messages: [{ role: 'user', content: 'Go on.' }], ...over }) as Request
const nativeOf = (name: string) => NATIVES[name] ?? assert.fail(name)

interface Fault {
  readonly Kind: new (...args: never[]) => Error
  readonly status: number
  readonly type: string
}

async function assertFault(act: Promise<unknown>, { Kind, status, type }: Fault): Promise<void> {
  const fault = await act.then(
    () => assert.fail('answered'),
    (error: unknown) => error,
  )
  assert.ok(fault instanceof Anthropic.APIError && fault instanceof Kind, String(fault))
  const body = fault.error as { readonly type: string; readonly error: { readonly type: string } }
  assert.deepEqual([fault.status, body.type, body.error.type], [status, 'error', type])
  assert.match(fault.requestID ?? '', /^req_/)
}

async function clientOfPlan(plan: string): Promise<Anthropic> {
  return clientOf(
    await gateway.key('--account', await gateway.cli('accounts', 'create', '--name', plan, '--plan', plan)),
  )
}

const {
  APIError,
  AuthenticationError,
  BadRequestError,
  InternalServerError,
  NotFoundError,
  PermissionDeniedError,
  RateLimitError,
} = Anthropic
const BAD = { Kind: BadRequestError, status: 400, type: 'invalid_request_error' }
const WRONG: Readonly<Record<string, object>> = {
  'no messages': { messages: [] },
  'a role that does not exist': { messages: [{ role: 'nobody', content: 'x' }] },
  'content of the wrong type': { messages: [{ role: 'user', content: 7 }] },
  'a block without its text': { messages: [{ role: 'user', content: [{ type: 'text' }] }] },
  'max_tokens of the wrong type': { max_tokens: '100' },
  'max_tokens below 1': { max_tokens: 0 },
  'a temperature above 1': { temperature: 2 },
  'a tool without a name': { tools: [{ input_schema: { type: 'object' } }] },
  'a tool choice that does not exist': { tools: [{ name: 'a', input_schema: {} }], tool_choice: { type: 'maybe' } },
  'a thinking budget of the wrong type': { thinking: { type: 'enabled', budget_tokens: 'many' } },
  'servers of the provider': { mcp_servers: [{ type: 'url', url: 'https://example.com' }] },
}

const noScope = clientOf(await gateway.key('--scopes', 'usage:read'))
const otherModels = clientOf(await gateway.key('--models', 'google'))
const capped = clientOf(await gateway.key('--monthly-budget-usd', '0.000001'))

/** A connection that ends before the head, and one that ends inside the body of a whole answer. */
const CUTS: readonly Script[] = [
  (_, reply) => reply.cut(),
  async (_, reply) => {
    reply.head(200, { 'content-type': 'application/json' })
    await reply.write('{"id":"up-1",')
    reply.cut()
  },
]

for (const [way, create] of Object.entries(WAYS)) {
  for (const [what, over] of Object.entries(WRONG)) {
    test(`${way}: ${what} is a bad request`, async () => {
      const before = provider.calls.length
      await assertFault(create(ask('anthropic', over)), BAD)
      assert.equal(provider.calls.length, before)
    })
  }

  test(`${way}: a key that is wrong, without the scope, without the model, above its rates, or without credit`, async () => {
    const wrongKey = { Kind: AuthenticationError, status: 401, type: 'authentication_error' }
    await assertFault(create(ask('azure'), clientOf('tp_wrong')), wrongKey)
    const denied = { Kind: PermissionDeniedError, status: 403, type: 'permission_error' }
    await assertFault(create(ask('azure'), noScope), denied)
    await assertFault(create(ask('azure'), otherModels), denied)
    provider.answer(answerNative(nativeOf('azure'), { text: ['Yes.'] }))
    for (const plan of ['slow', 'narrow']) {
      const by = await clientOfPlan(plan)
      await create(ask('azure'), by)
      await assertFault(create(ask('azure'), by), { Kind: RateLimitError, status: 429, type: 'rate_limit_error' })
    }
    const before = provider.calls.length
    for (const by of [capped, await clientOfPlan('poor')]) {
      await assertFault(create(ask('azure'), by), { Kind: APIError, status: 402, type: 'billing_error' })
    }
    assert.equal(provider.calls.length, before)
  })

  test(`${way}: a model that does not exist, and a body that is too large`, async () => {
    await assertFault(create(ask('nothing')), { Kind: NotFoundError, status: 404, type: 'not_found_error' })
    const messages = [{ role: 'user', content: 'x'.repeat(1024 * 1024) }]
    await assertFault(create(ask('azure', { messages })), { Kind: APIError, status: 413, type: 'request_too_large' })
  })

  for (const name of NAMES) {
    test(`${way}: ${name} rejects, is overloaded, or breaks off before or during its answer`, async () => {
      provider.answer(refuseNative(nativeOf(name), 400, 'No.'))
      await assertFault(create(ask(name)), BAD)
      const overloaded = { Kind: InternalServerError, status: 529, type: 'overloaded_error' }
      for (const status of [401, 429, 500, 503]) {
        provider.answer(refuseNative(nativeOf(name), status))
        await assertFault(create(ask(name)), overloaded)
      }
      for (const cut of CUTS) {
        provider.answer(cut)
        await assertFault(create(ask(name)), overloaded)
      }
    })
  }
}

test('a body that is no JSON, or no object, is a bad request in the form of the API', async () => {
  for (const body of ['{"model": ', '[]', '"x"', '']) {
    const answer = await fetch(`${gateway.url}/v1/messages`, {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/json' },
      body,
    })
    const { type, error } = (await answer.json()) as { type: string; error: { type: string } }
    assert.deepEqual([answer.status, type, error.type], [400, 'error', 'invalid_request_error'], body)
  }
})

for (const name of NAMES) {
  test(`${name}: an error in the middle of a stream and a stream that is cut raise an APIError`, async () => {
    const native = nativeOf(name)
    const said = { text: ['Hello ', 'world'] }
    const ends: readonly Script[] = [(_, reply) => reply.end(native.errorFrame('Broken.')), (_, reply) => reply.cut()]
    for (const end of ends) {
      const seen = Promise.withResolvers<void>()
      provider.answer(async (call, reply) => {
        reply.head(200, { 'content-type': native.streamType })
        for (const piece of beginning(native, said)) await reply.write(piece)
        await seen.promise
        return end(call, reply)
      })
      const stream = client.messages.stream(ask(name))
      let text = ''
      stream.on('text', (piece) => {
        text += piece
        seen.resolve()
      })
      const fault = await stream.finalMessage().then(
        () => assert.fail('answered'),
        (error: unknown) => error,
      )
      assert.ok(fault instanceof Anthropic.APIError, String(fault))
      assert.equal(text, 'Hello ')
      const told = fault.error as { readonly error: { readonly type: string }; readonly request_id: string }
      assert.ok(['api_error', 'overloaded_error'].includes(told.error.type), told.error.type)
      assert.match(fault.requestID ?? '', /^req_/)
      assert.equal(told.request_id, fault.requestID)
    }
  })
}

test('a client that leaves after a tool call is charged once, and the call of the provider ends', async () => {
  const own = await gateway.keyOfNewAccount()
  const block = { type: 'tool_use', id: 'toolu_1', name: 'look', input: { at: 'left' } }
  const frames = messageFrames([block], { stopReason: 'tool_use', promptTokens: 1000, completionTokens: 500 })
  const left = Promise.withResolvers<void>()
  provider.answer(async (_, reply) => {
    reply.head(200, SSE_HEAD)
    for (const piece of frames.slice(0, -2)) await reply.write(piece)
    while (await reply.wait(1000));
    left.resolve()
  })
  const stream = clientOf(own).messages.stream(
    ask('anthropic', { tools: [{ name: 'look', input_schema: { type: 'object' } }] }),
  )
  const failed = stream.done().catch((error: unknown) => error)
  await new Promise<void>((resolve) => stream.on('inputJson', () => resolve()))
  stream.abort()
  assert.ok((await failed) instanceof Anthropic.APIUserAbortError)
  await left.promise
  const rows = await eventually(
    () => everyRow<UsageRow>(gateway, own, '/v1/usage/completions'),
    ({ length }) => length > 0,
  )
  assert.deepEqual(
    rows.map(({ status }) => status),
    ['client_left'],
  )
  assert.ok((rows[0]?.cost_usd ?? 0) >= 0.001)
  const { text } = await send(gateway, '/v1/usage/reconcile', { key: own })
  assert.equal(JSON.parse(text).ok, true)
})
