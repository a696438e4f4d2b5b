/** Virtual models of the configuration: an ID that stands for several models, one of which answers each request. */
import { type Static, Type } from 'typebox'
import {
  type Model,
  type ModelBook,
  VIRTUAL_STICKINESS,
  VIRTUAL_STRATEGIES,
  type VirtualModel,
} from '../../domain/model.ts'

/** A virtual model in the configuration file. */
export interface ConfiguredVirtualModel {
  readonly id: string
  readonly name?: string | undefined
  readonly candidates: readonly { readonly model: string; readonly weight?: number | undefined }[]
  readonly strategy?: VirtualModel['strategy'] | undefined
  readonly sticky?: VirtualModel['sticky'] | undefined
}

/**
 * Returns the model that stands for its usable candidates; undefined where none of them has a provider. It can do what any
 * of them can.
 */
export function virtualModel(
  { id, name = id, candidates, strategy = 'priority', sticky = 'none' }: ConfiguredVirtualModel,
  find: (id: string) => Model | undefined,
): Model | undefined {
  const found = candidates.flatMap(({ model }) => find(model) ?? [])
  const [first] = found
  if (first === undefined) return undefined
  const known = found.flatMap(({ maxOutputTokens }) => maxOutputTokens ?? [])
  return {
    id,
    name,
    ownedBy: 'virtual',
    created: 0,
    kind: first.kind,
    capabilities: {
      streaming: found.some(({ capabilities }) => capabilities.streaming),
      function_calling: found.some(({ capabilities }) => capabilities.function_calling),
      vision: found.some(({ capabilities }) => capabilities.vision),
      json_mode: found.some(({ capabilities }) => capabilities.json_mode),
    },
    contextWindow: Math.max(...found.map(({ contextWindow }) => contextWindow)),
    maxOutputTokens: known.length < found.length ? undefined : Math.max(...known),
    price: undefined,
    priceVersion: undefined,
    aliasOf: undefined,
    deprecationDate: undefined,
    inputModalities: [...new Set(found.flatMap(({ inputModalities }) => inputModalities))],
    supportedParameters: [...new Set(found.flatMap(({ supportedParameters }) => supportedParameters))].sort(),
    deployments: found.flatMap(({ deployments }) => deployments),
    virtual: { strategy, sticky, candidates: candidates.map(({ model, weight = 1 }) => ({ model, weight })) },
  }
}

const Range = (description: string) =>
  Type.Object({ min: Type.Number(), max: Type.Number() }, { description: `USD per million ${description}` })

export const VirtualView = Type.Object(
  {
    strategy: Type.Enum([...VIRTUAL_STRATEGIES]),
    sticky: Type.Enum([...VIRTUAL_STICKINESS]),
    candidates: Type.Array(Type.Object({ model: Type.String(), weight: Type.Number() })),
    price_range: Type.Union(
      [
        Type.Object({
          input_per_million: Range('prompt tokens.'),
          output_per_million: Range('completion tokens.'),
        }),
        Type.Null(),
      ],
      { description: 'Prices of the candidates now. Null: none has one.' },
    ),
  },
  { description: 'Only of a virtual model: what it stands for. Its `pricing` is that of the model that answers.' },
)

export function listVirtual(
  { strategy, sticky, candidates }: VirtualModel,
  find: ModelBook['find'],
): Static<typeof VirtualView> {
  const prices = candidates.flatMap(({ model }) => find(model)?.price ?? [])
  const range = (rates: readonly number[]) => ({ min: Math.min(...rates) / 1e6, max: Math.max(...rates) / 1e6 })
  return {
    strategy,
    sticky,
    candidates: candidates.map(({ model, weight }) => ({ model, weight })),
    price_range:
      prices.length === 0
        ? null
        : {
            input_per_million: range(prices.map(({ inputMicroUsd }) => inputMicroUsd)),
            output_per_million: range(prices.map(({ outputMicroUsd }) => outputMicroUsd)),
          },
  }
}
