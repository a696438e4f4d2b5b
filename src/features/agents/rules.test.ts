import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { ORDER } from '../../../test/support/agents/agents.ts'
import { temporaryDatabase } from '../../../test/support/database.ts'
import { callerOf as someCaller } from '../../../test/support/ledger/data-plane.ts'
import { type AccountId, createIdSource } from '../../domain/ids.ts'
import type { Model } from '../../domain/model.ts'
import { callerOf, requireCaller } from '../../http/caller.ts'
import { createHttpServer } from '../../http/server.ts'
import { onceInTransaction } from '../idempotency/idempotency.ts'
import { eventRecorder } from '../webhooks/events.ts'
import { agentsRoutes } from './routes.ts'
import { type AgentModels, type Availability, chooseModel } from './rules.ts'

const model = (over: Partial<Model>) =>
  ({ id: 'm', aliasOf: undefined, price: {}, capabilities: { function_calling: true }, ...over }) as Model // what is asked of one
const MODELS: readonly Model[] = [
  model({}),
  model({ id: 'alias', aliasOf: 'm' }),
  model({ id: 'free', price: undefined }),
  model({ id: 'talker', capabilities: { ...model({}).capabilities, function_calling: false } }),
]
const models: AgentModels = {
  find: (id) => MODELS.find((each) => each.id === id),
  nearest: () => ['m', 'alias'],
}

test('the model is the one asked for or the operator’s; it must be there, priced, allowed, and able to call functions', () => {
  const choose = (asked: string | undefined, standard?: string, allowed?: readonly string[]) =>
    chooseModel(asked, { caller: someCaller({ models: allowed && new Set(allowed) }), models, standard })
  assert.equal(choose('alias', 'm'), 'alias')
  assert.equal(choose(undefined, 'm'), 'm')
  assert.equal(choose('alias', undefined, ['m']), 'alias')
  const refused = (asked: string | undefined, code: string, allowed?: readonly string[]) =>
    assert.throws(() => choose(asked, undefined, allowed), { code, param: 'model' })
  refused(undefined, 'model_not_found')
  refused('mm', 'model_not_found')
  refused('free', 'model_not_priced')
  refused('talker', 'unsupported_parameter')
  refused('m', 'model_not_allowed', ['other'])
  assert.throws(() => choose('mm'), /nearest|Did you mean 'm', 'alias'\?/)
})

test('SBX-1: without a sandbox that holds no agent is created or told more, but a repeat still gets its answer', async (t) => {
  const { db } = await temporaryDatabase(t)
  await db
    .insertInto('account')
    .values({ id: 'acc_a' as AccountId, name: 'a', plan: 'free', created_at: 1, changed_at: 1 })
    .execute()
  const ids = createIdSource(Date.now, randomBytes)
  let availability: Availability = { ok: true }
  const app = await createHttpServer({
    newRequestId: ids.request,
    trustProxy: [],
    corsOrigins: [],
    onError: () => {},
    draining: () => false,
  })
  t.after(() => app.close())
  requireCaller(app, () =>
    someCaller({ accountId: 'acc_a' as AccountId, scopes: new Set(['agents:write', 'agents:read']) }),
  )
  const deps = { db, now: Date.now, ids, callerOf, cursorKey: Buffer.alloc(32), models: () => models }
  const recordEvent = eventRecorder({ now: Date.now, ids })
  const once = onceInTransaction({ db, instanceId: 'ins_a' })
  const callerOfCreator = async () => someCaller({})
  const inTeam = async () => someCaller({})
  const ports = {
    callerOfCreator,
    inTeam,
    recordEvent,
    once,
    standardModel: () => 'm',
    availability: async () => availability,
    repositoryAccess: () => ({ host: undefined, credential: undefined, allowPrivateNetworks: false }),
    writeAudit: async () => {},
  }
  await app.register(agentsRoutes({ ...deps, ...ports }))
  const post = async (url: string, payload: object, key?: string) => {
    const headers = key === undefined ? {} : { 'idempotency-key': key }
    const answer = await app.inject({ method: 'POST', url, payload, headers })
    return { status: answer.statusCode, body: answer.json(), headers: answer.headers }
  }
  const { model: _, ...order } = ORDER
  const first = await post('/agents', order, 'k')
  assert.deepEqual([first.status, first.body.model], [201, 'm'])
  availability = { ok: false, reason: 'bubblewrap is not installed.' }
  const repeat = await post('/agents', order, 'k')
  assert.deepEqual([repeat.status, repeat.body, repeat.headers['idempotent-replayed']], [201, first.body, 'true'])
  for (const url of ['/agents', `/agents/${first.body.id}/followup`]) {
    const { status, body, headers } = await post(url, url === '/agents' ? order : { prompt: 'more' })
    assert.deepEqual([status, body.error.type, body.error.code], [503, 'service_unavailable', 'agents_unavailable'])
    assert.match(body.error.message, /bubblewrap is not installed/)
    assert.equal(headers['retry-after'], '60')
  }
  assert.equal((await post(`/agents/${first.body.id}/cancel`, {})).status, 202)
})
