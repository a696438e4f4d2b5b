/** A start that cannot succeed says which setting to look at. Runs on one database. */
import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { eventually } from '../support/client.ts'
import { startPostgres } from '../support/process/postgres-server.ts'
import { answers, assertRefused, folder, start, startBlackHole } from '../support/process/start.ts'

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
    await assertRefused({ TURNPIKE_DATA_DIR: '/sys/turnpike' }, /is not writable.*TURNPIKE_DATA_DIR/)
})

test('with PostgreSQL a secret is asked for by its name', async () => {
  await assertRefused({ DATABASE_URL: 'postgres://u:p@127.0.0.1:1/x' }, /TURNPIKE_SECRET/)
})

test('a user that the database does not let in ends the start at once, with DATABASE_URL named', async () => {
  const postgres = await startPostgres()
  try {
    const DATABASE_URL = `postgres://u:p@127.0.0.1:${postgres.port}/x`
    const TURNPIKE_SECRET = 'known to nobody but this test, 32 bytes'
    await assertRefused({ TURNPIKE_SECRET, DATABASE_URL }, /user and password in DATABASE_URL/)
  } finally {
    await postgres.stop()
  }
})

test('F17: npm start hands the signal on, and exits with the status of the server', async () => {
  const { child, output, exited } = start({ npm_config_update_notifier: 'false' }, ['npm', 'start'])
  const said = await eventually(
    async () => /Turnpike is running at \S+:(\d+)\n/.exec(output()),
    (match) => match !== null,
    60_000,
  )
  const url = `http://127.0.0.1:${said?.[1] ?? assert.fail(output())}`
  await answers(`${url}/readyz`)
  child.kill('SIGTERM')
  assert.equal(await exited, 0, output())
  await assert.rejects(fetch(`${url}/healthz`), 'the server has ended, too')
})
