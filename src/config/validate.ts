/**
 * Converts a source tree to a value of the schema: types, formats, known names, defaults. Supports the part of JSON
 * Schema that the configuration uses.
 */

import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { parseMicroUsd, parseNanoUsd } from '../domain/money.ts'
import { didYouMean, trimEndOf } from '../lib/text.ts'
import { parseIsoTime } from '../lib/time.ts'
import {
  isSet,
  pathText,
  problemText,
  type SettingPath,
  type SourceContent,
  type SourceEntry,
  type SourceNode,
  type SourceScalar,
} from './source-tree.ts'
import { ALLOWED_NAMES } from './upstream-schemas.ts'

interface Place {
  readonly schema: SchemaNode
  readonly node: SourceNode
  readonly path: SettingPath
}

/**
 * @param problems Receives a line for each problem; the value is valid only if none was added.
 * @returns A value of the schema's type; mappings with free names have no prototype.
 */
export function validate(place: Place, problems: string[]): unknown {
  const { schema, node, path } = place
  if (node.content.type === 'unreadable') return undefined
  if (schema.anyOf !== undefined) {
    if (node.content.type === 'scalar' && node.content.value === null) return null
    const choices = schema.anyOf.filter((choice) => choice.type !== 'null')
    if (choices.length > 1) return validateChoice(place, choices, problems)
    const [something] = choices
    return something === undefined ? null : validate({ schema: something, node, path }, problems)
  }
  if (schema.type === 'object') return validateMapping(place, problems)
  if (schema.type === 'array') return validateList(place, problems)
  const result = node.content.type === 'scalar' ? checkScalar(schema, node.content) : undefined
  if (result === undefined) wrong(place, problems)
  return result
}

/** Takes the first of several schemas of single values that allows the value. */
function validateChoice(place: Place, choices: readonly SchemaNode[], problems: string[]): unknown {
  const { content } = place.node
  const results = content.type === 'scalar' ? choices.map((choice) => checkScalar(choice, content)) : []
  return results.find((result) => result !== undefined) ?? wrong(place, problems)
}

function validateList(place: Place, problems: string[]): unknown {
  const { schema, node, path } = place
  const { items, minItems = 0 } = schema
  if (node.content.type !== 'list' || items === undefined) return wrong(place, problems)
  const values = node.content.items.flatMap((item, index) =>
    isSet(item) ? [validate({ schema: items, node: item, path: [...path, index] }, problems)] : [],
  )
  if (values.length < minItems)
    problems.push(problemText(node.origin, path, `found an empty list, allowed: ${minItems} or more`))
  return values
}

function validateMapping(place: Place, problems: string[]): unknown {
  const { schema, node } = place
  if (node.content.type !== 'mapping') return wrong(place, problems)
  const entries = node.content.entries
  const [free] = Object.entries(schema.patternProperties ?? {})
  if (free !== undefined) return validateFreeNames({ place, entries, pattern: free[0], each: free[1] }, problems)
  reportUnknown(place, entries, problems)
  const value: Record<string, unknown> = {}
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const result = validateProperty({ place, entry: entries.get(name), name, property }, problems)
    if (result !== undefined) value[name] = result
  }
  return value
}

interface Property {
  readonly place: Place
  readonly entry: SourceEntry | undefined
  readonly name: string
  readonly property: SchemaNode
}

function validateProperty({ place, entry, name, property }: Property, problems: string[]): unknown {
  const path = [...place.path, name]
  const given = entry !== undefined && isSet(entry.node) && !isIgnoredNull(property, entry.node)
  if (given) return validate({ schema: property, node: entry.node, path }, problems)
  if (property.default !== undefined) return defaultValue(property, path)
  if (place.schema.required?.includes(name)) {
    const at = entry?.node ?? place.node
    problems.push(
      problemText(at.origin, path, `found nothing, but it is required; allowed: ${describeAllowed(property)}`),
    )
  }
  return undefined
}

interface FreeNames {
  readonly place: Place
  readonly entries: ReadonlyMap<string, SourceEntry>
  readonly pattern: string
  readonly each: SchemaNode
}

function validateFreeNames({ place, entries, pattern, each }: FreeNames, problems: string[]): unknown {
  const value: Record<string, unknown> = Object.create(null)
  const allowed = new RegExp(pattern)
  for (const [name, { keyOrigin, node }] of entries) {
    const path = [...place.path, name]
    if (!allowed.test(name)) {
      problems.push(
        `${keyOrigin}: ${pathText(place.path)}: found the name ${JSON.stringify(name)}, allowed: ${ALLOWED_NAMES}`,
      )
    } else if (isSet(node)) {
      const nothing = isIgnoredNull(each, node)
      const written: SourceNode = nothing ? { ...node, content: { type: 'mapping', entries: new Map() } } : node
      value[name] = validate({ schema: each, node: written, path }, problems)
    }
  }
  return value
}

function reportUnknown({ schema, path }: Place, entries: ReadonlyMap<string, SourceEntry>, problems: string[]): void {
  const known = Object.keys(schema.properties ?? {})
  for (const [name, { keyOrigin }] of entries) {
    if (known.includes(name)) continue
    const meant = didYouMean(name, known)
    const hint = meant === undefined ? `allowed: ${known.join(', ')}` : `did you mean ${JSON.stringify(meant)}?`
    problems.push(`${keyOrigin}: ${pathText([...path, name])}: found an unknown name, ${hint}`)
  }
}

/** Defaults have the form of the file; sections fill in their own. */
function defaultValue(schema: SchemaNode, path: SettingPath): unknown {
  if (schema.type !== 'object') return structuredClone(schema.default)
  const node: SourceNode = { origin: 'default', content: { type: 'mapping', entries: new Map() } }
  return validate({ schema, node, path }, [])
}

function isIgnoredNull(schema: SchemaNode, node: SourceNode): boolean {
  return schema.anyOf === undefined && node.content.type === 'scalar' && node.content.value === null
}

function wrong({ schema, node, path }: Place, problems: string[]): undefined {
  problems.push(
    problemText(node.origin, path, `found ${describeFound(schema, node.content)}, allowed: ${describeAllowed(schema)}`),
  )
}

/** The part of JSON Schema that the configuration's schema uses. */
export interface SchemaNode {
  readonly type?: string
  readonly description?: string
  readonly default?: unknown
  readonly properties?: Readonly<Record<string, SchemaNode>>
  readonly patternProperties?: Readonly<Record<string, SchemaNode>>
  readonly required?: readonly string[] | undefined
  readonly items?: SchemaNode
  readonly minItems?: number
  readonly anyOf?: readonly SchemaNode[]
  readonly enum?: readonly unknown[]
  readonly format?: string
  readonly minimum?: number
  readonly exclusiveMinimum?: number
  readonly maximum?: number
  readonly writeOnly?: boolean
}

const LONGEST_SHOWN = 60

/** Describes allowed values. */
export function describeAllowed(schema: SchemaNode): string {
  if (schema.anyOf !== undefined) return schema.anyOf.map(describeAllowed).join(', or ')
  if (schema.enum !== undefined) return schema.enum.join(', ')
  if (schema.type === 'string') return textFormat(schema.format ?? 'text').allowed
  if (schema.type === 'boolean') return 'true or false'
  if (schema.type === 'null') return 'null'
  if (schema.type === 'array') return 'a list'
  if (schema.type === 'object') return 'a mapping of names to values'
  return describeNumber(schema)
}

/** Describes the value that was found, without secrets. */
function describeFound(schema: SchemaNode, content: SourceContent): string {
  if (content.type === 'list') return 'a list'
  if (content.type === 'mapping') return 'a mapping'
  if (content.type === 'unreadable') return 'something unreadable'
  return describeScalar(content, schema.writeOnly === true)
}

function describeScalar({ value, template }: SourceScalar, isSecret: boolean): string {
  if (value === null) return 'nothing'
  if (template !== undefined) return `what ${JSON.stringify(template)} is in the environment (not shown)`
  if (isSecret) return `a ${typeof value === 'string' ? 'text' : typeof value} (not shown)`
  if (typeof value !== 'string') return String(value)
  const shown = value.replace(/\/\/[^/]*@/, '//…@')
  return JSON.stringify(shown.length > LONGEST_SHOWN ? `${shown.slice(0, LONGEST_SHOWN)}…` : shown)
}

function describeNumber(schema: SchemaNode): string {
  const kind = schema.type === 'integer' ? 'a whole number' : 'a number'
  const most = schema.format === 'usd' ? 6 : schema.format === 'fee' ? 9 : undefined
  const decimals = most === undefined ? '' : ` with at most ${most} decimals`
  const low = schema.exclusiveMinimum === undefined ? ` from ${schema.minimum}` : ` above ${schema.exclusiveMinimum}`
  const isCapped = schema.maximum !== undefined && schema.maximum < Number.MAX_SAFE_INTEGER
  return `${kind}${decimals}${low}${isCapped ? ` to ${schema.maximum}` : ''}`
}

const NUMBER_TEXT = /^-?(\d+(\.\d*)?|\.\d+)$/

/** Returns the value in the type of the schema; undefined when it is not allowed. */
function checkScalar(schema: SchemaNode, scalar: SourceScalar): string | number | boolean | undefined {
  const value = scalar.loose ? tighten(schema, scalar.value) : scalar.value
  if (value === null) return undefined
  if (schema.enum !== undefined) return schema.enum.includes(value) ? value : undefined
  if (schema.type === 'string') return typeof value === 'string' ? checkText(schema, value) : undefined
  if (schema.type === 'boolean') return typeof value === 'boolean' ? value : undefined
  return typeof value === 'number' && isAllowedNumber(schema, value) ? value : undefined
}

/** Converts texts of the environment to booleans and numbers. */
function tighten(schema: SchemaNode, value: SourceScalar['value']): SourceScalar['value'] {
  if (typeof value !== 'string') return value
  if (schema.type === 'boolean' && (value === 'true' || value === 'false')) return value === 'true'
  const wantsNumber = schema.type === 'integer' || schema.type === 'number'
  return wantsNumber && NUMBER_TEXT.test(value) ? Number(value) : value
}

function checkText(schema: SchemaNode, text: string): string | undefined {
  return schema.format === undefined ? text : textFormat(schema.format).parse(text)
}

function isAllowedNumber(schema: SchemaNode, value: number): boolean {
  if (!Number.isFinite(value)) return false
  if (schema.type === 'integer' && !Number.isSafeInteger(value)) return false
  if (schema.minimum !== undefined && value < schema.minimum) return false
  if (schema.exclusiveMinimum !== undefined && value <= schema.exclusiveMinimum) return false
  if (schema.maximum !== undefined && value > schema.maximum) return false
  if (schema.format === 'fee') return parseNanoUsd(value) !== undefined
  return schema.format !== 'usd' || isUsd(value)
}

/* Checks of single values, by the `format` that the schema gives them. */

/** The description of allowed texts, for messages, and a function that normalizes one; undefined: it is not allowed. */
type TextFormat = readonly [allowed: string, parse: (text: string) => string | undefined]

const LONGEST_TEXT = 500
const SHORTEST_SECRET_BYTES = 32
const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*\.?$/i

const NAME = /^[a-z0-9][a-z0-9._-]{0,63}$/

const HTTP_URL = 'an http:// or https:// address without user name, query and fragment'

/** The formats of `Type.String`. */
const TEXT_FORMATS: Readonly<Record<string, TextFormat>> = {
  text: [
    `a text of at most ${LONGEST_TEXT} printable characters`,
    (text) => (text.length <= LONGEST_TEXT ? parseCredential(text) : undefined),
  ],
  credential: ['a text without line breaks and control characters', parseCredential],
  secret: [
    `a text of at least ${SHORTEST_SECRET_BYTES} bytes`,
    (text) => (Buffer.byteLength(text) >= SHORTEST_SECRET_BYTES ? text : undefined),
  ],
  host: ['a host name or an IP address', parseHost],
  email: [
    'an e-mail address such as turnpike@example.com',
    (text) => (/^[\w.+-]{1,64}@[a-z0-9-]+(\.[a-z0-9-]+)*$/i.test(text) ? text : undefined),
  ],
  name: ['lower-case letters, digits, dots, hyphens and underscores', (text) => (NAME.test(text) ? text : undefined)],
  'export-url': ['an address such as s3://bucket/prefix or file:///folder', parseExportUrl],
  domain: ['a domain such as example.com, or *', (text) => (text === '*' ? text : parseHost(text))],
  cidr: [
    'an IP address or a CIDR range such as 10.0.0.0/8',
    (text) => (ipaddr.isValidCIDR(text) || isIP(text) !== 0 ? text : undefined),
  ],
  date: ['a date such as 2026-12-31', parseDate],
  moment: [
    'a date such as 2026-12-31, or a time such as 2026-12-31T08:00:00Z',
    (text) => (parseIsoTime(text) === undefined ? undefined : text),
  ],
  'time-of-day': [
    'a time of day (UTC) such as 16:30',
    (text) => (/^([01]\d|2[0-3]):[0-5]\d$/.test(text) ? text : undefined),
  ],
  origin: ['* or an origin such as https://app.example.com', parseOrigin],
  'http-url': [HTTP_URL, parseHttpUrl],
  // Unchanged, with or without a slash at its end: tokens name the issuer so.
  issuer: [HTTP_URL, (text) => parseHttpUrl(text) && text],
  'ed25519-key': ['32 bytes in base64', (text) => (/^[\w+/]{43}=$/.test(text) ? text : undefined)],
  'git-url': ['an https:// (or http://, file://) address that contains {repository}', parseGitUrl],
  'postgres-url': [
    'an address such as postgres://user:password@host/database',
    (text) => parseUrl(text, ['postgres:', 'postgresql:']) && text,
  ],
  'redis-url': ['an address such as redis://host:6379', (text) => parseUrl(text, ['redis:', 'rediss:']) && text],
}

/** Throws for an unknown format. */
export function textFormat(name: string) {
  const format = TEXT_FORMATS[name]
  if (format === undefined) throw new Error(`Unknown text format ${name}.`)
  const [allowed, parse] = format
  return { allowed, parse }
}

/** Whether the number of dollars has at most 6 decimals. */
export function isUsd(value: number): boolean {
  return parseMicroUsd(value) !== undefined
}

function parseCredential(text: string): string | undefined {
  return /[\u0000-\u001f\u007f]/.test(text) ? undefined : text
}

function parseHost(text: string): string | undefined {
  const bare = /^\[.*\]$/.test(text) ? text.slice(1, -1) : text
  if (isIP(bare) !== 0) return bare
  return HOST_NAME.test(text) && !/^[\d.]+$/.test(text) ? text : undefined
}

function parseDate(text: string): string | undefined {
  if (!/^\d{4}-\d\d-\d\d$/.test(text)) return undefined
  const date = new Date(`${text}T00:00:00Z`)
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text) ? text : undefined
}

function parseOrigin(text: string): string | undefined {
  if (text === '*') return text
  const url = parseUrl(text, ['http:', 'https:'])
  return url !== undefined && url.href === `${url.origin}/` ? url.origin : undefined
}

function parseHttpUrl(text: string): string | undefined {
  const url = parseUrl(text, ['http:', 'https:'])
  if (url === undefined || url.username !== '' || url.password !== '') return undefined
  return /[?#]/.test(text) ? undefined : trimEndOf(text, '/')
}

function parseGitUrl(text: string): string | undefined {
  const url = parseUrl(text.replaceAll('{repository}', 'organisation/repository'), ['https:', 'http:', 'file:'])
  return url !== undefined && text.includes('{repository}') && url.password === '' ? text : undefined
}

/** Without a slash at its end. Names of buckets: lower-case letters, digits, dots and hyphens. */
function parseExportUrl(text: string): string | undefined {
  const url = parseUrl(text, ['s3:', 'file:'])
  if (url === undefined || /[?#]/.test(text)) return undefined
  const isRight = url.protocol === 's3:' ? /^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/|$)/.test(text) : url.host === ''
  return isRight ? trimEndOf(text, '/') : undefined
}

function parseUrl(text: string, protocols: readonly string[]): URL | undefined {
  if (parseCredential(text) === undefined || /\s/.test(text)) return undefined
  const url = URL.parse(text)
  return url !== null && protocols.includes(url.protocol) && text.includes('://') ? url : undefined
}
