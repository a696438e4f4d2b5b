/**
 * A minute of crash loop, so it is slow: real processes, each killed seconds after it was ready. None of them lives for as
 * long as a lease, and what the first one held is swept nevertheless.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { CHAT, eventually, getJson, hello, open } from '../support/client.ts'
import { openLocation } from '../support/database.ts'
import { type Gateway, oneModel, startGateway } from '../support/gateway.ts'
import { everyRow, reconcile, type UsageRow } from '../support/ledger/money.ts'
import { slowStream } from '../support/providers/answers.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'

const STREAMS = 3
/** How long each process lives once it is ready. */
const LIFE_MS = 3_000
/** A process is missed after 30 s; the rest is what starts take on a busy machine. */
const SWEPT_WITHIN_MS = 300_000
/** The lease of a process: whoever lives for so long sweeps by itself. */
const LEASE_MS = 30_000

const provider = await startFakeProvider(slowStream(1_000, 100))
const config = oneModel(provider.url)
const first = await startGateway({ config })
let gateway: Gateway | undefined = first
after(async () => {
  gateway?.signal('SIGKILL')
  await gateway?.exited
  await first.stop()
  await provider.close()
})

/** What a sweep charges is written every 2 s. */
async function untilEstimated({ database: location }: Gateway): Promise<void> {
  const database = await openLocation(location)
  const estimates = () => database.db.selectFrom('hold').select('completion_tokens').execute()
  const isWritten = (holds: readonly { readonly completion_tokens: number }[]) =>
    holds.filter(({ completion_tokens: tokens }) => tokens > 0).length === STREAMS
  await eventually(estimates, isWritten).finally(() => database.close())
}

test('F16, INV-10: holds are swept in a crash loop of processes that run for 3 s each', async () => {
  const key = await first.keyOfNewAccount()
  const streams = Array.from({ length: STREAMS }, () =>
    open(first, CHAT, { key, body: hello({ stream: true }), fresh: true }),
  )
  for (const { body } of await Promise.all(streams)) body.on('error', () => undefined).resume()
  await untilEstimated(first)
  const until = performance.now() + SWEPT_WITHIN_MS
  let rows: readonly UsageRow[] = []
  let lives = 0
  for (; rows.length < STREAMS; lives++) {
    assert.ok(performance.now() < until, `${lives} processes have swept ${rows.length} of ${STREAMS} holds`)
    gateway?.signal('SIGKILL')
    await gateway?.exited
    gateway = await startGateway({ config, dataDir: first.dataDir })
    const bornAt = performance.now()
    await sleep(LIFE_MS)
    rows = await everyRow<UsageRow>(gateway, key, '/v1/usage/completions')
    assert.ok(performance.now() - bornAt < LEASE_MS, 'it was a crash loop')
  }
  console.log(
    `crash loop: swept by process ${lives + 1}, after ${((performance.now() - until + SWEPT_WITHIN_MS) / 1_000).toFixed(1)} s`,
  )
  const said = rows.map(({ status, usage_source: source }) => `${status}, ${source}`)
  assert.deepEqual(
    said,
    Array.from({ length: STREAMS }, () => 'incomplete, estimated'),
  )
  assert.ok(rows.every(({ completion_tokens: tokens }) => tokens > 0))
  const { held_usd: held } = await getJson<{ readonly held_usd: number }>(gateway as Gateway, key, '/v1/usage')
  assert.equal(held, 0)
  const { ok, ...sums } = await reconcile(gateway as Gateway, key)
  assert.ok(ok, JSON.stringify(sums))
})
