/** A start that cannot succeed says which setting to look at. Runs on one database. */
import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort } from '../support/free-port.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { answers, assertRefused, folder, start, startBlackHole } from '../support/start.ts'

test('a port that is taken ends the start with PORT named, and with nothing left open', async () => {
  const port = String(await startBlackHole())
  await assertRefused({ PORT: port }, new RegExp(`Port ${port} of 127\\.0\\.0\\.1 is in use.*PORT`))
})

test('a data directory that cannot be written ends the start with TURNPIKE_DATA_DIR named', async () => {
  const file = join(folder, 'file')
  writeFileSync(file, '')
  await assertRefused({ TURNPIKE_DATA_DIR: join(file, 'data') }, /is not a folder.*TURNPIKE_DATA_DIR/)
  // Nobody can make a folder there, not even root.
  if (existsSync('/sys'))
    await assertRefused({ TURNPIKE_DATA_DIR: '/sys/turnpike' }, /cannot be written.*TURNPIKE_DATA_DIR/)
})

test('with PostgreSQL a secret is asked for by its name', async () => {
  await assertRefused({ DATABASE_URL: 'postgres://u:p@127.0.0.1:1/x' }, /TURNPIKE_SECRET/)
})

test('a user that the database does not let in ends the start at once, with DATABASE_URL named', async () => {
  const postgres = await startPostgres()
  try {
    const DATABASE_URL = `postgres://u:p@127.0.0.1:${postgres.port}/x`
    const TURNPIKE_SECRET = 'known to nobody but this test, 32 bytes'
    await assertRefused({ TURNPIKE_SECRET, DATABASE_URL }, /user and password into DATABASE_URL/)
  } finally {
    await postgres.stop()
  }
})

test('F17: npm start hands the signal on, and exits with the status of the server', async () => {
  const port = await freePort()
  const { child, output, exited } = start({ PORT: String(port), npm_config_update_notifier: 'false' }, ['npm', 'start'])
  await answers(`http://127.0.0.1:${port}/readyz`)
  child.kill('SIGTERM')
  assert.equal(await exited, 0, output())
  await assert.rejects(fetch(`http://127.0.0.1:${port}/healthz`), 'the server has ended, too')
})
