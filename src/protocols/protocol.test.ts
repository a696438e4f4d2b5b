import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatRequest } from '../domain/chat.ts'
import { GatewayError } from '../domain/errors.ts'
import { anthropic } from '../providers/anthropic.ts'
import { deepseek } from '../providers/deepseek.ts'
import { google } from '../providers/google.ts'
import { openai } from '../providers/openai.ts'
import type { Provider } from '../providers/provider.ts'
import { vllm } from '../providers/vllm.ts'
import { failureMessage } from './protocol.ts'

const request: ChatRequest = {
  ...{ model: 'm', messages: [{ role: 'user', content: 'Hi' }], stream: false, includeUsage: false, n: 1, extra: {} },
}
const sequences = (count: number) => Array.from({ length: count }, (_, at) => `end ${at}`)

function sent({ protocol }: Provider, count: number): string {
  const target = { model: 'm', maxOutputTokens: 100 }
  return protocol.renderRequest({ ...request, stop: sequences(count) }, target).body
}

for (const [provider, most] of [
  [openai, 4],
  [deepseek, 16],
  [google, 5],
  [vllm, 64],
  [anthropic, 64],
] as const) {
  test(`${provider.name} gets all of ${most} stop sequences`, () => {
    for (const sequence of sequences(most)) assert.ok(sent(provider, most).includes(`"${sequence}"`))
    if (most === 64) return
    assert.throws(
      () => sent(provider, most + 1),
      (error) => error instanceof GatewayError && error.code === 'unsupported_parameter' && error.param === 'stop',
    )
  })
}

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
