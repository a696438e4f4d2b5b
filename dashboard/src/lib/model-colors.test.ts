import assert from 'node:assert/strict'
import { test } from 'node:test'
import { modelColors, withColors } from './model-colors.ts'
import { CHART_COLORS } from './tones.ts'

const names = (count: number) => Array.from({ length: count }, (_, index) => `model-${index}`)

test('a model keeps its color, whichever others a chart has and in whatever order', () => {
  const [first, second] = modelColors(['gpt-5.4-mini', 'claude-sonnet-4-6'])
  assert.deepEqual(
    modelColors(['a', 'claude-sonnet-4-6', 'b', 'gpt-5.4-mini']).filter((_, at) => at % 2 === 1),
    [second, first],
  )
})

test('as many models as there are colors differ; of more, as few as possible share one', () => {
  assert.equal(new Set(Object.values(withColors({}, names(CHART_COLORS)))).size, CHART_COLORS)
  const users = Map.groupBy(Object.values(withColors({}, names(60))), (color) => color)
  assert.deepEqual(new Set([...users.values()].map((all) => all.length)), new Set([2, 3]))
})

test('the colors that are easiest to tell apart are assigned first', () => {
  const colors = Object.values(withColors({}, names(20)))
  assert.deepEqual(
    colors.slice(0, 8).toSorted((one, other) => one - other),
    [0, 1, 2, 3, 4, 5, 6, 7],
  )
  assert.ok(colors.slice(8, 16).every((color) => color >= 8 && color < 16))
})

test('colors that are known stay, and a list of too many models starts again', () => {
  const known = withColors({}, names(5))
  assert.equal(withColors(known, names(3)), known)
  assert.deepEqual({ ...withColors(known, ['new']), ...known }, withColors(known, ['new']))
  assert.deepEqual(Object.keys(withColors(withColors({}, names(500)), ['new'])), ['new'])
  assert.deepEqual(Object.keys(withColors({}, ['constructor'])), ['constructor'])
})
