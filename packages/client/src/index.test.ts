import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TurnpikeError } from './index.ts'

test('an error has the ID of its request, within the error or beside it', () => {
  const error = { type: 'api_error', message: 'No.', code: 'overloaded' }
  for (const body of [{ error: { ...error, request_id: 'req_1' } }, { type: 'error', error, request_id: 'req_1' }]) {
    const { message, code, requestId } = new TurnpikeError(529, body)
    assert.deepEqual([message, code, requestId], ['No.', 'overloaded', 'req_1'])
  }
  for (const body of [undefined, null, 'text', {}, { error: 'text' }]) {
    assert.equal(new TurnpikeError(502, body).message, 'The gateway answered 502.')
  }
})
