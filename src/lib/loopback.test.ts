import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isLoopbackUrl } from './loopback.ts'

test('loopback is localhost, 127.0.0.0/8 and ::1, and no name that only looks like it', () => {
  for (const host of ['localhost', '127.0.0.1:80', '127.9.9.9', '[::1]:8', '127.1', '0x7f.1']) {
    assert.equal(isLoopbackUrl(new URL(`http://${host}/x`)), true, host)
  }
  for (const host of ['127.0.0.1.example', 'localhost.example', '10.0.0.1', '[::2]', '0.0.0.0', 'me@example']) {
    assert.equal(isLoopbackUrl(new URL(`http://${host}/x`)), false, host)
  }
})
