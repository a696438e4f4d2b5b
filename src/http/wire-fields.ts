/** Fields that the schemas of several resources are made of, and how they render times. */
import { Type } from 'typebox'

export const nullable = <Value>(type: 'string' | 'number' | 'integer' | 'boolean', description: string) =>
  Type.Unsafe<Value | null>({ type: [type, 'null'], description })
export const oneOf = <Value extends string>(values: readonly Value[], options: object = {}) =>
  Type.Unsafe<Value>({ type: 'string', enum: values, ...options })
export const usd = (description: string) => Type.Number({ description: `USD, at most 9 decimals. ${description}` })
/** @param milliseconds Unix milliseconds. */
export const isoTime = (milliseconds: number): string => new Date(milliseconds).toISOString()
