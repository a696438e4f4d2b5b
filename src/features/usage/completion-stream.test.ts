import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openApp } from '../../../test/support/browser/signed-in.ts'
import { temporaryDatabase, testIds } from '../../../test/support/database.ts'
import { keyCaller } from '../../../test/support/identity/caller.ts'
import { completionIdAt, completionRecord, recordCompletions } from '../../../test/support/ledger/completions.ts'
import type { OpenedDatabase } from '../../db/database.ts'
import { agentReference } from '../../domain/agent.ts'
import type { CompletionRecord } from '../../domain/completion.ts'
import { SCOPES } from '../../domain/identity/caller.ts'
import { invalidCredential } from '../../domain/identity/credential.ts'
import type { AccountId, CompletionId, KeyId } from '../../domain/ids.ts'
import { type Authenticate, callerOf, requireCaller } from '../../http/caller.ts'
import { createEventStreams } from '../../http/event-stream.ts'
import { createHttpServer } from '../../http/server.ts'
import { openLog } from '../../telemetry/log.ts'
import { completionStreamRoute, openCompletionTail } from './completion-stream.ts'
import { HOUR_MS } from './period.ts'
import { usageRoutes } from './routes.ts'

const HOME = 'acc_home' as AccountId
const AWAY = 'acc_away' as AccountId
const LIST = '/usage/completions'
const MINUTE_MS = 60_000
const ANY = {
  model: undefined,
  keyId: undefined,
  status: undefined,
  agentId: undefined,
  provider: undefined,
  clientRequestId: undefined,
}

interface Told {
  readonly id: string
  readonly event: string
  // biome-ignore lint/suspicious/noExplicitAny: rows are looked at field by field
  readonly data: any
}

type Api = Awaited<ReturnType<typeof serve>>

/** A credential is an account, and behind a space its only scope; those of `revoked` are nobody's. */
async function serve(t: TestContext, { lookEveryMs = 10 } = {}) {
  const database = await temporaryDatabase(t)
  const clock = { now: Date.now() }
  const revoked = new Set<string>()
  const authenticate = authenticator(revoked)
  const app = await createHttpServer({
    newRequestId: testIds.request,
    trustProxy: [],
    corsOrigins: ['https://app.example.com'],
    onError: () => {},
    draining: () => false,
  })
  t.after(() => app.close())
  requireCaller(app, authenticate)
  const deps = { db: database.db, now: () => clock.now, ids: testIds, callerOf }
  const credit = { read: () => assert.fail('nobody asked for the balance') }
  await app.register(usageRoutes({ ...deps, cursorKey: Buffer.alloc(32, 1), credit }))
  const { log } = await openLog({ level: 'silent', terminal: false })
  const listeners = createEventStreams()
  await app.register(completionStreamRoute({ ...deps, authenticate, listeners, log, lookEveryMs }))
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  return { app, database, clock, url, listeners, revoke: (credential: string) => void revoked.add(credential) }
}

function authenticator(revoked: ReadonlySet<string>): Authenticate {
  return (credential = '') => {
    if (revoked.has(credential)) throw invalidCredential()
    const [id, scope] = credential.split(' ')
    return keyCaller({
      accountId: id as AccountId,
      scopes: new Set(SCOPES.filter((known) => scope === undefined || known === scope)),
    })
  }
}

interface Listening {
  readonly as?: string
  readonly query?: string
  readonly last?: string
}

/** Listens over a real socket; the head of the answer is there. */
async function listen(t: TestContext, { url }: Pick<Api, 'url'>, { as = HOME, query = '', last }: Listening = {}) {
  const controller = new AbortController()
  t.after(() => controller.abort())
  const response = await fetch(`${url}${LIST}/stream${query}`, {
    headers: { authorization: as, origin: 'https://app.example.com', ...(last && { 'last-event-id': last }) },
    signal: controller.signal,
  })
  let text = ''
  let heard = () => {}
  const ended = (async () => {
    if (response.status !== 200) return
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk
      heard()
    }
  })().catch(() => undefined)
  const told = () => readTold(text.slice(0, text.lastIndexOf('\n\n') + 2))
  /** The ids, when there are so many. */
  const hears = async (count: number): Promise<readonly string[]> => {
    while (told().length < count) await new Promise<void>((resolve) => (heard = resolve))
    return told().map(({ id }) => id)
  }
  return { response, ended, told, hears, text: () => text, leave: () => controller.abort() }
}

function readTold(text: string): readonly Told[] {
  return text
    .split('\n\n')
    .map((block) => new Map(block.split('\n').map((line) => line.split(/: (.*)/s, 2) as [string, string])))
    .filter((fields) => fields.has('data'))
    .map((fields) => ({
      id: fields.get('id') ?? '',
      event: fields.get('event') ?? '',
      data: JSON.parse(fields.get('data') ?? ''),
    }))
}

/** One that has ended: after a second by default. */
function record({ database, clock }: Api, over: Partial<CompletionRecord> = {}): Promise<CompletionId> {
  return recordOne(database, { accountId: HOME, createdAt: clock.now - 1_000, durationMs: 1_000, ...over })
}

async function recordOne(database: OpenedDatabase, over: Partial<CompletionRecord>): Promise<CompletionId> {
  const one = completionRecord(over)
  await recordCompletions(database, [one])
  return one.id
}

test('completions come as they end, each with its id and the object of the list; those of others never do', async (t) => {
  const api = await serve(t)
  await record(api)
  const { response, hears, told, text } = await listen(t, api)
  assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
  assert.equal(response.headers.get('cache-control'), 'no-store')
  assert.equal(response.headers.get('access-control-allow-origin'), 'https://app.example.com')
  await record(api, { accountId: AWAY })
  const first = await record(api, { model: 'm\n\n2' })
  await hears(1)
  const longer = await record(api, { createdAt: api.clock.now - MINUTE_MS, durationMs: MINUTE_MS })
  assert.deepEqual(await hears(2), [first, longer])
  const listed = await api.app.inject({ url: `${LIST}?limit=3`, headers: { authorization: HOME } })
  const rows = new Map(listed.json<{ data: Told['data'][] }>().data.map((row) => [row.id, row]))
  for (const { id, event, data } of told()) assert.deepEqual([event, data], ['completion', rows.get(id)])
  assert.match(text(), /^retry: 2000\n\n/)
})

test('what is found in one look comes by when it ended', async (t) => {
  const api = await serve(t)
  const { database, clock } = api
  const read = await tailOf(api)
  const ended = (agoMs: number, durationMs: number) =>
    completionRecord({ accountId: HOME, createdAt: clock.now - agoMs - durationMs, durationMs })
  const records = [ended(300, 10), ended(100, 9_000), ended(200, 5_000)]
  await recordCompletions(database, records)
  const [first, last, second] = records.map(({ id }) => id)
  assert.deepEqual(await read(), [first, second, last])
  assert.deepEqual(await read(), [])
})

test('filters are combined with AND, as in the list', async (t) => {
  const api = await serve(t)
  const clientRequestId = agentReference(testIds.agent(), testIds.run())
  const wanted: Partial<CompletionRecord> = {
    ...{ model: 'm2', keyId: 'key_b' as KeyId, status: 'failed', provider: 'p2', clientRequestId },
  }
  const queries = [
    'model=m2&provider=p2',
    'key_id=key_b',
    'status=failed&model=m2',
    `agent_id=${clientRequestId.slice(0, clientRequestId.indexOf('/'))}`,
    'provider=p2',
    `client_request_id=${encodeURIComponent(clientRequestId)}`,
    'client_request_id=mine&status=failed',
  ]
  const streams = await Promise.all(queries.map((query) => listen(t, api, { query: `?${query}` })))
  const others = [{ model: 'm1' }, { keyId: 'key_c' as KeyId }, { status: 'completed' }, { provider: 'p' }] as const
  for (const other of others) await record(api, { ...wanted, ...other })
  for (const last of [wanted, { ...wanted, clientRequestId: 'mine' }]) await record(api, last)
  for (const [index, query] of queries.entries()) {
    const listed = await matching(api, query)
    assert.ok(listed.length > 0)
    assert.deepEqual([...((await streams[index]?.hears(listed.length)) ?? [])].sort(), listed, query)
  }
  assert.equal((await listen(t, api, { query: '?status=lost' })).response.status, 400)
})

/** What the list has. */
async function matching({ app, clock }: Api, query: string): Promise<readonly string[]> {
  const [start, end] = [-HOUR_MS, HOUR_MS].map((ms) => new Date(clock.now + ms).toISOString())
  const url = `${LIST}?period_start=${start}&period_end=${end}&${query}`
  const { body } = await app.inject({ url, headers: { authorization: HOME } })
  return (JSON.parse(body) as { data: { id: string }[] }).data.map(({ id }) => id).sort()
}

test('a stream goes on after the last one that was received; what ended in the seconds before comes again', async (t) => {
  const api = await serve(t)
  const { clock } = api
  const old = await record(api)
  clock.now += 30_000
  const missed = [await record(api), await record(api, { createdAt: clock.now - MINUTE_MS, durationMs: MINUTE_MS })]
  const byHeader = await listen(t, api, { last: old })
  assert.deepEqual([...(await byHeader.hears(2))].sort(), [...missed].sort())
  const byQuery = await listen(t, api, { query: `?after=${old}` })
  assert.equal((await byQuery.hears(2)).includes(old), false)
  const again = await listen(t, api, { last: String(missed[0]), query: `?after=${old}` })
  assert.deepEqual(await again.hears(1), [missed[1]])
  const next = await record(api)
  assert.equal((await again.hears(2)).at(-1), next)
  // of one that is gone, or another account's, its place is known nevertheless
  const strange = completionIdAt(clock.now - 15_000)
  const { hears } = await listen(t, api, { last: strange })
  assert.deepEqual([...(await hears(2))].sort(), [String(missed[0]), next].sort())
})

test('an id that is none of a completion is refused before the stream begins', async (t) => {
  const api = await serve(t)
  for (const [how, code, param] of [
    [{ last: '17' }, 'invalid_header', 'Last-Event-ID'],
    [{ query: '?after=17' }, 'invalid_value', 'after'],
  ] as const) {
    const { response } = await listen(t, api, how)
    const { error } = (await response.json()) as { error: { code: string; param: string } }
    assert.deepEqual([response.status, error.code, error.param], [400, code, param])
  }
})

test('KEY-4: who is not let in any more hears nothing more', async (t) => {
  const api = await serve(t)
  const { ended } = await listen(t, api)
  const other = await listen(t, api, { as: `${HOME} usage:read` })
  api.revoke(HOME)
  await ended
  const id = await record(api)
  assert.deepEqual(await other.hears(1), [id])
  assert.equal((await listen(t, api, { as: `${HOME} chat` })).response.status, 403)
})

test('[limit: completion-listeners] ten may listen to an account, and a place that is left is free again', async (t) => {
  const api = await serve(t)
  const listeners = await Promise.all(Array.from({ length: 10 }, () => listen(t, api)))
  const { response } = await listen(t, api)
  assert.deepEqual([response.status, response.headers.get('retry-after')], [429, '5'])
  assert.equal((await listen(t, api, { as: AWAY })).response.status, 200)
  listeners[3]?.leave()
  for (let status = 0; status !== 200; ) status = (await listen(t, api)).response.status
})

test('F17: a process that ends lets go of those who listen, and takes no others', async (t) => {
  const api = await serve(t)
  const { ended, text } = await listen(t, api)
  api.listeners.endAll()
  await ended
  assert.equal(text(), 'retry: 2000\n\n')
  assert.equal((await listen(t, api)).response.status, 503)
})

test('F17: in the whole application a key hears of its account, until the process is to end', async (t) => {
  const { app, database, account, key } = await openApp(t, { role: 'api' })
  const accountId = await account()
  const as = `Bearer ${await key(accountId)}`
  const url = `${await app.server.listen({ host: '127.0.0.1', port: 0 })}/v1`
  const { ended, hears } = await listen(t, { url }, { as })
  const id = await recordOne(database, { accountId, createdAt: Date.now() })
  assert.deepEqual(await hears(1), [id])
  app.drain()
  await ended
  assert.equal((await listen(t, { url }, { as })).response.status, 503)
})

/** The ids that a look finds; nothing keeps it from looking again at once. */
async function tailOf(
  { database, clock }: Api,
  { last, readEveryMs = 0 }: { last?: CompletionId; readEveryMs?: number } = {},
) {
  const now = () => clock.now
  const tail = await openCompletionTail({ db: database.db, accountId: HOME, filter: ANY, now, last, readEveryMs })
  return async (): Promise<readonly CompletionId[]> => {
    await new Promise((resolve) => setImmediate(resolve))
    return (await tail()).map(({ id }) => id)
  }
}

/** Begun long enough ago for the next ones to be newer, and of no duration. */
function burst(api: Api, count: number, agoMs = 0): readonly CompletionRecord[] {
  const createdAt = api.clock.now - agoMs
  return Array.from({ length: count }, () => completionRecord({ accountId: HOME, createdAt, durationMs: 0 }))
}

test('[limit: completion-tail] the newest hundred are looked at, and none that began more than an hour ago', async (t) => {
  const api = await serve(t)
  const { database, clock } = api
  const read = await tailOf(api)
  const many = burst(api, 150, 100)
  await recordCompletions(database, many)
  const newest = many.slice(50).map(({ id }) => id)
  assert.deepEqual([...(await eventually(read))].sort(), newest)
  const [slow, long] = [HOUR_MS - MINUTE_MS, HOUR_MS + MINUTE_MS]
  const newer = burst(api, 1)
  await recordCompletions(database, [...burst(api, 1, slow), ...newer])
  assert.deepEqual(await eventually(read), [newer[0]?.id], 'a hundred have begun after the other')
  clock.now += 2 * HOUR_MS
  const quiet = await tailOf(api)
  const late = burst(api, 1, slow)
  await recordCompletions(database, [...burst(api, 1, long), ...late])
  assert.deepEqual(await eventually(quiet), [late[0]?.id])
})

test('[limit: completion-missed] who was away for longer than an hour goes on where they were, but not after a week', async (t) => {
  const api = await serve(t)
  const { database, clock } = api
  const [old] = burst(api, 1)
  await recordCompletions(database, old === undefined ? [] : [old])
  clock.now += 3 * HOUR_MS
  const missed = burst(api, 1, 2 * HOUR_MS)
  await recordCompletions(database, missed)
  const last = old?.id as CompletionId
  assert.deepEqual(await (await tailOf(api, { last }))(), [missed[0]?.id])
  clock.now += 7 * 24 * HOUR_MS
  assert.deepEqual(await (await tailOf(api, { last }))(), [])
})

test('the database is read once in a while, however often one asks', async (t) => {
  const api = await serve(t)
  const read = await tailOf(api, { readEveryMs: 10 * MINUTE_MS })
  await record(api)
  for (let times = 0; times < 20; times++) assert.deepEqual(await read(), [])
})

/** A look takes its rest first, ten times as long as the look before it took. */
async function eventually(read: () => Promise<readonly CompletionId[]>): Promise<readonly CompletionId[]> {
  for (;;) {
    const ids = await read()
    if (ids.length > 0) return ids
  }
}
