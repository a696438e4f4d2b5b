import { parseNanoUsd } from '../domain/money.ts'
import { isUsd, textFormat } from './formats.ts'
import type { SchemaNode } from './messages.ts'
import type { SourceScalar } from './source-tree.ts'

const NUMBER_TEXT = /^-?(\d+(\.\d*)?|\.\d+)$/

/** The value as the schema wants it; undefined when it is not allowed. */
export function checkScalar(schema: SchemaNode, scalar: SourceScalar): string | number | boolean | undefined {
  const value = scalar.loose ? tighten(schema, scalar.value) : scalar.value
  if (value === null) return undefined
  if (schema.enum !== undefined) return schema.enum.includes(value) ? value : undefined
  if (schema.type === 'string') return typeof value === 'string' ? checkText(schema, value) : undefined
  if (schema.type === 'boolean') return typeof value === 'boolean' ? value : undefined
  return typeof value === 'number' && isAllowedNumber(schema, value) ? value : undefined
}

/** What comes from the environment is always text. */
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
