import assert from 'node:assert/strict'
import { test } from 'node:test'
import { zai } from './zai.ts'

const kindOf = (status: number, body: string): string => zai.protocol.parseError({ status, headers: {}, body }, 0).kind

test('the host’s own numbers say more than its statuses', () => {
  const coded = (code: unknown): string => JSON.stringify({ error: { code, message: 'x' } })
  assert.equal(kindOf(429, coded('1113')), 'quota')
  assert.equal(kindOf(400, coded('1261')), 'context_length')
  assert.equal(kindOf(400, coded('1301')), 'content_filter')
})

test('everything else is understood as anywhere', () => {
  assert.equal(kindOf(429, JSON.stringify({ error: { code: '1302', message: 'x' } })), 'rate_limited')
  assert.equal(kindOf(401, JSON.stringify({ error: { code: 401, message: 'x' } })), 'credentials')
  for (const body of ['', 'null', '<html>', '[]', '{"error":null}', '{"error":"x"}'])
    assert.equal(kindOf(503, body), 'overloaded')
})
