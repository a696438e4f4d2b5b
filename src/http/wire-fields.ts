/** Fields that the schemas of several resources share, and the rendering of times. */
import { type TProperties, type TSchema, Type } from 'typebox'

export { isoTime } from '../lib/time.ts'

export const nullable = <Value>(type: 'string' | 'number' | 'integer' | 'boolean', description: string) =>
  Type.Unsafe<Value | null>({ type: [type, 'null'], description })
export const textOrNull = (description: string) => nullable<string>('string', description)
export const oneOf = <Value extends string>(values: readonly Value[], options: object = {}) =>
  Type.Unsafe<Value>({ type: 'string', enum: values, ...options })
export const usd = (description: string) => Type.Number({ description: `USD, at most 9 decimals. ${description}` })
/** Returns the schema of a body without additional fields. */
export const closed = <Properties extends TProperties>(properties: Properties) =>
  Type.Object(properties, { additionalProperties: false })
/** Parameters of a path with the ID of a resource. */
export const idParams = <Id extends string>() => Type.Object({ id: Type.Unsafe<Id>({ type: 'string' }) })

/** The fields of the APIs for models. */

/** A field of a request that may be absent, or null, which means the same. */
export const optional = <Schema extends TSchema>(schema: Schema) => Type.Optional(Type.Union([schema, Type.Null()]))
export const optionalObject = (description: string) =>
  Type.Optional(Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()], { description }))
export const count = Type.Integer({ minimum: 0 })
export const cost = Type.Number({ description: 'USD, at most 9 decimals.' })
/** The usage of answers without generated text. */
export const INPUT_USAGE = Type.Object({ prompt_tokens: Type.Integer(), total_tokens: Type.Integer(), cost })
/** One event of a stream of chunks. */
export const CHUNK = Type.Object(
  { data: Type.String({ description: 'A chunk as JSON.' }) },
  { description: 'Chunks, then `data: [DONE]`.' },
)
export const FORWARDED_FIELDS =
  'Unknown fields are sent to providers that document them; others are named in `x-turnpike-warnings`.'
