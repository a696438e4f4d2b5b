import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { fakeCredit } from '../../test/support/ledger/fake-credit.ts'
import { hello, ordinary, plane } from '../../test/support/ledger/plane.ts'
import { createTokenCounter } from './usage/token-counter.ts'

/** Words that no list of ours has: the bound of them is loose. */
const LONG = 'Kubernetes autoscaling orchestrators reconcile declaratively. '.repeat(400)
const BODY = hello({ stream: true, max_tokens: 100, messages: [{ role: 'user', content: LONG }] })
const MODEL = { deployments: [{ provider: 'up', model: 'gpt-4o', priority: 0, weight: 1 }] }

/** The tokenizer on its thread, however long it takes: a busy machine is not what is tested. */
function counting(t: TestContext): (text: string) => Promise<number> {
  const counter = createTokenCounter()
  t.after(() => counter.close())
  return counter.count
}

test('LED-4: a hold that does not fit is retried with an exact count', async (t) => {
  const plenty = fakeCredit()
  const uncounted = plane(() => ordinary(), { credit: plenty, model: MODEL, countWhole: () => assert.fail('counted') })
  assert.equal((await uncounted.ask(BODY)).error, undefined, 'what fits is never counted')
  const bound = plenty.holds[0]?.amountNanoUsd ?? 0n
  const credit = fakeCredit({ nanoUsd: (bound * 8n) / 10n })
  const { error } = await plane(() => ordinary(), { credit, model: MODEL, countWhole: counting(t) }).ask(BODY)
  assert.equal(error, undefined)
  assert.deepEqual(
    credit.asks.map(({ tentative }) => tentative),
    [true, false],
  )
  assert.ok((credit.holds[0]?.amountNanoUsd ?? bound) < (bound * 8n) / 10n)
})

test('a hold whose prompt cannot be counted in time is rejected as before', async () => {
  const credit = fakeCredit({ nanoUsd: 1_000_000n })
  const { error } = await plane(() => ordinary(), { credit, model: MODEL }).ask(BODY)
  assert.equal(error?.code, 'insufficient_credit')
})

test('a prompt that cannot fit the window is rejected before anything is held', async (t) => {
  const credit = fakeCredit()
  const model = { ...MODEL, contextWindow: 1000 }
  const count = counting(t)
  const asked: (readonly [timeoutMs: number, enough: number | undefined])[] = []
  const countWhole = (text: string, timeoutMs: number, enough?: number) => {
    asked.push([timeoutMs, enough])
    return count(text)
  }
  const { error } = await plane(() => ordinary(), { credit, model, countWhole }).ask(BODY)
  assert.deepEqual(asked, [[3000, 1000]], 'more tokens than the window holds need not be counted')
  assert.deepEqual([error?.code, error?.status, error?.param], ['context_length_exceeded', 400, 'messages'])
  assert.deepEqual([credit.asks.length, credit.events], [0, []])
})
