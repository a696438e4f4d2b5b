import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connectionsFor, openFileLimit } from './open-files.ts'

test('F33: every connection has room for one to a provider beside it, and the house keeps 96 files [limit: open-files]', () => {
  for (const [openFiles, connections] of [
    [256, 80],
    [1_024, 464],
    [40_095, 19_999],
    [40_096, 20_000],
    [1_048_576, 20_000],
    [64, 16],
    [undefined, 20_000],
  ] as const) {
    assert.equal(connectionsFor(openFiles, 20_000), connections)
  }
})

test('the limit of this process is read where there is one', () => {
  const limit = openFileLimit()
  assert.ok(limit === undefined || limit >= 256, `${limit}`)
})
