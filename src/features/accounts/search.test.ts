import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { openCreditDesk, serveRoutes } from '../../../test/support/credit-desk.ts'
import { testIds } from '../../../test/support/ids.ts'
import { createIdSource } from '../../domain/ids.ts'
import { callerOf } from '../../http/caller.ts'
import { auditWriter } from '../audit/write.ts'
import { createAccount } from './queries.ts'
import { accountsAdminRoutes } from './routes.ts'

async function setUp(t: TestContext, names: readonly string[]) {
  const desk = await openCreditDesk(t)
  const { db, now, credit, clock } = desk
  const deps = { db, now, ids: testIds, callerOf, credit, writeAudit: auditWriter({ now, ids: testIds }) }
  const plans = () => ({ all: {}, standard: 'pro' })
  const routes = accountsAdminRoutes({ ...deps, plans, cursorKey: Buffer.alloc(32, 1), changed: () => {} })
  const ask = await serveRoutes(t, desk, [routes])
  const made: string[] = []
  const ids = createIdSource(now, randomBytes) // in order: a millisecond each
  for (const name of names) {
    made.push((await createAccount(db, { name, plan: 'pro' }, { now, ids })).id)
    clock.now += 1
  }
  const search = async (text: string, more = '') => {
    return ask(`/admin/accounts?order=asc&search=${encodeURIComponent(text)}${more}`, `${made[0]} operator`)
  }
  const found = async (text: string) => namesIn((await search(text)).body)
  return { made, search, found }
}

const namesIn = ({ data }: { readonly data: readonly { readonly name: string }[] }) =>
  data.map(({ name }) => name).sort()

test('accounts are found by any part of their name, whether in capitals or not', async (t) => {
  const { found } = await setUp(t, ['Acme Robotics', 'acme', 'Globex', 'Öl & Ärger', 'ÖLMÜHLE', 'Straße', 'ΑΘΗΝΑ'])
  assert.deepEqual(await found('ACME'), ['Acme Robotics', 'acme'])
  assert.deepEqual(await found('me rob'), ['Acme Robotics'])
  assert.deepEqual(await found(' globex '), ['Globex'])
  for (const text of ['öl', 'ÖL', 'Öl']) assert.deepEqual(await found(text), ['ÖLMÜHLE', 'Öl & Ärger'].sort(), text)
  assert.deepEqual(await found('mühle'), ['ÖLMÜHLE'])
  assert.deepEqual(await found('STRAß'), ['Straße'])
  assert.deepEqual(await found('αθην'), ['ΑΘΗΝΑ'])
  assert.deepEqual(await found('nobody'), [])
})

test('what means something to the database is a character like any other', async (t) => {
  const { found } = await setUp(t, ['100%', '100 percent', 'a_b', 'axb', 'c\\d', "O'Hara", '[x]*?'])
  assert.deepEqual(await found('0%'), ['100%'])
  assert.deepEqual(await found('%'), ['100%'])
  assert.deepEqual(await found('A_B'), ['a_b'])
  assert.deepEqual(await found('\\'), ['c\\d'])
  assert.deepEqual(await found("o'h"), ["O'Hara"])
  assert.deepEqual(await found('[x]*?'), ['[x]*?'])
})

test('an account is found by its whole id, and by no part of it', async (t) => {
  const { made, search, found } = await setUp(t, ['one', 'two'])
  const [, second = ''] = made
  assert.deepEqual(await found(second), ['two'])
  assert.deepEqual(await found(second.slice(0, -1)), [])
  const other = second.replace(/[a-zA-Z](?=[^a-zA-Z]*$)/, (letter) =>
    letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase(),
  )
  assert.notEqual(other, second)
  assert.deepEqual((await search(other)).body.data, [], 'ids differ by their capitals')
})

test('what is found comes in pages, whose cursors are good for that search alone', async (t) => {
  const { search } = await setUp(t, ['team 1', 'x', 'team 2', 'y', 'team 3', 'team 4', 'z'])
  const seen: string[] = []
  let next = ''
  for (const hasMore of [true, false]) {
    const { body } = await search('TEAM', `&limit=2${next}`)
    seen.push(...namesIn(body))
    assert.equal(body.has_more, hasMore)
    next = `&cursor=${body.next_cursor}`
  }
  assert.deepEqual(seen, ['team 1', 'team 2', 'team 3', 'team 4'])
  const { body } = await search('team', '&limit=2')
  const elsewhere = await search('tea', `&limit=2&cursor=${body.next_cursor}`)
  assert.deepEqual([elsewhere.status, elsewhere.body.error.param], [400, 'cursor'])
})

test('a search has 1 to 100 characters [limit: account-search]', async (t) => {
  const { search, found } = await setUp(t, ['ö'.repeat(100)])
  assert.equal((await found('Ö'.repeat(100))).length, 1)
  assert.deepEqual(await found('abcdefghijklmnopqrstuvwxyzäöüßéèêçñøåæœðþłžšřčďťňůýáíóúàìòùâîôûãõ'), [])
  for (const [text, code] of [
    ['', 'out_of_range'],
    ['x'.repeat(101), 'out_of_range'],
    ['   ', 'invalid_value'],
    ['a\u0000b', 'invalid_value'],
  ] as const) {
    const { status, body } = await search(text)
    assert.deepEqual([status, body.error.param, body.error.code], [400, 'search', code], JSON.stringify(text))
  }
})
