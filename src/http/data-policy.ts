/** Data policies on the wire. */
import { type Static, Type } from 'typebox'
import type { DataPolicy } from '../domain/data-policy.ts'
import { oneOf } from './wire-fields.ts'

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
