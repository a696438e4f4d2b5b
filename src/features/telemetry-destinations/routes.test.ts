import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { testIds } from '../../../test/support/database.ts'
import { completionRecord } from '../../../test/support/ledger/completions.ts'
import { openCreditFixture, serveRoutes } from '../../../test/support/ledger/credit-service.ts'
import { startReceiver } from '../../../test/support/otlp/receiver.ts'
import { createSealer } from '../../db/sealed.ts'
import type { ChatMessage } from '../../domain/chat.ts'
import type { AccountId, TeamId } from '../../domain/ids.ts'
import type { TracedContent } from '../../domain/trace.ts'
import { callerOf } from '../../http/caller.ts'
import { createGuardedAgent } from '../../net/guarded-agent.ts'
import { createTracer } from '../../telemetry/otlp/tracer.ts'
import { auditWriter } from '../audit/log.ts'
import { createDestinationExporter, MAX_CONTENT_CHARACTERS, MAX_WAITING_CONTENT_BYTES } from './exporter.ts'
import { telemetryDestinationsRoutes } from './routes.ts'
import { openSecrets } from './store.ts'

const PATH = '/telemetry-destinations'
const CURRENT = Buffer.alloc(32, 5)

async function setUp(t: TestContext, allowPrivateNetworks = true) {
  const fixture = await openCreditFixture(t)
  const receiver = await startReceiver((close) => t.after(close))
  const { db, now } = fixture
  const sealer = createSealer({ current: CURRENT })
  const agent = createGuardedAgent({ allowPrivateNetworks })
  const needed: boolean[] = []
  const log = { warn: () => {} }
  const onNeeded = (isNeeded: boolean): void => void needed.push(isNeeded)
  const exporter = createDestinationExporter({
    ...{ db, sealer, version: '1', agent, allowPrivateNetworks, log, onNeeded },
    conversationOf: (_, body) => body as { readonly messages: readonly ChatMessage[] },
  })
  t.after(() => agent.destroy())
  const routes = telemetryDestinationsRoutes({
    ...{ db, now, ids: testIds, callerOf, sealer, exporter, allowPrivateNetworks },
    cursorKey: Buffer.alloc(32, 1),
    writeAudit: auditWriter({ now, ids: testIds }),
  })
  const request = await serveRoutes(t, fixture, [routes])
  const { id: account } = await fixture.account('pro')
  const { id: other } = await fixture.account('pro')
  const add = (body: object = {}, of = account) =>
    request(PATH, of, {
      method: 'POST',
      body: {
        name: 'ours',
        kind: 'otlp',
        url: `${receiver.url}/v1/traces`,
        headers: { 'x-key': 'canary-7F' },
        ...body,
      },
    })
  const rows = () => db.selectFrom('telemetry_destination').selectAll().orderBy('id').execute()
  const audited = () => db.selectFrom('audit').selectAll().orderBy('id').execute()
  const tracer = createTracer({
    passBaggage: false,
    ...{ sampler: 'always_off', samplerRatio: 1, acceptContext: true, propagate: false, now, clock: () => 5 },
    onEnd: exporter.add,
  })
  /** A traced request of an account, which has ended. */
  const trace = (accountId: AccountId, over: object = {}, content?: TracedContent): void => {
    const begun = tracer.begin({})
    begun.request = { model: 'm1', stream: false, maxTokens: undefined, temperature: undefined, topP: undefined }
    begun.record = completionRecord({ accountId, model: 'm1', ...over })
    begun.attempts.push({
      ...{ spanId: begun.newSpanId(), provider: 'up', kind: 'openai', baseUrl: 'http://10.1.2.3/v1', model: 'um' },
      ...{ startedAt: 1, firstEventMs: 1, endedAt: 4, outcome: undefined, status: 200 },
    })
    begun.content = content
    begun.onEnd(begun)
  }
  return { db, receiver, sealer, exporter, request, account, other, add, rows, audited, trace, needed }
}

test('a destination is sealed, never shows its secrets, and is audited without them', async (t) => {
  const { request, account, other, add, rows, audited, sealer } = await setUp(t)
  const { status, body, text } = await add()
  assert.equal(status, 201, text)
  assert.match(body.id, /^tds_[0-9A-Za-z]{22}$/)
  assert.deepEqual([body.header_names, body.has_credential, body.team_id], [['x-key'], false, null])
  const [row] = await rows()
  assert.ok(row !== undefined)
  assert.deepEqual(openSecrets(sealer, row)?.headers, { 'x-key': 'canary-7F' })
  assert.equal(openSecrets(sealer, { ...row, account_id: other }), undefined)
  const everything = JSON.stringify([text, await audited(), row, await request(PATH, account)])
  assert.doesNotMatch(everything, /canary/)
  assert.match(everything, /telemetry_destination\.created/)
  for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
    const foreign = await request(`${PATH}/${body.id}`, other, { method, ...(method === 'PATCH' && { body: {} }) })
    assert.equal(foreign.status, 404, method)
  }
  assert.equal((await request(`${PATH}/${body.id}/test`, other, { method: 'POST' })).status, 404)
})

test('the test sends a span, and says why one was not taken', async (t) => {
  const { request, account, add, receiver } = await setUp(t)
  const { body } = await add()
  const run = () => request(`${PATH}/${body.id}/test`, account, { method: 'POST' })
  const accepted = await run()
  assert.deepEqual([accepted.body.ok, accepted.body.error], [true, null])
  assert.deepEqual(receiver.problems, [])
  assert.equal(receiver.spans.length, 1)
  assert.equal(receiver.headers[0]?.['x-key'], 'canary-7F')
  receiver.status = 401
  const refused = await run()
  assert.deepEqual([refused.body.ok, refused.body.error], [false, 'status 401'])
})

test('traces of the account arrive, sampled or not, without what is the operator’s alone', async (t) => {
  const { account, other, add, receiver, exporter, trace, needed } = await setUp(t)
  await add()
  assert.equal(needed.at(-1), true)
  trace(account)
  trace(other)
  await exporter.close()
  assert.deepEqual(receiver.problems, [])
  assert.equal(receiver.spans.length, 2, 'the request and its attempt, of one account')
  assert.ok(receiver.spans.every(({ attributes }) => attributes['server.address'] === undefined))
  assert.deepEqual(Object.keys(receiver.spans[0]?.resource ?? {}).includes('service.instance.id'), false)
  assert.deepEqual({ ...exporter.counts() }, { signal: 'destinations', exported: 2, dropped: 0, waiting: 0 })
})

test('each kind authenticates in its way and marks what counts tokens', async (t) => {
  const { account, add, receiver, exporter, trace } = await setUp(t)
  assert.equal((await add({ kind: 'langfuse', url: receiver.url, credential: 'nocolon' })).status, 400)
  const { body, status } = await add({ kind: 'langfuse', url: receiver.url, credential: 'pk:sk' })
  assert.equal(status, 201)
  assert.equal(body.url, `${receiver.url}/api/public/otel/v1/traces`)
  trace(account)
  await exporter.close()
  assert.equal(receiver.headers[0]?.authorization, `Basic ${Buffer.from('pk:sk').toString('base64')}`)
  const types = receiver.spans.map(({ attributes }) => attributes['langfuse.observation.type'])
  assert.deepEqual(types.sort(), ['generation', 'span'])
  assert.equal((await add({ kind: 'honeycomb', url: undefined })).status, 400, 'a credential is required')
  assert.equal((await add({ kind: 'otlp', credential: 'x' })).status, 400, 'it has none')
})

test('a destination of a team gets the requests of that team alone', async (t) => {
  const { db, account, add, receiver, exporter, trace } = await setUp(t)
  const team = 'team_a' as TeamId
  assert.equal((await add({ team_id: team })).status, 404)
  await db
    .insertInto('team')
    .values({ account_id: account, id: team, name: 'a', models: '[]', endpoints: '[]', created_at: 1, changed_at: 1 })
    .execute()
  const { status, body } = await add({ team_id: team })
  assert.deepEqual([status, body.team_id], [201, team])
  trace(account, { id: 'chatcmpl-of-nobody' })
  trace(account, { id: 'chatcmpl-of-b', teamId: 'team_b' })
  trace(account, { id: 'chatcmpl-of-a', teamId: team })
  await exporter.close()
  const ids = receiver.spans.map(({ attributes }) => attributes['gen_ai.response.id'])
  assert.deepEqual(ids, [undefined, 'chatcmpl-of-a'], 'of the request and of its attempt')
})

const captured = (messages: readonly object[], message?: object): TracedContent => ({
  endpoint: 'POST /v1/chat/completions',
  body: { messages },
  bodyBytes: undefined,
  renderAnswer: () => message && JSON.stringify({ choices: [{ message, finish_reason: 'tool_calls' }] }),
})

test('prompts and answers go only to destinations with `content`, on the span of the attempt', async (t) => {
  const { account, add, receiver, exporter, trace } = await setUp(t)
  assert.equal((await add({ name: 'without' })).body.content, false)
  assert.equal((await add({ name: 'with', content: true, headers: { 'x-name': 'with' } })).body.content, true)
  const call = { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"at":1}' } }
  const image = { type: 'image_url', image_url: { url: 'data:image/png;base64,QUJD' } }
  const prompt = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: [{ type: 'text', text: 'What is it?' }, image] },
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: 'call_1', content: 'a cat' },
  ]
  trace(account, {}, captured(prompt, { role: 'assistant', content: 'Looking.', refusal: null, tool_calls: [call] }))
  await exporter.close()
  assert.deepEqual(receiver.problems, [])
  const having = receiver.spans.filter(({ attributes }) => 'gen_ai.input.messages' in attributes)
  assert.deepEqual([receiver.spans.length, having.length, having[0]?.kind], [4, 1, 3])
  const read = (name: string) => JSON.parse(String(having[0]?.attributes[name]))
  const toolCall = { type: 'tool_call', id: 'call_1', name: 'look', arguments: { at: 1 } }
  assert.deepEqual(read('gen_ai.system_instructions'), [{ type: 'text', content: 'Be brief.' }])
  assert.deepEqual(read('gen_ai.input.messages'), [
    { role: 'user', parts: [{ type: 'text', content: 'What is it?' }, { type: 'image_url' }] },
    { role: 'assistant', parts: [toolCall] },
    { role: 'tool', parts: [{ type: 'tool_call_response', id: 'call_1', response: 'a cat' }] },
  ])
  assert.deepEqual(read('gen_ai.output.messages'), [
    { role: 'assistant', parts: [{ type: 'text', content: 'Looking.' }, toolCall], finish_reason: 'tool_call' },
  ])
})

test('a span says that its prompt is left out where it is too long, or where too many wait [limit: span-content]', async (t) => {
  const { account, add, receiver, exporter, trace } = await setUp(t)
  for (const name of ['one', 'two']) await add({ name, content: true })
  const ask = (length: number) => trace(account, {}, captured([{ role: 'user', content: 'x'.repeat(length) }]))
  const omitted = () => receiver.spans.filter(({ attributes }) => attributes['turnpike.content_omitted'] === true)
  ask(MAX_CONTENT_CHARACTERS)
  await receiver.until(() => receiver.spans.length === 4)
  assert.equal(omitted().length, 2)
  const half = MAX_CONTENT_CHARACTERS / 2
  const count = 300
  assert.ok(2 * count * half > MAX_WAITING_CONTENT_BYTES)
  for (let each = 0; each < count; each++) ask(half)
  await receiver.until(() => receiver.spans.length === 4 + 4 * count)
  const before = omitted().length
  assert.ok(before > 2, String(before))
  ask(half)
  await exporter.close()
  assert.equal(omitted().length, before, 'what was sent makes room')
})

test('only who may read prompts may send them to a destination', async (t) => {
  const { request, account, add, audited } = await setUp(t)
  const limited = `${account} webhooks` as AccountId
  assert.equal((await add({}, limited)).status, 201)
  assert.equal((await add({ content: true }, limited)).status, 403)
  const { body } = await add({ content: true })
  const patch = (change: object, of: string) => request(`${PATH}/${body.id}`, of, { method: 'PATCH', body: change })
  assert.equal((await patch({ url: 'https://93.184.216.34/', headers: {} }, limited)).status, 403)
  assert.equal((await patch({ content: false }, limited)).body.content, false)
  assert.equal((await patch({ content: true }, limited)).status, 403)
  assert.equal((await patch({ content: true }, account)).body.content, true)
  assert.equal(JSON.parse((await audited()).at(-1)?.details ?? '').content, true)
})

test('internal addresses are refused', async (t) => {
  const { add } = await setUp(t, false)
  for (const url of [
    'http://127.0.0.1:4318',
    'https://169.254.169.254/v1/traces',
    'https://localhost/v1/traces',
    'ftp://x',
  ])
    assert.equal((await add({ url })).status, 400, url)
})

test('a stored secret does not follow its destination to another address', async (t) => {
  const { request, account, add, rows } = await setUp(t)
  const { body } = await add()
  const patch = (change: object) => request(`${PATH}/${body.id}`, account, { method: 'PATCH', body: change })
  assert.equal((await patch({ url: 'http://127.0.0.1:9/v1/traces' })).status, 400)
  assert.equal((await patch({ url: 'http://127.0.0.1:9/v1/traces', headers: { 'x-key': 'new' } })).status, 200)
  assert.equal((await patch({ name: 'theirs', enabled: false })).body.enabled, false)
  assert.equal((await rows())[0]?.url, 'http://127.0.0.1:9/v1/traces')
  assert.equal((await request(`${PATH}/${body.id}`, account, { method: 'DELETE' })).status, 204)
  assert.deepEqual(await rows(), [])
})

test('an account has ten destinations at most [limit: telemetry-destinations]', async (t) => {
  const { add } = await setUp(t)
  for (let each = 0; each < 10; each++) assert.equal((await add()).status, 201)
  const eleventh = await add()
  assert.deepEqual([eleventh.status, eleventh.body.error?.code], [409, 'conflict'])
})
