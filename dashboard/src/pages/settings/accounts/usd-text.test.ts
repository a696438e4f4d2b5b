import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readUsd } from './usd-text.ts'

test('an amount is read to the last digit', () => {
  assert.equal(readUsd('25').usd, 25)
  assert.equal(readUsd(' $1,234.50 ').usd, 1234.5)
  assert.equal(readUsd('.000000001').usd, 1e-9)
  assert.equal(readUsd('007.1000000000').usd, 7.1)
  assert.deepEqual(readUsd(''), { usd: undefined, problem: undefined })
})

test('what is no amount, or would not arrive as it was typed, is refused with a reason', () => {
  const problems = ['x', '-1', '1e3', '0', '0.0000000001', '100000000.01', '12345678.123456789'].map(
    (text) => readUsd(text).problem,
  )
  assert.deepEqual(problems, [
    'Enter an amount, such as 25 or 0.50.',
    'Enter an amount, such as 25 or 0.50.',
    'Enter an amount, such as 25 or 0.50.',
    'Enter more than 0.',
    'Enter at most 9 decimals.',
    'Enter $100,000,000 or less.',
    'Enter fewer digits.',
  ])
})
