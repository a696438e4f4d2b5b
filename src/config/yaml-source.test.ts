import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { interpolate } from './yaml-source.ts'

const variable = (name: string) =>
  new Map([
    ['A', 'one'],
    ['EMPTY', ''],
  ]).get(name)
const REFERENCE_TO_A = `\${A}`

test('references are filled anywhere in a text', () => {
  const result = interpolate(`x-${REFERENCE_TO_A}-${REFERENCE_TO_A}`, variable)
  assert.deepEqual(result, { text: 'x-one-one', filled: true, problems: [] })
})

test('a default is taken when the variable is unset or empty', () => {
  assert.equal(interpolate(`\${NONE:-d}`, variable).text, 'd')
  assert.equal(interpolate(`\${EMPTY:-d}`, variable).text, 'd')
  assert.equal(interpolate(`\${A:-d}`, variable).text, 'one')
  assert.deepEqual(interpolate(`\${NONE:-}`, variable), { text: '', filled: true, problems: [] })
})

test('an empty variable is empty, a missing one without default is a problem', () => {
  assert.deepEqual(interpolate(`\${EMPTY}`, variable), { text: '', filled: true, problems: [] })
  assert.match(interpolate(`\${NONE}`, variable).problems.join(), /NONE is not set/)
})

test('a doubled dollar writes the reference itself', () => {
  const result = interpolate(`$${REFERENCE_TO_A}`, variable)
  assert.deepEqual(result, { text: REFERENCE_TO_A, filled: false, problems: [] })
})

test('a reference that is cut off or has an odd name is a problem', () => {
  for (const text of [`\${A`, `\${}`, `\${A B}`, `\${1}`, `\${A:=d}`]) {
    assert.match(interpolate(text, variable).problems.join(), /found the reference/, text)
  }
})

test('a text without references stays as it is, and what is filled in is not filled again', () => {
  fc.assert(
    fc.property(fc.string(), (text) => {
      if (!text.includes(`\${`)) assert.equal(interpolate(text, variable).text, text)
      assert.equal(interpolate(REFERENCE_TO_A, () => text).text, text)
    }),
  )
  assert.equal(interpolate(`\${B}`, () => REFERENCE_TO_A).text, REFERENCE_TO_A)
})
