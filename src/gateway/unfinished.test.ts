import assert from 'node:assert/strict'
import { test } from 'node:test'
import { whole } from '../../test/support/ledger/data-plane.ts'
import { hello, only, plane } from '../../test/support/ledger/plane.ts'
import { completion as answer, counts } from '../../test/support/providers/answers.ts'
import { anthropicMessages } from '../protocols/anthropic-messages/index.ts'
import { bedrockConverse } from '../protocols/bedrock-converse/index.ts'
import { gemini } from '../protocols/gemini/index.ts'
import { openaiChat } from '../protocols/openai-chat/index.ts'
import type { UpstreamProtocol } from '../protocols/protocol.ts'

/** A whole answer of twelve tokens in each format, without the word for how it ended. */
const UNFINISHED: readonly (readonly [UpstreamProtocol, unknown])[] = [
  [
    openaiChat(),
    answer({ content: 'Half an answer' }, { choices: [{ index: 0, message: { content: 'Half an answer' } }] }),
  ],
  [
    anthropicMessages(),
    {
      type: 'message',
      content: [{ type: 'text', text: 'Half an answer' }],
      usage: { input_tokens: 10, output_tokens: 12 },
    },
  ],
  [
    gemini(),
    {
      candidates: [{ content: { parts: [{ text: 'Half an answer' }] } }],
      usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 12 },
    },
  ],
  [
    bedrockConverse(),
    { output: { message: { content: [{ text: 'Half an answer' }] } }, usage: { inputTokens: 10, outputTokens: 12 } },
  ],
]

for (const [protocol, body] of UNFINISHED) {
  test(`a whole answer without finish reason is an error, and its output is charged: ${protocol.id}`, async () => {
    const upstream = {
      provider: { id: 'up', name: 'up', protocol, authorize: () => {}, source: { url: '', read: '' } },
    }
    const { ask, records, network } = plane(() => whole(body as object), { upstream })
    const { client, error } = await ask(hello())
    assert.equal(error?.code, 'provider_error')
    assert.match(error?.message ?? '', /without a finish reason/)
    assert.equal(client.body, undefined)
    const { status, finishReason, completionTokens, costNanoUsd } = only(records)
    assert.deepEqual([status, finishReason], ['incomplete', undefined])
    assert.ok(completionTokens > 0 && costNanoUsd > 0n, `${completionTokens} tokens, ${costNanoUsd} nano-dollars`)
    assert.equal(network.exchanges.length, 1, 'an answer that was paid for is not asked for again')
  })
}

test('one of several choices without finish reason makes the answer incomplete', async () => {
  const choices = [
    { index: 0, message: { content: 'Whole' }, finish_reason: 'stop' },
    { index: 1, message: { content: 'Half' } },
  ]
  const { ask, records } = plane(() => whole(answer({ content: '' }, { choices, usage: counts(10, 4) })))
  assert.equal((await ask(hello({ n: 2 }))).error?.code, 'provider_error')
  assert.equal(only(records).status, 'incomplete')
})
