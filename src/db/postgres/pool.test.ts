import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { CUSTOM_PLAN } from '../database.ts'
import { createPostgresPool, createStatementNames } from './pool.ts'

/** A server that takes connections and never says a word. */
async function silentServer(t: TestContext): Promise<{ readonly url: string; readonly connections: Socket[] }> {
  const connections: Socket[] = []
  const server = createServer((socket) => {
    socket.on('error', () => {})
    connections.push(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    for (const socket of connections) socket.destroy()
    server.close()
  })
  return { url: `postgres://u:p@127.0.0.1:${(server.address() as AddressInfo).port}/d`, connections }
}

test('no more connections are made than there may be, and 2 000 requests wait for one of them [limit: postgres-waiting]', async (t) => {
  const { url, connections } = await silentServer(t)
  const pool = createPostgresPool({ url, max: 3 })
  const asked = Array.from({ length: 3 + 2_000 }, () =>
    pool.session().then(
      () => 'had',
      ({ code }) => code,
    ),
  )
  await assert.rejects(pool.session(), {
    code: 'database_unavailable',
    cause: new Error('The queue for the database is full.'),
  })
  while (connections.length < 3) await new Promise((resolve) => setTimeout(resolve, 1))
  assert.equal(connections.length, 3)
  for (const socket of connections) socket.destroy()
  pool.abandon(new Error('over'))
  t.after(() => pool.close())
  assert.equal(await asked[0], 'database_unavailable')
})

test('500 statements have names, as soon as they come again; later ones are planned each time [limit: postgres-statements]', () => {
  const nameOf = createStatementNames()
  const named = Array.from({ length: 700 }, (_, index) => {
    const text = `select ${index}`
    assert.equal(nameOf(text), undefined, 'it has not come again')
    return nameOf(text)
  })
  assert.equal(named.filter((name) => name !== undefined).length, 500)
  assert.equal(new Set(named.slice(0, 500)).size, 500)
  assert.equal(nameOf('select 0'), named[0])
})
test('a text that comes again has a name, the same ever after', () => {
  const nameOf = createStatementNames()
  const sql = 'select count(*) from "account" where "id" = $1'
  assert.equal(nameOf(sql), undefined)
  const name = nameOf(sql)
  assert.match(name ?? '', /^turnpike_\d+$/)
  assert.equal(nameOf(sql), name)
})

test('F32: what asks for every column is planned again each time, since a newer release may add one', () => {
  const nameOf = createStatementNames()
  for (const sql of [
    'select * from "completion"',
    'SELECT  * from "completion"',
    'select "a".* from "account" as "a"',
    'insert into "account" ("id") values ($1) returning *',
  ]) {
    for (let time = 0; time < 3; time++) assert.equal(nameOf(sql), undefined, sql)
  }
})

test('what says that it is to be planned again is', () => {
  const nameOf = createStatementNames()
  const sql = `select ${CUSTOM_PLAN} count(*) from "account" where "id" > $1`
  for (let time = 0; time < 3; time++) assert.equal(nameOf(sql), undefined)
})
