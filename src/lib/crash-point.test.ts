import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { invariant } from './crash-point.ts'

const MODULE = JSON.stringify(new URL('./crash-point.ts', import.meta.url).href)

test('what holds costs nothing and says nothing', () => {
  invariant(true, 'never said')
})

test('a broken invariant cannot be caught away: the process ends, though somebody caught the error', () => {
  const program = `import { invariant } from ${MODULE}
  try { invariant(1 > 2, 'one is above two') } catch (error) { console.log(error.name) }
  setTimeout(() => console.log('went on'), 1_000)`
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
    encoding: 'utf8',
  })
  assert.equal(stdout, 'BrokenInvariant\n')
  assert.match(stderr, /one is above two/)
  assert.notEqual(status, 0)
})
