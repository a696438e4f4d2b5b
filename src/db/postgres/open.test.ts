import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { after, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { createSchema } from '../../../test/support/http/schemas.ts'
import { startPostgres } from '../../../test/support/process/postgres-server.ts'
import { GatewayError } from '../../domain/errors.ts'
import type { AccountId } from '../../domain/ids.ts'
import { nextChangedAt } from '../changed-at.ts'
import { acquireAdvisoryLock, type OpenedDatabase } from '../database.ts'
import { DatabaseError } from '../failure.ts'
import { ensureSchema, migrate } from '../migrate.ts'
import { openDatabase } from '../open.ts'

const server = await startPostgres()
after(() => server.stop())

async function opened(t: TestContext, url?: string): Promise<OpenedDatabase> {
  const database = await openDatabase({ url: url ?? (await createSchema(server.url)).url })
  t.after(() => database.close())
  await migrate(database.db, Date.now)
  return database
}

function account(name: string) {
  return { id: `acc_${name}` as AccountId, name, plan: 'free', created_at: 1, changed_at: 1 }
}

/** Asks until it answers. @returns Milliseconds until it did. */
async function msUntil(isSo: () => Promise<boolean>): Promise<number> {
  const since = performance.now()
  while (!(await isSo().catch(() => false))) await sleep(20)
  return performance.now() - since
}

const isUnavailable = (error: unknown) => error instanceof GatewayError && error.code === 'database_unavailable'

/**
 * Stops everything the server runs: its main process first, which then makes no others, not for connections that are just
 * being opened either. @returns The processes.
 */
function freeze(pid: number): readonly number[] {
  const statOf = (each: string) => / \((?:.*)\) (?<state>\S) (?<parent>\d+) /.exec(readStat(each))?.groups
  process.kill(pid, 'SIGSTOP')
  while (!['T', undefined].includes(statOf(String(pid))?.['state']));
  const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && statOf(name)?.['parent'] === String(pid))
  for (const child of children) process.kill(Number(child), 'SIGSTOP')
  return [pid, ...children.map(Number)]
}

function readStat(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return '' // it has ended
  }
}

const isUniqueViolation = (error: unknown) => error instanceof DatabaseError && error.sqlState === '23505'

test('values come back as they do from SQLite', async (t) => {
  const { db } = await opened(t)
  const { rows } = await sql<object>`
    select 5::bigint as a_nano_usd, 6::bigint as b, sum(x) as c_nano_usd, sum(x) as d, 1 > 2 as e, 2 > 1 as f,
      '\\x00ff'::bytea as g, 1.5::double precision as h, null::bigint as i_nano_usd, 'text' as j,
      cast(${2n ** 62n} as bigint) as k_nano_usd, cast(${new Uint8Array([0, 255])} as bytea) as l, cast(${null} as text) as m,
      ${'Grüße 👋'} as n
    from (values (1::bigint), (2)) as v (x)`.execute(db)
  assert.deepEqual(rows, [
    {
      a_nano_usd: 5n,
      b: 6,
      c_nano_usd: 3n,
      d: 3,
      e: 0,
      f: 1,
      g: new Uint8Array([0, 255]),
      h: 1.5,
      i_nano_usd: null,
      j: 'text',
      k_nano_usd: 2n ** 62n,
      l: new Uint8Array([0, 255]),
      m: null,
      n: 'Grüße 👋',
    },
  ])
  await assert.rejects(sql`select ${true} as a`.execute(db), TypeError)
})

test('refusals are told apart: passing, unique, for good, and texts that cannot be kept', async (t) => {
  const { db, postgres } = await opened(t)
  const insert = (row: object) => db.insertInto('account').values({ ...account('a'), ...row })
  await insert({}).execute()
  await assert.rejects(insert({}).execute(), isUniqueViolation)
  await assert.rejects(
    insert({ id: '' }).execute(),
    (error) => error instanceof DatabaseError && error.sqlState === '23514' && !isUniqueViolation(error),
  )
  await assert.rejects(
    insert({ id: 'acc_b', name: 'a\0b' }).execute(),
    (error) => error instanceof GatewayError && error.code === 'invalid_value',
  )
  await assert.rejects(
    async () =>
      postgres?.transaction(async ({ query }) => {
        await query('set local statement_timeout = 20')
        await query('select pg_sleep(20)')
      }),
    isUnavailable,
  )
})

test('DUR-1: each session has its time-outs and its name [limit: postgres-statement-time]', async (t) => {
  const { db } = await opened(t)
  const read = async (name: string) =>
    (await sql<{ value: string }>`select current_setting(${name}) as value`.execute(db)).rows[0]?.value
  assert.equal(await read('statement_timeout'), '10s')
  assert.equal(await read('lock_timeout'), '2s')
  assert.equal(await read('idle_in_transaction_session_timeout'), '30s')
  assert.equal(await read('application_name'), 'turnpike')
})

test('10 connections serve queries, 4 the ledger; who comes later waits for one [limit: postgres-connections]', async (t) => {
  const { db, postgres } = await opened(t)
  const backends = new Set<number>()
  const ask = 'select pg_backend_pid() as pid, pg_sleep(0.02)'
  const askGeneral = async () => {
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid, pg_sleep(0.02)`.execute(db)
    for (const { pid } of rows) backends.add(pid)
  }
  const ofLedger = new Set<unknown>()
  const askLedger = async () => {
    const answer = await postgres?.query<{ pid: number }>(ask)
    for (const { pid } of answer?.rows ?? []) ofLedger.add(pid)
  }
  // A connection may take longer to make than all of these queries on those that are there.
  const until = performance.now() + 60_000
  while (backends.size + ofLedger.size < 10 + 4 && performance.now() < until) {
    await Promise.all(Array.from({ length: 16 }, () => [askGeneral(), askLedger()]).flat())
  }
  assert.deepEqual([backends.size, ofLedger.size], [10, 4])
})

test('DUR-1: a server that may lose commits is refused, and the setting is named', async () => {
  const lossy = `${server.url}?options=${encodeURIComponent('-c synchronous_commit=off')}`
  await assert.rejects(
    openDatabase({ url: lossy }),
    /setting synchronous_commit is 'off'; Turnpike needs on or remote_apply/,
  )
  const latin = `${server.url}?options=${encodeURIComponent('-c default_transaction_isolation=serializable')}`
  await assert.rejects(openDatabase({ url: latin }), /transaction_isolation is 'serializable'/)
})

test('a server that cannot be had is told of, with the variable and without the password', async () => {
  await assert.rejects(
    openDatabase({ url: 'postgres://ada:hidden@127.0.0.1:1/books', startWithinMs: 300 }),
    ({ message }: Error) =>
      /DATABASE_URL.*postgres:\/\/ada@127\.0\.0\.1:\d+\/books.*ECONNREFUSED/.test(message) &&
      !message.includes('hidden'),
  )
  const unknown = server.url.replace(/postgres$/, 'nowhere')
  await assert.rejects(openDatabase({ url: unknown }), /database "nowhere" does not exist/)
})

test('a server that says nothing is given up in time', async (t) => {
  const silent = createServer(() => undefined)
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  t.after(() => silent.close())
  const address = silent.address()
  const port = typeof address === 'object' ? address?.port : undefined
  await assert.rejects(
    openDatabase({ url: `postgres://ada@127.0.0.1:${port}/books`, startWithinMs: 300 }),
    /DATABASE_URL/,
  )
})

test('a schema that is not current is refused, with the names and the command', async (t) => {
  const database = await openDatabase({ url: (await createSchema(server.url)).url })
  t.after(() => database.close())
  const ensure = (mayMigrate: boolean) => ensureSchema(database, { mayMigrate, now: Date.now })
  await assert.rejects(ensure(false), /lacks 0001-first-schema, .*'turnpike migrate'.*--migrate/)
  await ensure(true)
  await ensure(false)
})

test('a transaction is whole, and takes nothing with it that failed in it', async (t) => {
  const { db, postgres, batch } = await opened(t)
  assert.ok(postgres)
  const insert = "insert into account (id, name, plan, created_at, changed_at) values ($1, 'n', 'p', 1, 1)"
  const ids = async () => (await db.selectFrom('account').select('id').orderBy('id').execute()).map(({ id }) => id)
  await postgres.transaction(async ({ query }) => {
    const answers = await Promise.all([query(insert, ['a']), query(insert, ['b'])])
    assert.deepEqual(
      answers.map(({ changes }) => changes),
      [1, 1],
    )
  })
  const failing = postgres.transaction(
    async ({ query }) => void (await Promise.all([query(insert, ['c']), query(insert, ['a'])])),
  )
  await assert.rejects(failing, isUniqueViolation)
  await assert.rejects(
    postgres.transaction(async ({ query }) => {
      await query(insert, ['d'])
      throw new Error('changed my mind')
    }),
    /changed my mind/,
  )
  await assert.rejects(
    batch([
      { sql: insert, parameters: ['e'] },
      { sql: insert, parameters: ['a'] },
      { sql: insert, parameters: ['f'] },
    ]),
    isUniqueViolation,
  )
  assert.deepEqual(await ids(), ['a', 'b'])
  await batch([
    { sql: insert, parameters: ['e'] },
    { sql: insert, parameters: ['f'] },
  ])
  assert.deepEqual(await ids(), ['a', 'b', 'e', 'f'])
})

test('batches that collide are carried out nevertheless', async (t) => {
  const { db, batch } = await opened(t)
  for (const name of ['a', 'b']) await db.insertInto('account').values(account(name)).execute()
  const rename = (id: string) => ({ sql: "update account set name = name || 'x' where id = $1", parameters: [id] })
  const one = [rename('acc_a'), rename('acc_b')]
  for (let round = 0; round < 3; round++) await Promise.all([batch(one), batch(one.toReversed())])
  const names = await db.selectFrom('account').select('name').orderBy('name').execute()
  assert.deepEqual(
    names.map(({ name }) => name),
    ['axxxxxx', 'bxxxxxx'],
  )
})

test('transactions that take the same turn follow one another', async (t) => {
  const { db } = await opened(t)
  await db.insertInto('setting').values({ key: 'first_key', value: '0' }).execute()
  const increment = () =>
    db.transaction().execute(async (inside) => {
      await acquireAdvisoryLock(inside, 'counting')
      const { value } = await inside.selectFrom('setting').select('value').executeTakeFirstOrThrow()
      await inside
        .updateTable('setting')
        .set({ value: String(Number(value) + 1) })
        .execute()
    })
  await Promise.all(Array.from({ length: 20 }, increment))
  assert.equal((await db.selectFrom('setting').select('value').executeTakeFirst())?.value, '20')
})

test('KEY-4: whoever asks only for greater values of changed_at misses no change, whatever order commits come in', async (t) => {
  const { url } = await createSchema(server.url)
  const [{ db }, other] = [await opened(t, url), await opened(t, url)]
  const names = Array.from({ length: 8 }, (_, index) => `n${index}`)
  for (const name of names) await db.insertInto('account').values(account(name)).execute()
  const seen = new Map<string, number>()
  let cursor = 0
  const look = async () => {
    const rows = await db
      .selectFrom('account')
      .select(['name', 'changed_at'])
      .where('changed_at', '>', cursor)
      .execute()
    for (const { name, changed_at } of rows) {
      seen.set(name, changed_at)
      cursor = Math.max(cursor, changed_at)
    }
  }
  let isOver = false
  const looking = (async () => {
    while (!isOver) await look()
  })()
  const change = (at: OpenedDatabase['db'], name: string) =>
    at.transaction().execute(async (inside) => {
      // An hour behind: the value must grow nevertheless.
      const changed_at = nextChangedAt('account', Date.now() - 3_600_000)
      await inside.updateTable('account').set({ changed_at }).where('name', '=', name).execute()
      await sql`select pg_sleep(${Math.random() / 50})`.execute(inside)
    })
  for (let round = 0; round < 10; round++)
    await Promise.all(names.map((name, index) => change(index % 2 === 0 ? db : other.db, name)))
  isOver = true
  await looking
  await look()
  const rows = await db.selectFrom('account').select(['name', 'changed_at']).execute()
  for (const { name, changed_at } of rows) assert.equal(seen.get(name), changed_at, name)
  assert.equal(new Set(rows.map(({ changed_at }) => changed_at)).size, names.length)
})

test('KEY-4: a change of another process is heard of when it is committed, and changes of others are not', async (t) => {
  const { url } = await createSchema(server.url)
  const [here, other, elsewhere] = [await opened(t, url), await opened(t, url), await opened(t)]
  let heard = 0
  here.onChange(() => heard++)
  await msUntil(async () => heard === 1) // it listens from now on
  await elsewhere.db.insertInto('account').values(account('x')).execute()
  await other.db.insertInto('account').values(account('a')).execute()
  await msUntil(async () => heard === 2)
  await other.db.updateTable('account').set({ changed_at: 5 }).execute()
  await msUntil(async () => heard === 3)
})

test('F13: after a crash of the server it goes on by itself, and listeners look again', async (t) => {
  const database = await opened(t)
  const { db } = database
  let heard = 0
  database.onChange(() => heard++)
  await msUntil(async () => heard === 1)
  const asking = Promise.allSettled(Array.from({ length: 5 }, () => sql`select pg_sleep(60)`.execute(db)))
  await sleep(100)
  await server.crash()
  for (const end of await asking) assert.ok(end.status === 'rejected' && isUnavailable(end.reason))
  await assert.rejects(database.ping(), isUnavailable)
  await server.start()
  const back = await msUntil(async () => (await database.ping()) === undefined)
  await db.insertInto('account').values(account('a')).execute()
  const heardAfter = await msUntil(async () => heard >= 2)
  t.diagnostic(`answers after ${back.toFixed(0)} ms, listens after ${heardAfter.toFixed(0)} ms`)
})

test('F13: a server that hangs fails what waits for it, within 3 s, and is used again when it goes on [limit: postgres-silence]', async (t) => {
  const database = await opened(t)
  let heard = 0
  database.onChange(() => heard++)
  await msUntil(async () => heard === 1)
  await Promise.all(Array.from({ length: 10 }, () => database.ping()))
  const all = freeze(server.pid())
  const since = performance.now()
  try {
    const ends = await Promise.allSettled([
      database.ping(),
      database.db.selectFrom('account').selectAll().execute(),
      database.postgres?.transaction(({ query }) => query('select 1')),
      database.batch([{ sql: 'delete from setting', parameters: [] }]),
    ])
    for (const end of ends) assert.ok(end.status === 'rejected' && isUnavailable(end.reason))
    t.diagnostic(`failed after ${(performance.now() - since).toFixed(0)} ms`)
  } finally {
    for (const pid of all) process.kill(pid, 'SIGCONT')
  }
  const back = await msUntil(async () => (await database.ping()) === undefined)
  const again = await msUntil(async () => heard >= 2)
  t.diagnostic(`answers after ${back.toFixed(0)} ms, listens after ${again.toFixed(0)} ms`)
  const stuck = await sql<{
    n: number
  }>`select count(*) as n from pg_stat_activity where state like 'idle in trans%'`.execute(database.db)
  assert.equal(stuck.rows[0]?.n, 0)
})

test('what is under way is waited for when it closes; later requests are refused', async (t) => {
  const database = await opened(t)
  const asking = sql<{ n: number }>`select 1 as n from pg_sleep(0.3)`.execute(database.db)
  await sleep(50)
  await database.close()
  assert.equal((await asking).rows[0]?.n, 1)
  await assert.rejects(database.ping(), isUnavailable)
  await database.close()
})
