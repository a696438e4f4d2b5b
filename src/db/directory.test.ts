import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { makeDirectory } from './directory.ts'

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'turnpike-make-directory-'))
  t.after(() => rmSync(path, { recursive: true }))
  return path
}

test('a folder is made with those above it, for this user alone; one that is there stays as it is', (t) => {
  const path = join(folder(t), 'a', 'b', 'c')
  makeDirectory(path)
  makeDirectory(path)
  assert.equal(statSync(path).mode & 0o777, 0o700)
})

test('below a file there is no folder', (t) => {
  const file = join(folder(t), 'file')
  writeFileSync(file, '')
  assert.throws(() => makeDirectory(file), { code: 'EEXIST' })
  assert.throws(() => makeDirectory(join(file, 'a')), { code: 'EEXIST' })
})

// Of Linux alone.
if (existsSync('/proc/self')) {
  test('where none can be made although the one above is there it says so at once', () => {
    assert.throws(() => makeDirectory('/proc/nothing/of/ours'), { code: 'ENOENT' })
  })
}
