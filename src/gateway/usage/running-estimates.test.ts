import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { deployment, HANGS, refusal, type Step, testClient } from '../../../test/support/ledger/data-plane.ts'
import { fakeCredit } from '../../../test/support/ledger/fake-credit.ts'
import { begun, hello, ordinary, type PlaneInput, plane, STREAM } from '../../../test/support/ledger/plane.ts'
import { chunk, counts, frame, usageChunk } from '../../../test/support/providers/answers.ts'

/** What the prompt of `hello()` is estimated at, and what the hold's row says from the beginning. */
const PROMPT = 10

async function settled(): Promise<void> {
  for (let i = 0; i < 20; i++) await turn()
}

/** A stream that comes as far as `steps` and stays there. */
async function hanging(steps: readonly Step[], input: PlaneInput = {}) {
  const more = Promise.withResolvers<void>()
  const running = plane(() => ({ body: [...steps, () => more.promise, ...begun(4), HANGS] }), input)
  const client = testClient()
  const asked = running.ask(STREAM, client)
  await settled()
  return {
    ...running,
    goOn: () => more.resolve(),
    async leave() {
      client.leave()
      more.resolve()
      await asked
    },
  }
}

test('F16: the estimate of a stream is a quarter of its characters, with its cost', async () => {
  const { gateway, network, records, leave } = await hanging([frame(chunk({ content: 'x'.repeat(41) }))])
  assert.equal(network.exchanges.length, 1)
  const [estimate, ...rest] = gateway.estimates()
  assert.equal(rest.length, 0)
  await leave()
  assert.deepEqual(estimate, {
    accountId: 'acc_1',
    id: records[0]?.id,
    provider: 'up',
    promptTokens: PROMPT,
    completionTokens: 11,
    costNanoUsd: 10_000n + 22_000n,
    byokFeePpm: undefined,
  })
})

test('the provider’s figures are reported as they arrived', async () => {
  const { gateway, leave } = await hanging([frame(chunk({ content: 'Hello' })), frame(usageChunk(counts(700, 30)))])
  const [estimate] = gateway.estimates()
  assert.deepEqual([estimate?.promptTokens, estimate?.completionTokens], [700, 30])
  await leave()
})

test('only changes are reported', async () => {
  const { gateway, goOn, leave } = await hanging(begun(8))
  assert.equal(gateway.estimates().length, 1)
  assert.equal(gateway.estimates().length, 0)
  goOn()
  await settled()
  const [estimate] = gateway.estimates()
  assert.equal(estimate?.completionTokens, 9, '36 characters')
  await leave()
  assert.equal(gateway.estimates().length, 0, 'what is settled is no estimate')
})

test('a request without output reports nothing beyond its hold', async () => {
  const { gateway, leave } = await hanging([HANGS])
  assert.equal(gateway.active, 1)
  assert.deepEqual(gateway.estimates(), [])
  await leave()
})

test('a change of the provider is reported', async () => {
  const deployments = [deployment('up'), deployment('other')]
  const running = plane((position) => (position === 0 ? refusal(500) : { body: [HANGS] }), { model: { deployments } })
  const client = testClient()
  const asked = running.ask(STREAM, client)
  await settled()
  const [estimate] = running.gateway.estimates()
  assert.deepEqual([estimate?.provider, estimate?.promptTokens, estimate?.completionTokens], ['other', PROMPT, 0])
  client.leave()
  await asked
})

test('a request that was not sent to a provider has no estimate', async () => {
  const committing = Promise.withResolvers<void>()
  const credit = fakeCredit({ beforeHold: () => committing.promise })
  const { ask, gateway } = plane(() => ordinary(), { credit })
  const asked = ask(hello({ stream: true }))
  await settled()
  assert.deepEqual(gateway.estimates(), [])
  committing.resolve()
  await asked
})
