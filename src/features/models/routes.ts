/** `/models`: the models that a key may use. `/admin/price_ends`: prices that end within a week, or have ended, without a successor. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { GatewayError } from '../../domain/errors.ts'
import type { Caller } from '../../domain/identity/caller.ts'
import {
  CAPABILITIES,
  deprecationHeaders,
  endingPrices,
  MODEL_KINDS,
  type Model,
  type ModelBook,
  type PriceEnd,
} from '../../domain/model.ts'
import type { ProviderStatus } from '../../domain/provider-status.ts'
import { listByName, NAMED_PAGE_QUERY, pageSchema } from '../../http/page.ts'
import { oneOf } from '../../http/wire-fields.ts'
import { isoTime } from '../../lib/time.ts'
import type { FeatureDeps, ListDeps } from '../deps.ts'
import {
  CodexModelsSchema,
  codexModels,
  type ListedModel,
  ListedModelSchema,
  listModel,
  listVirtual,
  modelProviders,
} from './listed-model.ts'

/** Names that the three of the message are taken from. */
const NEAREST_CANDIDATES = 50

interface ModelsRoutesDeps extends Pick<FeatureDeps, 'callerOf' | 'now'> {
  /** At the prices of a plan. */
  readonly models: (plan: string) => ModelBook
  /** Of every configured provider, now. */
  readonly status: () => readonly ProviderStatus[]
}

const ListQuery = Type.Object({
  capability: Type.Optional(
    oneOf(CAPABILITIES, { description: 'Only models with this capability.', examples: ['vision'] }),
  ),
  kind: Type.Optional(oneOf(MODEL_KINDS, { description: 'Only models of this kind.' })),
  owned_by: Type.Optional(Type.String({ description: 'Only models of this owner.', examples: ['openai'] })),
  client_version: Type.Optional(Type.String({ description: 'Of Codex: adds `models`, in the form that it reads.' })),
})
const ModelList = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(ListedModelSchema),
  models: Type.Optional(CodexModelsSchema),
})

const listSchema = {
  summary: 'List models',
  description:
    'Returns the models that this key can use and that have a configured provider, with capabilities and the prices of the account’s plan.',
  tags: ['Models'],
  querystring: ListQuery,
  response: { 200: ModelList },
}

const oneSchema = {
  summary: 'Get a model',
  description:
    'Finds a model by its ID or an alias. Slashes in IDs may be percent-encoded. `Sunset` (RFC 8594) is the day on which the provider shuts the model down; `Deprecation` (RFC 9745) is present from that day on.',
  tags: ['Models'],
  params: Type.Object({ id: Type.String({ description: 'Model ID.' }) }),
  response: { 200: ListedModelSchema },
}
const nestedSchema = { hide: true, params: Type.Object({ '*': Type.String() }), response: { 200: ListedModelSchema } }

/** `GET /models` and `GET /models/{id}`. */
export function modelsRoutes({ callerOf, models, status, now }: ModelsRoutesDeps): FastifyPluginAsyncTypebox {
  const config = { scope: 'models:read' } as const
  const listed = (model: Model, book: ModelBook, providers: ListedModel['providers']): ListedModel => ({
    ...listModel(model, providers, now()),
    ...(model.virtual !== undefined && { virtual: listVirtual(model.virtual, book.find) }),
  })
  const one = (request: FastifyRequest, reply: FastifyReply, id: string): ListedModel => {
    const caller = callerOf(request)
    const book = models(caller.plan)
    const model = book.find(id)
    if (model === undefined || !mayUse(caller, model)) throw notFound(id, book, caller)
    reply.headers(deprecationHeaders(model, now()) ?? {})
    return listed(model, book, modelProviders(status())(model))
  }
  return async (app) => {
    app.get('/models', { config, schema: listSchema }, async (request) => {
      const { capability, kind, owned_by, client_version } = request.query
      const providersOf = modelProviders(status())
      const caller = callerOf(request)
      const book = models(caller.plan)
      const data = book.all
        .filter((model) => capability === undefined || model.capabilities[capability])
        .filter((model) => kind === undefined || model.kind === kind)
        .filter((model) => owned_by === undefined || model.ownedBy === owned_by)
        .filter((model) => mayUse(caller, model))
      if (request.headers['anthropic-version'] !== undefined) return messagesList(data)
      return {
        object: 'list' as const,
        data: data.map((model) => listed(model, book, providersOf(model))),
        ...(client_version !== undefined && { models: codexModels(data) }),
      }
    })
    app.get('/models/:id', { config, schema: oneSchema }, async (request, reply) =>
      one(request, reply, request.params.id),
    )
    app.get('/models/*', { config, schema: nestedSchema }, async (request, reply) =>
      one(request, reply, request.params['*']),
    )
  }
}

/** The list in the form of Anthropic's API, for clients that send its version. */
function messagesList(models: readonly Model[]): never {
  const data = models.map(({ id, name, created }) => ({
    type: 'model',
    id,
    display_name: name,
    created_at: new Date(created * 1000).toISOString(),
  }))
  const list = { data, has_more: false, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null }
  return list as never // a form that the schema of the route does not describe
}

/** A key that is limited to some models may name each by its ID or by an alias. */
function mayUse({ models }: Caller, { id, aliasOf }: Model): boolean {
  return models === undefined || models.has(id) || (aliasOf !== undefined && models.has(aliasOf))
}

/** Names the nearest models, but none that the key may not use. */
function notFound(id: string, book: ModelBook, caller: Caller): GatewayError {
  const near = book.nearest(id, NEAREST_CANDIDATES).filter((name) => {
    const model = book.find(name)
    return model !== undefined && mayUse(caller, model)
  })
  const hint = near.length === 0 ? '' : ` The nearest are ${near.slice(0, 3).join(', ')}.`
  const message = `There is no model '${id.slice(0, 200)}' that this key may use.${hint} GET /v1/models lists them.`
  return new GatewayError('not_found', message, { param: 'id' })
}

interface PriceEndsDeps extends Pick<ListDeps, 'callerOf' | 'now' | 'cursorKey'> {
  readonly models: () => ModelBook
}

const PriceEndView = Type.Object(
  {
    id: Type.String({ description: 'ID of the model.' }),
    object: Type.Literal('price_end'),
    model: Type.String({ description: 'Same as `id`.' }),
    ends_at: Type.String({ description: 'Time from which the model has no price, ISO 8601 UTC.' }),
    ended: Type.Boolean({
      description: 'Whether the price has expired, so that the model returns 503 `model_not_priced`.',
    }),
  },
  { description: 'The end of a price that no other follows.' },
)

const priceEndsSchema = {
  summary: 'List expiring prices',
  description:
    'Returns the models whose price expires within a week without a successor, or has expired. Without a price they return 503 `model_not_priced`. Set `pricing`, or its `successors`, in the configuration.',
  tags: ['Operators'],
  querystring: Type.Object(NAMED_PAGE_QUERY),
  response: { 200: pageSchema(PriceEndView) },
}

/** `GET /admin/price_ends`. */
export function priceEndsRoute({ callerOf, cursorKey, models, now }: PriceEndsDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get('/admin/price_ends', { config: { scope: 'operator' }, schema: priceEndsSchema }, async (request) => {
      const binding = { key: cursorKey, account: callerOf(request).accountId, list: 'admin/price_ends' }
      const ends = endingPrices(models().all, now())
      return await listByName(ends, { query: request.query, binding, name: ({ model }) => model, render: renderEnd })
    })
  }
}

function renderEnd({ model, endsAt, hasEnded }: PriceEnd) {
  const object = 'price_end' as const
  return { id: model, object, model, ends_at: isoTime(endsAt), ended: hasEnded }
}
