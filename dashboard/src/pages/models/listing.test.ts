import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  boundsOf,
  choicesOf,
  comparedOf,
  filtered,
  firstTokenText,
  type Listed,
  nearestNames,
  rowsOf,
  sorted,
  uptimeText,
} from './listing.ts'

function model(id: string, over: Partial<Listed> = {}): Listed {
  return {
    id,
    name: id.toUpperCase(),
    owned_by: 'acme',
    capabilities: { streaming: true, function_calling: false, vision: false, json_mode: false },
    context_window: 100_000,
    max_output_tokens: null,
    pricing: { input_per_million: 1, output_per_million: 2 },
    architecture: { input_modalities: ['text'] },
    supported_parameters: [],
    providers: [{ name: 'north' }],
    ...over,
  }
}

const seeing = { streaming: true, function_calling: true, vision: true, json_mode: false }
const ROWS = rowsOf([
  model('one-2026-01-01', { capabilities: seeing }),
  model('one', { alias_of: 'one-2026-01-01' }),
  model('two', { owned_by: 'other', context_window: 1_000_000, pricing: null }),
  model('three', { owned_by: 'other', pricing: { input_per_million: 0.5, output_per_million: 9 } }),
  model('stray', { alias_of: 'not-listed' }),
])
const ids = (rows: readonly Listed[]) => rows.map(({ id }) => id)

test('an alias is folded into its model, by which it is found; without that model it stands for itself', () => {
  assert.deepEqual(ids(ROWS), ['one-2026-01-01', 'two', 'three', 'stray'])
  assert.deepEqual(ROWS[0]?.aliases, ['one'])
  assert.deepEqual(ids(filtered(ROWS, { q: 'ACME one' })), ['one-2026-01-01'])
})

test('what is compared is each model once, by whatever name, and names of none are told apart', () => {
  const { models, unknown } = comparedOf(ROWS, ['two', 'one', 'nobody', 'one-2026-01-01'])
  assert.deepEqual(ids(models), ['two', 'one-2026-01-01'])
  assert.deepEqual(unknown, ['nobody'])
})

test('of makers any will do, of capabilities all are needed, and what is not priced is no cheap one', () => {
  assert.deepEqual(ids(filtered(ROWS, { owner: 'other,nobody' })), ['two', 'three'])
  assert.deepEqual(ids(filtered(ROWS, { capability: 'tools,vision' })), ['one-2026-01-01'])
  assert.deepEqual(ids(filtered(ROWS, { capability: 'tools,json' })), [])
  assert.deepEqual(ids(filtered(ROWS, { max_price: '0.5' })), ['three'])
  assert.deepEqual(ids(filtered(ROWS, { min_context: '1000000' })), ['two'])
})

test('counts say what a choice would leave, of its own facet and of the others', () => {
  assert.deepEqual(choicesOf(ROWS, 'owner', { owner: 'acme', max_price: '1' }), [
    { value: 'acme', count: 2 },
    { value: 'other', count: 1 },
  ])
  assert.deepEqual(
    choicesOf(ROWS, 'capability', { owner: 'other' }).find(({ value }) => value === 'vision'),
    { value: 'vision', count: 0 },
  )
  assert.deepEqual(boundsOf(ROWS, 'max_price', { search: { owner: 'other' }, bounds: [0.5, 3] }), [
    { value: '0.5', count: 1 },
    { value: '3', count: 1 },
  ])
})

test('what has no value is last, whichever way', () => {
  const by = (sort: 'input' | 'first_token', dir: 'asc' | 'desc') =>
    ids(sorted(ROWS, { sort, dir, speeds: new Map([['two', { first_byte_ms: { p50: 9 }, success_rate: null }]]) }))
  assert.deepEqual(by('input', 'asc'), ['three', 'one-2026-01-01', 'stray', 'two'])
  assert.deepEqual(by('input', 'desc'), ['one-2026-01-01', 'stray', 'three', 'two'])
  assert.equal(by('first_token', 'desc')[0], 'two')
})

test('a misspelled name is told the nearest ones', () => {
  const names = ['claude-sonnet-4-6', 'claude-opus-5', 'gpt-5', 'turnpike-simulator']
  assert.equal(nearestNames('claude-sonet-46', names)[0], 'claude-sonnet-4-6')
  assert.deepEqual(nearestNames('zzz', names), [])
})

const byModel = new Map([
  ['busy', { first_byte_ms: { p50: 840 }, success_rate: 0.9875 }],
  ['left', { first_byte_ms: null, success_rate: null }],
])

test('a model that nobody called says so; where clients left or nothing is known yet, nothing is said', () => {
  const speeds = { byModel }
  assert.deepEqual(
    ['busy', 'left', 'idle'].map((id) => [firstTokenText(speeds, id), uptimeText(speeds, id)]),
    [
      ['840 ms', '98.8%'],
      [undefined, undefined],
      [undefined, 'no calls'],
    ],
  )
  assert.equal(uptimeText(undefined, 'idle'), undefined)
})
