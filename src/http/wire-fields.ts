/** Fields that several of the shapes of usage are made of. */
import { Type } from 'typebox'

export const nullable = <Value>(type: 'string' | 'number' | 'integer', description: string) =>
  Type.Unsafe<Value | null>({ type: [type, 'null'], description })
export const oneOf = <Value extends string>(values: readonly Value[], options: object) =>
  Type.Unsafe<Value>({ type: 'string', enum: values, ...options })
export const usd = (description: string) => Type.Number({ description: `USD, at most 9 decimals. ${description}` })
export const isoTime = (milliseconds: number): string => new Date(milliseconds).toISOString()
