import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTokenCounter, MAX_COUNTED_CHARACTERS } from './token-counter.ts'

test('text is counted with the tokenizer', async (t) => {
  const counter = createTokenCounter()
  t.after(() => counter.close())
  assert.equal(await counter.count(''), 0)
  assert.equal(await counter.count('Hello, world!'), 4)
  assert.equal((await counter.count('<|endoftext|> is text like any other')) > 5, true)
})

test('pieces neither lose nor add words', async (t) => {
  const counter = createTokenCounter()
  t.after(() => counter.close())
  const words = 10_000
  assert.equal(await counter.count(' token'.repeat(words)), words)
})

test('hostile text of one letter is counted in bounded time, and text beyond the limit extrapolated [limit: tokenizer]', async (t) => {
  const counter = createTokenCounter()
  t.after(() => counter.close())
  const once = await counter.count('a'.repeat(MAX_COUNTED_CHARACTERS))
  const twice = await counter.count('a'.repeat(2 * MAX_COUNTED_CHARACTERS))
  assert.ok(once > 0)
  assert.equal(twice, 2 * once)
})

test('a long text is counted only until its beginning has enough tokens', async (t) => {
  const counter = createTokenCounter()
  t.after(() => counter.close())
  const text = ' token'.repeat(MAX_COUNTED_CHARACTERS / 2)
  assert.equal(await counter.countWhole(text, 60_000), undefined)
  const tokens = (await counter.countWhole(text, 60_000, 1000)) ?? 0
  assert.ok(tokens > 1000 && tokens < MAX_COUNTED_CHARACTERS / 2, String(tokens))
})
