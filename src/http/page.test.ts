import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { GatewayError } from '../domain/errors.ts'
import { type PageBinding, type PageQuery, readPageRequest, renderPage } from './page.ts'

const binding: PageBinding = { key: Buffer.alloc(32, 7), account: 'acc_a', list: 'keys' }

/** A list kept in memory: what a table with an index on the id would answer. */
function page(ids: readonly string[], query: PageQuery, owner: PageBinding = binding) {
  const request = readPageRequest(query, owner)
  const sorted = [...ids].sort()
  if (request.order === 'desc') sorted.reverse()
  const { after } = request
  const rest = sorted.filter((id) => after === undefined || (request.order === 'asc' ? id > after : id < after))
  const rows = rest.slice(0, request.limit + 1)
  return renderPage(rows, { request, binding: owner }, { position: (id) => id, render: (id) => id })
}

function refuses(query: PageQuery, expected: { code: string; param: string }, owner = binding): void {
  assert.throws(
    () => readPageRequest(query, owner),
    (error) =>
      error instanceof GatewayError &&
      error.status === 400 &&
      error.code === expected.code &&
      error.param === expected.param,
    JSON.stringify(query),
  )
}

test('without parameters a page has 20 items, the newest first', () => {
  assert.deepEqual(readPageRequest({}, binding), { limit: 20, order: 'desc', after: undefined })
})

test('an empty cursor and the word null mean the first page', () => {
  for (const cursor of ['', 'null']) {
    assert.deepEqual(page(['a', 'b', 'c'], { limit: 1, cursor }), page(['a', 'b', 'c'], { limit: 1 }))
  }
})

test('a limit outside 1 to 100, or that is not a whole number, is refused with its name [limit: page]', () => {
  for (const limit of ['0', '101', '-1', 0, 101]) refuses({ limit }, { code: 'out_of_range', param: 'limit' })
  for (const limit of ['', 'x', '1.5', '1e2', '٣', '9'.repeat(40)])
    refuses({ limit }, { code: 'invalid_type', param: 'limit' })
  assert.equal(readPageRequest({ limit: '100' }, binding).limit, 100)
  assert.equal(readPageRequest({ limit: 1 }, binding).limit, 1)
})

test('the last page says so with has_more false and next_cursor null', () => {
  assert.deepEqual(page(['a', 'b'], { limit: 2, order: 'asc' }), {
    data: ['a', 'b'],
    has_more: false,
    next_cursor: null,
  })
  assert.deepEqual(page([], {}), { data: [], has_more: false, next_cursor: null })
})

test('TEN-3: a cursor is good for its account, list, filter, order and key alone', () => {
  const { next_cursor } = page(['a', 'b', 'c'], { limit: 1 })
  const cursor = next_cursor ?? ''
  assert.deepEqual(page(['a', 'b', 'c'], { limit: 1, cursor }).data, ['b'])
  const bad = { code: 'invalid_value', param: 'cursor' }
  refuses({ cursor, order: 'asc' }, bad)
  refuses({ cursor }, bad, { ...binding, account: 'acc_b' })
  refuses({ cursor }, bad, { ...binding, list: 'agents' })
  refuses({ cursor }, bad, { ...binding, filter: 'x' })
  refuses({ cursor }, bad, { ...binding, key: Buffer.alloc(32, 8) })
})

test('TEN-3: a cursor that was tampered with, or is not one, is refused', () => {
  const cursor = page(['aaaa', 'bbbb', 'cccc'], { limit: 1 }).next_cursor ?? ''
  const bad = { code: 'invalid_value', param: 'cursor' }
  fc.assert(
    fc.property(fc.nat(cursor.length - 1), fc.constantFrom(...'AQgw_-=.+/x '), (at, character) => {
      fc.pre(cursor[at] !== character)
      refuses({ cursor: cursor.slice(0, at) + character + cursor.slice(at + 1) }, bad)
    }),
  )
  for (const text of [cursor.slice(0, -1), `${cursor}A`, 'x'.repeat(10_000)]) refuses({ cursor: text }, bad)
  assert.ok(!Buffer.from(cursor, 'base64url').includes('acc_a'))
})

test('TEN-3: pages united are what was there all along, without duplicates, whatever comes and goes meanwhile', () => {
  const idSet = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,4}$/), { maxLength: 60 })
  fc.assert(
    fc.property(
      idSet,
      idSet,
      idSet,
      fc.integer({ min: 1, max: 9 }),
      fc.constantFrom('asc' as const, 'desc' as const),
      (start, added, gone, limit, order) => {
        const removed = new Set(gone)
        const seen: string[] = []
        let ids = start
        let cursor: string | undefined
        for (let step = 0; ; step++) {
          const { data, next_cursor } = page(ids, { limit, order, ...(cursor === undefined ? {} : { cursor }) })
          seen.push(...data)
          if (next_cursor === null) break
          cursor = next_cursor
          const comer = added[step]
          const goer = gone[step]
          ids = ids.filter((id) => id !== goer)
          if (comer !== undefined && !ids.includes(comer) && !removed.has(comer)) ids = [...ids, comer]
        }
        assert.equal(new Set(seen).size, seen.length)
        for (const id of start) if (!removed.has(id)) assert.ok(seen.includes(id), id)
      },
    ),
  )
})
