import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { SETTING_VARIABLES } from './environment.ts'
import { CONFIG_SCHEMA_TREE } from './schema.ts'
import { describeAllowed, type SchemaNode } from './validate.ts'

const DOCUMENT = readFileSync(new URL('../../docs/configuration.md', import.meta.url), 'utf8')

/** Settings that are those of `models[].pricing` once more: one row, or none, stands for them. */
const ONE_ROW = /pricing\.(successors|service_tiers\.<name>\.tiers)$/
const NO_ROW = /pricing\.(tiers\[\]|service_tiers\.<name>|discounts\[\])\.\w+_per_million$/

/** One row of the document's tables for each setting below `path`. */
function rows(schema: SchemaNode, path: string, isRequired: boolean): string[] {
  const something = schema.anyOf?.find((choice) => choice.type !== 'null') ?? schema
  if (something.properties !== undefined) {
    return Object.entries(something.properties).flatMap(([name, property]) => {
      const child = path === '' ? name : `${path}.${name}`
      return rows(property, child, something.required?.includes(name) === true)
    })
  }
  const [free] = Object.values(something.patternProperties ?? {})
  if (free !== undefined) return rows(free, `${path}.<name>`, false)
  if (NO_ROW.test(path)) return []
  if (something.items?.properties !== undefined && !ONE_ROW.test(path)) return rows(something.items, `${path}[]`, false)
  const missing = isRequired ? 'required' : 'not set'
  const standard = schema.default === undefined ? missing : `\`${JSON.stringify(schema.default).replaceAll('"', '')}\``
  const items = schema.items === undefined ? '' : `, each ${describeAllowed(schema.items)}`
  return [`| \`${path}\` | ${standard} | ${describeAllowed(schema)}${items} | ${schema.description} |`]
}

const ROWS = rows(CONFIG_SCHEMA_TREE, '', true)

test('docs/configuration.md has a row for every setting, with its default, what is allowed and what it means', () => {
  assert.ok(ROWS.length > 70, 'the schema has been walked')
  assert.deepEqual(
    ROWS.filter((row) => !DOCUMENT.includes(`\n${row}\n`)),
    [],
  )
})

test('docs/configuration.md documents no setting that does not exist', () => {
  const written = DOCUMENT.split('\n').filter(
    (line) => /^\| `[a-z_]+[.[`]/.test(line) && line.split(' | ').length === 4,
  )
  assert.deepEqual(
    written.filter((line) => !ROWS.includes(line)),
    [],
  )
})

test('docs/configuration.md names every environment variable beside the setting that it sets', () => {
  for (const [variable, path] of SETTING_VARIABLES) {
    assert.ok(DOCUMENT.includes(`\n| \`${variable}\` | \`${path.join('.')}\` |`), variable)
  }
})
