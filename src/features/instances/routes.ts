/** `/admin/instances`: the processes that serve this installation. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import { PAGE_QUERY, type PageBinding, pageSchema, readPageRequest, renderPage } from '../../http/page.ts'
import type { FeatureDeps } from '../deps.ts'
import { type Instance, listInstances } from './queries.ts'

export interface InstancesDeps extends FeatureDeps {
  /** Signs the cursors of lists. */
  readonly cursorKey: Uint8Array
  /** Who was not seen for longer is gone. */
  readonly goneAfterMs: number
}

const numberOrNull = (description: string) => Type.Unsafe<number | null>({ type: ['number', 'null'], description })

const InstanceView = Type.Object({
  id: Type.String(),
  object: Type.Literal('instance'),
  version: Type.String(),
  role: Type.String(),
  address: Type.Unsafe<string | null>({ type: ['string', 'null'], description: 'Where it is reached.' }),
  started_at: Type.String({ description: 'ISO 8601 UTC, by the database’s clock.' }),
  seen_at: Type.String({ description: 'When it last reported, which it does every 5 s.' }),
  load: numberOrNull('CPU time of the last minute; 1 is one processor. Null: it has not said yet.'),
  lag_ms: numberOrNull('99 of 100 turns of its event loop were late by no more than this.'),
  active_requests: numberOrNull('Completions under way.'),
})

const schema = {
  summary: 'List processes',
  description: 'Those that run and share this database. One that was killed is listed for 30 s more.',
  tags: ['Operators'],
  querystring: Type.Object(PAGE_QUERY),
  response: { 200: pageSchema(InstanceView) },
}

/** `GET /admin/instances`. */
export function instancesRoutes({ db, callerOf, cursorKey, goneAfterMs }: InstancesDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get('/admin/instances', { config: { scope: 'operator' }, schema }, async (request) => {
      const { accountId } = callerOf(request)
      const binding: PageBinding = { key: cursorKey, account: accountId, list: 'admin/instances' }
      const page = readPageRequest(request.query, binding)
      const instances = await listInstances(db, { ...page, limit: page.limit + 1 }, goneAfterMs)
      return renderPage(instances, { request: page, binding }, { position: ({ id }) => id, render: renderInstance })
    })
  }
}

function renderInstance({ id, version, role, ...instance }: Instance): Static<typeof InstanceView> {
  return {
    id,
    object: 'instance',
    version,
    role,
    address: instance.address ?? null,
    started_at: new Date(instance.startedAt).toISOString(),
    seen_at: new Date(instance.seenAt).toISOString(),
    load: instance.load ?? null,
    lag_ms: instance.lagMs ?? null,
    active_requests: instance.activeRequests ?? null,
  }
}
