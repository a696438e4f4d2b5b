/** Runs on one database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { replaceExact } from './replacement.ts'
import { replaceOffThread } from './replacement-thread.ts'
import { ToolError } from './tool.ts'

test('a text is replaced on another thread as on this one, and a mistake comes back as one', async () => {
  const text = 'one\r\ntwo\r\n'.repeat(2_000)
  const all = { old: 'two\n', new: 'three\n', replacesAll: true }
  const [first, second] = await Promise.all([
    replaceOffThread(text, all),
    replaceOffThread('a b', { ...all, old: 'b', new: 'c' }),
  ])
  assert.deepEqual(first, replaceExact(text, all))
  assert.equal(second.text, 'a c')
  const twice = replaceOffThread(text, { ...all, replacesAll: false })
  await assert.rejects(twice, (error) => error instanceof ToolError && /occurs 2000 times/.test(error.message))
})
