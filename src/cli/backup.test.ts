import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { completionRecord, recordCompletions } from '../../test/support/ledger/completions.ts'
import { type CommandResult, runCommandHere } from '../../test/support/process/command-in-process.ts'
import { freePort } from '../../test/support/process/free-port.ts'
import { migrate } from '../db/migrate.ts'
import { openDatabase } from '../db/open.ts'
import { copyFiles, openExclusive, replaceDatabase } from '../db/sqlite/offline.ts'
import { LEDGER_PROGRAMS } from '../features/credit/ledger/sqlite/store.ts'

const COMMAND = fileURLToPath(new URL('../../bin/turnpike.js', import.meta.url))

/** An installation on SQLite whose service has ended, with completions of two accounts. */
async function installation(t: TestContext, env: Readonly<Record<string, string>> = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-backup-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const dataDir = join(folder, 'data')
  const path = join(dataDir, 'turnpike.db')
  const surroundings = { PATH: '', TURNPIKE_DATA_DIR: dataDir, NO_COLOR: '1', ...env }
  const turnpike = (...words: string[]) => runCommandHere(words, { cwd: folder, env: surroundings })
  const ownProcess = (...words: string[]): Promise<CommandResult> =>
    new Promise((resolve) => {
      execFile(process.execPath, [COMMAND, ...words], { cwd: folder, env: surroundings }, (error, out, errors) =>
        resolve({ code: error === null ? 0 : Number(error.code), out, error: errors }),
      )
    })
  const record = async (accountId: string, count: number) => {
    const database = await openDatabase({ path, programs: LEDGER_PROGRAMS })
    await migrate(database.db, Date.now)
    const account = accountId as ReturnType<typeof completionRecord>['accountId']
    await recordCompletions(
      database,
      Array.from({ length: count }, () => completionRecord({ accountId: account })),
    )
    await database.close()
  }
  await record('acc_a', 20)
  await record('acc_b', 10)
  const file = (name: string) => join(folder, name)
  const asides = () => readdirSync(dataDir).filter((name) => /before-restore.*Z$/.test(name))
  return { dataDir, path, folder, file, turnpike, ownProcess, record, asides, count: () => completionsIn(path) }
}

/** The service itself, on SQLite whatever the dialect of the pass. */
async function serve(t: TestContext, dataDir: string) {
  const port = await freePort()
  const env = { PATH: '', TURNPIKE_DATA_DIR: dataDir, PORT: String(port), LOG_LEVEL: 'warn' }
  const child = spawn(process.execPath, [COMMAND, 'serve'], { cwd: dataDir, env, stdio: 'ignore' })
  const ended = once(child, 'exit')
  t.after(() => child.kill('SIGKILL'))
  const ready = `http://127.0.0.1:${port}/readyz`
  while (!(await fetch(ready).catch(() => undefined))?.ok && child.exitCode === null) await sleep(20)
  const end = async () => {
    child.kill('SIGTERM')
    assert.deepEqual(await ended, [0, null])
  }
  return { ready, end }
}

function completionsIn(path: string): unknown {
  const database = new DatabaseSync(path, { readOnly: true })
  try {
    return database.prepare('select count(*) as count from completion').get()?.['count']
  } finally {
    database.close()
  }
}

test('DUR-4: a restore returns the backed-up data, and keeps the previous database', async (t) => {
  const { ownProcess, record, count, file, asides, dataDir, path } = await installation(t)
  const made = await ownProcess('backup', file('copy.db'))
  assert.deepEqual([made.code, made.error], [0, ''])
  assert.match(made.out, /Wrote .*copy\.db: \d+\.\d MiB, 2 accounts, 30 completions, schema 0/)
  assert.match(made.out, /does not contain the installation's secret/)
  assert.equal(statSync(file('copy.db')).mode & 0o777, 0o600)
  await record('acc_a', 5)
  assert.equal(count(), 35)
  const restored = await ownProcess('restore', file('copy.db'))
  assert.deepEqual([restored.code, restored.error], [0, ''])
  assert.match(restored.out, /is intact: schema 0\d+-\S+\.\n.*all 2 accounts are consistent\.\n.*previous.*\nRestored /)
  assert.equal(count(), 30)
  assert.equal(asides().length, 1)
  assert.equal(completionsIn(join(dataDir, String(asides()[0]))), 35)
  assert.equal(existsSync(`${path}.restoring`), false)
  await record('acc_a', 1)
  assert.equal(count(), 31)
})

test('a restore into an empty data directory recreates the installation', async (t) => {
  const { turnpike, file, dataDir, path, count } = await installation(t)
  const { schema, ...made } = JSON.parse((await turnpike('backup', file('copy.db'), '--json')).out)
  const secretFile = join(dataDir, 'secret')
  const { size: bytes } = statSync(file('copy.db'))
  assert.deepEqual(made, { file: file('copy.db'), bytes, accounts: 2, completions: 30, secret_file: secretFile })
  await rm(dataDir, { recursive: true })
  const { code, out } = await turnpike('restore', file('copy.db'), '--json')
  const restored = { file: file('copy.db'), database: path, previous: null, schema, migrated_to: null, accounts: 2 }
  assert.deepEqual([code, JSON.parse(out)], [0, restored])
  assert.equal(count(), 30)
  assert.equal(statSync(path).mode & 0o777, 0o600)
})

test('a backup never overwrites, and a failed one leaves no file', async (t) => {
  const { turnpike, file, folder, dataDir } = await installation(t)
  writeFileSync(file('there.db'), 'mine')
  const refused = await turnpike('backup', file('there.db'))
  assert.equal(refused.code, 1)
  assert.match(refused.error, /exists and is not overwritten/)
  assert.equal(statSync(file('there.db')).size, 4)
  writeFileSync(file('copy.db.part'), '')
  assert.match((await turnpike('backup', file('copy.db'))).error, /another backup is running, or one was interrupted/)
  assert.equal((await turnpike('backup', join(folder, 'nowhere', 'copy.db'))).code, 1)
  truncateSync(join(dataDir, 'turnpike.db'), 20_000)
  assert.equal((await turnpike('backup', file('other.db'))).code, 1)
  assert.deepEqual(readdirSync(folder).sort(), ['copy.db.part', 'data', 'there.db'])
})

test('a backup works while the service runs; a restore is rejected until it has ended', async (t) => {
  const { dataDir, file, turnpike, asides } = await installation(t)
  const service = await serve(t, dataDir)
  assert.equal((await turnpike('backup', file('copy.db'))).code, 0)
  const refused = await turnpike('restore', file('copy.db'))
  assert.equal(refused.code, 1)
  assert.match(refused.error, /A gateway uses .* \(process \d+\)\. Stop it first\./)
  assert.deepEqual(asides(), [])
  assert.equal((await fetch(service.ready)).status, 200)
  await service.end()
  assert.equal((await turnpike('restore', file('copy.db'))).code, 0)
})

test('a restore is rejected while any process has the file open, even a reader', async (t) => {
  const { path, file, turnpike, asides } = await installation(t)
  await turnpike('backup', file('copy.db'))
  for (const options of ['{}', '{ readOnly: true }']) {
    const open = `const d = new (require('node:sqlite').DatabaseSync)(process.argv[1], ${options});
      d.prepare('select count(*) from account').get(); console.log('open'); setInterval(() => {}, 1e6)`
    const other = spawn(process.execPath, ['-e', open, path], { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(other.stdout, 'data')
    const { code, error } = await turnpike('restore', file('copy.db'))
    assert.equal(code, 1)
    assert.match(error, /is in use/)
    other.kill('SIGKILL')
    await once(other, 'exit')
  }
  assert.deepEqual(asides(), [])
})

test('a restore rejects a damaged or foreign file, a newer release, and inconsistent ledgers', async (t) => {
  const { turnpike, file, count, asides, path, dataDir } = await installation(t)
  await turnpike('backup', file('good.db'))
  const broken = (name: string, ...sql: string[]) => {
    copyFileSync(file('good.db'), file(name))
    const database = new DatabaseSync(file(name))
    for (const statement of sql) database.exec(statement)
    database.close()
  }
  writeFileSync(file('text.db'), 'not a database at all, but long enough to look like something'.repeat(20))
  copyFileSync(file('good.db'), file('cut.db'))
  truncateSync(file('cut.db'), 40_960)
  new DatabaseSync(file('foreign.db')).exec('create table mine (a)')
  broken('newer.db', "insert into schema_migration values ('9999-from-the-future', 1)")
  broken('poorer.db', "update credit set balance_nano_usd = balance_nano_usd + 1 where account_id = 'acc_b'")
  broken('cheaper.db', 'update completion set cost_nano_usd = 0')
  const cases: readonly [string, RegExp][] = [
    ['text.db', /is unusable.*not a database/],
    ['cut.db', /is unusable/],
    ['foreign.db', /not a Turnpike database/],
    ['newer.db', /newer release/],
    ['poorer.db', /do not agree for acc_b in/],
    ['cheaper.db', /do not agree for acc_a, acc_b in/],
    ['missing.db', /does not exist/],
  ]
  for (const [name, message] of cases) {
    const { code, out, error } = await turnpike('restore', file(name))
    assert.deepEqual([code, out], [1, ''], name)
    assert.match(error, message)
  }
  assert.match((await turnpike('restore', path)).error, /the database itself/)
  assert.equal(count(), 30)
  assert.deepEqual(asides(), [])
  assert.deepEqual(
    readdirSync(dataDir).filter((name) => name.includes('restoring')),
    [],
  )
})

test('a database that cannot be opened is moved aside like any other', async (t) => {
  const { turnpike, file, path, count, asides } = await installation(t)
  await turnpike('backup', file('copy.db'))
  writeFileSync(path, 'what a disk may leave of a file'.repeat(500))
  const { code } = await turnpike('restore', file('copy.db'))
  assert.equal(code, 0)
  assert.equal(count(), 30)
  assert.equal(asides().length, 1)
})

test('a backup of an earlier schema is migrated', async (t) => {
  const { turnpike, file, count } = await installation(t)
  await turnpike('backup', file('copy.db'))
  const database = new DatabaseSync(file('copy.db'))
  const newest = String(database.prepare('select max(name) as name from schema_migration').get()?.['name'])
  database.exec(`delete from schema_migration where name = '${newest}'; ${UNDO[newest] ?? ''}`)
  database.close()
  const { code, out, error } = await turnpike('restore', file('copy.db'))
  assert.deepEqual([code, error], [0, ''])
  assert.match(out, new RegExp(`migrated to ${newest}`))
  assert.equal(count(), 30)
})

/** Takes the newest migration back. */
const UNDO: Readonly<Record<string, string>> = {
  '0044-completion-months': 'drop table retired_usage',
  '0043-destination-content': 'alter table telemetry_destination drop column content',
  '0042-performance-days': 'drop table performance_day',
  '0041-raise-ends': 'drop index budget_raise_unalerted; alter table budget_raise drop column end_alerted',
  '0040-analytics-exports': 'drop table analytics_export; drop table analytics_export_late',
  '0023-budgets': `drop table budget; drop table budget_window; drop table budget_raise; drop table budget_alert;
    alter table credit drop column has_budgets; alter table api_key drop column has_budgets;
    alter table hold drop column budgets; alter table ledger drop column budgets`,
  '0025-telemetry-destinations': 'drop table telemetry_destination',
  '0027-guardrails': 'drop table guardrail; alter table account drop column guardrails',
  '0028-rejections': 'drop table rejection',
  '0030-payments': 'drop table payment; drop table payment_account',
  '0029-webhook-kinds': 'alter table webhook drop column kind',
  '0031-provider-hours': 'drop table provider_hour',
  '0032-performance-hours': 'drop table performance_hour',
  '0033-key-rotation': `drop index credential_of_key; alter table credential drop column expires_at;
    alter table api_key drop column disabled_at; alter table api_key drop column previous_last4;
    alter table api_key drop column previous_until; alter table api_key drop column expiry_alert_due`,
  '0034-content-capture': 'drop table completion_content; alter table account drop column content_capture',
  '0038-usage-dimensions': 'drop table usage_dimension; drop table usage_progress; drop table usage_late',
  '0039-pull-requests': 'alter table agent drop column pull_request_url',
  '0036-team-tags': 'alter table team drop column tags; alter table team drop column require_tags',
  '0035-markup': `alter table completion drop column provider_cost_nano_usd; alter table price_version drop column base_version;
    alter table usage_rollup drop column margin_nano_usd; alter table usage_hour drop column margin_nano_usd`,
  '0019-stored-settings': 'drop table stored_setting',
  '0018-request-apis': 'alter table completion drop column api; alter table hold drop column api',
  '0017-stored-responses': 'drop table response',
  '0016-provider-credentials': `drop table provider_credential; alter table account drop column provider_credentials;
    alter table hold drop column byok_fee_ppm`,
  '0015-lineage': `drop index api_key_by_parent; alter table api_key drop column parent_id;
    alter table invitation drop column key_id; alter table hold drop column ancestors;
    alter table webhook drop column created_by; alter table webhook drop column key_id;
    alter table webhook drop column creator_gone_at; alter table agent_message drop column author`,
  '0013-bounded-usage': `alter table completion drop column usage_bounded; alter table completion drop column unbilled_nano_usd;
    alter table credit drop column max_overrun_nano_usd`,
  '0009-agents': `drop table run_artifact; drop table agent_event; drop table agent_message; drop table run; drop table agent;
    drop index completion_agent`,
  '0008-webhooks': `drop table delivery_attempt; drop table delivery; drop table event; drop table webhook;
    create table former as select account_id, month, basis, threshold, spent_nano_usd, limit_nano_usd, created_at from usage_alert;
    drop table usage_alert; alter table former rename to usage_alert`,
}

test('a service that has opened the file during a restore ends instead of writing to the former database', async (t) => {
  const { path, file, turnpike } = await installation(t)
  await turnpike('backup', file('copy.db'))
  const alone = openExclusive(path)
  alone.exec('pragma journal_mode = delete')
  const service = new DatabaseSync(path, { timeout: 0 })
  const begin = () => service.exec('pragma journal_mode = wal') // as every start does
  assert.throws(begin, /locked/)
  await copyFiles(file('copy.db'), `${path}.restoring`)
  await replaceDatabase({ draft: `${path}.restoring`, path, aside: `${path}.aside` })
  alone.close()
  assert.throws(begin, /readonly/)
  service.close()
})

test('on PostgreSQL both commands name the tool to use', async (t) => {
  const { turnpike, file } = await installation(t, {
    DATABASE_URL: 'postgres://u:secret@127.0.0.1:1/x',
    TURNPIKE_SECRET: 's'.repeat(40),
  })
  for (const [command, tool] of [
    ['backup', 'pg_dump'],
    ['restore', 'pg_restore'],
  ] as const) {
    const { code, error } = await turnpike(command, file('copy.db'))
    assert.equal(code, 1)
    assert.ok(error.includes(tool) && !error.includes('secret@'), error)
  }
})
