import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startOAuthServer } from '../../../test/support/oauth-server.ts'

const PATHS = ['/device/code', '/oauth/token', '/oauth/revoke']
const MAX_BYTES = 16 * 1024

test('a body of 16 KiB is read, a longer one is not [limit: oauth-body]', async (t) => {
  const it = await startOAuthServer(t)
  for (const path of PATHS) {
    for (const make of [json, form]) {
      const longest = await it.post(path, make(MAX_BYTES))
      assert.deepEqual([longest.status, longest.body.error], [400, 'invalid_request'], path)
      const tooLong = await it.post(path, make(MAX_BYTES + 1))
      assert.deepEqual([tooLong.status, tooLong.body.error], [413, 'invalid_request'], path)
    }
  }
})

function json(bytes: number): string {
  return `{"x":"${'y'.repeat(bytes - '{"x":""}'.length)}"}`
}

function form(bytes: number): URLSearchParams {
  return new URLSearchParams({ x: 'y'.repeat(bytes - 'x='.length) })
}

test('a parameter of 2 048 characters is looked at, a longer one is not [limit: oauth-parameter]', async (t) => {
  const it = await startOAuthServer(t)
  const ask = async (length: number) => (await it.post('/device/code', { client_id: 'x'.repeat(length) })).body
  assert.equal((await ask(2_048)).error, 'invalid_client')
  const { error, error_description: why } = await ask(2_049)
  assert.deepEqual([error, why], ['invalid_request', "The parameter 'client_id' is too long."])
})
