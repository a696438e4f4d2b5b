import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GatewayError } from '../domain/errors.ts'
import { bodyCaps, createBodyBudget } from './request-body.ts'

const MEBI = 1024 * 1024
const refusal = (act: () => unknown): [number, string, number | undefined] => {
  try {
    act()
  } catch (error) {
    assert.ok(error instanceof GatewayError)
    return [error.status, error.code, error.retryAfterMs]
  }
  return assert.fail('There was room.')
}

test('shares follow the heap, and never less than what one request may have [limit: body-bytes]', () => {
  const large = bodyCaps(4096 * MEBI, 32 * MEBI)
  assert.deepEqual(large, { process: 512 * MEBI, account: 256 * MEBI, key: 192 * MEBI })
  assert.deepEqual(bodyCaps(256 * MEBI, 32 * MEBI), { process: 128 * MEBI, account: 64 * MEBI, key: 48 * MEBI })
})

test('a key, an account and the process have their shares, each of which comes back once', () => {
  const budget = createBodyBudget({ process: 100, account: 50, key: 30 })
  const one = budget.reserve({ account: 'a', key: 'k1' }, 20)
  assert.deepEqual(
    refusal(() => budget.reserve({ account: 'a', key: 'k1' }, 11)),
    [429, 'rate_limit_exceeded', 1000],
  )
  const other = budget.reserve({ account: 'a', key: 'k2' }, 20)
  assert.deepEqual(
    refusal(() => budget.reserve({ account: 'a', key: 'k3' }, 11)),
    [429, 'rate_limit_exceeded', 1000],
  )
  assert.deepEqual(
    refusal(() => other.grow(11)),
    [429, 'rate_limit_exceeded', 1000],
  )
  const outsider = budget.reserve({ account: 'address', key: undefined }, 50)
  assert.deepEqual(
    refusal(() => budget.reserve({ account: 'b', key: 'k4' }, 11)),
    [503, 'overloaded', 1000],
  )
  assert.equal(budget.used, 90)
  other.grow(10)
  for (const room of [one, one, other, outsider, outsider]) room.release()
  assert.equal(budget.used, 0)
  budget.reserve({ account: 'a', key: 'k1' }, 30).release()
})
