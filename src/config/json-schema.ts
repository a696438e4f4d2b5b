import type { SchemaNode } from './messages.ts'
import { CONFIG_SCHEMA_TREE } from './schema.ts'

/** The JSON Schema (2020-12) of the configuration file, for editors: what has a default need not be written. */
export function configJsonSchema(): Readonly<Record<string, unknown>> {
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Turnpike',
    ...forEditors(CONFIG_SCHEMA_TREE),
  }
}

function forEditors(schema: SchemaNode): Record<string, unknown> {
  const { format, required, properties, patternProperties, items, anyOf, ...rest } = schema
  const result: Record<string, unknown> = {
    ...rest,
    ...(properties === undefined ? {} : { properties: mapValues(properties) }),
    ...(patternProperties === undefined
      ? {}
      : { patternProperties: mapValues(patternProperties), additionalProperties: false }),
    ...(items === undefined ? {} : { items: forEditors(items) }),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map(forEditors) }),
  }
  const needed = required?.filter((name) => properties?.[name]?.default === undefined) ?? []
  if (needed.length > 0) result['required'] = needed
  return isFilledFromText(schema) ? withReference(result) : result
}

/** Numbers and switches may also be written as references to the environment. */
function withReference({ description, default: standard, ...rest }: Record<string, unknown>): Record<string, unknown> {
  const outer = {
    ...(description === undefined ? {} : { description }),
    ...(standard === undefined ? {} : { default: standard }),
  }
  return { ...outer, anyOf: [rest, { type: 'string', pattern: '\\$\\{' }] }
}

function isFilledFromText(schema: SchemaNode): boolean {
  return schema.enum !== undefined || ['integer', 'number', 'boolean'].includes(schema.type ?? '')
}

function mapValues(schemas: Readonly<Record<string, SchemaNode>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, forEditors(schema)]))
}
