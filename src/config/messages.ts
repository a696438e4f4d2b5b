import { textFormat } from './formats.ts'
import type { SourceContent, SourceScalar } from './source-tree.ts'

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

/** What may stand at this place, in words. */
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

/** What stands there, in words that show no secret. */
export function describeFound(schema: SchemaNode, content: SourceContent): string {
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
