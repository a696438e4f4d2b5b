/**
 * Every recorded answer is priced twice: by the gateway's codec, meter and price, and by the calculator of genai-prices
 * over units read from the raw JSON. Both must come to the same nano-dollar, under the catalogue's price of the model
 * where it has one and under tariffs that price every class apart.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CatalogueTariff } from '../../catalogue/entry.ts'
import { CATALOGUE } from '../../catalogue/index.ts'
import { gatewayNanoUsd, meteredUsage } from '../support/providers/gateway-price.ts'
import { independentNanoUsd } from '../support/providers/independent-price.ts'
import { readBilledUnits } from '../support/providers/raw-usage.ts'
import { loadRecordings, RECORDINGS_FOLDER, type Recording } from '../support/providers/recordings.ts'
import { readStream, readWhole } from '../support/readers.ts'

/** Rates that no two classes share; tiers so low that real prompts reach them. */
const TEXT_CLASSES: CatalogueTariff = {
  input_per_million: 3.000007,
  output_per_million: 15.000011,
  cached_input_per_million: 0.300013,
  cache_write_per_million: 3.750017,
  cache_write_1h_per_million: 6.000019,
  reasoning_output_per_million: 17.000023,
  server_tools: { web_search: 10.000029 },
  per_request_usd: 0.000000031,
  tiers: [
    {
      above_prompt_tokens: 100,
      input_per_million: 5.000037,
      output_per_million: 22.000041,
      cached_input_per_million: 0.500043,
    },
    { above_prompt_tokens: 1000, input_per_million: 7.000047, cache_write_per_million: 9.000053 },
  ],
}
const MEDIA_CLASSES: CatalogueTariff = {
  input_per_million: 0.300007,
  output_per_million: 2.500011,
  cached_input_per_million: 0.030013,
  cache_write_per_million: 0.375017,
  cache_write_1h_per_million: 0.600019,
  audio_input_per_million: 1.000023,
  cached_audio_input_per_million: 0.100029,
  audio_output_per_million: 20.000031,
  image_output_per_million: 30.000037,
}

/** Why an answer has no price; undefined: it has. */
function reasonLeftOut(recording: Recording): string | undefined {
  if (recording.status >= 300) return 'an error'
  const read = recording.stream ? readStream(recording) : readWhole(recording)
  if (read.isError) return 'an answer that ends in an error, or is none'
  if (recording.stream && readStream(recording).terminalOffset === undefined) return 'a stream that breaks off'
  if (readBilledUnits(recording) === undefined) return 'an answer without usage, which the gateway estimates'
  return undefined
}

/** The catalogue's price of the model that answered, without what a moment or a service tier decides. */
function cataloguePrice({ provider, model }: Recording): CatalogueTariff | undefined {
  const entry = CATALOGUE.find(
    ({ id, aliases, deployments }) =>
      deployments.some((each) => each.provider === provider && each.model === model) ||
      [id, ...aliases].includes(model),
  )
  if (entry === undefined || entry.pricing === null) return undefined
  const { service_tiers: _, discounts: __, successors: ___, ...tariff } = entry.pricing
  return tariff
}

const recordings = loadRecordings() ?? []
const reasons = new Map<string, string[]>()
let pricedAsCatalogued = 0
let priced = 0

for (const recording of recordings) {
  const reason = reasonLeftOut(recording)
  if (reason !== undefined) {
    reasons.set(reason, [...(reasons.get(reason) ?? []), recording.file])
    continue
  }
  test(`${recording.file} costs what an independent calculator computes`, () => {
    const units = readBilledUnits(recording)
    assert.ok(units !== undefined)
    const usage = meteredUsage(recording)
    const own = cataloguePrice(recording)
    for (const tariff of [TEXT_CLASSES, MEDIA_CLASSES, ...(own === undefined ? [] : [own])]) {
      assert.equal(gatewayNanoUsd(usage, tariff), independentNanoUsd(units, tariff))
    }
    priced += 1
    if (own !== undefined) pricedAsCatalogued += 1
  })
}

test('every recording is priced or left out for a reason', () => {
  if (recordings.length === 0) return console.log(`recorded prices: no recordings in ${RECORDINGS_FOLDER}`)
  const leftOut = [...reasons.values()].flat().length
  console.log(
    `recorded prices: ${priced} of ${recordings.length} priced twice, ${pricedAsCatalogued} of them at the catalogue’s price too`,
  )
  for (const [reason, files] of reasons) console.log(`recorded prices, left out: ${files.length} as ${reason}`)
  assert.equal(priced + leftOut, recordings.length)
  assert.ok(priced > recordings.length / 2)
})
