import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import type { DialectName } from '../../src/db/database.ts'
import { formGroups, runsAlone } from './test-groups.ts'
import type { TestTask } from './test-progress.ts'

const task = (file: string, seconds = 1, dialect: DialectName = 'sqlite'): TestTask => ({ file, dialect, seconds })
const isAlone = ({ file }: TestTask): boolean => file.includes('alone')
const filesOf = (tasks: readonly TestTask[]) =>
  formGroups(tasks, isAlone).map(({ tasks: members, dialect }) => [dialect, ...members.map(({ file }) => file)])

test('neighbours share a process on the same database, the longest group comes first', () => {
  const tasks = [
    task('src/b.test.ts', 3),
    task('src/alone.test.ts', 5),
    task('src/a.test.ts', 4),
    task('src/a.test.ts', 2, 'postgres'),
  ]
  assert.deepEqual(filesOf(tasks), [
    ['sqlite', 'src/a.test.ts', 'src/b.test.ts'],
    ['sqlite', 'src/alone.test.ts'],
    ['postgres', 'src/a.test.ts'],
  ])
})

test('a group has at most 40 files and 90 seconds; a longer file has a process to itself', () => {
  const names = Array.from({ length: 45 }, (_, at) => `src/${String(at).padStart(2, '0')}.test.ts`)
  const sizes = (seconds: number) =>
    formGroups(
      names.map((name) => task(name, seconds)),
      isAlone,
    ).map(({ tasks }) => tasks.length)
  assert.deepEqual(sizes(0.1), [40, 5])
  assert.deepEqual(
    sizes(18),
    Array.from({ length: 9 }, () => 5),
  )
  assert.deepEqual(new Set(sizes(95)), new Set([1]))
})

test('tests of the whole program share a process with those of their folder', () => {
  const names = ['test/e2e/b', 'src/a', 'test/browser/a', 'test/e2e/webhooks/c', 'packages/a']
  assert.deepEqual(
    filesOf(names.map((name) => task(`${name}.test.ts`))).map(([, ...files]) => files.join(' ')),
    ['packages/a.test.ts src/a.test.ts', 'test/e2e/b.test.ts test/e2e/webhooks/c.test.ts', 'test/browser/a.test.ts'],
  )
})

test('a file runs alone that says so, or is about processes', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-groups-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const alone = (path: string, text: string): boolean => {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
    return runsAlone(join(folder, path))
  }
  assert.equal(alone('src/lib/a.test.ts', ''), false)
  assert.equal(alone('src/lib/b.test.ts', '/** Measures memory. Runs in a process of its own. */'), true)
  assert.equal(alone('src/lib/c.test.ts', '/** About c. */\n/** Runs in a process of its own. */'), false)
  assert.equal(alone('dashboard/src/lib/d.test.ts', ''), false)
  assert.equal(alone('test/e2e/e.test.ts', ''), false)
  assert.equal(alone('test/e2e/sandbox/f.test.ts', ''), true)
  assert.equal(alone('test/faults/g.test.ts', ''), true)
})
