import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  DEFAULT_VIEW,
  type Density,
  differs,
  parseTableView,
  renderTableView,
  type TableView,
  withColumn,
  withDensity,
} from './table-view.ts'

const densities = fc.constantFrom<Density>('compact', 'comfortable')
const views: fc.Arbitrary<TableView> = fc.record(
  { columns: fc.dictionary(fc.string(), fc.boolean(), { noNullPrototype: true }), density: densities },
  { requiredKeys: ['columns'], noNullPrototype: true },
)

test('what was chosen is remembered as it was', () => {
  fc.assert(
    fc.property(views, (view) => {
      const text = renderTableView(view)
      assert.equal(text === null, !differs(view))
      assert.deepEqual(parseTableView(text), view)
    }),
  )
})

test('nonsense is as if nothing had been chosen', () => {
  const texts = [null, '', '{', 'null', '7', '"compact"', '[]', '[true]', '{}', '{"columns":null,"density":7}']
  for (const text of texts) assert.deepEqual(parseTableView(text), DEFAULT_VIEW, String(text))
  fc.assert(fc.property(fc.json(), (text) => void parseTableView(text).columns))
})

test('of half nonsense the other half holds', () => {
  const text = '{"columns":{"cost":false,"key":"no","time":null,"finish":true},"density":"huge","more":1}'
  assert.deepEqual(parseTableView(text), { columns: { cost: false, finish: true } })
  assert.deepEqual(parseTableView('{"columns":[false],"density":"comfortable"}'), {
    columns: {},
    density: 'comfortable',
  })
})

test('a column that is again as it would be by itself is no longer remembered', () => {
  const hidden = withColumn(DEFAULT_VIEW, { id: 'cost', isShown: false, byDefault: true })
  assert.deepEqual(hidden, { columns: { cost: false } })
  assert.deepEqual(withColumn(hidden, { id: 'cost', isShown: true, byDefault: true }), DEFAULT_VIEW)
  const wanted = withColumn(hidden, { id: 'finish', isShown: true, byDefault: false })
  assert.deepEqual(wanted, { columns: { cost: false, finish: true } })
  assert.deepEqual(withColumn(wanted, { id: 'finish', isShown: false, byDefault: false }), hidden)
})

test('choosing a density leaves the columns, and the one of the table itself is not remembered', () => {
  const hidden = { columns: { cost: false } }
  const dense = withDensity(hidden, 'comfortable', 'compact')
  assert.deepEqual(dense, { columns: { cost: false }, density: 'comfortable' })
  assert.deepEqual(withDensity(dense, 'compact', 'compact'), hidden)
})
