import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import fc from 'fast-check'
import { createSpoolLog, type Segment, type SpoolLogOptions, type WriteBytes, writeAt } from './log.ts'
import { readLine, splitLines } from './records.ts'

async function openLog(t: TestContext, over: Partial<SpoolLogOptions> = {}) {
  const directory = await mkdtemp(join(tmpdir(), 'turnpike-log-'))
  const errors: unknown[] = []
  const log = createSpoolLog({
    directory,
    name: 'log',
    segmentBytes: 60,
    synced: true,
    prepare: () => {},
    onError: (error) => errors.push(error),
    ...over,
  })
  t.after(async () => {
    await log.close()
    await rm(directory, { recursive: true, force: true })
    assert.deepEqual(errors, [])
  })
  const files = async () => (await readdir(directory)).sort()
  const texts = async () => {
    const contents = await Promise.all((await files()).map((name) => readIfThere(join(directory, name))))
    return contents
      .flatMap((content) => [...splitLines(content)].map(readLine))
      .filter((text) => !text?.startsWith('["E"'))
  }
  return { log, files, texts, directory }
}

/** A file may be deleted after it was listed. */
function readIfThere(path: string): Promise<Buffer> {
  return readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return Buffer.alloc(0)
  })
}

/** Deletions are not waited for by anyone. */
async function until<Value>(look: () => Promise<Value>, expected: Value): Promise<void> {
  for (let tries = 0; tries < 3_000; tries++) {
    if (JSON.stringify(await look()) === JSON.stringify(expected)) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  assert.deepEqual(await look(), expected)
}

const full = Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' })
const range = (length: number) => Array.from({ length }, (_, index) => index)

test('a file is deleted when all that is in it is resolved, in whatever order, and never the one that is written', async (t) => {
  const { log, files } = await openLog(t)
  const places = range(9).map((index) => log.append(`["entry ${index}"]`)) // three to a file
  assert.deepEqual(await files(), ['log-00000001.log', 'log-00000002.log', 'log-00000003.log'])
  assert.equal(log.open(), 9)
  for (const index of [3, 5, 8, 7, 6, 0, 1]) log.resolve(places[index] as Segment)
  assert.deepEqual(await files(), ['log-00000001.log', 'log-00000002.log', 'log-00000003.log'])
  log.resolve(places[4] as Segment)
  await until(files, ['log-00000001.log', 'log-00000003.log'])
  log.append('["entry 9"]')
  await until(files, ['log-00000001.log', 'log-00000004.log'])
  log.resolve(places[2] as Segment)
  await until(files, ['log-00000004.log'])
  assert.equal(log.open(), 1)
  assert.equal(log.bytes(), '12345678 ["entry 9"]\n'.length)
})

test('what depends on something earlier stays for as long as that does', async (t) => {
  const { log, files, texts } = await openLog(t, { segmentBytes: 1 }) // one to a file
  const first = log.append('["D"]')
  log.appendAfter('["R"]', first)
  log.append('["other"]')
  log.append('["and one more"]')
  assert.deepEqual(await texts(), ['["D"]', '["R"]', '["other"]', '["and one more"]'])
  assert.equal(log.open(), 3)
  assert.ok(log.bytes() >= '["D"]["R"]["other"]["and one more"]'.length + 4 * 10, 'nothing is being deleted')
  log.resolve(first)
  await until(texts, ['["other"]', '["and one more"]'])
  assert.equal((await files()).length, 2)
})

test('the same holds within one file, and when the earlier one is gone already', async (t) => {
  const { log, texts } = await openLog(t, { segmentBytes: 1_000 })
  const first = log.append('["D"]')
  log.appendAfter('["R"]', first)
  log.resolve(first)
  assert.deepEqual(await texts(), ['["D"]', '["R"]'])
  assert.equal(log.open(), 0)
  const small = await openLog(t, { segmentBytes: 1 })
  const early = small.log.append('["D"]')
  small.log.append('["other"]')
  small.log.resolve(early)
  small.log.appendAfter('["R"]', early)
  small.log.append('["last"]')
  await until(small.texts, ['["other"]', '["last"]'])
})

test('bytes and open entries are right whatever comes in whatever order', async (t) => {
  const directory = await mkdtemp(join(tmpdir(), 'turnpike-log-'))
  t.after(() => rm(directory, { recursive: true, force: true }))
  let made = 0
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(20), { maxLength: 60 }), async (steps) => {
      const log = createSpoolLog({
        directory,
        name: `run${++made}`,
        segmentBytes: 80,
        synced: false,
        prepare: () => {},
        onError: assert.ifError,
      })
      const alive: { text: string; entry: Segment }[] = []
      for (const step of steps) {
        const text = `["${'x'.repeat(step)}"]`
        if (step % 3 === 0 && alive.length > 0)
          log.resolve((alive.splice(step % alive.length, 1)[0] as (typeof alive)[0]).entry)
        else alive.push({ text, entry: log.append(text) })
        assert.equal(log.open(), alive.length)
        assert.ok(log.bytes() >= alive.reduce((sum, each) => sum + each.text.length + 10, 0))
      }
      for (const { entry } of alive) {
        const content = await readFile(entry.path)
        assert.ok([...splitLines(content)].length > 0, 'what is not resolved is there')
      }
      for (const { entry } of alive) log.resolve(entry)
      assert.equal(log.open(), 0)
      assert.ok(log.bytes() <= 80 + 40, 'one file at most is left')
      await log.close()
    }),
    { numRuns: 200 },
  )
})

test('DUR-3: a line that could be written in part only is not there, and the next one is whole', async (t) => {
  let room = Number.POSITIVE_INFINITY
  const write: WriteBytes = (fd, bytes, where) => {
    const length = Math.min(where.length, room)
    if (length === 0) throw full
    room -= length
    return writeAt(fd, bytes, { ...where, length })
  }
  const { log, texts } = await openLog(t, { segmentBytes: 1_000, write })
  log.append('["one"]')
  const before = log.bytes()
  room = 20
  assert.throws(() => log.append(`["${'long '.repeat(20)}"]`), { code: 'ENOSPC' })
  assert.deepEqual(await texts(), ['["one"]'])
  assert.equal(log.bytes(), before)
  room = Number.POSITIVE_INFINITY
  log.append('["two"]')
  assert.deepEqual(await texts(), ['["one"]', '["two"]'])
  assert.equal(log.open(), 2)
})

test('a write that ends early goes on where it was', async (t) => {
  const write: WriteBytes = (fd, bytes, where) => writeAt(fd, bytes, { ...where, length: Math.min(where.length, 3) })
  const { log, texts } = await openLog(t, { write })
  log.append('["in small pieces"]')
  assert.deepEqual(await texts(), ['["in small pieces"]'])
})

test('a file that cannot be made does not spoil what comes later', async (t) => {
  let broken = true
  const prepare = () => {
    if (broken) throw full
  }
  const { log, texts } = await openLog(t, { prepare })
  assert.throws(() => log.append('["lost"]'), { code: 'ENOSPC' })
  assert.equal(log.open(), 0)
  broken = false
  log.append('["kept"]')
  assert.deepEqual(await texts(), ['["kept"]'])
})

test('many syncs at once are two, and each waits for what was appended before it', async (t) => {
  const { log } = await openLog(t, { segmentBytes: 1_000_000 })
  const segment = log.append('["first"]')
  const under = log.sync()
  const syncs = range(100).map((index) => {
    log.append(`["${index}"]`)
    return log.sync()
  })
  assert.equal(new Set(syncs).size, 1)
  assert.equal(syncs.includes(under), false)
  assert.equal(segment.dirty, true)
  await Promise.all([under, ...syncs])
  assert.equal(segment.dirty, false)
})

test('what could not be synced is synced the next time', async (t) => {
  const { log } = await openLog(t)
  const segment = log.append('["first"]')
  const { fd } = segment
  segment.fd = 999_999 // no such file is open
  await assert.rejects(log.sync(), { code: 'EBADF' })
  segment.fd = fd
  assert.equal(segment.dirty, true)
  await log.sync()
  assert.equal(segment.dirty, false)
})

test('a sync in the midst of appending and deleting resolves, and leaves no file open that is gone', async (t) => {
  const { log } = await openLog(t)
  const seen = new Set<Segment>()
  const syncs: Promise<void>[] = []
  for (const index of range(200)) {
    const entry = log.append(`["entry ${index}"]`)
    seen.add(entry)
    if (index % 7 === 0) syncs.push(log.sync())
    if (index % 5 !== 0) log.resolve(entry)
    if (index % 20 === 0) await new Promise(setImmediate)
  }
  await Promise.all(syncs)
  await log.sync()
  for (const segment of seen) {
    if (segment.removed) assert.equal(segment.fd, undefined)
    if (segment.full) assert.equal(segment.fd, undefined)
  }
})
