/** Providers that lie about usage. Runs on one database: `random-scenarios` has the same on both. */
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { completionOf } from '../support/client.ts'
import { oneModel } from '../support/gateway.ts'
import { chunk, completion, counts, usageChunk } from '../support/providers/answers.ts'
import { assertWireRules, readStream } from '../support/providers/sse.ts'
import { bill, end, type Script, sse } from './kit/byte-script.ts'
import { startFaultedGateway } from './kit/faulted-gateway.ts'
import { goodAnswer, PROMPT_TOKENS, streamBegun, whole } from './kit/openai-script.ts'

const WORDS = 4
/** Of the model, and so of every request that names no length. */
const MAX_OUTPUT = 1000

const faulted = await startFaultedGateway({
  config: (url) => oneModel(url, {}, { routing: { max_attempts: 1, breaker: { failures: 1000 } } }),
})
after(() => faulted.stop())

/** What is reported, and how many completion tokens are charged: the provider's within what can be, else our own count. */
const LIES: readonly (readonly [
  name: string,
  usage: unknown,
  tokens: number,
  source: 'provider' | 'estimated' | 'bounded',
])[] = [
  ['the truth', counts(PROMPT_TOKENS, WORDS), WORDS, 'provider'],
  ['nothing', undefined, WORDS, 'estimated'],
  ['null', null, WORDS, 'estimated'],
  ['a text', 'plenty', WORDS, 'estimated'],
  ['no fields', {}, WORDS, 'estimated'],
  ['negative tokens', counts(-5, -7), WORDS, 'estimated'],
  ['huge tokens', counts(PROMPT_TOKENS, 1_000_000_000), MAX_OUTPUT, 'bounded'],
  ['tokens beyond what numbers hold', counts(PROMPT_TOKENS, 1e300), WORDS, 'estimated'],
  ['a huge prompt', counts(1_000_000_000, WORDS), WORDS, 'bounded'],
  ['tokens that are texts', { prompt_tokens: '10', completion_tokens: '4' }, WORDS, 'estimated'],
  ['a fraction of a token', counts(PROMPT_TOKENS, 4.5), WORDS, 'estimated'],
  ['the prompt alone', { prompt_tokens: PROMPT_TOKENS }, WORDS, 'estimated'],
  [
    'more tokens cached than there were',
    { ...counts(PROMPT_TOKENS, WORDS), prompt_tokens_details: { cached_tokens: 99_999 } },
    WORDS,
    'provider',
  ],
  ['a wrong total', { ...counts(PROMPT_TOKENS, WORDS), total_tokens: 3 }, WORDS, 'provider'],
]

/** A whole answer that tells nothing of its usage. */
const { usage: _, ...unmeasured } = completion({ content: ' hello'.repeat(WORDS) })
const SILENT: Script = [bill(WORDS), ...whole(200, JSON.stringify(unmeasured))]

/** A stream that tells its usage in these chunks. */
function telling(...chunks: readonly object[]): Script {
  return [
    ...streamBegun({ words: WORDS }),
    sse(chunk({}, 'stop')),
    ...chunks.map((each) => sse(each)),
    sse('[DONE]'),
    end,
  ]
}

/** As the provider puts it, whatever it is. */
const told = (usage: unknown): object => ({ ...usageChunk(counts(0, 0)), usage })

suite('F8: a provider that lies about usage', { concurrency: true }, () => {
  for (const [name, usage, tokens, source] of LIES) {
    test(`F8, TM15, whole: ${name}: ${source} figures, one row, and the client sees the charge`, async () => {
      const answer = await faulted.ask({ script: usage === undefined ? SILENT : goodAnswer(WORDS, usage) })
      assert.equal(answer.status, 200, answer.text)
      const shown = completionOf(answer).usage
      assert.deepEqual([shown.completion_tokens, shown.total_tokens], [tokens, shown.prompt_tokens + tokens])
      await faulted.assertCharged(answer, {
        status: 'completed',
        completionTokens: tokens,
        promptTokens: shown.prompt_tokens,
        source,
      })
    })

    test(`F8, TM15, streamed: ${name}: ${source} figures, one row, and the client sees the charge`, async () => {
      const answer = await faulted.ask({ stream: true, script: telling(...(usage === undefined ? [] : [told(usage)])) })
      const stream = readStream(answer.text)
      assertWireRules(stream, { model: 'm1' })
      const shown = stream.chunks.at(-1)?.usage
      assert.equal(shown?.completion_tokens, tokens)
      await faulted.assertCharged(answer, {
        status: 'completed',
        completionTokens: tokens,
        promptTokens: shown?.prompt_tokens ?? 0,
        source,
      })
    })
  }

  test('F8, TM15: figures are accepted as far as the requested length makes them possible', async () => {
    const MAX_TOKENS = 50
    const cases = [
      { said: MAX_TOKENS, tokens: MAX_TOKENS, source: 'provider' },
      { said: MAX_TOKENS + 1, tokens: MAX_TOKENS, source: 'bounded' },
      { said: Number.MAX_SAFE_INTEGER, tokens: MAX_TOKENS, source: 'bounded' },
    ] as const
    for (const { said, tokens, source } of cases) {
      const script = goodAnswer(WORDS, counts(PROMPT_TOKENS, said))
      const answer = await faulted.ask({ script, body: { max_tokens: MAX_TOKENS } })
      await faulted.assertCharged(answer, { status: 'completed', completionTokens: tokens, source })
    }
  })

  test('F8, TM15: "hi" with max_tokens 16 is charged for 16 tokens and its prompt, whatever is reported', async () => {
    const lie = counts(1_000_000_000, 1_000_000_000)
    const answer = await faulted.ask({ script: goodAnswer(1, lie), body: { max_tokens: 16 } })
    const { usage } = completionOf(answer)
    assert.ok(usage.prompt_tokens < 2_000, String(usage.prompt_tokens))
    await faulted.assertCharged(answer, { status: 'completed', completionTokens: 16, source: 'bounded' })
  })

  test('F8, TM15: delivered text is never free, whatever is reported', async () => {
    const script = goodAnswer(900, counts(PROMPT_TOKENS, 0))
    const answer = await faulted.ask({ script })
    await faulted.assertCharged(answer, { status: 'completed', completionTokens: 57, source: 'bounded' })
  })

  const TWICE: readonly (readonly [name: string, chunks: readonly object[], tokens: number])[] = [
    ['twice the same', [told(counts(PROMPT_TOKENS, WORDS)), told(counts(PROMPT_TOKENS, WORDS))], WORDS],
    ['twice, the second one more', [told(counts(PROMPT_TOKENS, 2)), told(counts(PROMPT_TOKENS, WORDS))], WORDS],
    ['a hundred times', Array.from({ length: 100 }, () => told(counts(PROMPT_TOKENS, WORDS))), WORDS],
    ['the truth and then nonsense', [told(counts(PROMPT_TOKENS, WORDS)), told('plenty')], WORDS],
    ['the truth and then nothing', [told(counts(PROMPT_TOKENS, WORDS)), told(counts(0, 0))], WORDS],
  ]
  for (const [name, chunks, tokens] of TWICE) {
    test(`F8, INV-4: usage that arrives ${name} is charged once`, async () => {
      const answer = await faulted.ask({ stream: true, script: telling(...chunks) })
      const stream = readStream(answer.text)
      assertWireRules(stream, { model: 'm1' })
      await faulted.assertCharged(answer, {
        status: 'completed',
        completionTokens: tokens,
        promptTokens: PROMPT_TOKENS,
      })
    })
  }

  test('F8: usage in every chunk, growing, is the last one’s', async () => {
    const growing = Array.from({ length: WORDS }, (_, index) =>
      sse(chunk({ content: ' hello' }, null, { usage: counts(PROMPT_TOKENS, index + 1) })),
    )
    const [opening = end, role = end] = streamBegun({ words: 0 })
    const script = [opening, role, bill(WORDS), ...growing, sse(chunk({}, 'stop')), sse('[DONE]'), end]
    const answer = await faulted.ask({ stream: true, script })
    await faulted.assertCharged(answer, { status: 'completed', completionTokens: WORDS, promptTokens: PROMPT_TOKENS })
  })
})

test('F8, INV-4, INV-6: afterwards nothing is held and everything adds up', () => faulted.assertAgreement())
