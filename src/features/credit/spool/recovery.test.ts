import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { copyFile, cp, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { copyCurrentFile } from '../../../../test/support/current-databases.ts'
import { testIds } from '../../../../test/support/ids.ts'
import {
  ACCOUNT,
  ledgerSnapshot,
  openAccount,
  openSpooledCredit,
  recordingLog,
  spooledCredit,
} from '../../../../test/support/ledger/spooled-credit.ts'
import { dataRoot } from '../../../../test/support/process/data-root.ts'
import type { Left } from '../../../../test/support/process/spool-victim.ts'
import { temporaryPath } from '../../../../test/support/sqlite-file.ts'
import { openDatabase } from '../../../db/open.ts'
import { GatewayError } from '../../../domain/errors.ts'
import type { InstanceId } from '../../../domain/ids.ts'
import { LEDGER_PROGRAMS } from '../ledger/sqlite/store.ts'
import { COMPLETE_FILE, currentProcess, OWNER_FILE, spoolRoot } from './directory.ts'
import { damagedSpools } from './reader.ts'
import { type RecoveryInput, recoverSpools } from './recovery.ts'

const VICTIM = fileURLToPath(new URL('../../../../test/support/process/spool-victim.ts', import.meta.url))
/** For which the database is away. */
const AWAY = 'away'
const rebooted = { ...currentProcess(), bootId: 'the next run of this machine' }
const START = 1_000_000n
const SETTLED = 60n + 60n + 61n

/** A process that leaves a spool, and where. */
interface Victim {
  readonly child: ChildProcess
  readonly theirs: InstanceId
  readonly said: unknown
  readonly path: string
  readonly dataDirectory: string
}

const victims: { readonly folder: string; readonly child: ChildProcess }[] = []
after(async () => {
  for (const { folder, child } of victims) {
    child.kill('SIGKILL')
    await rm(folder, { recursive: true, force: true, maxRetries: 5 })
  }
})

async function startVictim(mode: string): Promise<Victim> {
  const folder = await mkdtemp(join(dataRoot, 'turnpike-victim-'))
  const [path, dataDirectory] = [join(folder, 'turnpike.db'), join(folder, 'data')]
  await copyCurrentFile(path)
  const database = await openDatabase({ path, programs: LEDGER_PROGRAMS })
  await openAccount(database, START)
  await database.close()
  const theirs = testIds.instance()
  const child = spawn(process.execPath, [VICTIM, path, dataDirectory, theirs, mode], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  victims.push({ folder, child })
  const [line] = await once(createInterface(child.stdout), 'line')
  return { child, theirs, said: JSON.parse(String(line)), path, dataDirectory }
}

/** By mode: one is enough, since each test has copies of all that it left. */
const killed = new Map<string, Promise<Victim>>()

async function killVictim(mode: string): Promise<Victim> {
  const victim = await startVictim(mode)
  const { child } = victim
  if (mode === '' || mode === AWAY) child.kill('SIGKILL')
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
  assert.equal(child.signalCode, 'SIGKILL')
  return victim
}

/** What a killed process left, and another process that finds it. */
async function victim(t: TestContext, mode = '') {
  const dead = killed.get(mode) ?? killVictim(mode)
  killed.set(mode, dead)
  const found = await find(t, await dead)
  return { ...found, left: found.said as Left }
}

async function find(t: TestContext, { theirs, said, ...original }: Victim) {
  const path = await temporaryPath(t)
  for (const end of ['', '-wal']) await copyFile(original.path + end, path + end)
  const dataDirectory = await mkdtemp(join(dataRoot, 'turnpike-spool-'))
  await cp(original.dataDirectory, dataDirectory, { recursive: true })
  const credit = await spooledCredit(t, { dataDirectory, path })
  const { database, committer, instanceId, db } = credit
  const log = recordingLog()
  const recover = (over: Partial<RecoveryInput> = {}) =>
    recoverSpools({ dataDirectory, instanceId, db, committer, steady: () => false, log, ...over })
  const root = spoolRoot(dataDirectory)
  const directory = join(root, theirs)
  const remains = async () => (await readdir(root)).filter((name) => name.startsWith(theirs))
  return { ...credit, theirs, said, log, recover, root, directory, remains, now: () => ledgerSnapshot(database) }
}

async function editLog(
  directory: string,
  log: 'dispatched' | 'settled',
  edit: (text: string) => string,
): Promise<void> {
  const file = join(directory, `${log}-00000001.log`)
  await writeFile(file, edit(await readFile(file, 'latin1')), 'latin1')
}

/** As after a lease has run out: no instance of theirs was ever seen, and our own is fresh, for longer than a test takes. */
async function seen({ db, instanceId }: { db: RecoveryInput['db']; instanceId: InstanceId }, ...others: string[]) {
  for (const id of [instanceId, ...others]) {
    const row = { id, version: '0', role: 'all', address: null, started_at: 0, seen_at: Date.now() + 3_600_000 }
    await db.insertInto('instance').values(row).execute()
  }
}

test('INV-4 INV-5: what a killed process had settled is charged exactly, what never left is given back', async (t) => {
  const { recover, left, now, remains, log } = await victim(t)
  assert.equal((await now()).held, 600n)
  await recover()
  const after = await now()
  assert.equal(after.balance, START - SETTLED)
  assert.deepEqual(
    after.completions.map(({ id, cost_nano_usd, usage_source }) => ({ id, cost_nano_usd, usage_source })),
    left.settled.map((id, index) => ({ id, cost_nano_usd: index === 2 ? 61n : 60n, usage_source: 'provider' })),
  )
  assert.deepEqual(
    after.holds.map(({ id }) => id),
    [left.underWay],
    'it had left: the sweep charges it',
  )
  assert.equal(after.held, 100n)
  assert.deepEqual(await remains(), [])
  assert.deepEqual(
    log.lines.filter(({ level }) => level !== 'info'),
    [],
  )
  await recover()
  assert.deepEqual(await now(), after)
})

test('IDEM-6: the answer that is kept comes with the charge, also from a spool', async (t) => {
  const { recover, left, db, theirs } = await victim(t)
  const row = {
    account_id: ACCOUNT,
    endpoint: 'POST /v1/chat/completions',
    key: 'their-key',
    state: 'running' as const,
  }
  await db
    .insertInto('idempotency')
    .values({
      ...row,
      fingerprint: new Uint8Array(32),
      subject_id: left.settled[2] ?? '',
      instance_id: theirs,
      lease_until: 0,
      created_at: 0,
    })
    .execute()
  await recover()
  const kept = await db.selectFrom('idempotency').selectAll().executeTakeFirstOrThrow()
  assert.deepEqual([kept.state, kept.status, kept.body], ['kept', 200, '{"answer":"é\\n"}'])
})

test('a process that lives is left alone', async (t) => {
  const { recover, now, remains, theirs, directory, db, instanceId } = await find(t, await startVictim(''))
  const [before, files] = [await now(), await readdir(directory)]
  await recover()
  await seen({ db, instanceId })
  await recover({ steady: () => true })
  assert.deepEqual(await now(), before)
  assert.deepEqual(await remains(), [theirs])
  assert.deepEqual(await readdir(directory), files)
})

test('power loss: what was settled is charged at once; whose requests left is not known, so they wait for the sweep', async (t) => {
  const credit = await victim(t)
  const { recover, now, left, remains, theirs } = credit
  await recover({ own: rebooted })
  const after = await now()
  assert.equal(after.balance, START - SETTLED)
  const open = [left.neverLeft, left.underWay, left.released].sort()
  assert.deepEqual(
    after.holds.map(({ id }) => id),
    open,
  )
  assert.deepEqual(await remains(), [theirs], 'it may be another machine, which lives')
  await seen(credit, theirs)
  await recover({ own: rebooted, steady: () => true })
  assert.deepEqual(await remains(), [theirs])
  await credit.db.updateTable('instance').set({ seen_at: 0 }).where('id', '=', theirs).execute()
  await recover({ own: rebooted, steady: () => true })
  assert.deepEqual(await remains(), [])
  const swept = await now()
  assert.deepEqual(
    swept.holds.map(({ id }) => id),
    [left.neverLeft, left.underWay].sort(),
    'a release is noted, and true',
  )
  assert.equal(swept.balance, START - SETTLED)
})

test('nobody is taken for gone by a process that was not seen itself', async (t) => {
  const { recover, remains, theirs } = await victim(t)
  await recover({ own: { ...currentProcess(), pidNamespace: 'pid:[1]' }, steady: () => true })
  assert.deepEqual(await remains(), [theirs])
})

test('a last line that was cut off is no line, and one that the checkpoint counts is missing', async (t) => {
  const { recover, now, left, directory, log } = await victim(t)
  await editLog(directory, 'settled', (text) => text.slice(0, -5))
  await editLog(directory, 'dispatched', (text) => `${text}00000000 ["D","${left.neverLeft}`)
  await recover()
  const after = await now()
  assert.equal(after.completions.length, 2)
  assert.deepEqual(
    after.holds.map(({ id }) => id),
    [left.settled[2], left.underWay].sort(),
  )
  const errors = log.lines.filter(({ level }) => level === 'error')
  assert.match(JSON.stringify(errors), /settled-00000001\.log: not the 3 lines of the checkpoint/)
  assert.doesNotMatch(JSON.stringify(errors), /dispatched/)
})

test('a damaged settlement is kept aside and told of, and costs no other', async (t) => {
  const { recover, now, left, directory, root, theirs, log } = await victim(t)
  await editLog(directory, 'settled', (text) => text.replace('"costNanoUsd":"60"', '"costNanoUsd":"10"'))
  await recover()
  const after = await now()
  assert.deepEqual(
    after.completions.map(({ id }) => id),
    left.settled.slice(1),
  )
  assert.deepEqual(
    after.holds.map(({ id }) => id),
    [left.settled[0], left.underWay].sort(),
  )
  const aside = await readFile(join(root, `${theirs}.damaged`, 'settled-00000001.log'), 'utf8')
  assert.match(aside, new RegExp(`^[0-9a-f]{8} \\["S",.*${left.settled[0]}.*\\n`))
  assert.equal(log.lines.filter(({ level }) => level === 'error').length, 1)
})

test('a settlement that the ledger refuses is kept aside too', async (t) => {
  const { recover, left, root, theirs, committer, remains } = await victim(t)
  const submit: typeof committer.submit = async (unit) =>
    unit.kind === 'settle' && unit.record.id === left.settled[1]
      ? { kind: 'failed', message: 'a broken constraint' }
      : committer.submit(unit)
  await recover({ committer: { submit } })
  assert.match(
    await readFile(join(root, `${theirs}.damaged`), 'utf8'),
    new RegExp(`^\\S+ \\["S",.*${left.settled[1]}.*\\n$`),
  )
  assert.deepEqual(await remains(), [`${theirs}.damaged`])
})

test('where something is missing of what left, nothing is given back that may have', async (t) => {
  const first = await victim(t)
  await editLog(first.directory, 'dispatched', (text) => text.replace(`"D"`, `"d"`))
  await first.recover()
  const second = await victim(t)
  await rm(join(second.directory, COMPLETE_FILE))
  await second.recover()
  for (const { now, left, remains } of [first, second]) {
    const { holds, balance } = await now()
    assert.deepEqual(
      holds.map(({ id }) => id),
      [left.neverLeft, left.underWay].sort(),
    )
    assert.equal(balance, START - SETTLED)
    assert.equal((await remains()).filter((name) => !name.endsWith('.damaged')).length, 0)
  }
})

test('without its owner a spool is read like that of an unknown process', async (t) => {
  const credit = await victim(t)
  const { recover, now, directory, remains, left, theirs } = credit
  await rm(join(directory, OWNER_FILE))
  await recover()
  assert.equal((await now()).balance, START - SETTLED)
  assert.deepEqual(await remains(), [theirs])
  await seen(credit)
  await recover({ steady: () => true })
  assert.deepEqual(await remains(), [])
  assert.deepEqual(
    (await now()).holds.map(({ id }) => id),
    [left.neverLeft, left.underWay].sort(),
  )
})

test('a spool that was written by a newer release is not touched', async (t) => {
  const { recover, now, directory, remains, theirs, log } = await victim(t)
  const owner = JSON.parse(await readFile(join(directory, OWNER_FILE), 'utf8'))
  await writeFile(join(directory, OWNER_FILE), JSON.stringify({ ...owner, version: 2 }))
  await recover()
  assert.equal((await now()).completions.length, 0)
  assert.deepEqual(await remains(), [theirs])
  assert.match(log.lines[0]?.message ?? '', /newer release/)
})

test('INV-4: two that recover at once charge once, and neither takes a half-deleted spool for the truth', async (t) => {
  const credit = await victim(t)
  const { recover, now, left, remains, database, dataDirectory } = credit
  const others = [1, 2, 3].map(() => openSpooledCredit(database, { dataDirectory }))
  t.after(() => Promise.all(others.flatMap(({ committer, spool }) => [committer.close(), spool.close()])))
  await Promise.all([recover(), ...others.map(({ instanceId, committer }) => recover({ instanceId, committer }))])
  const after = await now()
  assert.deepEqual([after.balance, after.completions.length], [START - SETTLED, 3])
  assert.deepEqual(
    after.holds.map(({ id }) => id),
    [left.underWay],
  )
  assert.deepEqual(await remains(), [])
})

test('a start and a sweep of one process may recover at the same time', async (t) => {
  const { recover, now, left, remains, log } = await victim(t)
  await Promise.all([recover(), recover(), recover()])
  await recover()
  const after = await now()
  assert.deepEqual([after.balance, after.completions.length], [START - SETTLED, 3])
  assert.deepEqual(
    after.holds.map(({ id }) => id),
    [left.underWay],
  )
  assert.deepEqual(await remains(), [])
  assert.equal(log.lines.length, 1)
})

test('who dies while it recovers is followed by another, and who lives is not disturbed', async (t) => {
  const credit = await victim(t)
  const { recover, now, left, remains, database, dataDirectory, root, directory, theirs } = credit
  const reader = openSpooledCredit(database, { dataDirectory })
  const claimed = `${theirs}.by.${reader.instanceId}`
  await rename(directory, join(root, claimed))
  await recover()
  assert.deepEqual(await remains(), [claimed], 'its reader is this very process, which lives')
  await reader.committer.close()
  await reader.spool.close()
  await recover()
  assert.deepEqual(await remains(), [])
  assert.deepEqual(
    (await now()).holds.map(({ id }) => id),
    [left.underWay],
  )
})

test('while the database is away a spool waits, whole', async (t) => {
  const { recover, now, left, remains, committer, log } = await victim(t)
  let answers = 2
  const submit: typeof committer.submit = (unit) =>
    answers-- > 0 ? committer.submit(unit) : Promise.reject(new GatewayError('database_unavailable', 'away'))
  await recover({ committer: { submit } })
  assert.equal((await remains()).length, 1)
  assert.equal(log.lines.filter(({ level }) => level === 'warn').length, 1)
  await recover()
  const after = await now()
  assert.deepEqual([after.balance, after.completions.length], [START - SETTLED, 3])
  assert.deepEqual(
    after.holds.map(({ id }) => id),
    [left.underWay],
  )
  assert.deepEqual(await remains(), [])
})

test('what was admitted without the database is charged: exactly where it ended, its prompt where it had left', async (t) => {
  const { recover, now, left, remains } = await victim(t, AWAY)
  assert.equal((await now()).held, 0n)
  await recover()
  const after = await now()
  assert.deepEqual(
    after.completions.map(({ id, cost_nano_usd, status, usage_source }) => [id, cost_nano_usd, status, usage_source]),
    [
      [left.settled[0], 60n, 'completed', 'provider'],
      [left.settled[1], 60n, 'completed', 'provider'],
      [left.settled[2], 61n, 'completed', 'provider'],
      [left.underWay, 10n, 'incomplete', 'estimated'],
    ],
  )
  assert.deepEqual([after.balance, after.held], [START - SETTLED - 10n, 0n])
  assert.deepEqual(await remains(), [])
})

test("a process that ended well leaves nothing to recover, and other files in the folder are nobody's spool", async (t) => {
  const { recover, log, root } = await victim(t)
  await recover()
  log.lines.length = 0
  await writeFile(join(root, 'ins_x.damaged'), 'kept')
  await recover()
  assert.deepEqual(log.lines, [])
  assert.equal(existsSync(join(root, 'ins_x.damaged')), true)
})

for (const [point, charged, isHeld] of [
  ['before_settle', 0n, true],
  ['in_settle', 60n, false],
  ['after_settle', 60n, false],
] as const) {
  test(`F16: killed at ${point}, it is charged ${charged === 0n ? 'by the sweep' : 'exactly'}`, async (t) => {
    const { said, recover, now, remains } = await find(t, await killVictim(point))
    await recover()
    const { balance, completions, holds } = await now()
    assert.equal(balance, START - charged)
    assert.deepEqual(
      completions.map(({ id }) => id),
      isHeld ? [] : [said],
    )
    assert.deepEqual(
      holds.map(({ id }) => id),
      isHeld ? [said] : [],
    )
    assert.deepEqual(await remains(), [])
  })
}

/** What can happen to a log's file; @returns what the file has instead; undefined: nothing. */
const DAMAGES: Readonly<Record<string, (log: Buffer, other: Buffer) => Buffer | undefined>> = {
  'truncated in a line': (log) => log.subarray(0, Math.floor(log.length / 2)),
  'truncated after a line': (log) => log.subarray(0, log.indexOf(10) + 1),
  emptied: () => Buffer.alloc(0),
  zeroed: (log) => Buffer.alloc(log.length),
  'zeroed at its end': (log) => Buffer.concat([log.subarray(0, log.indexOf(10) + 1), Buffer.alloc(100)]),
  'without a line in its midst': (log) => Buffer.concat([log.subarray(log.indexOf(10) + 1)]),
  'with its lines in another order': (log) => {
    const at = log.indexOf(10) + 1
    return Buffer.concat([log.subarray(at), log.subarray(0, at)])
  },
  deleted: () => undefined,
  'swapped for the other': (_, other) => other,
}

for (const [what, damage] of Object.entries(DAMAGES)) {
  for (const log of ['dispatched', 'settled'] as const) {
    test(`INV-5, INV-10: a log of what was ${log} that is ${what} is not taken for a shorter one`, async (t) => {
      const { recover, left, now, root, directory, theirs, dataDirectory } = await victim(t)
      const fileOf = (name: string) => join(directory, `${name}-00000001.log`)
      const other = await readFile(fileOf(log === 'settled' ? 'dispatched' : 'settled'))
      const content = damage(await readFile(fileOf(log)), other)
      if (content === undefined) await rm(fileOf(log))
      else await writeFile(fileOf(log), content)
      await recover()
      const { holds, completions, balance } = await now()
      const charged = completions.reduce((sum, { cost_nano_usd: cost }) => sum + cost, 0n)
      assert.equal(balance, START - charged)
      assert.ok(completions.every(({ id }) => left.settled.includes(id)))
      const open = new Set<string>(holds.map(({ id }) => id))
      assert.ok(open.has(left.underWay))
      for (const id of left.settled)
        assert.ok(open.has(id) !== completions.some((each) => each.id === id), 'no doubt is free')
      if (log === 'dispatched') assert.ok(open.has(left.neverLeft), 'what is missing proves nothing')
      else assert.ok(!open.has(left.neverLeft), 'the other log is whole')
      const [kept] = await damagedSpools(dataDirectory)
      assert.equal(kept?.path, join(root, `${theirs}.damaged`))
      assert.deepEqual(new Set(kept?.report?.undecided.map(({ completion }) => completion)), open)
      assert.ok((kept?.report?.problems.length ?? 0) > 0)
    })
  }
}

test('a spool of a release without checkpoints is recovered as it was', async (t) => {
  const { recover, left, now, directory, remains } = await victim(t)
  const { checkpoint: _, ...owner } = JSON.parse(await readFile(join(directory, OWNER_FILE), 'utf8'))
  await writeFile(join(directory, OWNER_FILE), JSON.stringify(owner))
  await rm(join(directory, 'checkpoint'))
  await recover()
  const { holds, balance } = await now()
  assert.equal(balance, START - SETTLED)
  assert.deepEqual(
    holds.map(({ id }) => id),
    [left.underWay],
  )
  assert.deepEqual(await remains(), [])
})
