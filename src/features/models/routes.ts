import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Caller } from '../../domain/caller.ts'
import { GatewayError } from '../../domain/errors.ts'
import { CAPABILITIES, type Capability, type Model } from '../../domain/model.ts'
import type { ProviderStatus } from '../../domain/provider-status.ts'
import type { FeatureDeps } from '../deps.ts'
import type { ModelBook } from './book.ts'
import { type ListedModel, ListedModelSchema, listModel } from './listed-model.ts'
import { modelProviders } from './model-providers.ts'

export interface ModelsRoutesDeps extends Pick<FeatureDeps, 'callerOf'> {
  readonly models: () => ModelBook
  /** Of every configured provider, now. */
  readonly status: () => readonly ProviderStatus[]
}

const ListQuery = Type.Object({
  capability: Type.Optional(
    Type.String({ description: `Only models that have it: ${CAPABILITIES.join(', ')}.`, examples: ['vision'] }),
  ),
  owned_by: Type.Optional(Type.String({ description: 'Only models of this maker.', examples: ['openai'] })),
})
const ModelList = Type.Object({ object: Type.Literal('list'), data: Type.Array(ListedModelSchema) })

const listSchema = {
  summary: 'List models',
  description: 'The models that this key may use and that have a provider here, with capabilities and prices.',
  tags: ['Models'],
  querystring: ListQuery,
  response: { 200: ModelList },
}
const oneSchema = {
  summary: 'Get a model',
  description: 'One model by its ID or an alias. Slashes in IDs may be percent-encoded or not.',
  tags: ['Models'],
  params: Type.Object({ id: Type.String({ description: 'Model ID.' }) }),
  response: { 200: ListedModelSchema },
}
const nestedSchema = { hide: true, params: Type.Object({ '*': Type.String() }), response: { 200: ListedModelSchema } }

/** `GET /models` and `GET /models/{id}`. */
export function modelsRoutes({ callerOf, models, status }: ModelsRoutesDeps): FastifyPluginAsyncTypebox {
  const config = { scope: 'models:read' } as const
  const one = (request: FastifyRequest, id: string): ListedModel => {
    const model = models().find(id)
    if (model === undefined || !mayUse(callerOf(request), model)) throw notFound(id, models(), callerOf(request))
    return listModel(model, modelProviders(status())(model))
  }
  return async (app) => {
    app.get('/models', { config, schema: listSchema }, async (request) => {
      const { capability, owned_by } = request.query
      const wanted = capability === undefined ? undefined : parseCapability(capability)
      const providersOf = modelProviders(status())
      const data = models()
        .all.filter((model) => wanted === undefined || model.capabilities[wanted])
        .filter((model) => owned_by === undefined || model.ownedBy === owned_by)
        .filter((model) => mayUse(callerOf(request), model))
        .map((model) => listModel(model, providersOf(model)))
      return { object: 'list' as const, data }
    })
    app.get('/models/:id', { config, schema: oneSchema }, async (request) => one(request, request.params.id))
    app.get('/models/*', { config, schema: nestedSchema }, async (request) => one(request, request.params['*']))
  }
}

/** A key that is limited to some models may name each by its ID or by an alias. */
function mayUse({ models }: Caller, { id, aliasOf }: Model): boolean {
  return models === undefined || models.has(id) || (aliasOf !== undefined && models.has(aliasOf))
}

function parseCapability(name: string): Capability {
  const capability = CAPABILITIES.find((known) => known === name)
  if (capability !== undefined) return capability
  const message = `There is no capability '${name.slice(0, 100)}'; there are ${CAPABILITIES.join(', ')}.`
  throw new GatewayError('invalid_value', message, { param: 'capability' })
}

/** Names the nearest models, but none that the key may not use. */
function notFound(id: string, book: ModelBook, caller: Caller): GatewayError {
  const near = book.nearest(id, NEAREST_LOOKED_AT).filter((name) => {
    const model = book.find(name)
    return model !== undefined && mayUse(caller, model)
  })
  const hint = near.length === 0 ? '' : ` The nearest are ${near.slice(0, 3).join(', ')}.`
  const message = `There is no model '${id.slice(0, 200)}' that this key may use.${hint} GET /v1/models lists them.`
  return new GatewayError('not_found', message, { param: 'id' })
}

/** Among these the three for the message are looked for. */
const NEAREST_LOOKED_AT = 50
