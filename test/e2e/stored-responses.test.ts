/**
 * Stored responses: the official SDK over two processes that share one database, each with a fake provider that says what it
 * was asked. A third process does not store.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, beforeEach, test } from 'node:test'
import OpenAI from 'openai'
import { deleteResponses } from '../../src/features/retention/jobs.ts'
import { errorOf, eventually, send } from '../support/client.ts'
import { dialect, openLocation } from '../support/database.ts'
import { type Gateway, oneModel, startGateway } from '../support/gateway.ts'
import { everyRow, type UsageRow } from '../support/ledger/money.ts'
import { checkEvent, checkResponse } from '../support/open-responses.ts'
import { bodyOf, chunk, completion, counts, SSE_HEAD, sendFrames, usageChunk } from '../support/providers/answers.ts'
import { type Script, startFakeProvider } from '../support/providers/fake-provider.ts'

const MAX_BYTES = 20_000
const ORDINARY = saying(['Hello ', 'there'])
const provider = await startFakeProvider(ORDINARY)
const settings = { responses: { store: true, retention_days: 7, max_bytes: MAX_BYTES }, routing: { max_attempts: 1 } }
const config = oneModel(provider.url, {}, settings)
const first = await startGateway({ config })
/** Stores larger responses than the first. */
const roomy = oneModel(provider.url, {}, { ...settings, responses: { store: true, retention_days: 7 } })
const [second, forgetful] = await Promise.all([
  startGateway({ config: roomy, dataDir: first.dataDir }),
  startGateway({ config: oneModel(provider.url), dataDir: first.dataDir }),
])
const key = await first.key()
after(async () => {
  await Promise.all([second.stop(), forgetful.stop()])
  await first.stop()
  await provider.close()
})
beforeEach(() => provider.answer(ORDINARY))

type Create = Omit<OpenAI.Responses.ResponseCreateParamsNonStreaming, 'stream' | 'model'>
type Answer = OpenAI.Responses.Response
/** The SDK's type does not have the field. */
type Wire = Answer & { readonly store: boolean }

/** Says the same text to every call, whole or streamed. */
function saying(pieces: readonly string[], finish = 'stop'): Script {
  return async (call, reply) => {
    if (bodyOf(call).stream !== true) {
      const message = { role: 'assistant', content: pieces.join('') }
      const choices = [{ index: 0, message, finish_reason: finish }]
      reply.head(200, { 'content-type': 'application/json' })
      reply.end(JSON.stringify(completion({}, { choices })))
      return
    }
    reply.head(200, SSE_HEAD)
    const frames = [...pieces.map((content) => chunk({ content })), chunk({}, finish), usageChunk(counts(10, 5))]
    if (await sendFrames(reply, [...frames, '[DONE]'])) reply.end()
  }
}

const clientOf = (gateway: Gateway, secret = key) =>
  new OpenAI({ apiKey: secret, baseURL: `${gateway.url}/v1`, maxRetries: 0 })

async function create(gateway: Gateway, body: Create, secret = key): Promise<Wire> {
  const answer = await clientOf(gateway, secret).responses.create({ model: 'm1', ...body })
  const { output_text: _, ...wire } = answer
  checkResponse(wire)
  return answer as Wire
}

async function createStreamed(gateway: Gateway, body: Create): Promise<Wire> {
  const stream = await clientOf(gateway).responses.create({ model: 'm1', ...body, stream: true })
  let last: Wire | undefined
  for await (const event of stream) {
    checkEvent(event)
    if (event.type === 'response.completed' || event.type === 'response.incomplete') last = event.response as Wire
  }
  return last ?? assert.fail('The stream has no last event.')
}

const WAYS = { whole: create, streamed: createStreamed } as const

/** The messages of the last call: roles and texts. */
function lastMessages(): readonly (readonly [role: string, content: unknown])[] {
  const call = provider.calls.at(-1) ?? assert.fail('The provider was not called.')
  return bodyOf(call).messages.map(({ role, content }) => [role, content])
}

/** What the SDK raises. */
async function refusalOf(asked: Promise<unknown>) {
  const error = await asked.then(
    () => assert.fail('It was answered.'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof OpenAI.APIError, String(error))
  return { status: error.status, code: error.code, param: error.param, message: error.message }
}

async function inputItems(gateway: Gateway, id: string, query: OpenAI.Responses.InputItemListParams = {}) {
  const items: OpenAI.Responses.ResponseItem[] = []
  for await (const item of clientOf(gateway).responses.inputItems.list(id, query)) items.push(item)
  return items
}

for (const [way, make] of Object.entries(WAYS)) {
  test(`a response is continued and read in another process immediately, ${way}`, async () => {
    const one = await make(first, { input: 'One.', instructions: 'Be brief.', metadata: { a: 'b' } })
    assert.deepEqual([one.store, one.previous_response_id], [true, null])
    const two = await make(second, { input: [{ role: 'user', content: 'Two.' }], previous_response_id: one.id })
    assert.deepEqual(lastMessages(), [
      ['user', 'One.'],
      ['assistant', 'Hello there'],
      ['user', 'Two.'],
    ])
    const three = await make(first, { input: 'Three.', previous_response_id: two.id, store: false })
    assert.deepEqual(
      lastMessages().map(([, content]) => content),
      ['One.', 'Hello there', 'Two.', 'Hello there', 'Three.'],
    )
    assert.deepEqual([two.store, two.previous_response_id, three.store], [true, one.id, false])
    for (const gateway of [first, second]) {
      for (const made of [one, two]) {
        const { output_text: _, ...read } = await clientOf(gateway).responses.retrieve(made.id)
        const { output_text: __, ...answered } = made
        assert.deepEqual(read, answered)
        checkResponse(read)
      }
    }
    assert.equal((await refusalOf(clientOf(first).responses.retrieve(three.id))).status, 404)
  })

  test(`an incomplete response is stored, ${way}`, async () => {
    provider.answer(saying(['Cut'], 'length'))
    const one = await make(first, { input: 'Long.' })
    assert.deepEqual([one.status, one.store], ['incomplete', true])
    const read = await clientOf(second).responses.retrieve(one.id)
    assert.deepEqual([read.status, read.incomplete_details], ['incomplete', { reason: 'max_output_tokens' }])
  })

  test(`a response that is too large is answered as not stored, ${way} [limit: stored-response]`, async () => {
    provider.answer(saying(['x'.repeat(MAX_BYTES)]))
    const one = await make(first, { input: 'Long.' })
    assert.equal(one.store, false)
    assert.equal((await refusalOf(clientOf(first).responses.retrieve(one.id))).status, 404)
    provider.answer(ORDINARY)
    const two = await make(first, { input: 'x'.repeat(MAX_BYTES + 1) })
    assert.equal(two.store, false)
  })
}

test('x-turnpike-warnings names a response that is too large: by its input always, by its output where it is whole', async () => {
  const ask = (body: object) => send(first, '/v1/responses', { key, body: { model: 'm1', ...body } })
  const large = { input: 'x'.repeat(MAX_BYTES + 1) }
  for (const stream of [false, true]) {
    assert.equal((await ask({ ...large, stream })).headers['x-turnpike-warnings'], 'store')
    assert.equal((await ask({ ...large, stream, store: false })).headers['x-turnpike-warnings'], undefined)
  }
  provider.answer(saying(['x'.repeat(MAX_BYTES)]))
  assert.equal((await ask({ input: 'Long.' })).headers['x-turnpike-warnings'], 'store')
})

test('calls of tools are answered in the next request, which refers to them by ID or by their conversation', async () => {
  const calls = [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"at":"left"}' } }]
  provider.answer(async (_call, reply) => {
    reply.head(200, { 'content-type': 'application/json' })
    reply.end(JSON.stringify(completion({ content: null, tool_calls: calls })))
  })
  const tools: OpenAI.Responses.Tool[] = [
    { type: 'function', name: 'look', parameters: { type: 'object' }, strict: false },
  ]
  const one = await create(first, { input: 'Look.', tools })
  provider.answer(saying(['Seen']))
  const result = { type: 'function_call_output', call_id: 'call_1', output: 'a tree' } as const
  await create(second, { input: [result], tools, previous_response_id: one.id })
  const continued = lastMessages()
  assert.deepEqual(
    continued.map(([role]) => role),
    ['user', 'assistant', 'tool'],
  )
  const [call] = one.output
  const reference = { type: 'item_reference', id: call?.id ?? '' } as const
  const [asked] = await inputItems(first, one.id)
  const byId = await create(second, {
    input: [{ type: 'item_reference', id: asked?.id ?? '' }, reference, result],
    tools,
  })
  assert.deepEqual(lastMessages(), continued)
  const input = await inputItems(first, byId.id, { order: 'asc' })
  assert.deepEqual(
    input.map(({ type, id }) => [type, type === 'function_call_output' || id]),
    [
      ['message', asked?.id],
      ['function_call', call?.id],
      ['function_call_output', true],
    ],
  )
  for (const id of ['msg_none_0', 'item', `msg_${one.id.slice(5)}_99`]) {
    const refusal = await refusalOf(
      create(first, {
        input: [
          { role: 'user', content: 'x' },
          { ...reference, id },
        ],
      }),
    )
    assert.deepEqual([refusal.status, refusal.code, refusal.param], [400, 'invalid_value', 'input[1]'], refusal.message)
  }
})

test('an error of the input is reported with its path in the request', async () => {
  const { id } = await create(first, { input: 'One.' })
  const wrong = { role: 'nobody', content: 'x' } as unknown as OpenAI.Responses.ResponseInputItem
  const asked = create(first, { input: [{ role: 'user', content: 'x' }, wrong], previous_response_id: id })
  assert.equal((await refusalOf(asked)).param, 'input[1].role')
  const none = create(first, { previous_response_id: id, input: 5 as unknown as string })
  assert.deepEqual((await refusalOf(none)).param, 'input')
  const unknown = create(first, { previous_response_id: 5 as unknown as string, input: 'x' })
  assert.deepEqual((await refusalOf(unknown)).param, 'previous_response_id')
})

test('the input items of a conversation are listed in pages', async () => {
  const one = await create(first, { input: ['a', 'b', 'c'].map((content) => ({ role: 'user', content })) })
  const two = await create(first, { input: 'd', previous_response_id: one.id })
  const texts = (items: readonly OpenAI.Responses.ResponseItem[]) =>
    items.map((item) => (item.type === 'message' ? item.content.map((part) => 'text' in part && part.text).join() : ''))
  const all = await inputItems(second, two.id, { order: 'asc', limit: 2 })
  assert.deepEqual(texts(all), ['a', 'b', 'c', 'Hello there', 'd'])
  assert.equal(new Set(all.map(({ id }) => id)).size, 5)
  assert.deepEqual(texts(await inputItems(first, two.id)), texts(all).reverse())
  const read = async (query: string) => send(first, `/v1/responses/${two.id}/input_items?${query}`, { key })
  const page = JSON.parse((await read('limit=2')).text)
  assert.deepEqual([page.object, page.first_id, page.last_id, page.has_more], ['list', all[4]?.id, all[3]?.id, true])
  const last = JSON.parse((await read(`order=asc&after=${all[3]?.id}`)).text)
  assert.deepEqual([last.first_id, last.last_id, last.has_more], [all[4]?.id, all[4]?.id, false])
  for (const query of ['after=none', 'limit=0', 'limit=101', 'order=up'])
    assert.equal((await read(query)).status, 400, query)
})

test('a deleted response is unavailable, and so are the conversations that contain it', async () => {
  const one = await create(first, { input: 'One.' })
  const two = await create(first, { input: 'Two.', previous_response_id: one.id })
  const deleted = await send(second, `/v1/responses/${one.id}`, { key, method: 'DELETE' })
  assert.deepEqual(JSON.parse(deleted.text), { id: one.id, object: 'response', deleted: true })
  for (const id of [one.id, two.id]) {
    const asked = create(first, { input: 'Three.', previous_response_id: id })
    const refusal = await refusalOf(asked)
    assert.deepEqual([refusal.status, refusal.code], [400, 'previous_response_not_found'])
    assert.match(refusal.message, new RegExp(one.id))
  }
  assert.equal((await clientOf(first).responses.retrieve(two.id)).id, two.id)
  assert.equal((await inputItems(first, two.id)).length, 1)
  await clientOf(first).responses.delete(two.id)
  for (const method of ['GET', 'DELETE'])
    assert.equal((await send(first, `/v1/responses/${two.id}`, { key, method })).status, 404)
})

test('a response is of its account alone', async () => {
  const other = await first.keyOfNewAccount()
  const one = await create(first, { input: 'Mine.' })
  const seen = []
  for (const id of [one.id, `resp_${'z'.repeat(22)}`, 'x']) {
    const refusal = await refusalOf(create(second, { input: 'x', previous_response_id: id }, other))
    const read = await send(first, `/v1/responses/${id}`, { key: other })
    const items = await send(first, `/v1/responses/${id}/input_items`, { key: other })
    const removed = await send(first, `/v1/responses/${id}`, { key: other, method: 'DELETE' })
    const message = refusal.message.replace(id, 'ID')
    seen.push([refusal.code, message, read.status, errorOf(read).message, items.status, removed.status].join())
  }
  assert.equal(new Set(seen).size, 1, seen.join('\n'))
  const reference = { type: 'item_reference', id: one.output[0]?.id ?? '' } as const
  assert.equal((await refusalOf(create(first, { input: [reference] }, other))).status, 400)
  assert.equal((await clientOf(first).responses.retrieve(one.id)).id, one.id)
})

test('a key without the scope chat neither reads nor deletes', async () => {
  const one = await create(first, { input: 'Mine.' })
  const reader = await first.key('--scopes', 'usage:read')
  const paths = [`/v1/responses/${one.id}`, `/v1/responses/${one.id}/input_items`]
  for (const path of paths) assert.equal((await send(first, path, { key: reader })).status, 403)
  assert.equal((await send(first, `/v1/responses/${one.id}`, { key: reader, method: 'DELETE' })).status, 403)
})

test('a process that does not store refuses to continue, but reads and deletes stored responses', async () => {
  const one = await create(first, { input: 'One.' })
  const refusal = await refusalOf(create(forgetful, { input: 'Two.', previous_response_id: one.id }))
  assert.deepEqual([refusal.status, refusal.code], [400, 'previous_response_not_found'])
  const reference = { type: 'item_reference', id: one.output[0]?.id ?? '' } as const
  assert.equal((await refusalOf(create(forgetful, { input: [reference] }))).status, 400)
  const body = { model: 'm1', input: 'One.' }
  for (const store of [undefined, true, false]) {
    const answer = await send(forgetful, '/v1/responses', { key, body: { ...body, store } })
    const { id, store: answered } = JSON.parse(answer.text)
    const warnings = store === true ? 'store' : undefined
    assert.deepEqual([answered, answer.headers['x-turnpike-warnings']], [false, warnings])
    assert.equal((await send(first, `/v1/responses/${id}`, { key })).status, 404)
  }
  await clientOf(forgetful).responses.delete(one.id)
  assert.equal((await send(first, `/v1/responses/${one.id}`, { key })).status, 404)
})

test('the whole conversation is counted, held and charged, and a keyed request is answered once', async () => {
  const own = await first.keyOfNewAccount()
  const long = 'word '.repeat(1000)
  const one = await create(first, { input: long }, own)
  const asked = { model: 'm1', input: 'Two.', previous_response_id: one.id }
  const { input_tokens: counted } = await clientOf(second, own).responses.inputTokens.count(asked)
  assert.ok(counted > 1000, `${counted} tokens`)
  const headers = { 'idempotency-key': 'once' }
  const calls = provider.calls.length
  const ask = (gateway: Gateway, body: object) => send(gateway, '/v1/responses', { key: own, body, headers })
  const [answer, repeat] = [await ask(first, asked), await ask(second, asked)]
  assert.deepEqual([answer.status, repeat.headers['idempotent-replayed']], [200, 'true'])
  assert.equal(repeat.text, answer.text)
  assert.equal(provider.calls.length, calls + 1)
  const { previous_response_id: _, ...another } = asked
  assert.equal((await ask(first, another)).status, 409)
  const rows = await eventually(
    () => everyRow<UsageRow>(first, own, '/v1/usage/completions'),
    ({ length }) => length === 2,
  )
  assert.equal(rows.length, 2)
})

test('a conversation beyond the limits of a body is refused [limit: stored-conversation]', async () => {
  const small = await startGateway({
    config: oneModel(provider.url, {}, { ...settings, server: { body_limit_bytes: 16_384 } }),
    dataDir: first.dataDir,
  })
  try {
    const one = await create(small, { input: 'a'.repeat(9_000) })
    const two = await create(small, { input: 'b'.repeat(4_000), previous_response_id: one.id })
    const asked = create(small, { input: 'c'.repeat(9_000), previous_response_id: two.id })
    assert.deepEqual((await refusalOf(asked)).status, 413)
    const three = await create(second, { input: 'c'.repeat(9_000), previous_response_id: two.id })
    assert.equal((await refusalOf(create(small, { input: 'd', previous_response_id: three.id }))).status, 413)
  } finally {
    await small.stop()
  }
})

test('a long conversation is parsed on the thread of large bodies', async () => {
  const image = `data:image/png;base64,${'iVBO'.repeat(300_000)}`
  const content: OpenAI.Responses.ResponseInputContent[] = [{ type: 'input_image', image_url: image, detail: 'auto' }]
  const one = await create(second, { input: [{ role: 'user', content }] })
  const two = await create(second, { input: 'What is it?', previous_response_id: one.id })
  assert.equal(two.previous_response_id, one.id)
  assert.deepEqual(
    lastMessages().map(([role, what]) => [role, JSON.stringify(what).length > image.length]),
    [
      ['user', true],
      ['assistant', false],
      ['user', false],
    ],
  )
})

test('the operator switches it on and off without a restart', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-store-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'turnpike.yaml')
  const write = (store: boolean) =>
    writeFileSync(file, JSON.stringify(oneModel(provider.url, {}, { ...settings, responses: { store } })))
  write(false)
  const changing = await startGateway({ env: { TURNPIKE_CONFIG: file }, dataDir: first.dataDir })
  try {
    for (const isStored of [true, false]) {
      write(isStored)
      changing.signal('SIGHUP')
      await eventually(
        () => create(changing, { input: 'One.' }),
        ({ store }) => store === isStored,
      )
    }
  } finally {
    await changing.stop()
  }
})

test('a stream of a stored response is refused', async () => {
  const { id } = await create(first, { input: 'One.' })
  const refused = await send(first, `/v1/responses/${id}?stream=true`, { key })
  assert.deepEqual([refused.status, errorOf(refused).param], [400, 'stream'])
  assert.equal((await send(first, `/v1/responses/${id}?stream=false`, { key })).status, 200)
})

test('stored content is sealed at rest', async () => {
  const [asked, answered] = ['the-question-nobody-reads', 'the-answer-nobody-reads']
  provider.answer(saying([answered]))
  const { id } = await create(first, { input: asked, metadata: { note: 'A note nobody-reads' } })
  const { db, close } = await openLocation(first.database)
  try {
    const row = await db.selectFrom('response').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    for (const value of Object.values(row)) {
      const bytes = value instanceof Uint8Array ? Buffer.from(value) : Buffer.from(String(value))
      assert.ok(!bytes.includes('nobody-reads'))
    }
  } finally {
    await close()
  }
  if (dialect !== 'sqlite') return
  const files = readdirSync(first.dataDir).filter((name) => name.startsWith('turnpike.db'))
  const contents = files.map((name) => readFileSync(join(first.dataDir, name)))
  assert.ok(contents.some((bytes) => bytes.includes(id)))
  for (const bytes of contents) assert.ok(!bytes.includes('nobody-reads'))
})

test('retention deletes old responses', async () => {
  const [old, recent] = [await create(first, { input: 'Old.' }), await create(first, { input: 'Recent.' })]
  const { db, close } = await openLocation(first.database)
  const day = 24 * 3_600_000
  try {
    await db
      .updateTable('response')
      .set({ created_at: Date.now() - 8 * day })
      .where('id', '=', old.id)
      .execute()
    assert.equal(await deleteResponses({ db, now: Date.now }, 7), 1)
  } finally {
    await close()
  }
  assert.equal((await send(first, `/v1/responses/${old.id}`, { key })).status, 404)
  assert.equal((await send(second, `/v1/responses/${recent.id}`, { key })).status, 200)
})
