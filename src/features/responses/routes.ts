/** `/responses/:id`: the stored responses of an account, in the form of OpenAI's API. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import { GatewayError } from '../../domain/errors.ts'
import type { AccountId } from '../../domain/ids.ts'
import { routeNotFound } from '../../http/errors.ts'
import { PAGE_QUERY, readLimit } from '../../http/page.ts'
import type { ResponseResource } from '../../http/responses-route.ts'
import { oneOf } from '../../http/wire-fields.ts'
import type { FeatureDeps } from '../deps.ts'
import type { ResponseStore, StoredResponse } from './store.ts'

export interface ResponsesDeps extends Pick<FeatureDeps, 'callerOf'> {
  readonly store: ResponseStore
  /** The items that a response was made from: of its conversation and of its request, the oldest first. */
  readonly inputOf: (accountId: AccountId, response: StoredResponse) => Promise<readonly unknown[]>
}

/** A path of its own, which has no `DELETE`. */
const INPUT_TOKENS = 'input_tokens'

const config = { scope: 'chat' } as const
const tags = ['Responses']
const params = Type.Object({ id: Type.String() })
const Item = Type.Object({ type: Type.String(), id: Type.String() }, { additionalProperties: true })

const getSchema = {
  summary: 'Get a stored response',
  description:
    'Returns a response that was created with `store: true`, where the operator allows it. It is read whole: `stream=true` is refused.',
  tags,
  params,
  querystring: Type.Object({
    stream: Type.Optional(oneOf(['false'], { description: 'Stored responses are read whole.' })),
  }),
  response: { 200: Type.Ref('ResponseResource') },
}

const deleteSchema = {
  summary: 'Delete a stored response',
  description: 'Deletes a response. Conversations that it is part of cannot be continued by ID any more.',
  tags,
  params,
  response: {
    200: Type.Object({ id: Type.String(), object: Type.Literal('response'), deleted: Type.Literal(true) }),
  },
}

const inputItemsSchema = {
  summary: 'List the input items of a stored response',
  description:
    'Returns the items that the response was made from: those of earlier responses that it continues, and those of its request.',
  tags,
  params,
  querystring: Type.Object({
    limit: PAGE_QUERY.limit,
    order: Type.Optional(oneOf<'asc' | 'desc'>(['asc', 'desc'], { default: 'desc', description: 'By position.' })),
    after: Type.Optional(Type.String({ description: 'ID of the last item of the previous page.' })),
  }),
  response: {
    200: Type.Object({
      object: Type.Literal('list'),
      data: Type.Array(Item),
      first_id: Type.Union([Type.String(), Type.Null()]),
      last_id: Type.Union([Type.String(), Type.Null()]),
      has_more: Type.Boolean(),
    }),
  },
}

export function storedResponsesRoutes({ store, callerOf, inputOf }: ResponsesDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get('/responses/:id', { config, schema: getSchema }, async (request) => {
      const { accountId } = callerOf(request)
      return whole(await requireResponse(store, accountId, request.params.id))
    })
    app.delete('/responses/:id', { config, schema: deleteSchema }, async (request) => {
      const { id } = request.params
      const { accountId } = callerOf(request)
      if (id === INPUT_TOKENS) throw routeNotFound('DELETE', `/v1/responses/${id}`, ['POST'])
      if (!isResponseId(id) || !(await store.remove({ accountId, id }))) throw notFound()
      return { id, object: 'response' as const, deleted: true as const }
    })
    app.get('/responses/:id/input_items', { config, schema: inputItemsSchema }, async (request) => {
      const { accountId } = callerOf(request)
      const response = await requireResponse(store, accountId, request.params.id)
      return itemsPage((await inputOf(accountId, response)) as readonly StoredItem[], request.query) // as they were stored
    })
  }
}

/** As the gateway makes them; nothing else is looked up. */
const RESPONSE_ID = /^resp_[0-9A-Za-z]{1,64}$/

export function isResponseId(id: string): boolean {
  return RESPONSE_ID.test(id)
}

async function requireResponse(store: ResponseStore, accountId: AccountId, id: string): Promise<StoredResponse> {
  const response = isResponseId(id) ? await store.find({ accountId, id }) : undefined
  if (response === undefined) throw notFound()
  return response
}

function notFound(): GatewayError {
  return new GatewayError('not_found', 'No stored response has this ID.')
}

/** As it was answered. */
function whole({ content }: StoredResponse): Static<typeof ResponseResource> {
  const items: readonly unknown[] = JSON.parse(`[${content.items}]`)
  return { ...JSON.parse(content.response), output: items.slice(content.inputItems) }
}

interface StoredItem {
  readonly id: string
  readonly type: string
}

interface ItemsQuery {
  readonly limit?: number | string
  readonly order?: 'asc' | 'desc'
  readonly after?: string
}

function itemsPage(items: readonly StoredItem[], { limit: asked, order = 'desc', after }: ItemsQuery) {
  const limit = readLimit(asked)
  const ordered = order === 'asc' ? items : items.toReversed()
  const start = after === undefined || after === '' ? 0 : ordered.findIndex(({ id }) => id === after) + 1
  if (after && start === 0) {
    throw new GatewayError('invalid_value', '`after` is not the ID of an input item of this response.', {
      param: 'after',
    })
  }
  const data = ordered.slice(start, start + limit)
  return {
    object: 'list' as const,
    data,
    first_id: data[0]?.id ?? null,
    last_id: data.at(-1)?.id ?? null,
    has_more: start + limit < ordered.length,
  }
}
