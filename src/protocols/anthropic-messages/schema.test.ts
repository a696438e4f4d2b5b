import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fitSchema } from './schema.ts'

test('objects are closed, at every depth', () => {
  const person = { type: 'object', properties: { name: { type: 'string' } } }
  const schema = {
    type: 'object',
    properties: { all: { type: 'array', items: person }, one: { anyOf: [person, { type: 'null' }] } },
    $defs: { p: person },
  }
  const closed = { ...person, additionalProperties: false }
  assert.deepEqual(fitSchema(schema), {
    schema: {
      type: 'object',
      properties: { all: { type: 'array', items: closed }, one: { anyOf: [closed, { type: 'null' }] } },
      $defs: { p: closed },
      additionalProperties: false,
    },
    isLoosened: false,
  })
})

test('constraints that cannot be said are left out, and it is said that they were', () => {
  const said = {
    type: 'string',
    description: 'd',
    format: 'date',
    enum: ['a'],
    default: 'a',
    title: 't',
    pattern: '^a+$',
  }
  assert.deepEqual(fitSchema(said), { schema: said, isLoosened: false })
  for (const constraint of [
    { minLength: 1 },
    { pattern: '(?=a)' },
    { format: 'regex' },
    { not: { type: 'null' } },
    { novelty: 1 },
  ]) {
    assert.deepEqual(fitSchema({ type: 'string', ...constraint }), { schema: { type: 'string' }, isLoosened: true })
  }
  const list = { type: 'array', items: { type: 'number', minimum: 1 }, minItems: 2, maxItems: 3 }
  assert.deepEqual(fitSchema(list), { schema: { type: 'array', items: { type: 'number' } }, isLoosened: true })
  assert.deepEqual(fitSchema({ $schema: 'x', type: 'string', examples: ['a'] }), {
    schema: { type: 'string' },
    isLoosened: false,
  })
})

test('references that end are followed; recursion and references to elsewhere cannot be said', () => {
  const shared = {
    type: 'object',
    properties: { a: { $ref: '#/$defs/s' }, b: { $ref: '#/$defs/s' } },
    $defs: { s: { type: 'string' } },
  }
  assert.equal(fitSchema(shared)?.isLoosened, false)
  const tree = {
    type: 'object',
    properties: { next: { $ref: '#/$defs/n' } },
    $defs: { n: { anyOf: [{ $ref: '#/$defs/n' }, { type: 'null' }] } },
  }
  assert.equal(fitSchema(tree), undefined)
  for (const $ref of ['#', 'other.json', '#/$defs/missing', '#/constructor']) {
    assert.equal(fitSchema({ type: 'object', properties: { a: { $ref } } }), undefined, $ref)
  }
})

test('open objects, tuples and schemas that say nothing cannot be said', () => {
  const unsayable = [
    { type: 'object' },
    { type: 'object', additionalProperties: { type: 'string' } },
    { type: 'object', properties: { a: { type: 'string' } }, additionalProperties: true },
    { type: 'array' },
    { type: 'array', items: true },
    { type: 'array', prefixItems: [{ type: 'string' }], items: { type: 'string' } },
    { type: 'object', patternProperties: { a: { type: 'string' } }, additionalProperties: false },
    { allOf: [{ type: 'string' }, { enum: ['a'] }] },
    {},
    { anyOf: [{}] },
  ]
  for (const schema of unsayable) assert.equal(fitSchema(schema), undefined, JSON.stringify(schema))
})
