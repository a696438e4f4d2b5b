import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failureMessage } from './failure-message.ts'

const asItIs = (line: string): string => line

test('a message becomes one line without what the protocol redacts', () => {
  const redact = (line: string): string => line.replace('org-1', '[redacted]')
  assert.equal(failureMessage(' bad\n  request of org-1 ', 400, redact), 'bad request of [redacted]')
})

test('pages in HTML and missing messages give way to the status', () => {
  for (const said of ['<html><h1>502</h1>', ' <?xml version="1.0"?>', ' \n', '', undefined]) {
    assert.equal(failureMessage(said, 502, asItIs), 'The provider answered with status 502.')
  }
  assert.equal(failureMessage('', 200, asItIs), 'The provider reported an error.')
})

test('a long message is cut after it was redacted, and says so [limit: failure-message]', () => {
  const message = failureMessage(`${'key '.repeat(130)}secret`, 400, (line) => line.replaceAll('key', 'k'))
  assert.equal(message.length, 266)
  const cut = failureMessage('x'.repeat(501), 400, asItIs)
  assert.equal(cut.length, 500)
  assert.ok(cut.endsWith('…'))
})
