/** Guardrails from their creation to what providers and clients see, on every client API, in two processes. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { type Answer, CHAT, completionOf, errorOf, eventually, getJson, hello, send } from '../support/client.ts'
import { model, startGateway } from '../support/gateway.ts'
import { reconcile } from '../support/ledger/money.ts'
import {
  answerJson,
  answerStream,
  chunk,
  completion,
  counts,
  SSE_HEAD,
  sendFrames,
  usageChunk,
} from '../support/providers/answers.ts'
import { type Script, startFakeProvider } from '../support/providers/fake-provider.ts'

const PATH = '/v1/guardrails'
const SECRET = 'sk-proj-abcdefghijklmnopqrstuvwx'
const EMAIL = 'ada@example.com'

let script: Script = answerJson(completion({ content: 'ok' }))
const provider = await startFakeProvider((call, reply) => script(call, reply))

interface Question {
  readonly stage: string
  readonly guardrail: string
  readonly texts: readonly string[]
}
/** What the hook was asked, newest last, and how it answers. */
const questions: Question[] = []
const signed: { readonly body: string; readonly headers: Record<string, string> }[] = []
let hook = (_: Question): object | 'silence' => ({ action: 'allow' })
const hookServer = createServer(async (request, response) => {
  let body = ''
  for await (const piece of request) body += piece
  const question = JSON.parse(body) as Question
  questions.push(question)
  signed.push({ body, headers: request.headers as Record<string, string> })
  const verdict = hook(question)
  if (verdict !== 'silence') response.end(JSON.stringify(verdict))
})
await new Promise<void>((resolve) => void hookServer.listen(0, '127.0.0.1', resolve))
const hookUrl = `http://127.0.0.1:${(hookServer.address() as AddressInfo).port}/check`

const config = {
  providers: { up: { protocol: 'openai', base_url: `${provider.url}/v1`, api_key: 'sk-up' } },
  models: [model('m1', 'up', 'up-model')],
  webhooks: { allow_private_networks: true },
}
const first = await startGateway({ config })
const second = await startGateway({ config, dataDir: first.dataDir })
after(async () => {
  await second.stop()
  await first.stop()
  await provider.close()
  hookServer.closeAllConnections()
  hookServer.close()
})

async function guarded(rules: readonly object[], over: object = {}): Promise<string> {
  const key = await first.keyOfNewAccount()
  await created(key, rules, over)
  return key
}

async function created(key: string, rules: readonly object[], over: object = {}): Promise<{ readonly id: string }> {
  const { status, text } = await send(first, PATH, { key, body: { name: 'house rules', rules, ...over } })
  assert.equal(status, 201, text)
  return JSON.parse(text) as { readonly id: string }
}

const ask = (key: string, content: unknown, over: object = {}): Promise<Answer> =>
  send(first, CHAT, { key, body: hello({ messages: [{ role: 'user', content }], ...over }) })

/** What the provider received for a request that is answered. */
async function received(send: () => Promise<Answer>): Promise<string> {
  const before = provider.calls.length
  const { status, text } = await send()
  assert.equal(status, 200, text)
  const call = provider.calls[before]
  assert.ok(call)
  return call.body
}

interface Row {
  readonly status: string
  readonly completion_tokens: number
}
const rows = async (key: string) =>
  (await getJson<{ readonly data: readonly Row[] }>(first, key, '/v1/usage/completions')).data

/** The text of a streamed answer, with what it ends with. */
function streamed({ text }: Answer): { readonly content: string; readonly error: string | undefined } {
  let content = ''
  let error: string | undefined
  for (const line of text.split('\n')) {
    if (!line.startsWith('data: {')) continue
    const data = JSON.parse(line.slice(6))
    content += data.choices?.[0]?.delta?.content ?? ''
    error ??= data.error?.code
  }
  return { content, error }
}

const pieces = (text: string, size: number) =>
  Array.from({ length: Math.ceil(text.length / size) }, (_, at) =>
    chunk({ content: text.slice(at * size, (at + 1) * size) }),
  )
const streamOf = (text: string, size: number, gapMs = 0) =>
  answerStream(
    [chunk({ role: 'assistant', content: '' }), ...pieces(text, size), chunk({}, 'stop'), usageChunk(counts(10, 5))],
    gapMs,
  )

test('a secret in a prompt is masked before its provider sees it, on every client API', async () => {
  const key = await guarded([{ kind: 'secrets', action: 'mask' }])
  script = answerJson(completion({ content: 'ok' }))
  const asked: readonly (() => Promise<Answer>)[] = [
    () => ask(key, `my key is ${SECRET}`),
    () => ask(key, [{ type: 'text', text: `my key is ${SECRET}` }]),
    () =>
      send(first, '/v1/messages', {
        key,
        body: { model: 'm1', max_tokens: 20, messages: [{ role: 'user', content: `my key is ${SECRET}` }] },
      }),
    () => send(first, '/v1/responses', { key, body: { model: 'm1', input: `my key is ${SECRET}` } }),
  ]
  for (const each of asked) {
    const body = await received(each)
    assert.match(body, /my key is \[SECRET\]/)
    assert.doesNotMatch(body, /abcdefghij/)
  }
  const { headers } = await ask(key, SECRET)
  assert.equal(headers['x-turnpike-guardrails'], 'masked=1')
  assert.equal((await ask(key, 'nothing')).headers['x-turnpike-guardrails'], undefined)
})

test('arguments of earlier tool calls and results are masked, names and ids are not', async () => {
  const key = await guarded([{ kind: 'pii', action: 'mask' }])
  const calls = [{ id: 'call_1', type: 'function', function: { name: 'mail', arguments: `{"to":"${EMAIL}"}` } }]
  const messages = [
    { role: 'user', content: 'send it' },
    { role: 'assistant', content: null, tool_calls: calls },
    { role: 'tool', tool_call_id: 'call_1', content: `sent to ${EMAIL}` },
  ]
  const body = await received(() => send(first, CHAT, { key, body: hello({ messages }) }))
  const sent = JSON.parse(body) as { readonly messages: readonly { tool_calls?: typeof calls; content: unknown }[] }
  assert.deepEqual(sent.messages[1]?.tool_calls?.[0]?.function, { name: 'mail', arguments: '{"to":"[EMAIL]"}' })
  assert.equal(sent.messages[2]?.content, 'sent to [EMAIL]')
})

test('a blocked prompt gets 400 that names the guardrail; nothing is sent, charged or recorded', async () => {
  const key = await guarded([{ kind: 'regex', action: 'block', words: ['Project Titan'] }])
  const before = provider.calls.length
  for (const stream of [false, true]) {
    const answer = await ask(key, 'tell me of project titan', { stream })
    const { code, param, message } = errorOf(answer)
    assert.deepEqual([answer.status, code, param], [400, 'content_blocked', 'messages[0].content'])
    assert.match(message, /house rules/)
    assert.doesNotMatch(message, /titan/i)
  }
  const native = await send(first, '/v1/messages', {
    key,
    body: { model: 'm1', max_tokens: 20, messages: [{ role: 'user', content: 'Project Titan' }] },
  })
  assert.deepEqual([native.status, JSON.parse(native.text).error.type], [400, 'invalid_request_error'])
  assert.deepEqual([provider.calls.length - before, (await rows(key)).length], [0, 0])
})

test('the guardrail of docs/guardrails.md does what the page says', async () => {
  const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'guardrails.md'), 'utf8')
  const [, body = ''] = /-d '([^']+)'/.exec(page) ?? []
  const key = await first.keyOfNewAccount()
  assert.equal((await send(first, PATH, { key, body })).status, 201)
  assert.match(await received(() => ask(key, `${EMAIL}, ${SECRET}`)), /\[EMAIL\], \[SECRET\]/)
  assert.equal(errorOf(await ask(key, 'project titan')).code, 'content_blocked')
})

test('a stream that breaks still delivers what it withheld, masked', async () => {
  const key = await guarded([{ kind: 'secrets', action: 'mask' }])
  script = async (_, reply) => {
    reply.head(200, SSE_HEAD)
    await sendFrames(reply, pieces(`all of it ${SECRET}`, 6), 5)
    reply.cut()
  }
  assert.deepEqual(streamed(await ask(key, 'hi', { stream: true })), {
    content: 'all of it [SECRET]',
    error: 'provider_error',
  })
})

test('length and tools of a prompt are limited', async () => {
  script = answerJson(completion({ content: 'ok' }))
  const key = await guarded([
    { kind: 'max_prompt', action: 'block', max_characters: 40 },
    { kind: 'tools', action: 'block', allowed: ['search'] },
  ])
  const tool = (name: string) => ({ tools: [{ type: 'function', function: { name, parameters: { type: 'object' } } }] })
  assert.equal((await ask(key, 'x'.repeat(41))).status, 400)
  assert.equal((await ask(key, 'short', tool('search'))).status, 200)
  const refused = await ask(key, 'short', tool('shell'))
  assert.deepEqual([refused.status, errorOf(refused).code], [400, 'content_blocked'])
  const small = await guarded([{ kind: 'max_prompt', action: 'block', max_tokens: 50 }])
  assert.deepEqual([(await ask(small, 'short')).status, (await ask(small, 'word '.repeat(300))).status], [200, 400])
})

test('a value in an answer is masked at every boundary of its chunks, streamed and whole', async () => {
  const key = await guarded([
    { kind: 'secrets', action: 'mask' },
    { kind: 'pii', action: 'mask' },
  ])
  const text = `Take ${SECRET} or write to ${EMAIL}, thanks.`
  const masked = 'Take [SECRET] or write to [EMAIL], thanks.'
  for (const size of [1, 2, 3, 7, 1_000]) {
    script = streamOf(text, size)
    assert.deepEqual(streamed(await ask(key, 'hi', { stream: true })), { content: masked, error: undefined })
  }
  script = answerJson(completion({ content: text }))
  assert.equal(completionOf(await ask(key, 'hi')).choices[0]?.message.content, masked)
  const messages = await send(first, '/v1/messages', {
    key,
    body: { model: 'm1', max_tokens: 20, messages: [{ role: 'user', content: 'hi' }] },
  })
  assert.equal(JSON.parse(messages.text).content[0].text, masked)
})

test('arguments of a tool call stay JSON when a value in them is masked', async () => {
  const key = await guarded([{ kind: 'regex', action: 'mask', pattern: '"?titan"?', replacement: '"x"' }])
  const call = { id: 'call_1', type: 'function', function: { name: 'f', arguments: '{"q":"the titan","n":1}' } }
  script = answerJson(completion({ content: null, tool_calls: [call] }))
  const [called] =
    completionOf(await ask(key, 'hi', { tools: [{ type: 'function', function: { name: 'f' } }] })).choices[0]?.message
      .tool_calls ?? []
  assert.deepEqual(JSON.parse(called?.function.arguments ?? ''), { q: 'the "x"', n: 1 })
})

test('a blocked answer ends with an error, and is charged for what its provider delivered', async () => {
  const key = await guarded([{ kind: 'pii', action: 'block', applies_to: ['answer'] }])
  script = streamOf(`one two three four five ${EMAIL} six`, 4, 20)
  const { content, error } = streamed(await ask(key, 'hi', { stream: true }))
  assert.deepEqual([content, error], ['one two three four five ', 'content_blocked'])
  script = answerJson(completion({ content: EMAIL }))
  const whole = await ask(key, `${EMAIL} in a prompt is allowed`)
  assert.deepEqual([whole.status, errorOf(whole).code], [400, 'content_blocked'])
  const page = await eventually(
    () => rows(key),
    (found) => found.length === 2,
  )
  for (const row of page) {
    assert.notEqual(row.status, 'completed')
    assert.ok(row.completion_tokens > 0, 'what was generated is charged')
  }
  assert.equal((await reconcile(first, key)).ok, true)
})

test('a guardrail of a key is for its requests alone; a change applies in the other process within a second', async () => {
  const owner = await first.keyOfNewAccount()
  const key = await send(first, '/v1/keys', { key: owner, body: { name: 'limited' } })
  const { id: keyId, key: secret } = JSON.parse(key.text) as { id: string; key: string }
  const { id } = await created(owner, [{ kind: 'regex', action: 'block', words: ['titan'] }], { keys: [keyId] })
  script = answerJson(completion({ content: 'ok' }))
  const statusOf = async (of: string) =>
    (await send(second, CHAT, { key: of, body: hello({ messages: [{ role: 'user', content: 'titan' }] }) })).status
  await eventually(
    () => statusOf(secret),
    (status) => status === 400,
    1_000,
  )
  assert.equal(await statusOf(owner), 200)
  const team = JSON.parse((await send(first, '/v1/teams', { key: owner, body: { name: 'research' } })).text) as {
    id: string
  }
  const ofTeam = await send(first, '/v1/keys', { key: owner, body: { name: 'of team', team_id: team.id } })
  const { key: teamKey } = JSON.parse(ofTeam.text) as { key: string }
  const rule = { kind: 'regex', action: 'block', words: ['atlas'] }
  await created(owner, [rule], { teams: [team.id] })
  const atlas = { messages: [{ role: 'user', content: 'atlas' }] }
  const [blocked, free] = await Promise.all(
    [teamKey, owner].map((of) => send(first, CHAT, { key: of, body: hello(atlas) })),
  )
  assert.deepEqual([blocked?.status, free?.status], [400, 200])
  assert.equal(
    (await send(first, `${PATH}/${id}`, { key: owner, method: 'PATCH', body: { enabled: false } })).status,
    200,
  )
  await eventually(
    () => statusOf(secret),
    (status) => status === 200,
    1_000,
  )
  const foreign = await send(first, `${PATH}/${id}`, { key: await first.keyOfNewAccount() })
  assert.equal(foreign.status, 404)
})

test('a hook sees prompts and answers, masks, blocks, and is verified by its signature', async () => {
  const rule = { kind: 'http', url: hookUrl, stages: ['pre', 'stream', 'post'], timeout_ms: 5_000 }
  const key = await guarded([rule])
  hook = ({ texts }) => ({ action: 'mask', texts: texts.map((text) => text.replaceAll('titan', '***')) })
  script = streamOf('the titan rises', 3)
  const before = provider.calls.length
  const answer = await ask(key, 'of titan', { stream: true })
  assert.deepEqual(streamed(answer), { content: 'the *** rises', error: undefined })
  assert.match(provider.calls[before]?.body ?? '', /of \*\*\*/)
  assert.deepEqual(
    questions.slice(-3).map(({ stage, texts }) => [stage, ...texts]),
    [
      ['pre', 'of titan'],
      ['stream', 'the titan rises'],
      ['post', 'the *** rises'],
    ],
  )
  const listed = await getJson<{ data: readonly { signing_secret: string }[] }>(first, key, PATH)
  const { body, headers } = signed.at(-1) ?? { body: '', headers: {} }
  new Webhook(listed.data[0]?.signing_secret ?? '').verify(body, headers)
  hook = () => ({ action: 'block', reason: 'not today' })
  const refused = await ask(key, 'hi')
  assert.deepEqual([refused.status, errorOf(refused).code], [400, 'content_blocked'])
  assert.match(errorOf(refused).message, /not today/)
})

test('where a hook does not answer, `fail` decides', async () => {
  hook = () => 'silence'
  script = answerJson(completion({ content: 'ok' }))
  const rule = { kind: 'http', url: hookUrl, stages: ['pre'], timeout_ms: 50 }
  const open = await guarded([{ ...rule, fail: 'open' }])
  const closed = await guarded([{ ...rule, fail: 'closed' }])
  assert.equal((await ask(open, 'hi')).status, 200)
  assert.equal(errorOf(await ask(closed, 'hi')).code, 'content_blocked')
  hook = () => ({ action: 'mask', texts: [] })
  assert.equal(errorOf(await ask(closed, 'hi')).code, 'content_blocked', 'an answer that is none is no answer')
})

test('bodies that are wrong are refused with their path', async () => {
  const key = await first.keyOfNewAccount()
  const refused = async (rules: readonly object[], over: object = {}) => {
    const { status, text } = await send(first, PATH, { key, body: { name: 'n', rules, ...over } })
    return [status, JSON.parse(text).error.param]
  }
  assert.equal((await refused([{ kind: 'regex', action: 'mask', pattern: '(' }]))[0], 400)
  assert.equal((await refused([{ kind: 'regex', action: 'mask' }]))[0], 400)
  assert.deepEqual(await refused([{ kind: 'http', url: 'http://169.254.169.254/' }]), [400, 'rules[0].url'])
  assert.deepEqual(await refused([{ kind: 'secrets', action: 'mask' }], { keys: ['key_unknown'] }), [404, 'keys'])
  assert.equal((await refused([{ kind: 'unknown', action: 'mask' }]))[0], 400)
})
