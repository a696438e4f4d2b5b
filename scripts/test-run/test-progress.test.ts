import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextGroup, planTasks, progressLine, type TestGroup } from './test-progress.ts'

const group = (file: string, waits = false): TestGroup => ({
  tasks: [{ file, dialect: 'sqlite', seconds: 1, waits }],
  dialect: 'sqlite',
  seconds: 1,
})

test('the longest files come first, as they took last time or as their kind takes', () => {
  const files = ['src/lib/a.test.ts', 'test/browser/agents.test.ts', 'src/lib/slow.test.ts', 'test/e2e/c.test.ts']
  const plan = planTasks(
    files.map((file) => ({ file, dialect: 'sqlite' })),
    { 'sqlite:src/lib/slow.test.ts': 90, 'postgres:src/lib/a.test.ts': 500 },
  )
  assert.deepEqual(
    plan.map(({ file }) => file),
    ['src/lib/slow.test.ts', 'test/browser/agents.test.ts', 'test/e2e/c.test.ts', 'src/lib/a.test.ts'],
  )
})

test('no more than two browser tests run at once, and others run meanwhile', () => {
  const browser = group('test/browser/a.test.ts')
  assert.equal(nextGroup([browser, group('src/a.test.ts')], [browser], 5), 0)
  assert.equal(nextGroup([browser, group('src/a.test.ts')], [browser, browser], 5), 1)
  assert.equal(nextGroup([browser], [browser, browser], 5), -1)
  assert.equal(nextGroup([], [], 5), -1)
})

test('those that wait run beside the others, few at once, until only they are left', () => {
  const [slow, quick] = [group('test/faults/a.test.ts', true), group('src/a.test.ts')]
  assert.equal(nextGroup([slow, quick], [slow, slow], 6), 0)
  assert.equal(nextGroup([slow, quick], [slow, slow, slow], 6), 1)
  assert.equal(nextGroup([quick], [slow, slow, slow, quick, quick, quick], 6), 0, 'each takes half a place')
  assert.equal(nextGroup([quick], [slow, slow, slow, quick, quick, quick, quick], 6), -1)
  assert.equal(nextGroup([slow], [slow, slow, slow, quick], 6), 0)
  assert.equal(
    nextGroup(
      [slow],
      Array.from({ length: 12 }, () => slow),
      6,
    ),
    -1,
  )
})

test('a line of progress has totals and the time left by what the files that are done took', () => {
  const progress = { files: 400, filesDone: 100, passed: 1234, failed: 1, skipped: 2, secondsOfAll: 1000 }
  assert.equal(
    progressLine({ ...progress, secondsDone: 250, elapsedSeconds: 125 }),
    '25 % · 100 of 400 files · 1234 passed, 1 failed, 2 skipped · 2:05, about 6:15 left',
  )
  assert.equal(
    progressLine({ ...progress, filesDone: 0, passed: 0, secondsDone: 0, elapsedSeconds: 3 }),
    '0 % · 0 of 400 files · 0 passed, 1 failed, 2 skipped · 0:03',
    'nothing is guessed from nothing',
  )
})
