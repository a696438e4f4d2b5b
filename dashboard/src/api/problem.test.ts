import assert from 'node:assert/strict'
import { test } from 'node:test'
import { problemOf } from './problem.ts'

const BROKEN = [
  'Failed to fetch',
  'Failed to fetch (gateway.example)',
  'Failed to fetch dynamically imported module: https://gateway.example/app/assets/usage-page.js',
  'network error',
  'NetworkError when attempting to fetch resource.',
  'Error in input stream',
  'Load failed',
  'The network connection was lost.',
]

for (const message of BROKEN) {
  test(`a connection that a browser reports as broken: ${message}`, () => {
    const { status, type, message: shown } = problemOf(new TypeError(message))
    assert.deepEqual([status, type, shown], [0, 'unreachable', 'The gateway cannot be reached.'])
  })
}

test('an error of the page itself is not reported as a broken connection', () => {
  for (const message of [
    "Cannot read properties of undefined (reading 'map')",
    "Failed to execute 'fetch' on 'Window': Invalid value",
  ]) {
    const { status, type, message: shown } = problemOf(new TypeError(message))
    assert.deepEqual([status, type, shown], [0, 'unexpected', message])
  }
  assert.equal(problemOf(new Error('Failed to fetch')).type, 'unexpected')
})
