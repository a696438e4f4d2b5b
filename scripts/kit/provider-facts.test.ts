import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openaiChat } from '../../src/protocols/openai-chat/index.ts'
import { bearer, type Provider } from '../../src/providers/provider.ts'
import { factsOf } from './provider-facts.ts'
import { providersPage } from './providers-page.ts'

function host(options: Parameters<typeof openaiChat>[0]): Provider {
  const source = { url: 'https://host.example', read: '2026-01-01' }
  return { id: 'host', name: 'Host', protocol: openaiChat(options), authorize: bearer, source }
}

test('a standard host adjusts and rejects only fields that change the cost', () => {
  assert.deepEqual(factsOf(host({})), {
    adjusted: ['service_tier default'],
    rejected: ['modalities audio'],
    lengthLimit: 'max_tokens',
    earlierReasoning: 'messages[].reasoning_content',
    asksForUsage: true,
  })
})

test('the probes find what a codec omits, adjusts, rejects and renames', () => {
  const facts = factsOf(
    host({
      maxTokensField: 'max_completion_tokens',
      streamOptions: false,
      reasoningField: 'reasoning',
      dropped: ['user', 'store'],
      refused: ['logit_bias', 'frequency_penalty'],
      refusedParts: ['file'],
      temperatureRange: [0.01, 2],
      responseFormats: ['json_object'],
    }),
  )
  assert.deepEqual(facts, {
    adjusted: ['temperature 0', 'user', 'store', 'service_tier default'],
    rejected: ['frequency_penalty', 'logit_bias', 'response_format json_schema', 'modalities audio', 'file'],
    lengthLimit: 'max_completion_tokens',
    earlierReasoning: 'messages[].reasoning',
    asksForUsage: false,
  })
})

test('reasoning that is not sent back has no field', () => {
  assert.equal(factsOf(host({ reasoningField: 'none' })).earlierReasoning, undefined)
})

test('the page has every provider in both tables, with valid rows', () => {
  const page = providersPage()
  const rows = page.split('\n').filter((line) => line.startsWith('| '))
  for (const columns of [9, 6]) {
    const table = rows.filter((line) => line.split(' | ').length === columns)
    assert.ok(
      table.some((line) => line.includes('(`groq`)') || line.startsWith('| `groq` |')),
      `${columns} columns`,
    )
  }
  assert.equal(rows.filter((line) => ![9, 6, 3, 2].includes(line.split(' | ').length)).length, 0)
})
