/** A published catalogue: pulled by command, and by the schedule, into two processes on one database. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { CATALOGUE } from '../../catalogue/index.ts'
import { publicKeyText, signCatalogue } from '../../src/features/stored-settings/published-catalogue.ts'
import { CHAT, eventually, getJson, hello, send } from '../support/client.ts'
import { startGateway } from '../support/gateway.ts'
import { everyRow, reconcile, type UsageRow } from '../support/ledger/money.ts'
import { ordinary } from '../support/providers/answers.ts'
import { startFakeProvider } from '../support/providers/fake-provider.ts'

const folder = mkdtempSync(join(tmpdir(), 'turnpike-catalogue-'))
const privateKey = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
const known = CATALOGUE.find(
  ({ kind, deployments, pricing: priced }) =>
    kind === undefined && priced?.discounts === undefined && deployments[0]?.provider === 'mistral',
)
const { id, pricing } = known ?? assert.fail('no model of Mistral')
const { input_per_million: input } = pricing ?? assert.fail('no price')
const served = catalogueOf(1.5)
const publisher = createServer((_request, reply) => reply.end(served)).listen(0, '127.0.0.1')
await once(publisher, 'listening')
const url = `http://127.0.0.1:${(publisher.address() as AddressInfo).port}/catalogue.json`
const provider = await startFakeProvider(ordinary)
const config = {
  providers: { mistral: { api_key: 'sk-x', base_url: `${provider.url}/v1` } },
  catalogue: { public_key: publicKeyText(privateKey), url },
}
const first = await startGateway({ config })
const second = await startGateway({
  config: { ...config, catalogue: { ...config.catalogue, pull_every_hours: 1 } },
  dataDir: first.dataDir,
})
const key = await first.key()
after(async () => {
  await second.stop()
  await first.stop()
  await provider.close()
  publisher.close()
  rmSync(folder, { recursive: true })
})

/** So many times the price of the release. */
function times(factor: number): number {
  return Number((input * factor).toFixed(6))
}

/** A catalogue in which one model costs so many times as much, and another is new. */
function catalogueOf(factor: number, publishedAt = new Date().toISOString()): string {
  const models = JSON.parse(JSON.stringify(CATALOGUE)).flatMap((entry: typeof known) => {
    if (entry?.id !== id) return [entry]
    const priced = { ...entry, pricing: { ...entry.pricing, input_per_million: times(factor) } }
    return [priced, { ...priced, id: 'mistral-new', aliases: [] }]
  })
  return signCatalogue({ publishedAt, models }, privateKey)
}

function pull(text: string, ...flags: string[]): Promise<string> {
  const file = join(folder, 'catalogue.json')
  writeFileSync(file, text)
  return first.cli('catalogue', 'pull', '--from', file, ...flags)
}

interface Listed {
  readonly pricing: { readonly input_per_million: number }
}

const priceIn = async (gateway: typeof first) =>
  (await getJson<Listed>(gateway, key, `/v1/models/${encodeURIComponent(id)}`)).pricing.input_per_million

const pricedEverywhere = (price: number) =>
  eventually(
    async () => [await priceIn(first), await priceIn(second)],
    (prices) => prices.every((each) => each === price),
  )

test('the schedule pulls when a process starts, for all processes', async () => {
  await pricedEverywhere(times(1.5))
})

test('a pull shows the changes and applies them in all processes; past rows keep their price', async () => {
  const ask = () => send(first, CHAT, { key, body: hello({ model: id }) })
  assert.equal((await ask()).status, 200)
  const shown = await pull(catalogueOf(1.2), '--dry-run')
  assert.match(shown, new RegExp(`~ ${id} pricing.input_per_million: ${times(1.5)} → ${times(1.2)}`))
  await pricedEverywhere(times(1.5))
  assert.equal(await pull(catalogueOf(1.2)), shown)
  await pricedEverywhere(times(1.2))
  assert.equal((await ask()).status, 200)
  assert.equal((await send(second, CHAT, { key, body: hello({ model: 'mistral-new' }) })).status, 200)
  const rows = await eventually(
    () => everyRow<UsageRow>(first, key, '/v1/usage/completions'),
    ({ length }) => length === 3,
  )
  const costs = new Set(rows.map(({ cost_usd }) => cost_usd))
  assert.equal(costs.size, 2)
  await reconcile(first, key)
  const { data } = await getJson<{ readonly data: readonly { readonly action: string }[] }>(first, key, '/v1/audit')
  assert.ok(data.filter(({ action }) => action === 'catalogue.changed').length >= 2)
})

test('prices that rise to more than twice as much, older catalogues and other publishers change nothing', async () => {
  const refused = (text: string, why: RegExp) => assert.rejects(pull(text), why)
  await refused(catalogueOf(2.5), /--accept/)
  await refused(catalogueOf(1, '2020-01-01T00:00:00Z'), /older/)
  await refused(catalogueOf(1).replace('mistral', 'maestral'), /signature/)
  await pricedEverywhere(times(1.2))
  await pull(catalogueOf(2.5), '--accept')
  await pricedEverywhere(times(2.5))
})

test('a publisher creates a key and signs; a reset returns to the catalogue of the release', async () => {
  const [secret, out] = [join(folder, 'key.pem'), join(folder, 'signed.json')]
  const publicKey = await first.cli('catalogue', 'keygen', '--out', secret)
  assert.match(publicKey, /^[\w+/]{43}=$/)
  await assert.rejects(first.cli('catalogue', 'keygen', '--out', secret))
  const signed = JSON.parse(await first.cli('catalogue', 'sign', '--key', secret, '--out', out, '--json'))
  assert.deepEqual([signed.file, signed.public_key], [out, publicKey.trim()])
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  assert.equal(JSON.parse(JSON.parse(readFileSync(out, 'utf8')).signed).release, version)
  await assert.rejects(first.cli('catalogue', 'pull', '--from', out), /signature/)
  const from = ['--from', out, '--public-key', publicKey.trim(), '--accept', '--json']
  const { published_at: publishedAt, applied } = JSON.parse(await first.cli('catalogue', 'pull', ...from))
  assert.deepEqual([publishedAt, applied], [signed.published_at, true])
  await pricedEverywhere(input)
  const reset = JSON.parse(await first.cli('catalogue', 'reset', '--json'))
  assert.deepEqual(reset, { object: 'catalogue', deleted: true })
  await pricedEverywhere(input)
})
