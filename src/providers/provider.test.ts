import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ProviderError } from '../protocols/protocol.ts'
import { MAX_CREDENTIAL_WAIT_MS, obtainCredential } from './provider.ts'

test('a credential is waited for 10 s, and then there is none [limit: credential-wait]', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const late = Promise.withResolvers<string>()
  const inTime = obtainCredential(() => late.promise)
  t.mock.timers.tick(MAX_CREDENTIAL_WAIT_MS - 1)
  late.resolve('token')
  assert.equal(await inTime, 'token')
  const never = obtainCredential(() => new Promise<string>(() => {}))
  t.mock.timers.tick(MAX_CREDENTIAL_WAIT_MS)
  await assert.rejects(never, (error) => error instanceof ProviderError && error.failure.kind === 'credentials')
})
