import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { getPriority, platform } from 'node:os'
import { dirname } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import type { Worker } from 'node:worker_threads'
import { sql } from 'kysely'
import { temporaryPath, temporarySqlite } from '../../test/support/sqlite-file.ts'
import { GatewayError } from '../domain/errors.ts'
import type { AccountId } from '../domain/ids.ts'
import type { OpenedDatabase } from './database.ts'
import { DatabaseError, databaseFailure } from './failure.ts'
import { migrate } from './migrate.ts'
import { openDatabase } from './open.ts'
import { MAX_WAITING_MESSAGES } from './sqlite/open.ts'

const OPEN_MODULE = new URL('./open.ts', import.meta.url).href

function account(name: string) {
  return { id: `acc_${name}` as AccountId, name, plan: 'free', created_at: 1, changed_at: 1 }
}
async function names({ db }: OpenedDatabase): Promise<string[]> {
  const rows = await db.selectFrom('account').select('name').orderBy('name').execute()
  return rows.map(({ name }) => name)
}
/** Another process that runs `code` as a module and is gone when the test ends. */
function otherProcess(test: TestContext, code: string) {
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], { stdio: ['pipe', 'pipe', 'inherit'] })
  test.after(() => child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const line = async () => String((await lines.next()).value)
  return { child, line }
}

/** Of the threads with that name, on Linux: how far each steps back for others. */
async function nicenessOf(name: string): Promise<readonly number[]> {
  const tasks = await readdir('/proc/self/task')
  const found = tasks.map(async (task) => {
    const stats = await readFile(`/proc/self/task/${task}/stat`, 'utf8').catch(() => '')
    const [, called, fields = ''] = /\((.*)\) (.*)/.exec(stats) ?? []
    return called === name ? [Number(fields.split(' ')[16])] : []
  })
  return (await Promise.all(found)).flat()
}

/** SQLITE_CONSTRAINT_PRIMARYKEY. */
const isUniqueViolation = (error: unknown) => error instanceof DatabaseError && error.resultCode === 1555

test('on Linux the thread that reads steps back for the others, so that reports do not hold up chats', async (t) => {
  if (platform() !== 'linux') return
  await temporarySqlite(t)
  assert.deepEqual([...new Set(await nicenessOf('database reader'))], [Math.min(getPriority() + 5, 19)])
  assert.deepEqual([...new Set(await nicenessOf('database writer'))], [getPriority()])
})

test('DUR-1: both connections have the settings that make a commit last', async (t) => {
  const { db } = await temporarySqlite(t)
  const read = async (name: string) =>
    Object.values((await sql<object>`pragma ${sql.raw(name)}`.execute(db)).rows[0] ?? {})[0]
  assert.equal(await read('journal_mode'), 'wal')
  assert.equal(await read('synchronous'), 2)
  assert.equal(await read('foreign_keys'), 1)
  assert.equal(await read('busy_timeout'), 5000)
})

test('the folder and the file are for their owner alone', async (t) => {
  const path = (await temporaryPath(t)).replace('turnpike.db', 'data/turnpike.db')
  const database = await openDatabase({ path })
  t.after(() => database.close())
  assert.equal((await stat(dirname(path))).mode & 0o777, 0o700)
  assert.equal((await stat(path)).mode & 0o777, 0o600)
})

test('a file that is no database is refused with the reason', async (t) => {
  const path = await temporaryPath(t)
  await writeFile(path, 'not a database, but long enough to have a header that could be one'.repeat(20))
  await assert.rejects(
    openDatabase({ path }),
    (error: Error) => error.message.includes(path) && /not a database/.test(error.message),
  )
})

test('100 writers at once all get their turn, and every one sees its own row right after', async (t) => {
  const database = await temporarySqlite(t)
  const { db } = database
  const write = async (index: number) => {
    if (index % 3 === 0)
      await database.batch([
        db
          .insertInto('account')
          .values(account(`n${index}`))
          .compile(),
      ])
    else if (index % 3 === 1)
      await db
        .insertInto('account')
        .values(account(`n${index}`))
        .execute()
    else
      await db.transaction().execute((inside) =>
        inside
          .insertInto('account')
          .values(account(`n${index}`))
          .execute(),
      )
    return db.selectFrom('account').select('name').where('name', '=', `n${index}`).executeTakeFirst()
  }
  const seen = await Promise.all(Array.from({ length: 100 }, (_, index) => write(index)))
  assert.deepEqual(
    seen.map((row) => row?.name),
    Array.from({ length: 100 }, (_, index) => `n${index}`),
  )
  assert.equal((await names(database)).length, 100)
})

test('a transaction sees its own writes, others do not until it has ended', async (t) => {
  const database = await temporarySqlite(t)
  const { db } = database
  await db.transaction().execute(async (inside) => {
    await inside.insertInto('account').values(account('a')).execute()
    assert.equal((await inside.selectFrom('account').select('id').execute()).length, 1)
    assert.equal((await db.selectFrom('account').select('id').execute()).length, 0)
  })
  assert.deepEqual(await names(database), ['a'])
})

test('a text with U+0000 is refused as on PostgreSQL, which cannot store it', async (t) => {
  const database = await temporarySqlite(t)
  const { db } = database
  const row = account('a')
  const writing = db.insertInto('account').values({ ...row, name: 'a\0b' })
  await assert.rejects(writing.execute(), { code: 'invalid_value' })
  await assert.rejects(db.selectFrom('account').where('name', '=', '\0').select('id').execute(), {
    code: 'invalid_value',
  })
  assert.deepEqual(await names(database), [])
})

test('what fails inside a transaction takes all of it back, and the next writer gets its turn', async (t) => {
  const database = await temporarySqlite(t)
  const { db } = database
  const failing = db.transaction().execute(async (inside) => {
    await inside.insertInto('account').values(account('a')).execute()
    throw new Error('no')
  })
  const next = db.insertInto('account').values(account('b')).execute()
  await assert.rejects(failing, { message: 'no' })
  await next
  assert.deepEqual(await names(database), ['b'])
})

test('while a transaction is open, other writes wait for it in the order they came', async (t) => {
  const database = await temporarySqlite(t)
  const { db } = database
  const order: string[] = []
  const opened = Promise.withResolvers<void>()
  const release = Promise.withResolvers<void>()
  const holder = db.transaction().execute(async (inside) => {
    await inside.insertInto('account').values(account('first')).execute()
    opened.resolve()
    await release.promise
    order.push('holder')
  })
  await opened.promise
  const insert = (name: string) => db.insertInto('account').values(account(name)).execute()
  const rest = [insert('x').then(() => order.push('x')), insert('y').then(() => order.push('y'))]
  await database.ping()
  assert.deepEqual(order, [])
  release.resolve()
  await Promise.all([holder, ...rest])
  assert.deepEqual(order, ['holder', 'x', 'y'])
})

test('what waits for its turn is capped: beyond that, writes are refused at once and the others still happen [limit: database-messages]', async (t) => {
  const database = await temporarySqlite(t)
  const waiting: Promise<void>[] = []
  await database.db.transaction().execute(async (inside) => {
    await inside.selectFrom('account').select('id').execute()
    for (let count = 0; count < MAX_WAITING_MESSAGES; count++) waiting.push(database.batch([]))
    await assert.rejects(database.batch([]), { code: 'database_unavailable' })
  })
  await Promise.all(waiting)
})

test('a batch is all or nothing', async (t) => {
  const database = await temporarySqlite(t)
  const insert = (name: string) => database.db.insertInto('account').values(account(name)).compile()
  await assert.rejects(database.batch([insert('a'), insert('b'), insert('a')]), isUniqueViolation)
  assert.deepEqual(await names(database), [])
  await database.batch([insert('a'), insert('b')])
  assert.deepEqual(await names(database), ['a', 'b'])
})

test('amounts of money come back as bigint, other integers as number, exact to the last digit', async (t) => {
  const { db } = await temporarySqlite(t)
  const large = 9_007_199_254_740_993n
  const { rows } =
    await sql`select ${large} as cost_nano_usd, 7 as requests, null as price_nano_usd, 'a' as model`.execute(db)
  assert.deepEqual(rows, [{ cost_nano_usd: large, requests: 7, price_nano_usd: null, model: 'a' }])
  const plain = await sql`select 9007199254740991 as count, x'00ff' as bytes`.execute(db)
  assert.deepEqual(plain.rows, [{ count: 9_007_199_254_740_991, bytes: new Uint8Array([0, 255]) }])
})

test('a statement with wrong SQL or an unbindable value fails alone', async (t) => {
  const database = await temporarySqlite(t)
  const { db } = database
  await assert.rejects(sql`select from nowhere`.execute(db), { name: 'DatabaseError' })
  for (const value of [new Date(0), true, {}, undefined]) {
    await assert.rejects(sql`select * from account where name = ${value}`.execute(db), /cannot bind/)
  }
  await assert.rejects(sql`select ${Symbol('a')} as a`.execute(db))
  assert.deepEqual(await names(database), [])
})

test('DUR-5: tables refuse what code must not write', async (t) => {
  const { db } = await temporarySqlite(t)
  await assert.rejects(
    db
      .insertInto('account')
      .values({ ...account('a'), created_at: 'x' as never })
      .execute(),
  )
  await assert.rejects(
    db
      .insertInto('account')
      .values({ ...account('a'), name: '' })
      .execute(),
  )
  const orphan = {
    hash: new Uint8Array(32),
    account_id: 'acc_none' as AccountId,
    kind: 'key' as const,
    id: 'key_1' as never,
  }
  await assert.rejects(db.insertInto('credential').values(orphan).execute(), /FOREIGN KEY/)
})

test('a lock that another process holds is waited for, while reads go on', async (t) => {
  const path = await temporaryPath(t)
  const database = await temporarySqlite(t, path)
  await sql`pragma busy_timeout = 60000`.execute(database.db) // the other may need longer than 5 s to let go
  const holder = otherProcess(
    t,
    `import { DatabaseSync } from 'node:sqlite'
     const db = new DatabaseSync(${JSON.stringify(path)})
     db.exec('begin immediate')
     console.log('locked')
     process.stdin.once('data', () => setTimeout(() => { db.exec('commit'); process.exit() }, 200))`,
  )
  assert.equal(await holder.line(), 'locked')
  let written = false
  const write = database.db
    .insertInto('account')
    .values(account('a'))
    .execute()
    .then(() => {
      written = true
    })
  assert.deepEqual(await names(database), [])
  assert.equal(written, false)
  holder.child.stdin.write('go')
  await write
  assert.deepEqual(await names(database), ['a'])
})

test('locked, full and unreadable databases are database_unavailable; a broken constraint is not', () => {
  for (const resultCode of [5, 517, 6, 10, 778, 13, 14]) {
    const error = databaseFailure({ message: 'x', resultCode })
    assert.ok(error instanceof GatewayError && error.code === 'database_unavailable' && error.status === 503)
  }
  const error = databaseFailure({ message: 'x', resultCode: 1555 })
  assert.ok(isUniqueViolation(error))
})

test('F15: when the disk is full the transaction is undone as a whole, reads go on, and writes work again with space', async (t) => {
  const database = await temporarySqlite(t)
  const { db } = database
  const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(db)
  await sql`pragma max_page_count = ${sql.raw(String(rows[0]?.page_count))}`.execute(db)
  const filler = 'x'.repeat(100_000)
  const attempt = db.transaction().execute(async (inside) => {
    await inside.insertInto('account').values(account('small')).execute()
    await inside
      .insertInto('account')
      .values({ ...account('large'), name: filler })
      .execute()
      .catch(() => undefined)
    await inside.insertInto('account').values(account('late')).execute()
  })
  await assert.rejects(attempt)
  await assert.rejects(
    database.batch([
      db
        .insertInto('account')
        .values({ ...account('large'), name: filler })
        .compile(),
    ]),
    {
      code: 'database_unavailable',
    },
  )
  assert.deepEqual(await names(database), [])
  await sql`pragma max_page_count = 1000000`.execute(db)
  await database.batch([
    db
      .insertInto('account')
      .values({ ...account('large'), name: filler })
      .compile(),
  ])
  assert.equal((await names(database)).length, 1)
})

test('a process killed in the middle of writing leaves a sane file with everything it was told is written', async (t) => {
  const path = await temporaryPath(t)
  const writer = otherProcess(
    t,
    `import { openDatabase } from ${JSON.stringify(OPEN_MODULE)}
     import { migrate } from ${JSON.stringify(new URL('./migrate.ts', import.meta.url).href)}
     const { db, batch } = await openDatabase({ path: ${JSON.stringify(path)} })
     await migrate(db, Date.now)
     const row = (n) => ({ id: 'acc_' + n, name: 'n' + n, plan: 'free', created_at: 1, changed_at: 1 })
     for (let n = 0; ; n += 3) {
       await batch([n, n + 1, n + 2].map((m) => db.insertInto('account').values(row(m)).compile()))
       process.stdout.write(n + 2 + '\\n')
     }`,
  )
  let acknowledged = 0
  while (acknowledged < 300) acknowledged = Number(await writer.line())
  writer.child.kill('SIGKILL')
  await once(writer.child, 'exit')
  const database = await temporarySqlite(t, path)
  const kept = (await names(database)).length
  assert.ok(kept >= acknowledged, `${kept} rows, ${acknowledged} acknowledged`)
  assert.equal(kept % 3, 0, 'no part of a batch')
  const { rows } = await sql<{ integrity_check: string }>`pragma integrity_check`.execute(database.db)
  assert.deepEqual(rows, [{ integrity_check: 'ok' }])
})

test('a change by another process reaches the listeners; after unsubscribing it does not', async (t) => {
  const path = await temporaryPath(t)
  const database = await temporarySqlite(t, path)
  const changed = Promise.withResolvers<void>()
  const end = database.onChange(() => changed.resolve())
  await database.db.selectFrom('setting').selectAll().execute() // the reader watches by now
  const other = new DatabaseSync(path)
  t.after(() => other.close())
  other.exec("insert into setting values ('first_key', 'x')")
  await changed.promise
  end()
  let calls = 0
  database.onChange(() => calls++)()
  database.notifyChange()
  assert.equal(calls, 0)
})

test('listeners are called at once when the process itself says so', async (t) => {
  const database = await temporarySqlite(t)
  let calls = 0
  database.onChange(() => calls++)
  database.notifyChange()
  assert.equal(calls, 1)
})

test('close lets everything finish that was asked before, and refuses what comes after', async (t) => {
  const path = await temporaryPath(t)
  const database = await temporarySqlite(t, path)
  const insert = (name: string) => database.db.insertInto('account').values(account(name)).execute()
  const writes = ['a', 'b', 'c'].map(insert)
  await database.close()
  await Promise.all(writes)
  await assert.rejects(insert('d'), { code: 'database_unavailable' })
  await assert.rejects(stat(`${path}-wal`), { code: 'ENOENT' })
})

/** What `open` returns, and the threads that it started. */
async function startedBy<Result>(open: () => Promise<Result>): Promise<readonly [Result, readonly Worker[]]> {
  const workers: Worker[] = []
  const remember = (message: unknown) => void workers.push((message as { worker: Worker }).worker)
  subscribe('worker_threads', remember)
  try {
    return [await open(), workers]
  } finally {
    unsubscribe('worker_threads', remember)
  }
}

test('the death of a database thread is reported, and everything that waits is refused', async (t) => {
  const fatal = Promise.withResolvers<Error>()
  const path = await temporaryPath(t)
  const programs = { ofItsOwn: new URL('../../test/support/process/database-program.ts', import.meta.url) }
  const [database, workers] = await startedBy(() => openDatabase({ path, programs, onFatal: fatal.resolve }))
  t.after(() => database.close())
  await workers[0]?.terminate()
  assert.match((await fatal.promise).message, /writer thread/)
  await assert.rejects(database.ping(), { code: 'database_unavailable' })
})

test('in a process that keeps threads, those of a closed database serve the next one', async (t) => {
  const programs = { kept: new URL('../../test/support/process/database-program.ts', import.meta.url) }
  const open = async () => openDatabase({ path: await temporaryPath(t), programs })
  const first = await open()
  await first.close()
  await assert.rejects(first.ping(), { code: 'database_unavailable' })
  const [second, workers] = await startedBy(open)
  t.after(() => second.close())
  assert.deepEqual(workers, [])
  await migrate(second.db, Date.now)
  assert.deepEqual(await names(second), [])
})
