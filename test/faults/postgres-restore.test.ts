/**
 * Backups of PostgreSQL as docs/deploy/upgrades.md describes them: a dump, and a base backup with the write-ahead log up to a
 * point in time, each taken while requests run. It is slow. Runs on one database: PostgreSQL servers of its own.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, test } from 'node:test'
import { Client } from 'pg'
import { findTool } from '../../scripts/kit/machine-tools.ts'
import { openDatabase } from '../../src/db/open.ts'
import { reconcile, renderReconciled } from '../../src/features/credit/reconcile.ts'
import { CHAT, eventually, getJson, hello, send } from '../support/client.ts'
import { startGateway } from '../support/gateway.ts'
import { startPostgres } from '../support/process/postgres-server.ts'

const PAGE = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'deploy', 'upgrades.md'), 'utf8')
const folder = mkdtempSync(join(tmpdir(), 'turnpike-restore-'))
const archive = mkdtempSync(join(tmpdir(), 'turnpike-archive-'))
// The server runs as another user.
chmodSync(archive, 0o777)

const postgres = await startPostgres({
  settings: { archive_mode: 'on', archive_command: `${documented('archive_command')}` },
})
const env = { DATABASE_URL: postgres.url, TURNPIKE_SECRET: 'a secret of tests, known to everybody' }
const gateway = await startGateway({ env, args: ['--migrate'] })
const key = await gateway.key()
after(async () => {
  await gateway.stop()
  await postgres.stop()
  for (const path of [folder, archive]) rmSync(path, { recursive: true, force: true })
})

/** A setting as the page has it, with this test's archive. */
function documented(setting: string): string {
  const [, value] = new RegExp(`^${setting} = '(.+)'$`, 'm').exec(PAGE) ?? []
  return (value ?? assert.fail(`the page does not have ${setting}`)).replaceAll('/archive', archive)
}

/** Runs a command of the page, with this test's folders, databases and point in time. */
function runDocumented(begins: string, words: Readonly<Record<string, string>>): void {
  const line =
    PAGE.split('\n').find((each) => each.startsWith(begins)) ?? assert.fail(`the page does not have ${begins}`)
  const command = Object.entries(words).reduce((text, [from, to]) => text.replaceAll(from, to), line)
  const PATH = `${dirname(findTool('postgres'))}:${process.env['PATH'] ?? ''}`
  execFileSync('sh', ['-ec', command], { env: { ...process.env, PATH, DATABASE_URL: postgres.url }, stdio: 'pipe' })
}

async function query(text: string, url = postgres.url): Promise<Readonly<Record<string, unknown>>> {
  const client = new Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query(text)).rows[0] ?? {}
  } finally {
    await client.end()
  }
}

const completions = async (url: string): Promise<number> =>
  Number((await query('select count(*) as count from completion', url))['count'])

async function complete(count: number): Promise<void> {
  const before = await completions(postgres.url)
  const body = hello({ model: 'turnpike-simulator', max_tokens: 3 })
  const answers = await Promise.all(Array.from({ length: count }, () => send(gateway, CHAT, { key, body })))
  for (const { status, text } of answers) assert.equal(status, 200, text)
  await eventually(
    () => completions(postgres.url),
    (rows) => rows === before + count,
  )
  await eventually(
    () => getJson<{ readonly held_usd: number }>(gateway, key, '/v1/usage'),
    ({ held_usd: held }) => held === 0,
  )
}

async function assertConsistent(url: string): Promise<void> {
  const database = await openDatabase({ url })
  try {
    const accounts = await database.db.selectFrom('account').select('id').execute()
    assert.ok(accounts.length > 0)
    for (const { id } of accounts) assert.equal(renderReconciled(await reconcile(database.db, id)).ok, true)
  } finally {
    await database.close()
  }
}

test('a dump that is taken under load is restored into another database', async () => {
  await complete(5)
  const load = complete(5)
  runDocumented('pg_dump', { '/backups': folder })
  await load
  await query('create database restored')
  const restored = postgres.url.replace(/\/postgres$/, '/restored')
  runDocumented('pg_restore', { '/backups': folder, '"$RESTORED_URL"': restored })
  const rows = await completions(restored)
  assert.ok(rows >= 5 && rows <= 10, `${rows} rows`)
  await assertConsistent(restored)
})

test('a base backup and the write-ahead log restore the state of a moment', async (t) => {
  const load = complete(5)
  runDocumented('pg_basebackup', { '/backups': folder })
  await load
  await complete(5)
  const expected = await completions(postgres.url)
  const { moment } = await query(`select to_char(clock_timestamp(), 'YYYY-MM-DD HH24:MI:SS.US') || '+00' as moment`)
  await complete(5)
  const { file } = await query('select pg_walfile_name(pg_switch_wal()) as file')
  await eventually(
    () => query('select last_archived_wal as name from pg_stat_archiver'),
    ({ name }) => String(name) >= String(file),
  )
  const restored = await startPostgres({
    backup: join(folder, 'base'),
    settings: {
      restore_command: documented('restore_command'),
      recovery_target_time: String(moment),
      recovery_target_action: 'promote',
    },
  })
  t.after(() => restored.stop())
  await eventually(
    () => query('select pg_is_in_recovery() as running', restored.url),
    ({ running }) => running === false,
  )
  assert.equal(await completions(restored.url), expected)
  await assertConsistent(restored.url)
})
