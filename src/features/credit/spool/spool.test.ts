import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { testIds } from '../../../../test/support/ids.ts'
import { completionRecord } from '../../../../test/support/ledger/completions.ts'
import { PREPAID, recordingLog } from '../../../../test/support/ledger/spooled-credit.ts'
import { mountSmallDisk, type SmallDisk } from '../../../../test/support/process/small-disk.ts'
import type { SettleUnit } from '../ledger/unit.ts'
import { COMPLETE_FILE, OWNER_FILE, RESERVE_FILE, spoolRoot } from './directory.ts'
import { type ByteRange, writeAt } from './log.ts'
import { openSpool, type SpooledHold, type SpoolOptions } from './spool.ts'

const MEBIBYTE = 1024 * 1024
const never = new Promise<void>(() => {})

async function spoolIn(t: TestContext, over: Partial<SpoolOptions> = {}) {
  const dataDirectory = over.dataDirectory ?? (await mkdtemp(join(tmpdir(), 'turnpike-spool-')))
  const instanceId = testIds.instance()
  const log = recordingLog()
  const spool = openSpool({ dataDirectory, instanceId, log, clock: () => performance.now(), ...over })
  t.after(async () => {
    await spool.close()
    if (over.dataDirectory === undefined) await rm(dataDirectory, { recursive: true, force: true })
  })
  const root = spoolRoot(dataDirectory)
  const directory = join(root, instanceId)
  const text = () => {
    const logs = existsSync(directory) ? readdirSync(directory).filter((name) => name.endsWith('.log')) : []
    return logs.map((name) => readIfThere(join(directory, name))).join('')
  }
  return { spool, root, directory, log, text }
}

/** What is resolved is deleted by and by, also after it was listed. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if (!existsSync(path)) return ''
    throw error
  }
}

function held(): SpooledHold {
  return { id: testIds.completion(), dispatchedAt: undefined, intentAt: undefined }
}

function unitOf({ id }: SpooledHold, over: Partial<SettleUnit> = {}): SettleUnit {
  return {
    kind: 'settle',
    record: completionRecord({ id }),
    terms: PREPAID,
    unrecorded: false,
    kept: undefined,
    ...over,
  }
}

/** A disk that takes so many more bytes. */
function limitedWrites() {
  const disk = { room: Number.POSITIVE_INFINITY, code: 'ENOSPC' }
  const write = (fd: number, bytes: Uint8Array, where: ByteRange) => {
    const length = Math.min(where.length, disk.room)
    if (length === 0) throw Object.assign(new Error(disk.code), { code: disk.code })
    disk.room -= length
    return writeAt(fd, bytes, { ...where, length })
  }
  return { disk, write }
}

async function until(look: () => boolean): Promise<void> {
  for (let tries = 0; tries < 3_000 && !look(); tries++) await new Promise((resolve) => setTimeout(resolve, 10))
  assert.ok(look())
}

test('its folder is for its owner alone, and says whose it is', async (t) => {
  const { spool, root, directory } = await spoolIn(t)
  spool.dispatched(held())
  for (const folder of [root, directory]) assert.equal(statSync(folder).mode & 0o777, 0o700)
  for (const name of readdirSync(directory)) assert.equal(statSync(join(directory, name)).mode & 0o777, 0o600)
  assert.equal(JSON.parse(readFileSync(join(directory, OWNER_FILE), 'utf8')).pid, process.pid)
})

test('what the database has taken is deleted, and what it has not stays', async (t) => {
  const { spool, directory, text } = await spoolIn(t)
  const [first, second] = [held(), held()]
  const settled = Promise.resolve()
  for (const hold of [first, second]) spool.dispatched(hold)
  spool.follow(settled, spool.settled(unitOf(first)), first)
  spool.follow(never, spool.settled(unitOf(second)), second)
  await settled
  assert.equal(spool.waiting(), 1)
  assert.match(text(), new RegExp(second.id))
  await spool.close()
  assert.equal(existsSync(directory), true)
})

test('a promise that stands for many settlements ends them all, and one that has ended starts again', async (t) => {
  const { spool, directory } = await spoolIn(t)
  const committed = Promise.resolve()
  for (const hold of [held(), held(), held()]) {
    spool.dispatched(hold)
    spool.follow(committed, spool.settled(unitOf(hold)), hold)
  }
  assert.equal(spool.waiting(), 3)
  await committed
  assert.equal(spool.waiting(), 0)
  const late = held()
  spool.follow(committed, spool.settled(unitOf(late)), late)
  assert.equal(spool.waiting(), 1)
  await committed
  assert.equal(spool.waiting(), 0)
  await spool.close()
  assert.equal(existsSync(directory), false)
})

test('however long it runs, it keeps what is open and little more', async (t) => {
  const { spool, directory } = await spoolIn(t)
  const long = held()
  spool.dispatched(long)
  for (let round = 0; round < 40; round++) {
    const committed = Promise.resolve()
    for (let index = 0; index < 250; index++) {
      const hold = held()
      spool.dispatched(hold)
      spool.follow(committed, spool.settled(unitOf(hold)), hold)
    }
    await committed
  }
  assert.ok(spool.bytes() < 2 * MEBIBYTE, `${spool.bytes()}`)
  await until(() => readdirSync(directory).filter((name) => name.endsWith('.log')).length <= 4)
})

test('beyond its bounds there is no room for more, but all room for what runs [limit: spool]', async (t) => {
  const { spool } = await spoolIn(t, { maxBytes: 20 * 1024, maxSettlements: 1_000 })
  assert.equal(spool.room(19), true)
  assert.equal(spool.room(20), false)
  let committed = Promise.withResolvers<void>()
  const holds = Array.from({ length: 100 }, held)
  for (const hold of holds) spool.follow(committed.promise, spool.settled(unitOf(hold)), hold)
  assert.equal(spool.room(0), false)
  assert.equal(spool.waiting(), 100)
  assert.equal(spool.unwritten(), 0)
  committed.resolve()
  await committed.promise
  const few = await spoolIn(t, { maxSettlements: 3 })
  committed = Promise.withResolvers()
  few.spool.follow(committed.promise, few.spool.settled(unitOf(held())), held())
  assert.equal(few.spool.room(1), true)
  assert.equal(few.spool.room(2), false)
})

test('DUR-3: a full disk takes the reserve, then memory; nothing is lost, and it is written when there is space', async (t) => {
  const { disk, write } = limitedWrites()
  const { spool, root, directory, log, text } = await spoolIn(t, { write })
  const reserve = join(root, RESERVE_FILE)
  await until(() => existsSync(reserve))
  assert.equal(statSync(reserve).size, 4 * MEBIBYTE)
  const first = held()
  spool.dispatched(first)
  disk.room = 0
  const second = held()
  const entry = spool.settled(unitOf(first))
  spool.follow(never, entry, first)
  assert.equal(existsSync(reserve), false)
  assert.deepEqual([spool.unwritten(), spool.waiting()], [1, 1])
  assert.equal(spool.room(0), false, 'nothing is admitted that could not be noted')
  spool.dispatched(second)
  assert.equal(existsSync(join(directory, COMPLETE_FILE)), false, 'a request left that is not noted')
  spool.follow(never, spool.settled(unitOf(second)), second)
  assert.equal(spool.unwritten(), 2)
  disk.room = Number.POSITIVE_INFINITY
  await until(() => spool.unwritten() === 0)
  assert.equal(spool.room(0), true)
  assert.equal(spool.waiting(), 2)
  assert.match(text(), new RegExp(`"S".*${first.id}[^]*"S".*${second.id}`))
  assert.equal(log.lines.filter(({ level }) => level === 'error').length, 1, 'told once, however often it happens')
})

test('what the database takes before the disk does is not written any more', async (t) => {
  const { disk, write } = limitedWrites()
  const { spool, text } = await spoolIn(t, { write })
  disk.room = 0
  disk.code = 'EIO'
  const committed = Promise.withResolvers<void>()
  const [taken, left] = [held(), held()]
  spool.follow(committed.promise, spool.settled(unitOf(taken)), taken)
  spool.follow(never, spool.settled(unitOf(left)), left)
  committed.resolve()
  await committed.promise
  assert.equal(spool.unwritten(), 1)
  disk.room = Number.POSITIVE_INFINITY
  await until(() => spool.unwritten() === 0)
  assert.doesNotMatch(text(), new RegExp(taken.id))
  assert.match(text(), new RegExp(left.id))
})

test('an intent that cannot be written is refused, and is nothing', async (t) => {
  const { disk, write } = limitedWrites()
  const { spool } = await spoolIn(t, { write })
  disk.room = 0
  const hold = held()
  await assert.rejects(spool.intent(hold, unitOf(hold)), { code: 'ENOSPC' })
  spool.released(hold)
  disk.room = Number.POSITIVE_INFINITY
  await spool.intent(hold, unitOf(hold))
  assert.equal(spool.waiting(), 1)
  spool.released(hold)
  assert.equal(spool.waiting(), 0)
})

test('a folder that another process has taken is made again, and proves nothing any more', async (t) => {
  const { spool, directory, text } = await spoolIn(t)
  const long = held()
  spool.dispatched(long)
  rmSync(directory, { recursive: true })
  for (let index = 0; index < 6_000; index++) {
    const hold = held()
    spool.dispatched(hold)
    spool.released(hold)
  }
  assert.match(text(), /"R"/)
  assert.equal(existsSync(join(directory, OWNER_FILE)), true)
  assert.equal(existsSync(join(directory, COMPLETE_FILE)), false)
})

test('DUR-3: on a disk that really is full', async (t) => {
  const disk = smallDisk(t)
  if (disk === undefined) return
  const { spool, root, text } = await spoolIn(t, { dataDirectory: disk.path })
  await until(() => existsSync(join(root, RESERVE_FILE)))
  const holds = Array.from({ length: 12_000 }, held)
  for (const hold of holds.slice(0, 10)) spool.dispatched(hold)
  disk.fill()
  for (const hold of holds) spool.follow(never, spool.settled(unitOf(hold)), hold)
  assert.equal(existsSync(join(root, RESERVE_FILE)), false, 'the reserve was used')
  assert.ok(spool.unwritten() > 0 && spool.unwritten() < holds.length)
  assert.equal(spool.waiting(), holds.length)
  assert.equal(spool.room(0), false)
  disk.clear()
  await until(() => spool.unwritten() === 0)
  const written = new Set([...text().matchAll(/"S",\{"record":\{"id":"([^"]+)"/g)].map(([, id]) => id))
  assert.equal(holds.filter(({ id }) => !written.has(id)).length, 0)
})

/** Undefined where nothing may be mounted: then the disk that is simulated above must do. */
function smallDisk(t: TestContext): SmallDisk | undefined {
  try {
    const disk = mountSmallDisk(16)
    t.after(disk.remove)
    return disk
  } catch (error) {
    t.skip(error instanceof Error ? error.message : String(error))
    return undefined
  }
}
