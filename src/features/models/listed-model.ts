import { Type } from 'typebox'
import type { Model } from '../../domain/model.ts'
import { listPricing, PricingView } from './listed-price.ts'

const orNull = <Schema extends Parameters<typeof Type.Optional>[0]>(schema: Schema) => Type.Union([schema, Type.Null()])

/** The wire shape of a model: the service interface's fields, and those that other tools read. */
export const ListedModelSchema = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal('model'),
    created: Type.Integer({ description: 'Unix seconds of the release; 0: not known.' }),
    owned_by: Type.String({ description: 'Who made the model.' }),
    name: Type.String({ description: 'For people.' }),
    capabilities: Type.Object({
      streaming: Type.Boolean(),
      function_calling: Type.Boolean(),
      vision: Type.Boolean(),
      json_mode: Type.Boolean(),
    }),
    context_window: Type.Integer({ description: 'Tokens of prompt and answer together.' }),
    context_length: Type.Integer({ description: 'The same as context_window, under the name that other tools read.' }),
    max_output_tokens: orNull(Type.Integer({ description: 'Tokens. Null: not known.' })),
    pricing: orNull(PricingView),
    alias_of: Type.Optional(Type.String({ description: 'The ID that this one stands for.' })),
    architecture: Type.Object({
      input_modalities: Type.Array(Type.String()),
      output_modalities: Type.Array(Type.String()),
    }),
    supported_parameters: Type.Array(Type.String(), { description: 'Request fields that the model honours.' }),
    price_source: orNull(
      Type.Object(
        {
          url: Type.String({ description: 'Where the price was read.' }),
          read: Type.String({ description: 'ISO date on which it was.' }),
        },
        { description: 'Null: nowhere; the operator has set it, or it is not known.' },
      ),
    ),
    price_overridden: Type.Boolean({
      description: 'Whether the operator has set the price, whatever the catalogue says.',
    }),
    providers: Type.Array(
      Type.Object({
        name: Type.String({ description: 'The operator’s name for it.' }),
        healthy: Type.Boolean({ description: 'Whether the process that answers would call it for this model now.' }),
      }),
      {
        description: 'Where it can be had, in the order in which they are tried: those that are not healthy come last.',
      },
    ),
    deprecation_date: orNull(Type.String({ description: 'ISO date on which the provider shuts the model down.' })),
  },
  { description: 'A model that this key may use.' },
)
export type ListedModel = Type.Static<typeof ListedModelSchema>

/** @param providers Of the model, as `modelProviders` lists them. */
export function listModel(model: Model, providers: ListedModel['providers']): ListedModel {
  return {
    id: model.id,
    object: 'model',
    created: model.created,
    owned_by: model.ownedBy,
    name: model.name,
    capabilities: { ...model.capabilities },
    context_window: model.contextWindow,
    context_length: model.contextWindow,
    max_output_tokens: model.maxOutputTokens ?? null,
    pricing: listPricing(model),
    ...(model.aliasOf === undefined ? {} : { alias_of: model.aliasOf }),
    architecture: { input_modalities: [...model.inputModalities], output_modalities: ['text'] },
    supported_parameters: [...model.supportedParameters],
    price_source: model.priceSource === undefined ? null : { ...model.priceSource },
    price_overridden: model.price !== undefined && model.priceSource === undefined,
    providers,
    deprecation_date: model.deprecationDate ?? null,
  }
}
