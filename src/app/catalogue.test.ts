/** Runs on one database: it is about files. */
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { CATALOGUE } from '../../catalogue/index.ts'
import { openCatalogue, publicKeyText, signCatalogue } from '../features/stored-settings/published-catalogue.ts'
import type { Json } from '../lib/json.ts'
import { catalogueInForce, catalogueProblems, pullCatalogue } from './catalogue.ts'

const keyOf = () => generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
const [mine, theirs] = [keyOf(), keyOf()]
const entries: readonly Json[] = JSON.parse(JSON.stringify(CATALOGUE))
const [first] = entries
const published = { publishedAt: '2099-01-01T00:00:00.000Z', models: entries }

test('a catalogue opens with the key of its publisher, unchanged', () => {
  assert.deepEqual(openCatalogue(signCatalogue(published, mine), publicKeyText(mine)), published)
  const released = { ...published, release: '0.3.0' }
  assert.deepEqual(openCatalogue(signCatalogue(released, mine), publicKeyText(mine)), released)
  const unreadable = signCatalogue({ ...published, release: '<b>next</b>' }, mine)
  assert.deepEqual(openCatalogue(unreadable, publicKeyText(mine)), published)
})

test('a catalogue of another publisher, a changed one and anything else are rejected', () => {
  const file = signCatalogue(published, mine)
  const changed = file.replace('2099', '2098')
  for (const [text, reason] of [
    [signCatalogue(published, theirs), /signature/],
    [changed, /signature/],
    [JSON.stringify({ ...JSON.parse(file), signature: '' }), /signature/],
    [JSON.stringify({ ...JSON.parse(file), signature: undefined }), /not signed/],
    [JSON.stringify({ ...JSON.parse(file), format: 'other' }), /no catalogue/],
    ['{}', /no catalogue/],
    ['x', /no catalogue/],
  ] as const) {
    assert.throws(() => openCatalogue(text, publicKeyText(mine)), reason)
  }
  assert.throws(() => openCatalogue(file, 'AAAA'), /32 bytes/)
})

test('the built-in catalogue can be published as it is, and what a gateway cannot use is named', () => {
  assert.deepEqual(catalogueProblems(entries), [])
  for (const [change, named] of [
    [{ pricing: { input_per_million: -1, output_per_million: 1 } }, /pricing/],
    [{ pricing: { input_per_million: 0.0000001, output_per_million: 1 } }, /pricing/],
    [{ capabilities: { flying: true } }, /flying/],
    [{ deployments: undefined }, /deployments/],
    [{ input_modalities: 'text' }, /input_modalities/],
    [{ source: { url: 'x' } }, /source/],
    [{ made_up: 1 }, /made_up/],
    [{ id: undefined }, /id/],
  ] as const) {
    assert.match(catalogueProblems([{ ...first, ...change }]).join('; '), named)
  }
})

test('a catalogue that is too large is not read to its end [limit: catalogue-file]', async (t) => {
  const server = createServer((_request, reply) => {
    reply.on('error', () => {})
    reply.end(Buffer.alloc(16 * 1024 * 1024 + 1, ' '))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const from = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const pull = pullCatalogue({
    ...{ db: undefined as never, from, isAccepted: false, isDryRun: false, now: Date.now, audit: async () => {} },
    config: { catalogue: { public_key: publicKeyText(mine) } },
  })
  await assert.rejects(pull, /exceeds 16777216 bytes/)
})

test('without a trusted publisher nothing is read, and the error says how to name one', async () => {
  const pull = pullCatalogue({
    ...{ db: undefined as never, isAccepted: false, isDryRun: false, now: Date.now, audit: async () => {} },
    ...{ config: { catalogue: {} }, from: '/nowhere' },
  })
  await assert.rejects(pull, /catalogue\.public_key.*--public-key/)
})

test('a published entry replaces that of the release, model by model, unless the release is younger', () => {
  const [one] = CATALOGUE
  const models = [{ ...first, name: 'Renamed' }]
  const inForce = catalogueInForce({ publishedAt: '2099-01-01T00:00:00Z', models })
  assert.equal(inForce.length, CATALOGUE.length)
  assert.equal(inForce.find(({ id }) => id === one?.id)?.name, 'Renamed')
  assert.equal(catalogueInForce({ publishedAt: '2020-01-01T00:00:00Z', models }), CATALOGUE)
  assert.equal(catalogueInForce(undefined), CATALOGUE)
})
