import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PLANNED_ANEW } from '../planned-anew.ts'
import { createStatementNames } from './statement-names.ts'

test('a text that comes again has a name, the same ever after', () => {
  const nameOf = createStatementNames()
  const sql = 'select count(*) from "account" where "id" = $1'
  assert.equal(nameOf(sql), undefined)
  const name = nameOf(sql)
  assert.match(name ?? '', /^turnpike_\d+$/)
  assert.equal(nameOf(sql), name)
})

test('F32: what asks for every column is planned anew each time, since a newer release may add one', () => {
  const nameOf = createStatementNames()
  for (const sql of [
    'select * from "completion"',
    'SELECT  * from "completion"',
    'select "a".* from "account" as "a"',
    'insert into "account" ("id") values ($1) returning *',
  ]) {
    for (let time = 0; time < 3; time++) assert.equal(nameOf(sql), undefined, sql)
  }
})

test('what says that it is to be planned anew is', () => {
  const nameOf = createStatementNames()
  const sql = `select ${PLANNED_ANEW} count(*) from "account" where "id" > $1`
  for (let time = 0; time < 3; time++) assert.equal(nameOf(sql), undefined)
})
