/** Fields that the schemas of several resources share, data policies among them, and the rendering of times. */
import { type Static, type TProperties, type TSchema, Type } from 'typebox'
import type { DataPolicy } from '../domain/data-policy.ts'

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

/* The fields of the APIs for models. */

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

/* Data policies on the wire. */

const MAX_REGIONS = 20

const Demands = Type.Object(
  {
    data_collection: Type.Optional(
      oneOf<'allow' | 'deny'>(['allow', 'deny'], {
        description: 'deny: only deployments that do not keep data to train on.',
      }),
    ),
    zdr: Type.Optional(Type.Boolean({ description: 'true: only deployments with zero data retention.' })),
    regions: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
        minItems: 1,
        maxItems: MAX_REGIONS,
        description: 'Only deployments in one of these regions.',
      }),
    ),
  },
  { additionalProperties: false },
)
type DemandsBody = Static<typeof Demands>

/** @param whose "of the account", "of the key". */
export const dataPolicySchema = (whose: string) =>
  Type.Unsafe<DemandsBody | null>({
    anyOf: [Demands, { type: 'null' }],
    description: `What deployments that answer requests ${whose} must fulfil; otherwise 403 \`policy_not_satisfiable\`. Null: nothing.`,
  })

export function readDataPolicy(body: DemandsBody | null): DataPolicy | undefined {
  if (body === null) return undefined
  const { data_collection: dataCollection, zdr, regions } = body
  return { dataCollection, zdr, regions }
}

export function renderDataPolicy(policy: DataPolicy | undefined): DemandsBody | null {
  if (policy === undefined) return null
  const { dataCollection, zdr, regions } = policy
  return {
    ...(dataCollection !== undefined && { data_collection: dataCollection }),
    ...(zdr !== undefined && { zdr }),
    ...(regions !== undefined && { regions: [...regions] }),
  }
}
