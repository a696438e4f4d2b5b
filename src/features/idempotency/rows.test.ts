import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { temporaryDatabase } from '../../../test/support/database.ts'
import {
  answer,
  ask,
  beginRun,
  finish,
  lapse,
  openKeys,
  replayOf,
  rowOf,
  until,
} from '../../../test/support/ledger/idempotency.ts'
import type { OpenedDatabase } from '../../db/database.ts'
import { databaseUnavailable } from '../../db/failure.ts'
import type { IdempotencyInput } from './idempotency.ts'

interface Watched extends OpenedDatabase {
  /** Statements of each batch that was asked for. */
  readonly batches: number[]
  /** What becomes of a batch. */
  pass: (write: () => Promise<void>) => Promise<void>
}

/** A real database that may be away. */
async function watchedDatabase(test: TestContext): Promise<Watched> {
  const database = await temporaryDatabase(test)
  const watched: Watched = {
    ...database,
    batches: [],
    pass: (write) => write(),
    async batch(statements) {
      watched.batches.push(statements.length)
      await watched.pass(() => database.batch(statements))
    },
  }
  return watched
}

const away = () => Promise.reject(databaseUnavailable(new Error('database is locked')))

function portOf(test: TestContext, database: OpenedDatabase, over: Partial<IdempotencyInput> = {}) {
  const warnings: string[] = []
  const log = { warn: (_: object, message: string) => void warnings.push(message) }
  const port = openKeys(database, { log, ...over })
  test.after(() => port.close())
  return { port, warnings }
}

const leaseOf = async (database: OpenedDatabase, key: string) => (await rowOf(database, key))?.lease_until ?? 0

test('the leases of all that runs are renewed in one batch, those of what has ended are not', async (t) => {
  const database = await watchedDatabase(t)
  const { port } = portOf(t, database, { renewMs: 5 })
  const keys = Array.from({ length: 30 }, (_, index) => `k${index}`)
  await Promise.all(keys.map((key) => beginRun(port, ask({ key }))))
  const ended = ask({ key: 'ended' })
  await finish(database, ended, await beginRun(port, ended))
  for (const key of [...keys, 'ended']) await lapse(database, key)
  port.start()
  await until(async () => (await leaseOf(database, 'k29')) > Date.now() + 5_000)
  for (const key of keys) assert.ok((await leaseOf(database, key)) > Date.now() + 5_000)
  assert.equal(await leaseOf(database, 'ended'), 1)
  assert.ok(database.batches.includes(30))
})

test('renewals that fail are told, and tried again', async (t) => {
  const database = await watchedDatabase(t)
  const { port, warnings } = portOf(t, database, { renewMs: 5 })
  await beginRun(port, ask())
  await lapse(database)
  database.pass = away
  port.start()
  await until(() => warnings.length >= 2)
  database.pass = (write) => write()
  await until(async () => (await leaseOf(database, 'k')) > 1)
})

test('claims that come together are committed together', async (t) => {
  const database = await watchedDatabase(t)
  const { port } = portOf(t, database)
  await Promise.all(Array.from({ length: 100 }, (_, index) => beginRun(port, ask({ key: `k${index}` }))))
  assert.deepEqual(database.batches, [100])
})

test('F12: a key that is freed while the database is away is free when it is back', async (t) => {
  const database = await watchedDatabase(t)
  const { port } = portOf(t, database)
  const run = await beginRun(port, ask())
  database.pass = away
  run.freed(answer('{}', 503))
  await assert.rejects(port.begin(ask()), { code: 'database_unavailable', status: 503 })
  assert.equal((await rowOf(database))?.state, 'running')
  database.pass = (write) => write()
  await until(async () => (await rowOf(database))?.state === 'freed')
  await beginRun(port, ask())
})

test('F12: a process that ends writes first which keys are free; it does not wait for ever', async (t) => {
  const database = await watchedDatabase(t)
  const { port } = portOf(t, database, { closeTimeoutMs: 60_000 })
  const run = await beginRun(port, ask())
  let failures = 3
  database.pass = (write) => (failures-- > 0 ? away() : write())
  run.freed(answer('{}', 503))
  await port.close()
  assert.equal((await rowOf(database))?.state, 'freed')

  const second = portOf(t, database, { closeTimeoutMs: 1 }).port
  database.pass = (write) => write()
  const other = await beginRun(second, ask())
  database.pass = () => new Promise(() => {})
  other.freed(answer('{}', 503))
  await second.close()
})

test('F12: a claim that is not written in time is turned away, and taken back when it is written after all [limit: claim-wait]', async (t) => {
  const database = await watchedDatabase(t)
  const { port } = portOf(t, database, { claimTimeoutMs: 1 })
  const gate = Promise.withResolvers<void>()
  database.pass = async (write) => {
    await gate.promise
    await write()
  }
  const both = [port.begin(ask()), port.begin(ask())]
  for (const turn of both) await assert.rejects(turn, { code: 'database_unavailable', status: 503 })
  gate.resolve()
  await until(() => database.batches.length === 2)
  await until(async () => (await rowOf(database)) === undefined)
  const { port: patient } = portOf(t, database)
  await beginRun(patient, ask())
})

test('a claim that the database refuses does not take its neighbours with it', async (t) => {
  const database = await watchedDatabase(t)
  const { port } = portOf(t, database)
  const wrong = ask({ endpoint: '' }) // a broken constraint
  const turns = await Promise.allSettled(
    [ask({ key: 'a' }), ask({ key: 'b' }), wrong, ask({ key: 'c' })].map(port.begin),
  )
  assert.deepEqual(
    turns.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
  )
})

test('the database must be there for a repeat to be answered', async (t) => {
  const database = await watchedDatabase(t)
  const { port } = portOf(t, database)
  const request = ask()
  const given = await finish(database, request, await beginRun(port, request))
  database.pass = away
  await assert.rejects(port.begin(ask()), { code: 'database_unavailable' })
  database.pass = (write) => write()
  assert.deepEqual(replayOf(await port.begin(ask())), given)
})
