/**
 * The commands of docs/operations.md that copy, restore and move databases, on servers of this test's own.
 * Runs on one database: each command says which it is about.
 */
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { promisify } from 'node:util'
import { startGateway } from '../../support/gateway.ts'
import { blockOf, makeReader } from '../../support/http/reader.ts'
import { freePort } from '../../support/process/free-port.ts'
import { startPostgres } from '../../support/process/postgres-server.ts'

const PAGE = 'docs/operations.md'

const postgres = await startPostgres()
const gateway = await startGateway()
const words: Record<string, string> = {
  'db.example:5432': `127.0.0.1:${postgres.port}`,
  '-TERM …': `-TERM ${gateway.pid}`,
  'turnpike-2026-11-20.db': 'turnpike-????-??-??.db', // the one that it made, also before midnight
}
const reader = makeReader({ gateway, key: await gateway.key(), words })
after(async () => {
  reader.remove()
  await gateway.stop()
  await postgres.stop()
})

const backups = join(reader.folder, 'backups')
mkdirSync(backups)
/** A command as it stands, with the folder of this reader's backups. */
const command = (text: string): string => text.replaceAll('/backups', backups)

async function succeeds(text: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
  const { code, output } = await reader.sh(command(text), env)
  assert.equal(code, 0, output)
  return output
}

async function psql(statements: string, user = 'postgres'): Promise<void> {
  const url = postgres.url.replace('turnpike@', `${user}@`)
  await promisify(execFile)('psql', [url, '--set', 'ON_ERROR_STOP=1', '--command', statements])
}

test(`${PAGE}: a role, a database, its schema, and a gateway that serves on it`, async () => {
  // The test's server has a role of this name.
  await psql('create role postgres superuser login', 'turnpike')
  await psql('alter role turnpike rename to first')
  for (const statement of blockOf(PAGE, 'create role').text.split('\n')) await psql(statement)
  const port = String(await freePort())
  const env = { PORT: port, HOST: '127.0.0.1', TURNPIKE_DATA_DIR: join(reader.folder, 'data') }
  const served = reader.start(blockOf(PAGE, 'export DATABASE_URL').text, env)
  try {
    await served.printed(/is listening/)
    assert.equal((await fetch(`http://127.0.0.1:${port}/readyz`)).status, 200)
  } finally {
    await served.stop()
  }
})

test(`${PAGE}: a backup of the service that runs, its move to PostgreSQL, and the backup restored`, async () => {
  const [backUp = '', restore = ''] = blockOf(PAGE, 'turnpike backup').text.split('\n')
  await succeeds(backUp)
  const [end = '', ...move] = blockOf(PAGE, 'kill -TERM').text.split('\n')
  await succeeds(end)
  await gateway.exited
  await psql('create database moved owner turnpike')
  assert.match(await succeeds(move.join('\n').replace(/\/turnpike$/, '/moved')), /moved|identical|complete/i)
  assert.match(await succeeds(restore), /is intact[\s\S]*Restored/)
})
