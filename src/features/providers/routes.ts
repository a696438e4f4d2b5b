/** `/admin/providers`: how the configured providers fare, as this process sees them. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { ProviderStatus } from '../../domain/provider-status.ts'
import {
  PAGE_QUERY,
  type PageBinding,
  type PageRequest,
  pageSchema,
  readPageRequest,
  renderPage,
} from '../../http/page.ts'
import type { FeatureDeps } from '../deps.ts'
import { ProviderView, renderProvider } from './shapes.ts'

export interface ProvidersDeps extends Pick<FeatureDeps, 'callerOf'> {
  /** Signs the cursors of lists. */
  readonly cursorKey: Uint8Array
  /** Of every configured provider, now. */
  readonly status: () => readonly ProviderStatus[]
}

const order = Type.Optional(
  Type.Unsafe<'asc' | 'desc'>({ type: 'string', enum: ['asc', 'desc'], default: 'asc', description: 'By name.' }),
)

const schema = {
  summary: 'List providers',
  description:
    'The configured providers: whether calls to them succeed, how fast they answer, and what they are busy with. Each ' +
    'process has its own view, from its own calls: this is the one that answers.',
  tags: ['Operators'],
  querystring: Type.Object({ ...PAGE_QUERY, order }),
  response: { 200: pageSchema(ProviderView) },
}

/** `GET /admin/providers`. */
export function providersRoutes({ callerOf, cursorKey, status }: ProvidersDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get('/admin/providers', { config: { scope: 'operator' }, schema }, async (request) => {
      const { accountId } = callerOf(request)
      const binding: PageBinding = { key: cursorKey, account: accountId, list: 'admin/providers' }
      const page = readPageRequest({ ...request.query, order: request.query.order ?? 'asc' }, binding)
      const providers = pageOf(status(), page)
      return renderPage(providers, { request: page, binding }, { position: ({ name }) => name, render: renderProvider })
    })
  }
}

/** One more than the page has, where there is one. */
function pageOf(providers: readonly ProviderStatus[], { order, after, limit }: PageRequest): readonly ProviderStatus[] {
  const direction = order === 'asc' ? 1 : -1
  const compare = (one: string, other: string) => (one < other ? -direction : direction)
  return providers
    .filter(({ name }) => after === undefined || (name !== after && compare(after, name) < 0))
    .sort((one, other) => compare(one.name, other.name))
    .slice(0, limit + 1)
}
