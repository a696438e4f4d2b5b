import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { ALL_CAPABILITIES, type CatalogueEntry, released } from '../../catalogue/entry.ts'
import { catalogueFindings, type Finding } from './catalogue-findings.ts'

const ENTRY: CatalogueEntry = {
  id: 'm-2026-01-01',
  name: 'M',
  owned_by: 'maker',
  created: released('2026-01-01'),
  capabilities: ALL_CAPABILITIES,
  context_window: 1000,
  max_output_tokens: 1000,
  pricing: { input_per_million: 1, output_per_million: 2, cached_input_per_million: 1 },
  aliases: ['m'],
  deprecation_date: null,
  input_modalities: ['text', 'image'],
  supported_parameters: ['tools', 'response_format'],
  deployments: [{ provider: 'known', model: 'm' }],
  source: { url: 'https://maker.example/prices', read: '2026-06-01' },
}

/** Two collections that know the model and say nothing else of it. */
const KNOWING = ['one', 'two'].map((name) => ({
  name,
  version: '1',
  date: '2026-06-01',
  models: { 'known:m': {}, 'known:a': {} },
}))

function findingsOf(...changes: readonly Partial<CatalogueEntry>[]): Finding[] {
  return catalogueFindings({
    catalogue: changes.map((change) => ({ ...ENTRY, ...change })),
    providers: new Set(['known', 'other']),
    sources: KNOWING,
    today: '2026-06-10',
    staleDays: 30,
    nearDays: 20,
  })
}

test('a valid entry has no finding', () => {
  assert.deepEqual(findingsOf({}), [])
  assert.deepEqual(
    findingsOf({ max_output_tokens: null, deprecation_date: '2026-07-01', price_ends: '2026-07-01' }),
    [],
  )
})

const INCONSISTENT: readonly (readonly [Partial<CatalogueEntry>, RegExp])[] = [
  [{ aliases: ['m', 'm'] }, /the name m is used 2 times/],
  [{ aliases: ['m-2026-01-01'] }, /the name m-2026-01-01 is used 2 times/],
  [
    { pricing: { input_per_million: 1, output_per_million: 2, cached_input_per_million: 1.01 } },
    /costs more than input/,
  ],
  [{ pricing: { input_per_million: 0.0000001, output_per_million: 2 } }, /input_per_million is 1e-7/],
  [{ pricing: { input_per_million: 1, output_per_million: -2 } }, /output_per_million is -2/],
  [{ pricing: null, price_ends: '2027-01-01' }, /there is no price/],
  [{ max_output_tokens: 1001 }, /1001 is above context_window 1000/],
  [{ context_window: 0, max_output_tokens: null }, /context_window is 0/],
  [{ capabilities: { ...ALL_CAPABILITIES, vision: false } }, /vision is false, but input_modalities have image/],
  [{ input_modalities: ['text'] }, /vision is true, but input_modalities lack image/],
  [{ input_modalities: ['image'] }, /lack text/],
  [{ supported_parameters: ['tools'] }, /json_mode is true, but supported_parameters lack response_format/],
  [{ supported_parameters: ['response_format'] }, /function_calling is true, but supported_parameters lack tools/],
  [{ deployments: [] }, /had nowhere/],
  [{ deployments: [{ provider: 'strange', model: 'm' }] }, /no provider strange/],
  [
    {
      deployments: [
        { provider: 'known', model: 'a' },
        { provider: 'known', model: 'b' },
      ],
    },
    /two deployments are at known/,
  ],
  [{ source: { url: '', read: '2026-06-01' } }, /no address/],
  [{ source: { url: 'https://maker.example', read: '' } }, /read on no day/],
  [{ source: { url: 'https://maker.example', read: '2026-06-11' } }, /in the future/],
  [{ deprecation_date: 'soon' }, /deprecation_date is no day: soon/],
  [{ deprecation_date: '2025-12-31' }, /before the release/],
  [{ created: Number.NaN }, /created is NaN/],
]
for (const [change, message] of INCONSISTENT) {
  test(`an inconsistency is an error: ${message.source}`, () => {
    const errors = findingsOf(change).filter(({ level }) => level === 'error')
    assert.equal(errors.length, 1)
    assert.equal(errors[0]?.kind, 'inconsistent')
    assert.match(errors[0]?.message ?? '', message)
  })
}

test('a name of two models is reported for both', () => {
  const found = findingsOf({}, { id: 'm' })
  assert.deepEqual(
    found.map(({ model, message }) => [model, /the name m is used/.test(message)]),
    [
      ['m-2026-01-01', true],
      ['m', true],
    ],
  )
})

const WARNED: readonly (readonly [Partial<CatalogueEntry>, Finding['kind'], RegExp])[] = [
  [{ source: { ...ENTRY.source, read: '2026-05-10' } }, 'stale', /31 days ago/],
  [{ deprecation_date: '2026-06-30' }, 'deprecated', /shuts it down on 2026-06-30/],
  [{ deprecation_date: '2026-06-09' }, 'deprecated', /shut it down on 2026-06-09/],
  [{ price_ends: '2026-06-30' }, 'stale', /ends on 2026-06-30/],
  [{ price_ends: '2026-06-09' }, 'stale', /ended on 2026-06-09/],
  [{ pricing: null }, 'unpriced', /no price/],
]
for (const [change, kind, message] of WARNED) {
  test(`a warning: ${message.source}`, () => {
    const [finding, ...others] = findingsOf(change)
    assert.deepEqual([finding?.level, finding?.kind, others.length], ['warning', kind, 0])
    assert.match(finding?.message ?? '', message)
  })
}

test('the end of a price with a successor is no warning', () => {
  const pricing = { input_per_million: 4, output_per_million: 20 }
  const successors = [{ starts: '2026-06-10', input_per_million: 5, output_per_million: 30 }]
  assert.deepEqual(findingsOf({ pricing: { ...pricing, successors }, price_ends: '2026-06-09' }), [])
})

test('a date beyond the period is no warning', () => {
  assert.deepEqual(findingsOf({ deprecation_date: '2026-07-01', price_ends: '2026-07-01' }), [])
  assert.deepEqual(findingsOf({ source: { ...ENTRY.source, read: '2026-05-11' } }), [])
})

function run(...options: string[]) {
  const script = join(import.meta.dirname, '..', 'catalogue-check.ts')
  return spawnSync(process.execPath, [script, ...options], { encoding: 'utf8' })
}

/** As JSON and as text, both of one day: which dates are near or past hangs on it. */
function runBothWays() {
  for (let again = 0; again < 3; again += 1) {
    const json = run('--json', '--stale-days', '36500')
    assert.equal(json.status, 0, json.stdout + json.stderr)
    const found = JSON.parse(json.stdout)
    const said = run('--all', '--stale-days', '36500').stdout
    if (found.today === new Date().toISOString().slice(0, 10)) return { found, said }
  }
  return assert.fail('the command has another day than today')
}

test('the command prints the same as text and JSON, and the catalogue is consistent', () => {
  const { found, said } = runBothWays()
  const { ok, models, findings } = found
  assert.equal(ok, true)
  assert.ok(models > 100)
  const count = (wanted: string): number => findings.filter(({ level }: Finding) => level === wanted).length
  assert.equal(count('error'), 0)
  assert.ok(count('settled') > 0)
  const summary = `${models} models, 0 inconsistencies, ${count('warning')} warnings, ${count('settled')} explained`
  assert.ok(said.includes(summary), summary)
  for (const { name, version, date } of found.sources) assert.ok(said.includes(`${name} ${version} of ${date}`))
  for (const { model, message } of findings as Finding[]) assert.ok(said.includes(model) && said.includes(message))
})

test('explained differences are listed on request only', () => {
  const { stdout } = run('--stale-days', '36500')
  assert.doesNotMatch(stdout, /^settled/m)
})

test('a difference from a collection is a warning, and one that the entry explains is not', () => {
  const sources = [{ ...KNOWING[0], models: { 'known:m': { input_per_million: 3 } } }, ...KNOWING.slice(1)]
  const found = (change: Partial<CatalogueEntry>) =>
    catalogueFindings({
      catalogue: [{ ...ENTRY, ...change }],
      providers: new Set(['known']),
      sources: sources as typeof KNOWING,
      today: '2026-06-10',
      staleDays: 30,
      nearDays: 20,
    }).map(({ level, kind }) => [level, kind])
  assert.deepEqual(found({}), [['warning', 'differs']])
  assert.deepEqual(found({ settled: { input_per_million: 'promised' } }), [['settled', 'settled']])
})

test('wrong usage exits with 2', () => {
  for (const options of [['--save'], ['--stale-days', 'x'], ['--no-such'], ['more']]) {
    const { status, stderr } = run(...options)
    assert.equal(status, 2)
    assert.match(stderr, /^Usage: /)
  }
})
