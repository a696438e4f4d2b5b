import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseBaggage, parseTraceparent } from './trace-context.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const SPAN = 'b7ad6b7169203331'

test('a valid traceparent is read with its state, also of a later version', () => {
  const known = { traceId: TRACE, spanId: SPAN, sampled: true, state: 'a=1,b=2' }
  assert.deepEqual(parseTraceparent(`00-${TRACE}-${SPAN}-01`, ['a=1', 'b=2']), known)
  assert.deepEqual(parseTraceparent(`cc-${TRACE}-${SPAN}-01-what-comes`, 'a=1,b=2'), known)
  assert.equal(parseTraceparent(`00-${TRACE}-${SPAN}-02`, undefined)?.sampled, false)
})

test('an invalid traceparent is none', () => {
  const zeros = '0'.repeat(32)
  for (const text of [
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${zeros}-${SPAN}-01`,
    `00-${TRACE}-${zeros.slice(16)}-01`,
    `00-${TRACE}-${SPAN}`,
    '',
  ]) {
    assert.equal(parseTraceparent(text, undefined), undefined, text)
  }
  assert.equal(parseTraceparent([`00-${TRACE}-${SPAN}-01`, `00-${TRACE}-${SPAN}-01`], undefined), undefined)
})

test('state and baggage that are too long or not printable are dropped [limit: trace-context]', () => {
  const parent = `00-${TRACE}-${SPAN}-01`
  assert.equal(parseTraceparent(parent, `a=${'x'.repeat(511)}`)?.state, undefined)
  assert.equal(parseTraceparent(parent, Array(33).fill('a=1').join(','))?.state, undefined)
  assert.equal(parseBaggage('k=v'), 'k=v')
  assert.equal(parseBaggage('k=\u00e9'), undefined)
  assert.equal(parseBaggage('x'.repeat(8193)), undefined)
})
