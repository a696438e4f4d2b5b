import assert from 'node:assert/strict'
import { test } from 'node:test'
import { configJsonSchema } from './schema.ts'

interface Schema {
  readonly [name: string]: unknown
  readonly properties?: Readonly<Record<string, Schema>>
}

test('what has a default need not be written, what has none must be', () => {
  const schema = configJsonSchema() as Schema
  assert.equal(schema['required'], undefined)
  assert.equal(schema['additionalProperties'], false)
  const model = schema.properties?.['models']?.['items'] as Schema
  assert.deepEqual(model['required'], ['id'])
  const deployment = model.properties?.['deployments']?.['items'] as Schema
  assert.deepEqual(deployment['required'], ['provider', 'model'])
})

test('every setting has a description, and nothing but JSON Schema is in it', () => {
  const text = JSON.stringify(configJsonSchema())
  assert.doesNotMatch(text, /"format":"/)
  const walk = (schema: Schema, path: string): void => {
    for (const [name, property] of Object.entries(schema.properties ?? {})) {
      assert.equal(typeof property['description'], 'string', `${path}.${name}`)
      walk(property, `${path}.${name}`)
    }
  }
  walk(configJsonSchema() as Schema, '')
})

test('numbers may be references to the environment too', () => {
  const schema = configJsonSchema() as Schema
  assert.deepEqual(schema.properties?.['server']?.properties?.['port'], {
    description: 'Port to listen on; 0 takes a free one.',
    default: 7575,
    anyOf: [
      { type: 'integer', minimum: 0, maximum: 65_535 },
      { type: 'string', pattern: '\\$\\{' },
    ],
  })
})
