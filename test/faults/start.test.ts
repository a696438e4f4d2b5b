/** Stores that are not there at the start: each is waited for, so it is slow. Runs on one database. */
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../support/process/free-port.ts'
import { answers, assertRefused, folder, start, startBlackHole } from '../support/process/start.ts'

const TURNPIKE_SECRET = 'known to nobody but this test, 32 bytes'
/** Neither a service of this machine's nor another test's: those are given ports far above. */
const NOBODYS_PORT = 1
const blackHole = await startBlackHole()

const on = (port: number): string => `postgres://u:p@127.0.0.1:${port}/x`

test('a database that does not answer, is not there or has no address ends the start within 10 s', async () => {
  await Promise.all([
    assertRefused({ TURNPIKE_SECRET, DATABASE_URL: on(blackHole) }, /DATABASE_URL.*server runs/),
    assertRefused({ TURNPIKE_SECRET, DATABASE_URL: on(NOBODYS_PORT) }, /ECONNREFUSED.*DATABASE_URL is correct/),
    assertRefused({ TURNPIKE_SECRET, DATABASE_URL: 'postgres://u:p@db.invalid/x' }, /db\.invalid.*check DATABASE_URL/),
  ])
})

test('without its Redis the service starts and reports it', async () => {
  const port = await freePort()
  const { child, output, exited } = start({ REDIS_URL: `redis://127.0.0.1:${blackHole}`, PORT: String(port) })
  await answers(`http://127.0.0.1:${port}/healthz`)
  child.kill('SIGTERM')
  assert.equal(await exited, 0, output())
  assert.match(output(), /REDIS_URL: not reached within 2000 ms.*Redis does not count rate limits/)
})

test('F17: a SIGTERM in the middle of the start is obeyed, with exit 0', async () => {
  const TURNPIKE_DATA_DIR = join(folder, 'early')
  // It waits for this Redis for two seconds of its start.
  const { child, output, exited } = start({ REDIS_URL: `redis://127.0.0.1:${blackHole}`, TURNPIKE_DATA_DIR })
  while (!existsSync(join(TURNPIKE_DATA_DIR, 'turnpike.db'))) await sleep(5)
  child.kill('SIGTERM')
  assert.equal(await exited, 0, output())
})

test('F17: a SIGHUP in the middle of the start does not end the process', async () => {
  const TURNPIKE_DATA_DIR = join(folder, 'hung-up')
  const port = await freePort()
  const { child, output, exited } = start({
    REDIS_URL: `redis://127.0.0.1:${blackHole}`,
    TURNPIKE_DATA_DIR,
    PORT: String(port),
    LOG_LEVEL: 'info',
  })
  while (!existsSync(join(TURNPIKE_DATA_DIR, 'turnpike.db'))) await sleep(5)
  const hangingUp = setInterval(() => child.kill('SIGHUP'), 10)
  await answers(`http://127.0.0.1:${port}/healthz`)
  while (!output().includes('configuration reloaded') && child.exitCode === null) await sleep(5)
  clearInterval(hangingUp)
  child.kill('SIGTERM')
  assert.equal(await exited, 0, output())
})
