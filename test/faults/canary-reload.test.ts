/** Weights of a virtual model shift by reloads while up to 500 requests arrive each second: none is dropped. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { CHAT, hello, send } from '../support/client.ts'
import { model, startGateway } from '../support/gateway.ts'
import { reconcile } from '../support/ledger/money.ts'
import { ordinary } from '../support/providers/answers.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'

const PER_SECOND = 500
const SECONDS = 4
/** Fewer than the gateway, when its event loop is late, begins to reject at. */
const AT_ONCE = 30

test('a canary shifts from none to all of up to 500 requests a second without dropping one', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-canary-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const file = join(folder, 'turnpike.yaml')
  const provider = await startFakeProvider(ordinary)
  t.after(provider.close)
  const write = (canary: number) =>
    writeFileSync(
      file,
      JSON.stringify({
        providers: {
          up: { protocol: 'openai', base_url: `${provider.url}/v1`, api_key: 'sk-up', max_in_flight: 5_000 },
        },
        models: ['stable', 'canary'].map((id) => model(id, 'up', `${id}-m`)),
        virtual_models: [
          {
            id: 'chat',
            strategy: 'weighted',
            candidates: [
              { model: 'stable', weight: 100 - canary },
              { model: 'canary', weight: canary },
            ],
          },
        ],
        plans: { unlimited: { requests_per_minute: 1_000_000 } },
      }),
    )
  write(0)
  const gateway = await startGateway({ env: { TURNPIKE_CONFIG: file } })
  t.after(gateway.stop)
  const key = await gateway.key()
  const all: { readonly status: number; readonly text: string; readonly startedAt: number }[] = []
  const beganAt = performance.now()
  let sent = 0
  let sends = true
  const worker = async (): Promise<void> => {
    while (sends) {
      const due = beganAt + (sent++ / PER_SECOND) * 1000
      await sleep(Math.max(0, due - performance.now()))
      const startedAt = performance.now()
      const answer = await send(gateway, CHAT, { key, body: hello({ model: 'chat', stream: sent % 2 === 0 }) })
      all.push({ ...answer, startedAt })
    }
  }
  const workers = Array.from({ length: AT_ONCE }, worker)
  for (let second = 1; second <= SECONDS; second++) {
    await sleep(1000)
    write((100 * second) / SECONDS)
    await gateway.cli('reload')
  }
  const shiftedAt = performance.now()
  await sleep(500)
  sends = false
  await Promise.all(workers)
  const rate = Math.round((all.length / (performance.now() - beganAt)) * 1000)
  t.diagnostic(`${all.length} requests, ${rate} a second, during ${SECONDS} reloads`)
  assert.deepEqual([...new Set(all.map(({ status }) => status))], [200])
  const late = all.filter(({ startedAt, text }) => startedAt > shiftedAt && /"model":\s*"stable"/.test(text))
  assert.deepEqual(late, [])
  assert.ok(all.some(({ text }) => /"model":\s*"canary"/.test(text)))
  assert.equal((await reconcile(gateway, key)).ok, true)
})
