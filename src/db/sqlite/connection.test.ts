import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { temporaryPath } from '../../../test/support/sqlite-file.ts'
import { openConnection } from './connection.ts'

test('500 statements stay prepared; of more, the oldest is prepared again [limit: statements]', async (t) => {
  const connection = openConnection({ path: await temporaryPath(t), role: 'writer' })
  t.after(() => connection.close())
  const prepare = t.mock.method(DatabaseSync.prototype, 'prepare')
  const prepared = (number: number): number => {
    const before = prepare.mock.callCount()
    connection.query(`select ${number}`, [])
    return prepare.mock.callCount() - before
  }
  for (let number = 0; number < 500; number++) assert.equal(prepared(number), 1)
  assert.deepEqual([prepared(0), prepared(499)], [0, 0])
  assert.equal(prepared(500), 1)
  assert.deepEqual([prepared(500), prepared(1), prepared(0)], [0, 0, 1])
})
