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

test('with PostgreSQL a missing secret is reported by its name', async () => {
  await assertRefused({ DATABASE_URL: 'postgres://u:p@127.0.0.1:1/x' }, /TURNPIKE_SECRET/)
})

test('a user that the database rejects ends the start immediately, with DATABASE_URL named', async () => {
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
    120_000,
  )
  const url = `http://127.0.0.1:${said?.[1] ?? assert.fail(output())}`
  await answers(`${url}/readyz`)
  for (const line of [/ API +\S+\/v1\n/, / Providers +none: add one/, / Database +SQLite, \S+turnpike\.db\n/])
    assert.match(output(), line)
  assert.match(output(), / Reload +npm run -s turnpike -- reload\n/)
  child.kill('SIGTERM')
  assert.equal(await exited, 0, output())
  await assert.rejects(fetch(`${url}/healthz`), 'the server has ended, too')
})

test('a gateway under npm ends with the shell between them, and prints its own process ID', async (t) => {
  const script = `"${process.execPath}" bin/turnpike.js serve; true`
  const env = { npm_command: 'exec', OPENAI_API_KEY: 'sk-none', TURNPIKE_DATA_DIR: join(folder, 'npx') }
  const first = start(env, ['sh', '-c', script])
  t.after(() => first.child.kill('SIGKILL'))
  const pid = await eventually(
    async () => / Stop +Ctrl-C, or kill -TERM (\d+)\n/.exec(first.output())?.[1],
    (found) => found !== undefined,
    120_000,
  )
  assert.notEqual(Number(pid), first.child.pid)
  assert.match(first.output(), / Providers +openai\n/)
  first.child.kill('SIGKILL')
  await first.exited
  const again = start(env, ['sh', '-c', script])
  t.after(() => again.child.kill('SIGKILL'))
  await eventually(
    async () => again.output(),
    (text) => / Sign in +npx turnpike login-link prints/.test(text) && text.includes(' Stop '),
    120_000,
  )
  assert.ok(!again.output().includes('shown only once'))
  const [, url = ''] = / is running at (\S+)\n/.exec(again.output()) ?? []
  assert.match(await (await fetch(`${url}/sign-in`)).text(), /<code>npx turnpike login-link<\/code>/)
  again.child.kill('SIGKILL')
  await again.exited
})
