/** Virtual models: how they are listed, and a canary whose weights shift under load. Runs on one database. */
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { CHAT, eventually, getJson, hello, send } from '../support/client.ts'
import { model, startGateway } from '../support/gateway.ts'
import { reconcile } from '../support/ledger/money.ts'
import { ordinary } from '../support/providers/answers.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-virtual-'))
const file = join(folder, 'turnpike.yaml')
const provider = await startFakeProvider(ordinary)
const config = (weights: readonly [stable: number, canary: number]): string =>
  JSON.stringify({
    providers: { up: { protocol: 'openai', base_url: `${provider.url}/v1`, api_key: 'sk-up' } },
    models: [
      model('stable', 'up', 'stable-m'),
      { ...model('canary', 'up', 'canary-m'), pricing: { input_per_million: 3, output_per_million: 4 } },
    ],
    virtual_models: [
      {
        id: 'chat',
        strategy: 'weighted',
        candidates: ['stable', 'canary'].map((id, at) => ({ model: id, weight: weights[at] })),
      },
    ],
    plans: { unlimited: { requests_per_minute: 1_000_000 } },
  })
writeFileSync(file, config([1, 0]))
const gateway = await startGateway({ env: { TURNPIKE_CONFIG: file } })
const key = await gateway.key()
after(async () => {
  await gateway.stop()
  await provider.close()
  rmSync(folder, { recursive: true })
})

test('a virtual model is listed with its candidates and the range of their prices', async () => {
  const listed = await getJson<Record<string, unknown>>(gateway, key, '/v1/models/chat')
  assert.deepEqual([listed['id'], listed['pricing'], listed['owned_by']], ['chat', null, 'virtual'])
  assert.deepEqual(listed['virtual'], {
    strategy: 'weighted',
    sticky: 'none',
    candidates: [
      { model: 'stable', weight: 1 },
      { model: 'canary', weight: 0 },
    ],
    price_range: { input_per_million: { min: 1, max: 3 }, output_per_million: { min: 2, max: 4 } },
  })
  const { data } = await getJson<{ readonly data: readonly { readonly id: string }[] }>(gateway, key, '/v1/models')
  assert.ok(data.some(({ id }) => id === 'chat'))
})

test('weights that change by reload drop no request, and apply to all later ones', async () => {
  let stops = false
  const statuses = new Map<number, number>()
  const answered: string[] = []
  const worker = async (): Promise<void> => {
    while (!stops) {
      const answer = await send(gateway, CHAT, {
        key,
        body: hello({ model: 'chat', stream: answered.length % 2 === 0 }),
      })
      statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
      answered.push(/"model":\s*"(\w+)"/.exec(answer.text)?.[1] ?? answer.text)
    }
  }
  const workers = Array.from({ length: 16 }, worker)
  const untilAnswered = async (count: number): Promise<void> => {
    await eventually(
      async () => answered.length,
      (length) => length >= count,
    )
  }
  const stages: readonly (readonly [number, number])[] = [
    [1, 1],
    [0, 1],
    [1, 0],
    [0, 1],
  ]
  for (const weights of stages) {
    writeFileSync(file, config(weights))
    await gateway.cli('reload')
    const from = answered.length
    await untilAnswered(from + 100)
    // Those that were under way at the reload are the first sixteen at most.
    const later = new Set(answered.slice(from + 32, from + 100))
    const expected = ['stable', 'canary'].filter((_, at) => (weights[at] ?? 0) > 0)
    assert.deepEqual([...later].sort(), expected.sort(), JSON.stringify(weights))
  }
  stops = true
  await Promise.all(workers)
  assert.deepEqual([...statuses.keys()], [200])
  assert.ok(answered.length >= 400)
  assert.equal((await reconcile(gateway, key)).ok, true)
})
