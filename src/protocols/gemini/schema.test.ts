import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GatewayError } from '../../domain/errors.ts'
import { renderSchema } from './schema.ts'

function convert(schema: object): { schema: unknown; warnings: readonly string[] } {
  const warnings = new Set<string>()
  const rendered = renderSchema({ ...schema }, 'p', warnings)
  return { schema: JSON.parse(JSON.stringify(rendered)), warnings: [...warnings] }
}

function refusedAt(schema: object): string | undefined {
  try {
    convert(schema)
  } catch (error) {
    assert.ok(error instanceof GatewayError, String(error))
    assert.equal(error.status, 422)
    return error.param
  }
  return assert.fail('the schema was not refused')
}

test('what the API understands goes as it is', () => {
  const schema = {
    $defs: { node: { type: 'object', properties: { next: { $ref: '#/$defs/node' } }, additionalProperties: false } },
    type: 'object',
    title: 'A list',
    properties: {
      head: { $ref: '#/$defs/node' },
      kind: { enum: ['a', 'b', 3] },
      pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'integer', minimum: 1 }] },
      either: { anyOf: [{ type: 'string', format: 'date-time' }, { type: 'null' }] },
      maybe: { type: ['string', 'null'], pattern: '^a', description: 'text' },
    },
    required: ['head'],
    propertyOrdering: ['head', 'kind'],
  }
  assert.deepEqual(convert(schema), { schema, warnings: [] })
})

test('what has an equal is said by it', () => {
  const same = (schema: object, expected: object): void =>
    assert.deepEqual(convert(schema), { schema: expected, warnings: [] })
  same({ const: 'a' }, { enum: ['a'] })
  same({ type: 'string', nullable: true }, { type: ['string', 'null'] })
  same({ enum: ['a', null], type: ['string', 'null'] }, { anyOf: [{ type: 'string', enum: ['a'] }, { type: 'null' }] })
  same({ const: null }, { type: 'null' })
  same({ enum: [true, false] }, { type: 'boolean' })
  same({ allOf: [{ type: 'string' }], description: 'd' }, { type: 'string', description: 'd' })
  same(
    { definitions: { a: { type: 'string' } }, $ref: '#/definitions/a' },
    { $defs: { a: { type: 'string' } }, $ref: '#/$defs/a' },
  )
  same({ $ref: '#/$defs/a', description: 'd' }, { anyOf: [{ $ref: '#/$defs/a' }], description: 'd' })
  same(
    { items: [{ type: 'string' }, true], additionalItems: false },
    { prefixItems: [{ type: 'string' }, {}], maxItems: 2 },
  )
})

test('what would be ignored although it decides what is valid is refused with its path', () => {
  assert.equal(refusedAt({ not: { type: 'string' } }), 'p.not')
  assert.equal(
    refusedAt({ properties: { a: { allOf: [{ type: 'string' }, { minLength: 2 }] } } }),
    'p.properties.a.allOf',
  )
  assert.equal(refusedAt({ anyOf: [{}, { items: { if: {}, else: {} } }] }), 'p.anyOf[1].items.if')
  assert.equal(refusedAt({ properties: { 'x-y': { patternProperties: {} } } }), 'p.properties.x-y.patternProperties')
  assert.equal(refusedAt({ $ref: 'https://example.com/schema' }), 'p.$ref')
  assert.equal(refusedAt({ enum: ['a', { b: 1 }] }), 'p.enum')
  assert.equal(refusedAt({ properties: { a: false } }), 'p.properties.a')
})

test('plain bounds that are ignored stay, and are named', () => {
  const schema = { type: 'object', properties: { n: { type: 'integer', exclusiveMinimum: 0 }, ok: { const: true } } }
  assert.deepEqual(convert(schema), {
    schema: { type: 'object', properties: { n: { type: 'integer', exclusiveMinimum: 0 }, ok: { type: 'boolean' } } },
    warnings: ['p.properties.n.exclusiveMinimum', 'p.properties.ok.enum'],
  })
})

test('properties are called what they are called', () => {
  const schema = JSON.parse('{"properties":{"not":{"type":"string"},"const":{},"__proto__":{"type":"integer"}}}')
  assert.deepEqual(JSON.stringify(convert(schema).schema), JSON.stringify(schema))
})

test('a schema deeper than any body is refused, not a stack overflow', () => {
  let schema: object = {}
  for (let depth = 0; depth < 5000; depth++) schema = { items: schema }
  assert.match(refusedAt(schema) ?? '', /^p(\.items)+$/)
})
