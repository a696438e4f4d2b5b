import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type CatalogueEntry, released, TEXT_CAPABILITIES } from '../../catalogue/entry.ts'
import { CATALOGUE } from '../../catalogue/index.ts'
import { priceDifferences } from './differences.ts'
import type { PriceFacts, PriceSource } from './facts.ts'
import { readSnapshot } from './snapshot.ts'

const ENTRY: CatalogueEntry = {
  id: 'm',
  name: 'M',
  owned_by: 'maker',
  created: released('2026-01-01'),
  capabilities: TEXT_CAPABILITIES,
  context_window: 1000,
  max_output_tokens: 100,
  pricing: {
    input_per_million: 2,
    output_per_million: 8,
    cached_input_per_million: 0.2,
    server_tools: { web_search: 10 },
    tiers: [{ above_prompt_tokens: 199_999, input_per_million: 4, output_per_million: 12 }],
    service_tiers: { flex: { input_per_million: 1, output_per_million: 4 } },
  },
  aliases: [],
  deprecation_date: '2027-01-01',
  input_modalities: ['text'],
  supported_parameters: ['tools', 'response_format'],
  deployments: [
    { provider: 'openai', model: 'a' },
    { provider: 'other', model: 'b', priority: 1 },
  ],
  source: { url: 'https://maker.example/prices', read: '2026-11-01' },
}

function source(models: Readonly<Record<string, PriceFacts>>, name = 'one'): PriceSource {
  return { name, version: '1.0', date: '2026-11-10', models }
}

const WHOLE = { 'openai:a': {}, 'other:b': {} }

function messages(facts: PriceFacts, entry: Partial<CatalogueEntry> = {}): string[] {
  const sources = [source({ ...WHOLE, 'openai:a': facts }), source(WHOLE, 'two')]
  return priceDifferences({ ...ENTRY, ...entry }, sources).map(({ kind, message }) => `${kind}: ${message}`)
}

test('the same figures are no difference, however they are written', () => {
  const facts = {
    input_per_million: 2,
    output_per_million: 8,
    cached_input_per_million: 0.2,
    'above_200k.input_per_million': 4,
    'flex.output_per_million': 4,
    'server_tools.web_search': 10,
    max_input_tokens: 900,
    max_output_tokens: 102,
    deprecation_date: '2027-01-01',
  }
  assert.deepEqual(messages(facts), [])
})

test('a class that has no price costs what its class does', () => {
  assert.deepEqual(messages({ cache_write_per_million: 2, reasoning_output_per_million: 8 }), [])
  assert.equal(messages({ cache_write_1h_per_million: 4 }).length, 1)
})

const DIFFERENT: readonly (readonly [PriceFacts, RegExp])[] = [
  [{ input_per_million: 3 }, /^differs: input_per_million is 2, read 2026-11-01; one 1\.0 of 2026-11-10 says 3$/],
  [{ cache_write_per_million: 2.5 }, /cache_write_per_million is not set.* says 2\.5/],
  [{ 'above_200k.input_per_million': 5 }, /above_200k\.input_per_million is 4/],
  [{ 'above_128k.input_per_million': 3 }, /above_128k\.input_per_million is not set/],
  [{ 'flex.input_per_million': 2 }, /flex\.input_per_million is 1/],
  [{ 'server_tools.web_search': 14 }, /web_search is 10/],
  [{ context_window: 2000 }, /context_window is 1000/],
  [{ max_input_tokens: 500 }, /max_input_tokens is not set/],
  [{ max_output_tokens: 200 }, /max_output_tokens is 100/],
  [{ deprecation_date: '2026-12-01' }, /deprecation_date is 2027-01-01/],
]
for (const [facts, message] of DIFFERENT) {
  test(`a difference names both figures and both days: ${message.source}`, () => {
    const found = messages(facts)
    assert.equal(found.length, 1)
    assert.match(found[0] ?? '', message)
  })
}

test('a difference that the entry explains is settled, with the reason', () => {
  const settled = { input_per_million: 'the contract’s', 'above_*': 'not served' }
  const found = messages(
    { input_per_million: 3, 'above_200k.input_per_million': 5, output_per_million: 9 },
    { settled },
  )
  assert.deepEqual(
    found.map((message) => message.split(':')[0]),
    ['settled', 'settled', 'differs'],
  )
  assert.match(found[0] ?? '', /says 3: the contract’s$/)
})

test('of several deployments the highest price and the smallest limit count', () => {
  const found = priceDifferences(ENTRY, [
    source({ 'openai:a': { input_per_million: 2, context_window: 1000 }, 'other:b': { input_per_million: 3 } }),
    source({ 'openai:a': {}, 'other:b': { context_window: 400, deprecation_date: '2026-01-01' } }, 'two'),
  ])
  assert.deepEqual(
    found.map(({ message }) => message.split(' ')[0]),
    ['input_per_million', 'context_window'],
  )
})

test('what a source says of one deployment is no less than the entry may ask for all', () => {
  const cheaper = source({ 'other:b': { input_per_million: 1, context_window: 4000 } })
  const higher = source({ 'other:b': { input_per_million: 3 } })
  assert.deepEqual(
    priceDifferences(ENTRY, [cheaper, source(WHOLE, 'two')]).map(({ kind }) => kind),
    [],
  )
  assert.deepEqual(
    priceDifferences(ENTRY, [higher, source(WHOLE, 'two')]).map(({ kind }) => kind),
    ['differs'],
  )
})

test('an entry that fewer than two collections know says why', () => {
  const known = [source(WHOLE), source({}, 'two')]
  assert.match(priceDifferences(ENTRY, known)[0]?.message ?? '', /^only one knows it$/)
  assert.match(priceDifferences(ENTRY, [])[0]?.message ?? '', /^no collection knows it$/)
  const settled = { sources: 'too new' }
  assert.deepEqual(
    priceDifferences({ ...ENTRY, settled }, known).map(({ kind }) => kind),
    ['settled'],
  )
})

test('the catalogue agrees with the stored collections, or each entry says why not', () => {
  const sources = readSnapshot()
  const sold = CATALOGUE.filter(({ deployments }) => deployments.every(({ provider }) => provider !== 'simulator'))
  const open = sold.flatMap((entry) =>
    priceDifferences(entry, sources)
      .filter(({ kind }) => kind !== 'settled')
      .map(({ message }) => `${entry.id}: ${message}`),
  )
  assert.ok(sources.length >= 3 && sold.length > 100)
  assert.deepEqual(open, [])
})
