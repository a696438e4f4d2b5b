import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  isSameView,
  MAX_NAME_LENGTH,
  MAX_VIEWS,
  parseSavedViews,
  periodWords,
  readViewName,
  renderSavedViews,
  type SavedView,
  type ViewSearch,
  withoutView,
  withRestoredView,
  withView,
} from './saved-views.ts'

const UTC = { now: Date.parse('2026-11-22T10:30:00Z'), zone: 'utc' } as const

/** Of a page that knows two parameters. */
function read(raw: Readonly<Record<string, unknown>>): ViewSearch {
  const known = ['range', 'model'].map((name) => [name, raw[name]] as const)
  return Object.fromEntries(known.filter((entry): entry is [string, string] => typeof entry[1] === 'string'))
}

const names = fc.string({ minLength: 1 }).filter((name) => readViewName(name) === name)
const searches = fc.record(
  { range: fc.constantFrom('24h', '7d'), model: fc.string({ minLength: 1 }) },
  { requiredKeys: ['range'], noNullPrototype: true },
)
const lists: fc.Arbitrary<readonly SavedView[]> = fc.uniqueArray(
  fc.record({ name: names, search: searches }, { noNullPrototype: true }),
  { selector: ({ name }) => name, maxLength: MAX_VIEWS },
)
const view = (name: string, model = name): SavedView => ({ name, search: { range: '24h', model } })
const full = Array.from({ length: MAX_VIEWS }, (_, index) => view(`view ${index}`))

test('views are read as they were written', () => {
  fc.assert(
    fc.property(lists, (views) => {
      const text = renderSavedViews(views)
      assert.equal(text === null, views.length === 0)
      assert.deepEqual(parseSavedViews(text, read), views)
    }),
  )
})

test('nonsense is no view', () => {
  const texts = [null, '', '{', 'null', '7', '{}', '[]', '[7,null,"a",[]]', '[{}]', '[{"name":"a"}]', '{"length":9}']
  for (const text of texts) assert.deepEqual(parseSavedViews(text, read), [], String(text))
  fc.assert(fc.property(fc.json(), (text) => parseSavedViews(text, read).length <= MAX_VIEWS))
})

test('of half nonsense the other half holds', () => {
  const text = JSON.stringify([
    { name: ' two\nlines ', search: { range: '7d', model: 7, cursor: 'c', more: { deep: true } }, more: 1 },
    { name: 'two lines', search: { range: '24h' } },
    { name: '   ', search: {} },
    { name: 7, search: {} },
    { name: 'a list', search: ['range'] },
    { name: '\u202eturned', search: {} },
    { name: 'x'.repeat(500), search: {} },
  ])
  assert.deepEqual(parseSavedViews(text, read), [
    { name: 'two lines', search: { range: '7d' } },
    { name: '[U+202E]turned', search: {} },
    { name: 'x'.repeat(MAX_NAME_LENGTH), search: {} },
  ])
})

test('what is more than the most is left out', () => {
  assert.deepEqual(parseSavedViews(JSON.stringify([...full, view('one more')]), read), full)
  assert.deepEqual(withView(full, view('one more')), full)
})

test('a view takes the place of the one that has its name', () => {
  assert.deepEqual(withView([view('a'), view('b')], view('a', 'other')), [view('a', 'other'), view('b')])
  assert.deepEqual(withView([view('a')], view('b')), [view('a'), view('b')])
  assert.deepEqual(withView(full, view('view 3', 'other'))[3], view('view 3', 'other'))
})

test('what was removed comes back where it was, unless its name or its place was taken', () => {
  const [a, b, c] = [view('a'), view('b'), view('c')]
  const rest = withoutView([a, b, c], 'b')
  assert.deepEqual(rest, [a, c])
  assert.deepEqual(withRestoredView(rest, b, 1), [a, b, c])
  assert.deepEqual(withRestoredView([a], b, 7), [a, b])
  assert.deepEqual(withRestoredView([view('b', 'other')], b, 0), [view('b', 'other')])
  assert.deepEqual(withRestoredView(full, b, 1), full)
})

test('views are the same when each parameter is, in whatever order', () => {
  assert.ok(isSameView({ range: '7d', model: 'm' }, { model: 'm', range: '7d' }))
  assert.ok(!isSameView({ range: '7d' }, { range: '7d', model: 'm' }))
  assert.ok(!isSameView({ range: '7d', model: 'm' }, { range: '7d' }))
  assert.ok(!isSameView({ range: '7d' }, { range: '24h' }))
})

test('a period that moves is called by how long it is, one that does not by its days', () => {
  assert.equal(periodWords({}, { ...UTC, fallback: '24h' }), 'last 24 hours')
  assert.equal(periodWords({ range: 'month' }, { ...UTC, fallback: '24h' }), 'this month')
  const days = { range: 'custom', from: '2026-11-03', to: '2026-11-09' } as const
  assert.equal(periodWords(days, { ...UTC, fallback: '24h' }), 'Nov 3 – 9, 2026')
  assert.equal(periodWords({ range: 'custom', from: '2026-11-03' }, { ...UTC, fallback: '24h' }), 'since Nov 3, 2026')
  assert.equal(periodWords({ range: 'custom' }, { ...UTC, fallback: '7d' }), 'last 7 days')
})
