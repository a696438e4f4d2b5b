/**
 * Translates JSON Schema into the subset that the API supports: rewrites keywords with an equivalent, rejects those that
 * would be ignored although they decide validity, and adds a warning for simple bounds that are ignored.
 *
 * Source: https://ai.google.dev/api/generate-content, `responseJsonSchema`; `parametersJsonSchema` takes the same.
 */
import { GatewayError } from '../../domain/errors.ts'
import { isRecord, type Json } from '../../lib/json.ts'

/** The maximum depth of a request's body. */
const MAX_DEPTH = 64
/** Maximum length of a path, and of a name in it, since each schema below has its own copy. Longer ones are truncated. */
const LONGEST_PATH = 256

/** Unsupported keywords that decide validity. */
const REFUSED: ReadonlySet<string> = new Set([
  'allOf',
  'not',
  'if',
  'then',
  'else',
  'contains',
  'patternProperties',
  'dependencies',
  'dependentRequired',
  'dependentSchemas',
  'unevaluatedItems',
  'unevaluatedProperties',
  '$dynamicRef',
  '$recursiveRef',
])

/** Unsupported bounds; without them more values are valid. */
const IGNORED_BOUNDS: ReadonlySet<string> = new Set([
  'multipleOf',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'uniqueItems',
  'propertyNames',
])

/** The position in the request, and the warnings so far. */
interface Walk {
  /** Path of the schema in the client's request. */
  readonly path: string
  readonly depth: number
  readonly warnings: Set<string>
}

/**
 * @param path Where the schema is in the request; the start of `param` in errors and of the names in `warnings`.
 * @throws GatewayError `unsupported_parameter`.
 */
export function renderSchema(schema: Json, path: string, warnings: Set<string>): Json {
  return render(schema, { path, depth: 1, warnings })
}

function render(schema: Json, walk: Walk): Json {
  if (walk.depth > MAX_DEPTH) throw unsupported(walk.path)
  const rendered: Record<string, unknown> = {}
  for (const [keyword, value] of Object.entries(simplified(schema, walk))) {
    if (REFUSED.has(keyword)) throw unsupported(`${walk.path}.${keyword}`)
    if (IGNORED_BOUNDS.has(keyword)) walk.warnings.add(`${walk.path}.${keyword}`)
    define(
      rendered,
      keyword,
      SCHEMA_KEYWORDS.has(keyword) ? renderKeyword(keyword, value, below(walk, keyword)) : value,
    )
  }
  return referenceAlone(plainEnumeration(rendered, walk), walk)
}

/** A property may be named `__proto__`. */
function define(target: Record<string, unknown>, name: string, value: unknown): void {
  if (name !== '__proto__') target[name] = value
  else Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true })
}

function below(walk: Walk, step: string | number): Walk {
  const path = typeof step === 'number' ? `${walk.path}[${step}]` : `${walk.path}.${step.slice(0, LONGEST_PATH)}`
  return { ...walk, path: walk.path.length > LONGEST_PATH ? walk.path : path, depth: walk.depth + 1 }
}

/** The keywords of `renderKeyword`. Other keywords of a large schema need no path. */
const SCHEMA_KEYWORDS: ReadonlySet<string> = new Set([
  'properties',
  '$defs',
  'anyOf',
  'oneOf',
  'prefixItems',
  'items',
  'additionalProperties',
  '$ref',
])

function renderKeyword(keyword: string, value: unknown, walk: Walk): unknown {
  switch (keyword) {
    case 'properties':
    case '$defs':
      return isRecord(value) ? renderMap(value, walk) : value
    case 'anyOf':
    case 'oneOf':
    case 'prefixItems':
      return Array.isArray(value) ? value.map((each, at) => renderAny(each, below(walk, at))) : value
    case 'items':
      return renderAny(value, walk)
    case 'additionalProperties':
      return typeof value === 'boolean' ? value : renderAny(value, walk)
    case '$ref':
      return renderReference(value, walk)
    default:
      return value
  }
}

function renderMap(schemas: Json, walk: Walk): Json {
  const rendered: Record<string, unknown> = {}
  for (const [name, schema] of Object.entries(schemas)) define(rendered, name, renderAny(schema, below(walk, name)))
  return rendered
}

/** Renders a schema. `true` is the empty schema; `false`, which allows nothing, has no equivalent. */
function renderAny(schema: unknown, walk: Walk): unknown {
  if (schema === true) return {}
  if (!isRecord(schema)) throw unsupported(walk.path)
  return render(schema, walk)
}

function renderReference(value: unknown, walk: Walk): unknown {
  if (typeof value !== 'string' || !value.startsWith('#')) throw unsupported(walk.path)
  return value.replace('#/definitions/', '#/$defs/')
}

const SHORT_FORMS = ['const', 'definitions', 'nullable', 'allOf', 'additionalItems'] as const

/** Rewrites older and shorter forms as supported keywords. */
function simplified(schema: Json, walk: Walk): Json {
  if (!SHORT_FORMS.some((keyword) => keyword in schema) && !Array.isArray(schema.items)) return schema
  const { const: constant, definitions, nullable, allOf, additionalItems, ...rest } = schema
  let simple: Json = rest
  if ('const' in schema) simple = { ...simple, enum: [constant] }
  if (isRecord(definitions))
    simple = { ...simple, $defs: { ...definitions, ...(isRecord(rest.$defs) ? rest.$defs : {}) } }
  if (nullable === true && typeof rest.type === 'string') simple = { ...simple, type: [rest.type, 'null'] }
  if (Array.isArray(rest.items)) simple = tuple(simple, rest.items, additionalItems)
  return allOf === undefined ? simple : merged(simple, allOf, walk)
}

/** The older form of a list whose first items have their own schemas. */
function tuple(schema: Json, prefixItems: readonly unknown[], others: unknown): Json {
  const { items: _, ...rest } = schema
  if (others === false) return { ...rest, prefixItems, maxItems: prefixItems.length }
  return others === undefined || others === true ? { ...rest, prefixItems } : { ...rest, prefixItems, items: others }
}

/** Merges `allOf`, which with one schema is that schema. */
function merged(schema: Json, all: unknown, walk: Walk): Json {
  const only: unknown = Array.isArray(all) && all.length === 1 ? all[0] : undefined
  const clashes = isRecord(only) && Object.keys(only).some((keyword) => keyword in schema && keyword !== 'description')
  if (!isRecord(only) || clashes) throw unsupported(`${walk.path}.allOf`)
  return { ...simplified(only, walk), ...schema }
}

/** Enumerations are of strings and numbers: null becomes an alternative, true and false the type. */
function plainEnumeration(schema: Json, walk: Walk): Json {
  const { enum: values, ...rest } = schema
  if (!Array.isArray(values) || values.every(isPlain)) return schema
  if (values.includes(null)) {
    const others = values.filter((value) => value !== null)
    if (others.length === 0) return { ...rest, type: 'null' }
    const inner = plainEnumeration({ ...rest, ...typeWithoutNull(rest), enum: others }, walk)
    return { anyOf: [inner, { type: 'null' }] }
  }
  if (!values.every((value) => typeof value === 'boolean')) throw unsupported(`${walk.path}.enum`)
  if (new Set(values).size === 1) walk.warnings.add(`${walk.path}.enum`)
  return { ...rest, type: 'boolean' }
}

function isPlain(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number'
}

function typeWithoutNull({ type }: Json): { type?: unknown } {
  if (!Array.isArray(type)) return {}
  const types = type.filter((each) => each !== 'null')
  return { type: types.length === 1 ? types[0] : types }
}

/** A reference can be combined only with keywords that begin with `$`. */
function referenceAlone(schema: Json, walk: Walk): Json {
  if (schema.$ref === undefined) return schema
  const { $ref, ...rest } = schema
  if (Object.keys(rest).every((keyword) => keyword.startsWith('$'))) return schema
  if (rest.anyOf !== undefined) throw unsupported(`${walk.path}.$ref`)
  return { ...rest, anyOf: [{ $ref }] }
}

function unsupported(param: string): GatewayError {
  return new GatewayError(
    'unsupported_parameter',
    `The provider of this model does not support the schema at '${param}'.`,
    { param },
  )
}
