import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { testIds } from '../../../test/support/database.ts'
import { completionRecord } from '../../../test/support/ledger/completions.ts'
import { openCreditFixture, serveRoutes } from '../../../test/support/ledger/credit-service.ts'
import { startReceiver } from '../../../test/support/otlp/receiver.ts'
import { createSealer } from '../../db/sealed.ts'
import type { AccountId } from '../../domain/ids.ts'
import { callerOf } from '../../http/caller.ts'
import { createGuardedAgent } from '../../net/guarded-agent.ts'
import { createTracer } from '../../telemetry/otlp/tracer.ts'
import { auditWriter } from '../audit/log.ts'
import { createDestinationExporter } from './exporter.ts'
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
  const exporter = createDestinationExporter({ db, sealer, version: '1', agent, allowPrivateNetworks, log, onNeeded })
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
  const trace = (accountId: AccountId, over: object = {}): void => {
    const begun = tracer.begin({})
    begun.request = { model: 'm1', stream: false, maxTokens: undefined, temperature: undefined, topP: undefined }
    begun.record = completionRecord({ accountId, model: 'm1', ...over })
    begun.attempts.push({
      ...{ spanId: begun.newSpanId(), provider: 'up', kind: 'openai', baseUrl: 'http://10.1.2.3/v1', model: 'um' },
      ...{ startedAt: 1, firstEventMs: 1, endedAt: 4, outcome: undefined, status: 200 },
    })
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
