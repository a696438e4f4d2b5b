import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseUsage } from './response.ts'

test('what is not said is absent, not zero', () => {
  assert.deepEqual(parseUsage({ prompt_tokens: 3, completion_tokens: null, prompt_tokens_details: null }), {
    promptTokens: 3,
  })
  assert.equal(parseUsage({}), undefined)
  assert.equal(parseUsage(null), undefined)
  assert.equal(parseUsage('3'), undefined)
})

test('zero is a count', () => {
  assert.deepEqual(parseUsage({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 }), {
    promptTokens: 0,
    completionTokens: 0,
  })
})

test('counts that cannot be are ignored', () => {
  for (const count of [-1, 1.5, Number.MAX_VALUE, '7', true, [], {}]) {
    assert.deepEqual(parseUsage({ prompt_tokens: count, completion_tokens: 2 }), { completionTokens: 2 })
  }
})

test('cached tokens are found under every name in use, the standard one first', () => {
  const base = { prompt_tokens: 10, completion_tokens: 1 }
  const cached = (extra: object): number | undefined => parseUsage({ ...base, ...extra })?.cachedTokens
  assert.equal(cached({ prompt_tokens_details: { cached_tokens: 4 }, cached_tokens: 5 }), 4)
  assert.equal(cached({ prompt_cache_hit_tokens: 6, prompt_cache_miss_tokens: 4 }), 6)
  assert.equal(cached({ cached_tokens: 5 }), 5)
  assert.equal(cached({ num_cached_tokens: 3 }), 3)
  assert.equal(cached({}), undefined)
})

test('reasoning that the total counts beside the completion is added to it', () => {
  const details = { completion_tokens_details: { reasoning_tokens: 100 } }
  const beside = parseUsage({ prompt_tokens: 10, completion_tokens: 1, total_tokens: 111, ...details })
  assert.deepEqual(beside, { promptTokens: 10, completionTokens: 101, reasoningTokens: 100 })
  const within = parseUsage({ prompt_tokens: 10, completion_tokens: 101, total_tokens: 111, ...details })
  assert.deepEqual(within, { promptTokens: 10, completionTokens: 101, reasoningTokens: 100 })
})

test('written cache tokens are kept apart', () => {
  assert.equal(parseUsage({ prompt_tokens: 9, prompt_tokens_details: { cache_write_tokens: 8 } })?.cacheWriteTokens, 8)
})
