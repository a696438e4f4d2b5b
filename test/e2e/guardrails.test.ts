/**
 * Guardrails from their creation to what providers and clients see, and what content capture stores of it, on every client
 * API, in two processes. The second may not capture.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import {
  type Answer,
  bestOf,
  CHAT,
  completionOf,
  errorOf,
  eventually,
  getJson,
  hello,
  send,
} from '../support/client.ts'
import { model, startGateway } from '../support/gateway.ts'
import { reconcile } from '../support/ledger/money.ts'
import { startReceiver } from '../support/otlp/receiver.ts'
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
/** By the other process, of a change. */
const APPLIED_WITHIN_MS = 1_000
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
  telemetry: { allow_private_networks: true },
}
const first = await startGateway({ config: { ...config, content_capture: { allow: true, retention_days: 20 } } })
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

test('a secret in a prompt is masked before its provider receives it, on every client API', async () => {
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

test('a blocked prompt receives a 400 that names the guardrail; nothing is sent, charged or recorded', async () => {
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

test('the guardrail of docs/guardrails.md works as described', async () => {
  const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'guardrails.md'), 'utf8')
  const [, body = ''] = /-d '([^']+)'/.exec(page) ?? []
  const key = await first.keyOfNewAccount()
  assert.equal((await send(first, PATH, { key, body })).status, 201)
  assert.match(await received(() => ask(key, `${EMAIL}, ${SECRET}`)), /\[EMAIL\], \[SECRET\]/)
  assert.equal(errorOf(await ask(key, 'project titan')).code, 'content_blocked')
})

test('a stream that breaks off delivers the withheld text, masked', async () => {
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

test('a blocked answer ends with an error, and the provider’s output is charged', async () => {
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
  let enabled = true
  const change = async () => {
    enabled = !enabled
    const changed = await send(first, `${PATH}/${id}`, { key: owner, method: 'PATCH', body: { enabled } })
    assert.equal(changed.status, 200, changed.text)
    const changedAt = performance.now()
    await eventually(
      () => statusOf(secret),
      (status) => status === (enabled ? 400 : 200),
    )
    return performance.now() - changedAt
  }
  const appliedMs = await bestOf(change, APPLIED_WITHIN_MS)
  assert.ok(appliedMs <= APPLIED_WITHIN_MS, `applied after ${appliedMs} ms`)
  const foreign = await send(first, `${PATH}/${id}`, { key: await first.keyOfNewAccount() })
  assert.equal(foreign.status, 404)
})

test('a hook receives prompts and answers, masks, blocks, and is verified by its signature', async () => {
  const rule = { kind: 'http', url: hookUrl, stages: ['pre', 'stream', 'post'], timeout_ms: 30_000 }
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

const CAPTURE = '/v1/content-capture'
const EXPORT = '/v1/usage/content'

async function capturing(settings: object = {}, key?: string): Promise<string> {
  const owner = key ?? (await first.keyOfNewAccount())
  const { status, text } = await send(first, CAPTURE, {
    key: owner,
    method: 'PUT',
    body: { enabled: true, ...settings },
  })
  assert.equal(status, 200, text)
  return owner
}

interface Content {
  readonly id: string
  readonly api: string
  readonly messages: readonly { readonly role: string; readonly content: unknown }[]
  readonly request: { readonly stream?: boolean }
  readonly response: { readonly choices: readonly { readonly message: { readonly content: string } }[] } | null
}

/** Those of the account, the oldest first. */
async function exported(key: string, query = ''): Promise<readonly Content[]> {
  const { status, text } = await send(first, `${EXPORT}?order=asc&${query}`, { key })
  assert.equal(status, 200, text)
  return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Content]))
}

const storedContents = (key: string, count: number) =>
  eventually(
    () => exported(key),
    (all) => all.length === count,
  )

const WAYS: readonly (readonly [path: string, body: (text: string, stream: boolean) => object])[] = [
  [CHAT, (content, stream) => hello({ messages: [{ role: 'user', content }], stream })],
  [
    '/v1/messages',
    (content, stream) => ({ model: 'm1', max_tokens: 20, messages: [{ role: 'user', content }], stream }),
  ],
  ['/v1/responses', (input, stream) => ({ model: 'm1', input, stream })],
  ['/v1/completions', (prompt, stream) => ({ model: 'm1', prompt, stream })],
]

test('prompts and answers are captured on every API, whole and streamed, as guardrails leave them', async () => {
  const key = await capturing()
  await created(key, [{ kind: 'secrets', action: 'mask' }])
  for (const [path, body] of WAYS) {
    for (const stream of [false, true]) {
      script = stream ? streamOf(`keep ${SECRET} safe`, 4) : answerJson(completion({ content: `keep ${SECRET} safe` }))
      const { status, text } = await send(first, path, { key, body: body(`my key is ${SECRET}`, stream) })
      assert.equal(status, 200, text)
    }
  }
  const all = await storedContents(key, WAYS.length * 2)
  const apis = ['chat_completions', 'messages', 'responses', 'completions']
  for (const [at, { api, messages, request, response }] of all.entries()) {
    assert.equal(api, apis[Math.floor(at / 2)])
    assert.equal(request.stream, at % 2 === 1)
    assert.equal(textOf(messages.at(-1)?.content), 'my key is [SECRET]', api)
    assert.equal(response?.choices[0]?.message.content, 'keep [SECRET] safe', api)
    assert.doesNotMatch(JSON.stringify(all[at]), /abcdefghij/)
  }
})

function textOf(content: unknown): unknown {
  return Array.isArray(content) ? (content as { readonly text: string }[]).map(({ text }) => text).join('') : content
}

test('a destination of traces with `content` receives what is captured, and nothing of other requests', async (t) => {
  const receiver = await startReceiver((close) => t.after(close))
  const owner = await guarded([{ kind: 'secrets', action: 'mask' }])
  const made = await send(first, '/v1/keys', { key: owner, body: { name: 'captured' } })
  const { id, key } = JSON.parse(made.text) as { readonly id: string; readonly key: string }
  await capturing({ keys: [id] }, owner)
  const body = { name: 'ours', kind: 'otlp', url: `${receiver.url}/v1/traces`, content: true }
  assert.equal((await send(first, '/v1/telemetry-destinations', { key: owner, body })).status, 201)
  script = answerJson(completion({ content: 'ok' }))
  await ask(owner, 'not captured')
  for (const [path, bodyOf] of WAYS) {
    for (const stream of [false, true]) {
      script = stream ? streamOf(`keep ${SECRET} safe`, 4) : answerJson(completion({ content: `keep ${SECRET} safe` }))
      assert.equal((await send(first, path, { key, body: bodyOf(`my key is ${SECRET}`, stream) })).status, 200)
    }
  }
  const count = 2 * WAYS.length
  await receiver.until(() => receiver.spans.length === 2 * (count + 1))
  assert.deepEqual(receiver.problems, [])
  const having = receiver.spans.filter(({ attributes }) => 'gen_ai.input.messages' in attributes)
  assert.equal(having.length, count)
  for (const { attributes } of having) {
    const read = (name: string) => JSON.parse(String(attributes[name]))
    const parts = (content: string) => [{ type: 'text', content }]
    assert.deepEqual(read('gen_ai.input.messages'), [{ role: 'user', parts: parts('my key is [SECRET]') }])
    assert.deepEqual(read('gen_ai.output.messages')[0].parts, parts('keep [SECRET] safe'))
  }
  assert.doesNotMatch(JSON.stringify(receiver.spans), /abcdefghij|not captured/)
})

test('an answer that breaks off is captured as far as it arrived', async () => {
  const key = await capturing()
  script = async (_, reply) => {
    reply.head(200, SSE_HEAD)
    await sendFrames(reply, [chunk({ content: 'half of ' }), chunk({ content: 'it' })], 5)
    reply.cut()
  }
  assert.equal(streamed(await ask(key, 'hi', { stream: true })).error, 'provider_error')
  const [content] = await storedContents(key, 1)
  assert.equal(content?.response?.choices[0]?.message.content, 'half of it')
})

test('only requests of the chosen keys and teams are captured, and none where the operator does not allow it', async () => {
  script = answerJson(completion({ content: 'ok' }))
  const owner = await first.keyOfNewAccount()
  const made = async (path: string, body: object) =>
    JSON.parse((await send(first, path, { key: owner, body })).text) as { readonly id: string; readonly key: string }
  const chosen = await made('/v1/keys', { name: 'chosen' })
  const team = await made('/v1/teams', { name: 'research' })
  const ofTeam = await made('/v1/keys', { name: 'of team', team_id: team.id })
  assert.equal((await ask(owner, 'before')).status, 200)
  await capturing({ keys: [chosen.id], teams: [team.id] }, owner)
  for (const key of [owner, chosen.key, ofTeam.key]) assert.equal((await ask(key, `by ${key.slice(-4)}`)).status, 200)
  assert.equal((await send(second, CHAT, { key: chosen.key, body: hello() })).status, 200)
  const asked = (await storedContents(owner, 2)).map(({ messages }) => messages[0]?.content)
  assert.deepEqual(
    asked,
    [chosen, ofTeam].map(({ key }) => `by ${key.slice(-4)}`),
  )
  const refused = await send(second, CAPTURE, { key: owner, method: 'PUT', body: { enabled: true } })
  assert.deepEqual([refused.status, errorOf(refused).param], [409, 'enabled'])
  const tooLong = await send(first, CAPTURE, { key: owner, method: 'PUT', body: { enabled: true, retention_days: 21 } })
  assert.deepEqual([tooLong.status, errorOf(tooLong).param], [400, 'retention_days'])
  await send(first, CAPTURE, { key: owner, method: 'PUT', body: { enabled: false } })
  await ask(chosen.key, 'after')
  await eventually(
    () => rows(owner),
    (all) => all.length === 6,
  )
  assert.equal((await exported(owner)).length, 2)
  const limited = await made('/v1/keys', { name: 'limited', scopes: ['chat', 'usage:read'] })
  const [{ id } = { id: '' }] = await exported(owner)
  for (const path of [CAPTURE, EXPORT, `/v1/usage/completions/${id}/content`])
    assert.equal((await send(first, path, { key: limited.key })).status, 403, path)
})

test('content is exported by page, model and tag, for evaluation and fine-tuning [limit: content-export]', async () => {
  script = answerJson(completion({ content: 'sunny' }))
  const key = await capturing()
  for (const day of ['mon', 'tue', 'wed']) {
    const headers = { 'x-turnpike-tags': `day=${day}` }
    await send(first, CHAT, { key, headers, body: hello({ messages: [{ role: 'user', content: day }] }) })
  }
  await storedContents(key, 3)
  const asked = (all: readonly Content[]) => all.map(({ messages }) => messages[0]?.content)
  assert.deepEqual(asked(await exported(key, 'tag=day%3Dtue')), ['tue'])
  assert.deepEqual(await exported(key, 'model=other'), [])
  assert.deepEqual(await exported(key, 'period_end=2026-01-01T00:00:00Z'), [])
  const page = await send(first, `${EXPORT}?order=asc&limit=2`, { key })
  assert.match(String(page.headers['content-type']), /^application\/jsonl/)
  const cursor = String(page.headers['x-next-cursor'])
  assert.deepEqual(asked(await exported(key, `limit=2&cursor=${cursor}`)), ['wed'])
  assert.equal((await send(first, `${EXPORT}?limit=10001`, { key })).status, 400)
  const tooMany = { enabled: true, keys: Array.from({ length: 1_001 }, (_, at) => `key_${at}`) }
  assert.equal((await send(first, CAPTURE, { key, method: 'PUT', body: tooMany })).status, 400)
  const { text } = await send(first, `${EXPORT}?format=messages&limit=1`, { key })
  assert.deepEqual(JSON.parse(text), {
    messages: [
      { role: 'user', content: 'wed' },
      { role: 'assistant', content: 'sunny' },
    ],
  })
})

test('the requests of docs/content-capture.md work as described', async () => {
  const page = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'content-capture.md'), 'utf8')
  const owner = await first.keyOfNewAccount()
  const made = JSON.parse((await send(first, '/v1/keys', { key: owner, body: { name: 'captured' } })).text)
  const [, body = ''] = /-d '([^']+)'/.exec(page) ?? []
  const put = await send(first, CAPTURE, { key: owner, method: 'PUT', body: body.replace('key_…', made.id) })
  assert.deepEqual([put.status, JSON.parse(put.text).retention_days], [200, 7])
  script = answerJson(completion({ content: 'ok' }))
  const headers = { 'x-turnpike-tags': 'task=summary' }
  await send(first, CHAT, { key: made.key, headers, body: hello() })
  await ask(made.key, 'of another task')
  await storedContents(owner, 2)
  const [, path = ''] = /localhost:7575(\/v1\/usage\/content[^"]+)/.exec(page) ?? []
  const lines = (await send(first, path, { key: owner })).text.trim().split('\n')
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).messages.at(-1)),
    [{ role: 'assistant', content: 'ok' }],
  )
})

test('every view, export and deletion of content is in the audit log', async () => {
  script = answerJson(completion({ content: 'ok' }))
  const key = await capturing()
  for (const text of ['one', 'two', 'three']) await ask(key, text)
  const [one, two] = await storedContents(key, 3)
  const path = `/v1/usage/completions/${one?.id}/content`
  assert.deepEqual((await getJson<Content>(first, key, path)).messages, [{ role: 'user', content: 'one' }])
  assert.equal((await send(first, path, { key: await first.keyOfNewAccount() })).status, 404)
  assert.equal((await send(first, path, { key, method: 'DELETE' })).status, 204)
  for (const method of ['GET', 'DELETE'] as const) assert.equal((await send(first, path, { key, method })).status, 404)
  const { data } = await getJson<{ data: readonly { key_id: string }[] }>(first, key, '/v1/usage/completions')
  const erased = await send(first, `${EXPORT}?key_id=${data[0]?.key_id}`, { key, method: 'DELETE' })
  assert.deepEqual(JSON.parse(erased.text), { object: 'content_deletion', deleted: 2 })
  assert.equal((await send(first, `/v1/usage/completions/${two?.id}/content`, { key })).status, 404)
  const log = await getJson<{ data: readonly { action: string; subject: string | null }[] }>(first, key, '/v1/audit')
  const actions = log.data.map(({ action }) => action)
  for (const action of ['content_capture.changed', 'content.viewed', 'content.exported'])
    assert.ok(actions.includes(action), action)
  assert.equal(actions.filter((action) => action === 'content.deleted').length, 2)
  assert.ok(log.data.some(({ action, subject }) => action === 'content.viewed' && subject === one?.id))
})
