/** SCIM resources as plain JSON (RFC 7643), filters and PATCH (RFC 7644), without database or HTTP. */
import { isRecord } from '../../../lib/json.ts'

export type ScimType =
  | 'invalidFilter'
  | 'invalidPath'
  | 'invalidSyntax'
  | 'invalidValue'
  | 'noTarget'
  | 'uniqueness'
  | 'mutability'

/** Rendered in the form of RFC 7644, 3.12. */
export class ScimError extends Error {
  override readonly name = 'ScimError'
  readonly status: number
  readonly scimType: ScimType | undefined

  constructor(status: number, message: string, scimType?: ScimType) {
    super(message)
    this.status = status
    this.scimType = scimType
  }
}

export type Resource = Readonly<Record<string, unknown>>

/** Attribute names are case-insensitive (RFC 7643, 2.1). */
export function attributeOf(resource: Resource, name: string): unknown {
  const key = keyOf(resource, name)
  return key === undefined ? undefined : resource[key]
}

function keyOf(resource: Resource, name: string): string | undefined {
  if (Object.hasOwn(resource, name)) return name
  const wanted = name.toLowerCase()
  return Object.keys(resource).find((key) => key.toLowerCase() === wanted)
}

/** `attribute eq value`, without the schema's URN. */
export interface Comparison {
  readonly attribute: string
  readonly value: string | boolean
}

const COMPARISON = /^\s*([\w$.:-]+(?:\[[^\]]*\])?(?:\.\w+)?)\s+eq\s+("(?:[^"\\]|\\.)*"|true|false)\s*$/i
const CORE_URN = /^urn:ietf:params:scim:schemas:core:2\.0:(?:User|Group):/i

/** Reads comparisons with `eq`, joined by `and`. @throws ScimError for any other filter. */
export function parseFilter(text: string): readonly Comparison[] {
  return splitByAnd(text).map((part) => {
    const [, path, literal] = COMPARISON.exec(part) ?? []
    const value = literal === undefined ? undefined : parseLiteral(literal)
    if (path === undefined || value === undefined) {
      throw new ScimError(400, "Filters are comparisons with 'eq', joined by 'and'.", 'invalidFilter')
    }
    return { attribute: path.replace(CORE_URN, '').toLowerCase(), value }
  })
}

/** A text in quotes, also without its end; "and" with all the space around it; other space; what is neither. */
const FILTER_TOKEN = /"(?:[^"\\]|\\[\s\S]?)*"?|\s+and\s+|\s+|[^\s"]+/gi

/** Outside quotes. */
function splitByAnd(text: string): readonly string[] {
  const parts: string[] = []
  let part = ''
  for (const token of text.match(FILTER_TOKEN) ?? []) {
    if (/^\s+and\s+$/i.test(token)) {
      parts.push(part)
      part = ''
    } else part += token
  }
  return [...parts, part]
}

function parseLiteral(text: string): string | boolean | undefined {
  if (/^(?:true|false)$/i.test(text)) return text.toLowerCase() === 'true'
  try {
    return String(JSON.parse(text))
  } catch {
    return undefined
  }
}

interface Path {
  readonly attribute: string
  /** What selects values of a list. */
  readonly filter: readonly Comparison[] | undefined
  readonly sub: string | undefined
}

const EXTENSION = /^(urn:ietf:params:scim:schemas:extension:enterprise:2\.0:User)(?::(.+))?$/i
const PATH = /^([\w$-]+)(?:\[([^\]]*)\])?(?:\.([\w$-]+))?$/

/** @throws ScimError */
function parsePath(text: string): Path {
  const path = text.trim().replace(CORE_URN, '')
  const [, extension, within] = EXTENSION.exec(path) ?? []
  if (extension !== undefined) return { attribute: extension, filter: undefined, sub: within }
  const [, attribute, filter, sub] = PATH.exec(path) ?? []
  if (attribute === undefined) throw new ScimError(400, `The path '${text.slice(0, 100)}' is not valid.`, 'invalidPath')
  return { attribute, filter: filter === undefined ? undefined : parseFilter(filter), sub }
}

interface Operation {
  readonly op: 'add' | 'replace' | 'remove'
  readonly path: string | undefined
  readonly value: unknown
}

/**
 * Applies a PATCH. Entra capitalizes operations, sends booleans as text, dots in names of attributes without a path, and
 * the values to remove beside the path of their list; all of it is accepted.
 * @throws ScimError
 */
export function applyPatch(resource: Resource, body: unknown): Resource {
  return readOperations(body).reduce(applyOperation, resource)
}

function readOperations(body: unknown): readonly Operation[] {
  const list = isRecord(body) ? attributeOf(body, 'Operations') : undefined
  if (!Array.isArray(list) || list.length === 0) {
    throw new ScimError(400, "A PATCH has a list 'Operations'.", 'invalidSyntax')
  }
  return list.map((each: unknown) => {
    const op = isRecord(each) ? String(each['op']).toLowerCase() : ''
    if (!isRecord(each) || (op !== 'add' && op !== 'replace' && op !== 'remove')) {
      throw new ScimError(400, "'op' is add, replace or remove.", 'invalidSyntax')
    }
    const { path, value } = each
    if (path !== undefined && typeof path !== 'string') throw new ScimError(400, "'path' is text.", 'invalidPath')
    return { op, path: path === '' ? undefined : path, value }
  })
}

function applyOperation(resource: Resource, operation: Operation): Resource {
  const { op, path, value } = operation
  if (path !== undefined) return applyAt(resource, parsePath(path), operation)
  if (op === 'remove') throw new ScimError(400, "'remove' needs a path.", 'noTarget')
  if (!isRecord(value)) throw new ScimError(400, 'Without a path, the value is an object.', 'invalidValue')
  return Object.entries(value).reduce(
    (changed, [name, each]) => applyAt(changed, parsePath(name), { op, path: name, value: each }),
    resource,
  )
}

function applyAt(resource: Resource, { attribute, filter, sub }: Path, { op, value }: Operation): Resource {
  const key = keyOf(resource, attribute) ?? attribute
  const before = resource[key]
  if (filter !== undefined) return { ...resource, [key]: changeSelected(listOf(before), { filter, sub, op, value }) }
  if (sub !== undefined) {
    const inner = isRecord(before) ? before : {}
    return {
      ...resource,
      [key]: applyAt(inner, { attribute: sub, filter: undefined, sub: undefined }, { op, path: sub, value }),
    }
  }
  if (op === 'remove') return removeAt(resource, key, value)
  const isAdded = op === 'add' && (Array.isArray(before) || Array.isArray(value))
  if (isAdded) return { ...resource, [key]: union(listOf(before), listOf(value)) }
  const isMerged = isRecord(before) && isRecord(value)
  return { ...resource, [key]: isMerged ? { ...before, ...value } : value }
}

function removeAt(resource: Resource, key: string, value: unknown): Resource {
  const { [key]: before, ...others } = resource
  if (value === undefined || !Array.isArray(before)) return others
  const gone = new Set(listOf(value).map(identityOf))
  return { ...others, [key]: before.filter((each) => !gone.has(identityOf(each))) }
}

interface SelectedChange extends Pick<Operation, 'op' | 'value'> {
  readonly filter: readonly Comparison[]
  readonly sub: string | undefined
}

/** Changes the values that a filter selects; what is set where it selects none is added, with what it compares. */
function changeSelected(values: readonly unknown[], { filter, sub, op, value }: SelectedChange): readonly unknown[] {
  const isSelected = (each: unknown) => isRecord(each) && matches(each, filter)
  if (op === 'remove' && sub === undefined) return values.filter((each) => !isSelected(each))
  const change = (each: Resource): Resource => {
    if (sub === undefined) return isRecord(value) ? { ...each, ...value } : each
    return applyAt(each, { attribute: sub, filter: undefined, sub: undefined }, { op, path: sub, value })
  }
  if (values.some(isSelected)) return values.map((each) => (isRecord(each) && isSelected(each) ? change(each) : each))
  if (op === 'remove') return values
  return [...values, change(Object.fromEntries(filter.map((each) => [each.attribute, each.value])))]
}

export function matches(resource: Resource, filter: readonly Comparison[]): boolean {
  return filter.every(({ attribute, value }) => {
    const own = attributeOf(resource, attribute)
    return typeof own === 'string' && typeof value === 'string'
      ? own.toLowerCase() === value.toLowerCase()
      : own === value
  })
}

export function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  return value === undefined || value === null ? [] : [value]
}

/** What tells the values of a list apart. */
function identityOf(each: unknown): unknown {
  return isRecord(each) ? (each['value'] ?? JSON.stringify(each)) : each
}

function union(values: readonly unknown[], added: readonly unknown[]): readonly unknown[] {
  const names = new Set(added.map(identityOf))
  return [...values.filter((each) => !names.has(identityOf(each))), ...added]
}

/** Entra sends `"True"` and `"False"`. @throws ScimError */
export function readActive(value: unknown): boolean {
  if (value === undefined) return true
  const text = typeof value === 'boolean' ? String(value) : typeof value === 'string' ? value.toLowerCase() : ''
  if (text !== 'true' && text !== 'false') throw new ScimError(400, "'active' is true or false.", 'invalidValue')
  return text === 'true'
}

/** The text of an attribute; undefined: none. @throws ScimError */
export function textAt(resource: Resource, name: string): string | undefined {
  const value = attributeOf(resource, name)
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value !== 'string' || value.length > 320) {
    throw new ScimError(400, `'${name}' is text of at most 320 characters.`, 'invalidValue')
  }
  return value
}

/** The primary address, or the first one. */
export function emailOf(resource: Resource): string | undefined {
  const emails = listOf(attributeOf(resource, 'emails')).filter(isRecord)
  const primary = emails.find((each) => each['primary'] === true || each['primary'] === 'True') ?? emails[0]
  const value = primary?.['value']
  return typeof value === 'string' && value.includes('@') ? value : undefined
}

/** The name to show: `displayName`, `name.formatted`, or given and family name. */
export function nameOf(resource: Resource): string | undefined {
  const shown = attributeOf(resource, 'displayName')
  if (typeof shown === 'string' && shown !== '') return shown
  const name = attributeOf(resource, 'name')
  if (!isRecord(name)) return undefined
  if (typeof name['formatted'] === 'string' && name['formatted'] !== '') return name['formatted']
  const parts = [name['givenName'], name['familyName']].filter((part) => typeof part === 'string' && part !== '')
  return parts.length === 0 ? undefined : parts.join(' ')
}

/** What clients discover: RFC 7643, sections 5 to 7. */
export const USER = 'urn:ietf:params:scim:schemas:core:2.0:User'
export const GROUP = 'urn:ietf:params:scim:schemas:core:2.0:Group'
export const ENTERPRISE_USER = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'
export const LIST = 'urn:ietf:params:scim:api:messages:2.0:ListResponse'
export const ERROR = 'urn:ietf:params:scim:api:messages:2.0:Error'
/** Resources of a page at most. */
export const MAX_RESULTS = 200

export const SERVICE_PROVIDER_CONFIG = {
  schemas: ['urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'],
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: MAX_RESULTS },
  changePassword: { supported: false },
  sort: { supported: false },
  etag: { supported: false },
  authenticationSchemes: [
    {
      type: 'oauthbearertoken',
      name: 'API key',
      description: 'An API key of the account with the scope scim, as a bearer token.',
      specUri: 'https://www.rfc-editor.org/info/rfc6750',
      primary: true,
    },
  ],
  meta: { resourceType: 'ServiceProviderConfig' },
}

export const RESOURCE_TYPES = [
  {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ResourceType'],
    id: 'User',
    name: 'User',
    endpoint: '/Users',
    schema: USER,
    schemaExtensions: [{ schema: ENTERPRISE_USER, required: false }],
    meta: { resourceType: 'ResourceType' },
  },
  {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ResourceType'],
    id: 'Group',
    name: 'Group',
    endpoint: '/Groups',
    schema: GROUP,
    meta: { resourceType: 'ResourceType' },
  },
]

interface Attribute {
  readonly name: string
  readonly type?: 'string' | 'boolean' | 'complex'
  readonly multiValued?: boolean
  readonly required?: boolean
  readonly mutability?: 'readOnly' | 'readWrite'
  readonly uniqueness?: 'none' | 'server'
  readonly subAttributes?: readonly Attribute[]
}

function attribute({ subAttributes, ...given }: Attribute): object {
  return {
    type: 'string',
    multiValued: false,
    required: false,
    caseExact: false,
    mutability: 'readWrite',
    returned: 'default',
    uniqueness: 'none',
    ...given,
    ...(subAttributes && { subAttributes: subAttributes.map(attribute) }),
  }
}

const texts = (...names: readonly string[]): readonly Attribute[] => names.map((name) => ({ name }))

function schema(id: string, name: string, attributes: readonly Attribute[]) {
  return {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:Schema'],
    id,
    name,
    attributes: attributes.map(attribute),
    meta: { resourceType: 'Schema' },
  }
}

export const SCHEMAS = [
  schema(USER, 'User', [
    { name: 'userName', required: true, uniqueness: 'server' },
    { name: 'name', type: 'complex', subAttributes: texts('formatted', 'familyName', 'givenName') },
    ...texts('displayName', 'nickName', 'title', 'userType', 'preferredLanguage', 'locale', 'timezone'),
    { name: 'active', type: 'boolean' },
    {
      name: 'emails',
      type: 'complex',
      multiValued: true,
      subAttributes: [...texts('value', 'type'), { name: 'primary', type: 'boolean' }],
    },
    {
      name: 'groups',
      type: 'complex',
      multiValued: true,
      mutability: 'readOnly',
      subAttributes: texts('value', 'display'),
    },
  ]),
  schema(GROUP, 'Group', [
    { name: 'displayName', required: true, uniqueness: 'server' },
    { name: 'members', type: 'complex', multiValued: true, subAttributes: texts('value', 'display') },
  ]),
  schema(
    ENTERPRISE_USER,
    'EnterpriseUser',
    texts('employeeNumber', 'costCenter', 'organization', 'division', 'department'),
  ),
]
