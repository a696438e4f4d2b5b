import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  bandCenter,
  barsPath,
  barWidth,
  domainOf,
  heightScale,
  indexAt,
  labelWidth,
  linePath,
  niceTicks,
  placedLabels,
} from './geometry.ts'
import { movedTo, pointText, valuesAt } from './reading.ts'
import {
  type ChartData,
  type ChartPoint,
  isEmpty,
  isWholeNumbers,
  lineDomain,
  lonePoints,
  OTHER_KEY,
  painted,
  stackedDomain,
  stackOf,
  topSeries,
  totalOf,
  valueAt,
} from './series.ts'

function point(label: string, values: ChartPoint['values']): ChartPoint {
  return { at: label, label, values }
}

function seriesOf(...keys: readonly string[]): ChartData['series'] {
  return keys.map((key) => ({ key, label: key }))
}

test('ticks are round numbers that hold all values', () => {
  assert.deepEqual(niceTicks({ min: 0, max: 7 }, 4), [0, 2, 4, 6, 8])
  assert.deepEqual(niceTicks({ min: 0, max: 0.3 }, 3), [0, 0.1, 0.2, 0.3])
  assert.deepEqual(niceTicks({ min: 0, max: 1 }, 4, true), [0, 1])
  assert.deepEqual(niceTicks({ min: 0, max: 0 }, 4), [0, 1])
  assert.deepEqual(niceTicks({ min: -3, max: 5 }, 4), [-4, -2, 0, 2, 4, 6])
  assert.deepEqual(niceTicks({ min: 0, max: 0.000042 }, 4), [0, 0.00002, 0.00004, 0.00006])
})

test('ticks of any domain are evenly apart, few, and have zero among them', () => {
  const value = fc.double({ min: -1e12, max: 1e12, noNaN: true }).filter((each) => each === 0 || Math.abs(each) > 1e-9)
  fc.assert(
    fc.property(value, value, fc.integer({ min: 1, max: 8 }), fc.boolean(), (a, b, count, isWhole) => {
      const domain = { min: Math.min(a, b), max: Math.max(a, b) }
      const ticks = niceTicks(domain, count, isWhole)
      const { min, max } = domainOf(ticks)
      const step = (ticks[1] ?? 0) - (ticks[0] ?? 0)
      const tolerance = step * 1e-6
      assert.ok(min - tolerance <= domain.min && domain.max <= max + tolerance, `${ticks}`)
      assert.ok(
        ticks.some((tick) => tick === 0),
        `${ticks}`,
      )
      assert.ok(ticks.length >= 2 && ticks.length <= count + 3, `${ticks}`)
      for (const [index, tick] of ticks.entries()) {
        assert.ok(Math.abs(tick - min - index * step) <= tolerance)
        if (isWhole) assert.ok(Number.isInteger(tick))
      }
    }),
  )
})

test('heights are measured from the top', () => {
  const height = heightScale({ min: 0, max: 10 }, 200)
  assert.deepEqual([0, 5, 10].map(height), [200, 100, 0])
  assert.equal(heightScale({ min: -10, max: 10 }, 200)(0), 100)
})

test('with more than eight series, the rest is Other, and no value is lost', () => {
  const keys = Array.from({ length: 11 }, (_, index) => `model-${index}`)
  const points = [
    point('a', Object.fromEntries(keys.map((key, index) => [key, index]))),
    point('b', { 'model-0': 100, 'model-1': null }),
    point('c', { 'model-10': 1 }),
  ]
  const top = topSeries({ series: seriesOf(...keys), points })
  assert.deepEqual(
    top.series.map(({ label }) => label),
    ['model-0', 'model-4', 'model-5', 'model-6', 'model-7', 'model-8', 'model-9', 'model-10', 'Other (3)'],
  )
  assert.deepEqual(
    top.points.map((each) => valueAt(each, OTHER_KEY)),
    [1 + 2 + 3, undefined, undefined],
  )
  const eight = { series: seriesOf(...keys.slice(0, 8)), points }
  assert.deepEqual(topSeries(eight), eight)
})

test('a series has the color that it asks for, unless an earlier one has it; statuses have their own', () => {
  const asked = (...paints: readonly (number | 'bad' | undefined)[]) =>
    painted(paints.map((paint, index) => ({ key: `k${index}`, label: '', paint }))).map(({ paint }) => paint)
  assert.deepEqual(asked(undefined, undefined, 'bad', undefined), [0, 1, 'bad', 3])
  assert.deepEqual(asked(5, 5, 2, 23, 23), [5, 6, 2, 23, 0])
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 23 }), { maxLength: 8 }), (paints) => {
      assert.equal(new Set(asked(...paints)).size, paints.length)
      const series = painted(paints.map((paint, index) => ({ key: `k${index}`, label: '', paint })))
      assert.equal(new Set(series.map(({ pattern }) => pattern)).size, paints.length, 'dashes and textures')
    }),
  )
})

test('the sum of what is shown is the sum of what was given', () => {
  const values = fc.dictionary(fc.constantFrom(...'abcdefghijklmn'), fc.integer({ min: 0, max: 1000 }))
  fc.assert(
    fc.property(fc.array(values), (rows) => {
      const points = rows.map((row, index) => point(`${index}`, row))
      const series = seriesOf(...'abcdefghijklmn')
      const top = topSeries({ series, points })
      const sum = (data: ChartData): number =>
        data.series.reduce((total, { key }) => total + totalOf(data.points, key), 0)
      assert.equal(sum(top), sum({ series, points }))
      assert.ok(top.series.length <= 9)
    }),
  )
})

test('a series may have the name of something that every object has', () => {
  assert.equal(valueAt(point('a', {}), 'constructor'), undefined)
  assert.equal(valueAt(point('a', JSON.parse('{"__proto__": 3}')), '__proto__'), 3)
  assert.equal(valueAt(point('a', { x: Number.NaN }), 'x'), undefined)
})

test('stacks grow from zero in both directions', () => {
  const series = seriesOf('a', 'b', 'c', 'd')
  const stacked = point('x', { a: 2, b: -1, c: 3, d: -4 })
  assert.deepEqual(stackOf(stacked, series), [
    { from: 0, to: 2 },
    { from: 0, to: -1 },
    { from: 2, to: 5 },
    { from: -1, to: -5 },
  ])
  assert.deepEqual(stackedDomain({ series, points: [stacked] }), { min: -5, max: 5 })
  assert.deepEqual(lineDomain({ series, points: [stacked] }), { min: -4, max: 3 })
})

test('nothing is shown of nothing; a line at zero is something', () => {
  const zero = { series: seriesOf('a'), points: [point('x', { a: 0 })] }
  assert.equal(isEmpty(zero, 'bars'), true)
  assert.equal(isEmpty(zero, 'lines'), false)
  assert.equal(isEmpty({ series: seriesOf('a'), points: [point('x', { a: null })] }, 'lines'), true)
  assert.equal(isEmpty({ series: [], points: [] }, 'lines'), true)
})

test('counts are whole, amounts are not', () => {
  assert.equal(isWholeNumbers({ series: seriesOf('a'), points: [point('x', { a: 3 }), point('y', {})] }), true)
  assert.equal(isWholeNumbers({ series: seriesOf('a'), points: [point('x', { a: 0.5 })] }), false)
})

test('every place belongs to the point whose share it lies in', () => {
  const bands = { count: 4, width: 400 }
  assert.deepEqual(
    [-5, 0, 99, 100, 399, 400, 900].map((x) => indexAt(bands, x)),
    [0, 0, 0, 1, 3, 3, 3],
  )
  assert.equal(indexAt({ count: 0, width: 400 }, 3), undefined)
  assert.equal(indexAt({ count: 3, width: 0 }, 3), undefined)
  for (const index of [0, 1, 2, 3]) assert.equal(indexAt(bands, bandCenter(bands, index)), index)
})

test('bars fit into their share at every width', () => {
  assert.equal(barWidth({ count: 2, width: 1000 }), 48)
  assert.equal(barWidth({ count: 10, width: 400 }), 30)
  assert.equal(barWidth({ count: 300, width: 600 }), 2, 'no gaps')
  assert.equal(barWidth({ count: 744, width: 280 }), 0.5)
})

test('bars stand upon each other', () => {
  const data = { series: seriesOf('a', 'b'), points: [point('x', { a: 4, b: 6 }), point('y', { a: 0 })] }
  const height = heightScale({ min: 0, max: 10 }, 100)
  assert.equal(barsPath(data, 0, { count: 2, width: 80 }, height), 'M5 100V60h30V100z')
  assert.equal(barsPath(data, 1, { count: 2, width: 80 }, height), 'M5 60V0h30V60z')
})

test('a line is broken where there is no value, and a value between two gaps is a dot', () => {
  const points = [1, 2, null, 3, undefined, 4, 5].map((a, index) => point(`${index}`, { a }))
  const path = linePath(points, 'a', { count: 7, width: 70 }, (value) => value)
  assert.equal(path, 'M5 1h0L15 2M35 3h0M55 4h0L65 5')
  assert.deepEqual(lonePoints(points, 'a'), [3])
})

test('labels are evenly apart, have room beside each other and stay within the plot', () => {
  const labels = Array.from({ length: 30 }, (_, index) => `Nov ${index + 1}`)
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 2000 }), fc.integer({ min: 1, max: 30 }), (width, count) => {
      const shown = placedLabels(labels.slice(0, count), { count, width })
      assert.equal(shown[0]?.index, 0)
      let free = 0
      for (const { x, label } of shown) {
        assert.ok(x - labelWidth(label) / 2 >= free)
        free = x + labelWidth(label) / 2
      }
      assert.ok(shown.length === 1 || free <= width)
      const steps = shown.slice(1).map(({ index }, at) => index - (shown[at]?.index ?? 0))
      assert.ok(new Set(steps).size <= 1, `labels at uneven steps: ${steps}`)
    }),
  )
  assert.equal(placedLabels(labels, { count: 30, width: 2000 }).length, 30)
  assert.deepEqual(placedLabels([], { count: 0, width: 100 }), [])
})

test('keys move the reading within the points', () => {
  assert.equal(movedTo('ArrowRight', null, 5), 0)
  assert.equal(movedTo('ArrowLeft', null, 5), 4)
  assert.equal(movedTo('ArrowRight', 4, 5), 4)
  assert.equal(movedTo('ArrowLeft', 0, 5), 0)
  assert.equal(movedTo('Home', 3, 5), 0)
  assert.equal(movedTo('End', null, 5), 4)
  assert.equal(movedTo('PageUp', 1, 100), 11)
  assert.equal(movedTo('PageDown', 1, 100), 0)
  assert.equal(movedTo('Escape', 2, 5), null)
  for (const key of ['Tab', 'a', 'Enter']) assert.equal(movedTo(key, 2, 5), undefined)
  assert.equal(movedTo('Escape', null, 5), undefined, 'a dialog around the chart gets it')
  assert.equal(movedTo('Home', null, 0), undefined)
})

test('a point is read as a sentence, the largest part first', () => {
  const series = seriesOf('a', 'b', 'c')
  const written = { format: (value: number) => `${value} t`, isStacked: true }
  const full = point('Nov 3', { a: 1, b: 3, c: 0 })
  assert.equal(pointText(full, series, written), 'Nov 3: 4 t. b: 3 t, a: 1 t')
  assert.equal(pointText(full, series, { ...written, isStacked: false }), 'Nov 3. b: 3 t, a: 1 t, c: 0 t')
  assert.equal(pointText(full, seriesOf('a'), written), 'Nov 3: 1 t')
  assert.equal(pointText(point('Nov 4', {}), series, written), 'Nov 4: 0 t')
  assert.equal(pointText(point('Nov 4', {}), series, { ...written, isStacked: false }), 'Nov 4: no data')
  assert.deepEqual(
    valuesAt(full, series).map(({ series: { key } }) => key),
    ['b', 'a', 'c'],
  )
})
