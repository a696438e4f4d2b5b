import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { CATALOGUE } from '../../../catalogue/index.ts'
import { buildModelBook, type ConfiguredModel, type ModelBookInput } from './book.ts'
import { priceVersion } from './price.ts'

const EVERY_PROVIDER = new Set(CATALOGUE.flatMap(({ deployments }) => deployments.map(({ provider }) => provider)))

/** Before the end of any price of the catalogue. */
const NOW = Date.parse('2026-11-20')

function book(models: readonly ConfiguredModel[] = [], input: Partial<ModelBookInput> = {}) {
  return buildModelBook({ catalogue: CATALOGUE, models, providers: EVERY_PROVIDER, now: () => NOW, ...input })
}

test('a dated ID and its undated alias find the same model at the same price', () => {
  const { find } = book()
  const dated = find('gpt-4o-2024-08-06')
  const alias = find('gpt-4o')
  assert.equal(dated?.aliasOf, undefined)
  assert.equal(alias?.aliasOf, 'gpt-4o-2024-08-06')
  assert.deepEqual({ ...alias, id: dated?.id, aliasOf: undefined }, dated)
})

test('a model is listed when a provider of it is configured, and only with the deployments that are', () => {
  const simulatorAlone = book([], { providers: new Set(['simulator']) })
  assert.deepEqual(
    simulatorAlone.all.map(({ id }) => id),
    ['turnpike-simulator'],
  )
  const two = book([], { providers: new Set(['groq', 'together']) }).find('gpt-oss-120b')
  assert.deepEqual(
    two?.deployments.map(({ provider, priority, weight }) => [provider, priority, weight]),
    [
      ['groq', 0, 1],
      ['together', 1, 1],
    ],
  )
})

test('no other model stands in for one of embeddings, whose vectors are its own', () => {
  const small = { id: 'text-embedding-3-small' }
  const fallbacks = ['text-embedding-3-large']
  assert.throws(() => book([{ ...small, fallbacks }]), /embedding model 'text-embedding-3-small' has fallbacks/)
  const virtual = (...models: string[]) => ({
    id: 'vectors',
    candidates: models.map((model) => ({ model })),
  })
  const several = [virtual(small.id, ...fallbacks)]
  assert.throws(() => book([], { virtualModels: several }), /'vectors' has several embedding models/)
  assert.equal(book([], { virtualModels: [virtual(small.id)] }).find('vectors')?.kind, 'embedding')
  assert.equal(book([{ id: 'gpt-4o', fallbacks: ['gpt-5.4'] }]).find('gpt-4o')?.fallbacks?.length, 1)
})

test('a model of the file needs only an ID and a deployment, and is not priced then', () => {
  const model = book([{ id: 'our-coder', deployments: [{ provider: 'local', model: 'qwen3-coder' }] }], {
    providers: new Set(['local']),
  }).find('our-coder')
  assert.deepEqual(model, {
    id: 'our-coder',
    name: 'our-coder',
    ownedBy: 'custom',
    created: 0,
    kind: 'chat',
    capabilities: { streaming: true, function_calling: false, vision: false, json_mode: false },
    contextWindow: 128_000,
    maxInputs: undefined,
    maxOutputTokens: undefined,
    price: undefined,
    priceVersion: undefined,
    priceSource: undefined,
    aliasOf: undefined,
    deprecationDate: undefined,
    replacement: undefined,
    inputModalities: ['text'],
    supportedParameters: ['max_tokens', 'stop', 'temperature', 'top_p'],
    deployments: [{ provider: 'local', model: 'qwen3-coder', priority: 0, weight: 1 }],
  })
})

test('the file overrides the catalogue field by field, a price as a whole', () => {
  const untouched = book().find('gpt-4o-2024-08-06')
  const model = book([
    {
      id: 'gpt-4o-2024-08-06',
      max_output_tokens: 4096,
      capabilities: { vision: false, pdf: false, json_schema: false },
      pricing: { input_per_million: 3, output_per_million: 12 },
    },
  ]).find('gpt-4o-2024-08-06')
  assert.equal(model?.maxOutputTokens, 4096)
  assert.equal(model?.contextWindow, untouched?.contextWindow)
  assert.deepEqual(model?.capabilities, { streaming: true, function_calling: true, vision: false, json_mode: true })
  assert.deepEqual(model?.inputModalities, ['text'])
  assert.deepEqual([model?.pdf, model?.jsonSchema, untouched?.pdf, untouched?.jsonSchema], [false, false, true, true])
  assert.ok(!model?.supportedParameters.includes('structured_outputs'))
  assert.deepEqual(model?.price, { inputMicroUsd: 3_000_000, outputMicroUsd: 12_000_000 })
  assert.notEqual(model?.priceVersion, untouched?.priceVersion)
  assert.equal(book([{ id: 'gpt-4o-2024-08-06', pricing: null }]).find('gpt-4o')?.price, undefined)
})

test('what the catalogue says of a deployment stays apart from what the file says of its own', () => {
  const own = { provider: 'openai', model: 'x', zdr: true }
  const { find } = book([{ id: 'own', capabilities: { pdf: true }, deployments: [own] }])
  assert.deepEqual(find('gpt-4o')?.deployments[0]?.published?.dataCollection, 'deny')
  assert.equal(find('gpt-4o')?.deployments[0]?.dataCollection, undefined)
  const [deployment] = find('own')?.deployments ?? []
  assert.deepEqual([deployment?.zdr, deployment?.published], [true, undefined])
  assert.deepEqual([find('own')?.pdf, find('own')?.inputModalities], [true, ['text', 'file']])
  assert.equal(find('own')?.jsonSchema, undefined, 'not known')
})

test('an alias of the catalogue can be overridden alone and is then a model of its own', () => {
  const { find } = book([{ id: 'gpt-4o', pricing: { input_per_million: 1, output_per_million: 2 } }])
  assert.equal(find('gpt-4o')?.aliasOf, undefined)
  assert.equal(find('gpt-4o')?.price?.inputMicroUsd, 1_000_000)
  assert.equal(find('gpt-4o')?.contextWindow, 128_000)
  assert.equal(find('gpt-4o-2024-08-06')?.price?.inputMicroUsd, 2_500_000)
})

test('an alias of the file takes its name from the catalogue', () => {
  const models = [
    { id: 'house-model', aliases: ['gpt-4o', 'o3-2025-04-16'], deployments: [{ provider: 'openai', model: 'x' }] },
    { id: 'gpt-4o-2024-08-06', name: 'Ours' },
  ]
  const { find } = book(models)
  assert.equal(find('gpt-4o')?.aliasOf, 'house-model')
  assert.equal(find('o3-2025-04-16')?.aliasOf, 'house-model')
  assert.equal(find('o3'), undefined)
  assert.equal(find('gpt-4o-2024-08-06')?.name, 'Ours')
})

test('a name given twice in the file, or a price that is not exact, refuses the whole book', () => {
  const deployments = [{ provider: 'openai', model: 'x' }]
  assert.throws(
    () =>
      book([
        { id: 'a', deployments },
        { id: 'b', aliases: ['a'], deployments },
      ]),
    /'a'/,
  )
  const pricing = { input_per_million: 0.1234567, output_per_million: 1 }
  assert.throws(() => book([{ id: 'a', deployments, pricing }]), /'a'.*0\.1234567/)
})

test('price versions name the model and the four prices, and nothing else', () => {
  const price = { inputMicroUsd: 1, outputMicroUsd: 2 }
  const versions = [
    priceVersion('a', price),
    priceVersion('b', price),
    priceVersion('a', { ...price, outputMicroUsd: 3 }),
    priceVersion('a', { ...price, cachedInputMicroUsd: 1 }),
    priceVersion('a', { ...price, cacheWriteMicroUsd: 1 }),
  ]
  for (const version of versions) assert.match(version, /^pv_[0-9a-f]{20}$/)
  assert.equal(new Set(versions).size, versions.length)
  assert.equal(priceVersion('a', { ...price }), versions[0])
  assert.equal(priceVersion('a', price), 'pv_0a8ed86fbb86ec1953eb', 'a version must never change its meaning')
})

test('the nearest names of a typing error contain what was meant', () => {
  const { nearest } = book()
  assert.equal(nearest('gpt-4o-mnii', 3).length, 3)
  assert.ok(nearest('gpt-4o-mnii', 3).includes('gpt-4o-mini'))
  assert.ok(nearest('claude-opus-4.1', 3).includes('claude-opus-4-1'))
})

test('whatever is asked for, finding and naming neighbours is total and stays within the list', () => {
  const { find, nearest, all } = book()
  const ids = new Set(all.map(({ id }) => id))
  fc.assert(
    fc.property(fc.oneof(fc.string({ maxLength: 300 }), fc.constantFrom('__proto__', 'constructor', '')), (word) => {
      assert.equal(find(word) === undefined, !ids.has(word))
      for (const id of nearest(word, 3)) assert.ok(ids.has(id))
    }),
  )
})
