import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { openApp } from '../../../test/support/browser/signed-in.ts'
import { testIds } from '../../../test/support/database.ts'
import type { AuditEvent } from '../../domain/audit.ts'
import { createIdSource } from '../../domain/ids.ts'
import { auditWriter } from './log.ts'

const START = Date.UTC(2026, 0, 1)

async function setUp(t: TestContext) {
  const app = await openApp(t)
  const [accountId, other] = [await app.account('Acme'), await app.account('Other')]
  const clock = { now: START }
  const ids = createIdSource(
    () => clock.now,
    (size) => Buffer.alloc(size, 1 + (clock.now % 200)),
  )
  const writeAudit = auditWriter({ now: () => clock.now, ids })
  const write = async (over: Partial<AuditEvent> = {}) => {
    clock.now += 1_000
    await writeAudit(app.database.db, { ...EVENT, accountId, ...over })
  }
  const secret = await app.key(accountId)
  const list = async (query = '', token = secret) => {
    const answer = await app.ask('GET', `/v1/audit?${query}`, { token })
    return { status: answer.statusCode, ...answer.json() }
  }
  return { ...app, accountId, other, clock, write, list }
}

const EVENT: Omit<AuditEvent, 'accountId'> = {
  actor: { kind: 'session', id: 'usr_a', name: 'ada@example.com' },
  action: 'key.created',
  subject: 'key_a',
  result: 'done',
  address: '203.0.113.7',
  userAgent: 'Browser',
  requestId: 'req_1',
  details: { scopes: ['chat'], name: 'n', count: 1, none: null, yes: true },
}

test('SUP-3: an event is told whole: who, what, to what, from where, with what result', async (t) => {
  const { write, list } = await setUp(t)
  await write()
  const { data } = await list()
  const [{ id, ...event }] = data
  assert.match(id, /^aud_[0-9A-Za-z]{22}$/)
  assert.deepEqual(event, {
    object: 'audit_event',
    at: '2026-01-01T00:00:01.000Z',
    actor: { kind: 'session', id: 'usr_a', name: 'ada@example.com' },
    action: 'key.created',
    subject: 'key_a',
    result: 'done',
    attempts: 1,
    last_at: '2026-01-01T00:00:01.000Z',
    address: '203.0.113.7',
    user_agent: 'Browser',
    request_id: 'req_1',
    details: { scopes: ['chat'], name: 'n', count: 1, none: null, yes: true },
  })
})

test('what a client calls itself is kept short and cannot steer a terminal [limit: audit-names]', async (t) => {
  const { write, list } = await setUp(t)
  await write({ userAgent: `\u001b]0;evil\u0007\r\n\u202e\u0000${'x'.repeat(500)}` })
  const [event] = (await list()).data
  assert.equal(event.user_agent, `]0;evil${'x'.repeat(193)}`)
  await write({ actor: { ...EVENT.actor, name: 'n'.repeat(201) } })
  assert.equal((await list()).data[0].actor.name, 'n'.repeat(200))
})

test('the newest come first, in pages, and other accounts’ never', async (t) => {
  const { write, list, other } = await setUp(t)
  for (let index = 0; index < 5; index++) {
    await write({ subject: `key_${index}` })
    await write({ accountId: other, subject: 'theirs' })
  }
  const seen: string[] = []
  for (let cursor = ''; ; ) {
    const page = await list(`limit=2${cursor}`)
    seen.push(...page.data.map(({ subject }: { subject: string }) => subject))
    await write({ subject: 'later' }) // what is written meanwhile does not shift the pages
    if (!page.has_more) break
    cursor = `&cursor=${page.next_cursor}`
  }
  assert.deepEqual(seen, ['key_4', 'key_3', 'key_2', 'key_1', 'key_0'])
  const oldest = await list('order=asc&limit=1')
  assert.equal(oldest.data[0].subject, 'key_0')
})

test('they are filtered by action, actor and time; a cursor is good for its filter alone', async (t) => {
  const { write, list } = await setUp(t)
  await write({ subject: 'one' })
  await write({ subject: 'two', action: 'key.revoked' })
  await write({ subject: 'three', actor: { kind: 'key', id: 'key_z', name: undefined } })
  const subjects = async (query: string) => {
    const { data } = await list(query)
    return data.map(({ subject }: { subject: string }) => subject)
  }
  assert.deepEqual(await subjects('action=key.revoked'), ['two'])
  assert.deepEqual(await subjects('actor_id=key_z'), ['three'])
  assert.deepEqual(await subjects('actor_id=key_z&action=key.revoked'), [])
  assert.deepEqual(await subjects('from=2026-01-01T00:00:02Z'), ['three', 'two'])
  assert.deepEqual(await subjects('to=2026-01-01T00:00:02Z'), ['one'])
  assert.deepEqual(await subjects('from=2026-01-01T00:00:02Z&to=2026-01-01T00:00:03Z'), ['two'])
  assert.deepEqual(await subjects('from=9000-01-01'), [])
  const { next_cursor: cursor } = await list('limit=1&action=key.created')
  assert.deepEqual(await subjects(`limit=1&action=key.created&cursor=${cursor}`), ['one'])
  for (const query of [
    `limit=1&cursor=${cursor}`,
    'from=yesterday',
    'to=x',
    'from=2026-02-01&to=2026-01-01',
    'action=',
  ]) {
    assert.equal((await list(query)).status, 400, query)
  }
})

test('an actor that was written without a name gets the name of the key, or the person’s e-mail address', async (t) => {
  const { write, list, person, accountId, database } = await setUp(t)
  const { userId, email } = await person(accountId, 'admin')
  const key = await database.db.selectFrom('api_key').select('id').executeTakeFirstOrThrow()
  await write({ actor: { kind: 'key', id: key.id, name: undefined } })
  await write({ actor: { kind: 'session', id: userId, name: undefined } })
  await write({ actor: { kind: 'command_line', id: undefined, name: undefined } })
  const { data } = await list('order=asc')
  assert.deepEqual(
    data.map(({ actor }: { actor: { name: string | null } }) => actor.name),
    ['test', email, null],
  )
})

test('SUP-3: rows are never changed and never deleted, whoever asks', async (t) => {
  const { write, database, list } = await setUp(t)
  await write()
  const { db } = database
  const changing = db.updateTable('audit').set({ result: 'denied' }).execute()
  await assert.rejects(changing, /append-only/)
  await assert.rejects(db.deleteFrom('audit').execute(), /append-only/)
  assert.equal((await list()).data[0].result, 'done')
})

test('attempts that are denied alike are counted in one row for an hour [limit: denied-attempts]', async (t) => {
  const { write, list, clock } = await setUp(t)
  const denied = (over: Partial<AuditEvent> = {}) => write({ result: 'denied', ...over })
  for (let attempt = 0; attempt < 50; attempt++) await denied()
  await denied({ subject: undefined })
  await denied({ actor: { ...EVENT.actor, id: 'usr_b' } })
  await denied({ action: 'key.revoked' })
  await write()
  const counts = async () => (await list('order=asc')).data.map(({ attempts }: { attempts: number }) => attempts)
  assert.deepEqual(await counts(), [50, 1, 1, 1, 1])
  const [first] = (await list('order=asc')).data
  assert.deepEqual([first.at, first.last_at], ['2026-01-01T00:00:01.000Z', '2026-01-01T00:00:50.000Z'])
  clock.now += 3_600_000
  await denied()
  assert.deepEqual(await counts(), [50, 1, 1, 1, 1, 1])
})

test('of more than 100 targets those that follow are counted together [limit: denied-targets]', async (t) => {
  const { write, list, accountId, database } = await setUp(t)
  for (let target = 0; target < 130; target++) await write({ result: 'denied', subject: `key_${target}` })
  const [newest, before] = (await list('limit=2')).data
  assert.deepEqual([newest.subject, newest.attempts, newest.details], [null, 30, { subjects: 'several' }])
  assert.equal(before.subject, 'key_99')
  const rows = database.db.selectFrom('audit').selectAll().where('account_id', '=', accountId)
  assert.equal((await rows.execute()).length, 101)
})

test('many denied attempts at once leave one row', async (t) => {
  const { accountId, database, list } = await setUp(t)
  const writeAudit = auditWriter({ now: Date.now, ids: testIds })
  const event = { ...EVENT, accountId, result: 'denied' } as const
  await Promise.all(Array.from({ length: 40 }, () => writeAudit(database.db, event)))
  const { data } = await list()
  assert.deepEqual(
    data.map(({ attempts }: { attempts: number }) => attempts),
    [40],
  )
})

test('what is done in a transaction that fails is not in the log', async (t) => {
  const { accountId, database, list } = await setUp(t)
  const writeAudit = auditWriter({ now: Date.now, ids: testIds })
  const failing = database.db.transaction().execute(async (inside) => {
    await writeAudit(inside, { ...EVENT, accountId })
    throw new Error('no')
  })
  await assert.rejects(failing, /^Error: no$/)
  assert.deepEqual((await list()).data, [])
})
