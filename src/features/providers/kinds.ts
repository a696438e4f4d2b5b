/** `/admin/provider_kinds`: the built-in providers that an operator can configure. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { listByName, NAMED_PAGE_QUERY, pageSchema } from '../../http/page.ts'
import { textOrNull } from '../../http/wire-fields.ts'
import type { ListDeps } from '../deps.ts'

export interface ProviderKind {
  /** Name in the configuration. */
  readonly id: string
  /** For people. */
  readonly name: string
  /** Undefined: the operator gives one. */
  readonly baseUrl: string | undefined
  readonly keyVariable: string | undefined
  /** Further settings of its entry, such as `region`. */
  readonly settings: readonly string[]
  /** Of the catalogue. */
  readonly models: number
}

interface KindsDeps extends Pick<ListDeps, 'callerOf' | 'cursorKey'> {
  readonly kinds: () => readonly ProviderKind[]
}

const KindView = Type.Object({
  id: Type.String({ description: 'Name of a provider in the configuration.' }),
  object: Type.Literal('provider_kind'),
  name: Type.String({ description: 'Name of the provider.' }),
  base_url: textOrNull('Address of its API. Null: `base_url` is required.'),
  key_variable: textOrNull('Environment variable of its key. Null: it has none.'),
  settings: Type.Array(Type.String(), { description: 'Further settings that it knows, such as `region`.' }),
  models: Type.Integer({ description: 'Number of models in the catalogue, with prices.' }),
})

const schema = {
  summary: 'List provider kinds',
  description: 'Returns the built-in providers, each of which `PUT /v1/admin/providers/{name}` can configure.',
  tags: ['Operators'],
  querystring: Type.Object(NAMED_PAGE_QUERY),
  response: { 200: pageSchema(KindView) },
}

/** `GET /admin/provider_kinds`. */
export function providerKindsRoute({ callerOf, cursorKey, kinds }: KindsDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get('/admin/provider_kinds', { config: { scope: 'operator' }, schema }, async (request) => {
      const binding = { key: cursorKey, account: callerOf(request).accountId, list: 'admin/provider_kinds' }
      const render = ({ id, name, baseUrl, keyVariable, settings, models }: ProviderKind) => ({
        id,
        object: 'provider_kind' as const,
        name,
        base_url: baseUrl ?? null,
        key_variable: keyVariable ?? null,
        settings: [...settings],
        models,
      })
      return await listByName(kinds(), { query: request.query, binding, name: ({ id }) => id, render })
    })
  }
}
