/**
 * Reduces a JSON Schema to the subset that the API supports for answers and tool calls.
 *
 * Source: https://platform.claude.com/docs/en/build-with-claude/structured-outputs, "JSON Schema limitations".
 */
import { isRecord, type Json } from '../../lib/json.ts'

export interface FittedSchema {
  readonly schema: Json
  /** Whether constraints were dropped. Every value that the original allows remains valid. */
  readonly isLoosened: boolean
}

/** The keywords that are kept unchanged. */
const KEPT: ReadonlySet<string> = new Set([
  'type',
  'title',
  'description',
  'default',
  'enum',
  'const',
  'required',
  '$ref',
])
/** The keywords without effect on values, which are dropped. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  '$schema',
  '$id',
  '$comment',
  'examples',
  'deprecated',
  'readOnly',
  'writeOnly',
])
/** Unsupported, and without them the schema would mean something else. */
const ESSENTIAL: ReadonlySet<string> = new Set([
  'patternProperties',
  'prefixItems',
  '$dynamicRef',
  '$recursiveRef',
  '$anchor',
])
const FORMATS: ReadonlySet<string> = new Set([
  'date-time',
  'time',
  'date',
  'duration',
  'email',
  'hostname',
  'uri',
  'ipv4',
  'ipv6',
  'uuid',
])

interface Fitting {
  readonly root: Json
  /** References being followed; a repeated one is a recursion. */
  readonly following: Set<string>
  /** References without recursion. */
  readonly ending: Set<string>
  isLoosened: boolean
  isPossible: boolean
}

/**
 * Objects without `additionalProperties` are closed, which the API requires.
 * @returns undefined for what the subset does not support: recursion, open objects, references to elsewhere, tuples.
 */
export function fitSchema(schema: Json): FittedSchema | undefined {
  const fitting: Fitting = {
    root: schema,
    following: new Set(),
    ending: new Set(),
    isLoosened: false,
    isPossible: true,
  }
  const fitted = fitNode(schema, fitting)
  return fitting.isPossible && isRecord(fitted) ? { schema: fitted, isLoosened: fitting.isLoosened } : undefined
}

function fitNode(node: unknown, fitting: Fitting): unknown {
  if (!isRecord(node) || Object.keys(node).every((keyword) => ANNOTATIONS.has(keyword))) return giveUp(fitting)
  const fitted: Record<string, unknown> = {}
  for (const [keyword, value] of Object.entries(node)) {
    if (KEPT.has(keyword)) fitted[keyword] = value
    else if (!ANNOTATIONS.has(keyword)) fitKeyword({ keyword, value, fitted }, fitting)
  }
  if (typeof node['$ref'] === 'string') followReference(node['$ref'], fitting)
  if (isObjectSchema(node)) closeObject(node, fitted, fitting)
  if (node['type'] === 'array' && node['items'] === undefined) fitting.isPossible = false
  return fitted
}

interface Keyword {
  readonly keyword: string
  readonly value: unknown
  readonly fitted: Record<string, unknown>
}

function fitKeyword({ keyword, value, fitted }: Keyword, fitting: Fitting): void {
  switch (keyword) {
    case 'properties':
    case '$defs':
    case 'definitions':
      fitted[keyword] = fitEach(value, fitting)
      break
    case 'items':
      fitted[keyword] = fitNode(value, fitting)
      break
    case 'anyOf':
    case 'oneOf':
      if (keyword === 'oneOf') fitting.isLoosened = true
      fitted['anyOf'] = fitAll(value, fitting)
      break
    case 'allOf':
      if (Array.isArray(value) && value.length > 1) fitting.isPossible = false
      fitted[keyword] = fitAll(value, fitting)
      break
    case 'additionalProperties':
      break
    default:
      if (ESSENTIAL.has(keyword)) fitting.isPossible = false
      else if (isSupported(keyword, value)) fitted[keyword] = value
      else fitting.isLoosened = true
  }
}

function isSupported(keyword: string, value: unknown): boolean {
  if (keyword === 'format') return typeof value === 'string' && FORMATS.has(value)
  if (keyword === 'minItems') return value === 0 || value === 1
  return keyword === 'pattern' && typeof value === 'string' && !/\(\?|\\[1-9bB]/.test(value)
}

function fitEach(value: unknown, fitting: Fitting): unknown {
  if (!isRecord(value)) return giveUp(fitting)
  return Object.fromEntries(Object.entries(value).map(([name, node]) => [name, fitNode(node, fitting)]))
}

function fitAll(value: unknown, fitting: Fitting): unknown {
  return Array.isArray(value) ? value.map((node) => fitNode(node, fitting)) : giveUp(fitting)
}

function isObjectSchema({ type, properties }: Json): boolean {
  return type === 'object' || properties !== undefined || (Array.isArray(type) && type.includes('object'))
}

function closeObject(node: Json, fitted: Record<string, unknown>, fitting: Fitting): void {
  const { additionalProperties: more, properties } = node
  const isEmpty = !isRecord(properties) || Object.keys(properties).length === 0
  if (more !== false && (more !== undefined || isEmpty)) fitting.isPossible = false
  fitted['additionalProperties'] = false
}

/** Follows a reference and those in its target, depth first. No recursion: a client's chain may be longer than the stack. */
function followReference(first: string, fitting: Fitting): void {
  const { root, following, ending } = fitting
  const open: { readonly reference: string; readonly inner: Iterator<string> }[] = []
  const enter = (reference: string): void => {
    if (ending.has(reference)) return
    const target = following.has(reference) ? undefined : resolve(root, reference)
    if (target === undefined) {
      fitting.isPossible = false
      return
    }
    following.add(reference)
    open.push({ reference, inner: referencesIn(target).values() })
  }
  enter(first)
  for (let last = open.at(-1); last !== undefined; last = open.at(-1)) {
    const { value, done } = last.inner.next()
    if (done !== true) enter(value)
    else {
      open.pop()
      following.delete(last.reference)
      ending.add(last.reference)
    }
  }
}

/** A JSON Pointer within the document (RFC 6901); undefined where it leads nowhere. */
function resolve(root: Json, reference: string): unknown {
  if (!reference.startsWith('#/')) return undefined
  let node: unknown = root
  for (const step of reference.slice(2).split('/')) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~')
    node = (isRecord(node) || Array.isArray(node)) && Object.hasOwn(node, name) ? Reflect.get(node, name) : undefined
  }
  return node
}

function referencesIn(node: unknown): string[] {
  if (Array.isArray(node)) return node.flatMap(referencesIn)
  if (!isRecord(node)) return []
  return Object.entries(node).flatMap(([keyword, value]) =>
    keyword === '$ref' && typeof value === 'string' ? [value] : referencesIn(value),
  )
}

function giveUp(fitting: Fitting): undefined {
  fitting.isPossible = false
}
