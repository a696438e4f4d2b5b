/**
 * A small value that a JSON Schema allows. It understands what tool and answer schemas are made of: types, `const`,
 * `enum`, properties, items, bounds, `format`, `anyOf`, `oneOf`, `allOf` and references within the schema. It does not
 * look at `pattern`, `not`, `if`, `uniqueItems` and dependencies. A schema is data and is never compiled.
 */
import { asObject, type JsonObject } from './request.ts'

/**
 * Work for one schema: values made, fields and branches read, and text copied (`CHARACTERS_OF_WORK` for one). When it is
 * used up everything is null, so that hostile schemas end too, and answers stay in proportion.
 */
const MAX_WORK = 20_000
const CHARACTERS_OF_WORK = 64
/** From this depth on, alternatives that end at once are preferred. */
const DEEP = 6
const MAX_DEPTH = 40
const MAX_LENGTH = 10_000

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': '2026-01-01T00:00:00Z',
  date: '2026-01-01',
  time: '00:00:00Z',
  duration: 'P1D',
  email: 'someone@example.com',
  hostname: 'example.com',
  ipv4: '192.0.2.1',
  ipv6: '2001:db8::1',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
}

interface Walk {
  readonly root: unknown
  readonly depth: number
  readonly budget: { left: number }
}

export function exampleOf(schema: unknown): unknown {
  return make(schema, { root: schema, depth: 0, budget: { left: MAX_WORK } })
}

function make(given: unknown, walk: Walk): unknown {
  if (!spend(walk, 1) || walk.depth > MAX_DEPTH) return null
  const schema = resolve(given, walk)
  const { const: constant, enum: choices, anyOf, oneOf } = schema
  if (constant !== undefined) return copyOf(constant, walk)
  if (Array.isArray(choices) && choices.length > 0) return copyOf(choices[0], walk)
  const branches = Array.isArray(anyOf) ? anyOf : oneOf
  if (!Array.isArray(branches) || branches.length === 0) return makeTyped(schema, walk)
  const { anyOf: _anyOf, oneOf: _oneOf, ...common } = schema
  return make(merge(common, resolve(chooseBranch(branches, walk), walk), walk), deeper(walk))
}

/** @returns false once the budget is used up. */
function spend({ budget }: Walk, work: number): boolean {
  budget.left -= work
  return budget.left >= 0
}

/** A value of the schema; null where the answer would repeat large ones too often. */
function copyOf(value: unknown, walk: Walk): unknown {
  return spend(walk, sizeOf(value) / CHARACTERS_OF_WORK) ? value : null
}

function sizeOf(value: unknown): number {
  return typeof value === 'object' ? JSON.stringify(value).length : String(value).length
}

/** Follows references and merges `allOf`; stops at an implausibly long chain of references. */
function resolve(given: unknown, walk: Walk): JsonObject {
  let schema = asObject(given)
  for (let hops = 0; typeof schema['$ref'] === 'string' && hops < 20; hops++) {
    const { $ref: reference, ...siblings } = schema
    if (!spend(walk, String(reference).length / CHARACTERS_OF_WORK)) return {}
    schema = merge(asObject(lookUp(String(reference), walk.root)), siblings, walk)
  }
  const { allOf, ...rest } = schema
  if (!Array.isArray(allOf)) return schema
  let sum: JsonObject = rest
  for (const part of allOf) {
    if (walk.budget.left < 0 || walk.depth > MAX_DEPTH) break
    sum = merge(sum, resolve(part, deeper(walk)), walk)
  }
  return sum
}

/** @param reference A JSON pointer behind `#`. */
function lookUp(reference: string, root: unknown): unknown {
  const keys = reference
    .replace(/^#\/?/, '')
    .split('/')
    .filter((key) => key !== '')
  return keys.reduce<unknown>((value, key) => {
    const name = key.replaceAll('~1', '/').replaceAll('~0', '~')
    if (Array.isArray(value)) return value[Number(name)]
    return Object.hasOwn(asObject(value), name) ? asObject(value)[name] : undefined
  }, root)
}

/** Cost of a merge, which copies all fields of both. */
function merge(one: JsonObject, other: JsonObject, walk: Walk): JsonObject {
  const properties = [asObject(one['properties']), asObject(other['properties'])] as const
  const required = [namesIn(one['required']), namesIn(other['required'])].flat()
  const fields = [one, other, ...properties].reduce((sum, each) => sum + Object.keys(each).length, required.length)
  if (!spend(walk, fields)) return {}
  return { ...one, ...other, properties: { ...properties[0], ...properties[1] }, required: [...new Set(required)] }
}

function chooseBranch(branches: readonly unknown[], walk: Walk): unknown {
  if (walk.depth < DEEP) return branches[0]
  return branches.find((branch) => !spend(walk, 1) || endsAtOnce(resolve(branch, walk))) ?? branches[0]
}

function endsAtOnce(schema: JsonObject): boolean {
  if (schema['const'] !== undefined || schema['enum'] !== undefined) return true
  return ['string', 'integer', 'number', 'boolean', 'null'].includes(typeOf(schema) ?? '')
}

function makeTyped(schema: JsonObject, walk: Walk): unknown {
  switch (typeOf(schema)) {
    case 'object':
      return makeObject(schema, walk)
    case 'array':
      return makeArray(schema, walk)
    case 'string':
      return copyOf(makeString(schema), walk)
    case 'integer':
      return makeNumber(schema, 1)
    case 'number':
      return makeNumber(schema, 0)
    case 'boolean':
      return true
    default:
      return null
  }
}

function typeOf({ type, properties, required, items, prefixItems }: JsonObject): string | undefined {
  if (typeof type === 'string') return type
  if (Array.isArray(type)) return type.find((name) => name !== 'null') ?? 'null'
  if (Object.keys(asObject(properties)).length > 0 || namesIn(required).length > 0) return 'object'
  return items === undefined && prefixItems === undefined ? undefined : 'array'
}

function makeObject({ properties, required }: JsonObject, walk: Walk): JsonObject {
  const schemas = asObject(properties)
  const names = namesIn(required)
  if (!spend(walk, names.length)) return {}
  return Object.fromEntries(names.map((name) => [name, make(schemas[name], deeper(walk))]))
}

function makeArray({ items, prefixItems, minItems }: JsonObject, walk: Walk): unknown[] {
  const first = Array.isArray(prefixItems) ? prefixItems : []
  const length = Math.min(Math.max(first.length, Number(minItems ?? 0)), MAX_LENGTH, Math.max(0, walk.budget.left))
  return Array.from({ length }, (_, at) => make(first[at] ?? items, deeper(walk)))
}

function makeString({ format, minLength, maxLength }: JsonObject): string {
  if (typeof format === 'string' && Object.hasOwn(FORMATS, format)) return FORMATS[format] ?? ''
  const text = 'text'.padEnd(Math.min(Number(minLength ?? 0), MAX_LENGTH), 'text')
  return text.slice(0, Number(maxLength ?? text.length))
}

/** The smallest that is allowed at or above zero, else the largest below. @param step 1 for integers, 0 for any. */
function makeNumber(schema: JsonObject, step: number): number {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf } = schema
  const grid = typeof multipleOf === 'number' && multipleOf > 0 ? multipleOf : step
  const nudge = grid === 0 ? 0.5 : grid
  const low = Math.max(Number(minimum ?? -Infinity), Number(exclusiveMinimum ?? -Infinity))
  const high = Math.min(Number(maximum ?? Infinity), Number(exclusiveMaximum ?? Infinity))
  const tooLow = (value: number) => value < low || value === exclusiveMinimum
  const tooHigh = (value: number) => value > high || value === exclusiveMaximum
  const onGrid = (value: number, round: (value: number) => number) => (grid === 0 ? value : round(value / grid) * grid)
  let value = onGrid(tooLow(0) ? low : tooHigh(0) ? high : 0, tooLow(0) ? Math.ceil : Math.floor)
  if (tooLow(value)) value = grid === 0 && Number.isFinite(high) ? (low + high) / 2 : value + nudge
  if (tooHigh(value)) value = grid === 0 && Number.isFinite(low) ? (low + high) / 2 : value - nudge
  return value
}

function namesIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === 'string') : []
}

function deeper(walk: Walk): Walk {
  return { ...walk, depth: walk.depth + 1 }
}
