/** `/usage/rejections`: rejected requests to models, for whoever asks why. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Kysely, Selectable } from 'kysely'
import { type Static, Type } from 'typebox'
import type { Database } from '../../../db/schema/schema.ts'
import { given, pageBy } from '../../../db/shared-queries.ts'
import type { AccountId, KeyId, TeamId } from '../../../domain/ids.ts'
import { listPage, PAGE_QUERY, type PageRequest, pageSchema } from '../../../http/page.ts'
import { isoTime, textOrNull } from '../../../http/wire-fields.ts'
import type { ListDeps } from '../../deps.ts'
import { type Names, namesOfKeys } from '../names.ts'

type Row = Selectable<Database['rejection']>

const RejectionView = Type.Object({
  object: Type.Literal('rejection'),
  request_id: Type.String({ description: '`x-request-id` of the answer.' }),
  created_at: Type.String({ format: 'date-time' }),
  endpoint: Type.String({ description: 'The path, such as `/v1/chat/completions`.' }),
  model: textOrNull(
    'That the request asked for, also if there is none. `null`: the text may be a secret in the wrong field, or the body was not read.',
  ),
  status: Type.Integer({ description: 'HTTP status of the answer.' }),
  code: Type.String({ description: '`error.code` of the answer; docs/errors.md has them all.' }),
  key_id: textOrNull('The API key, device or person that sent it. `null`: the request had no valid credential.'),
  key_name: textOrNull('What it is called now. `null`: it is gone, or there was none.'),
})

const ListQuery = Type.Object({
  status: Type.Optional(
    Type.String({ pattern: '^4[0-9]{2}$', description: 'Only this HTTP status.', examples: ['429'] }),
  ),
  code: Type.Optional(Type.String({ description: 'Only this `code`.' })),
  key_id: Type.Optional(Type.String({ description: 'Only requests of this API key, device or signed-in person.' })),
  request_id: Type.Optional(Type.String({ description: 'Only the request with this ID.' })),
  ...PAGE_QUERY,
})

const schema = {
  summary: 'List rejected requests',
  description:
    'Returns requests to models that the gateway rejected before it called a provider, of the last 7 days: at most 10 a second ' +
    'and 10 000 in all. Those without a valid credential belong to no account: the account that operates the ' +
    'installation lists them. Filters are combined with AND.',
  tags: ['Usage'],
  querystring: ListQuery,
  response: { 200: pageSchema(RejectionView) },
}

type RejectionDeps = Pick<ListDeps, 'db' | 'callerOf' | 'cursorKey'>

export function rejectionRoutes({ db, callerOf, cursorKey }: RejectionDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get('/usage/rejections', { config: { scope: 'usage:read' }, schema }, async (request) => {
      const { accountId, teamId } = callerOf(request)
      const filter = readFilter(request.query)
      const read = async (page: PageRequest) => {
        const rows = await db
          .selectFrom('rejection')
          .selectAll()
          .where('account_id', '=', accountId)
          .where(({ and }) => and(filter))
          .$if(teamId !== undefined, (query) => query.where('key_id', 'in', keysOf(db, accountId, teamId as TeamId)))
          .$call(pageBy('request_id', page))
          .execute()
        const ids = rows.flatMap(({ key_id: id }) => id ?? [])
        const names = await namesOfKeys(db, accountId, ids)
        return rows.map((row) => render(row, names))
      }
      const binding = { key: cursorKey, account: accountId, list: 'usage/rejections', filter: JSON.stringify(filter) }
      const position = ({ request_id: id }: Static<typeof RejectionView>) => id
      return await listPage({ query: request.query, binding, read, position, render: (view) => view })
    })
  }
}

function keysOf(db: Kysely<Database>, accountId: AccountId, teamId: TeamId) {
  return db
    .selectFrom('api_key')
    .select('id')
    .where(({ and }) => and({ account_id: accountId, team_id: teamId }))
}

function readFilter({ status, code, key_id, request_id }: Static<typeof ListQuery>) {
  return given({
    status: status === undefined ? undefined : Number(status),
    code,
    key_id: key_id as KeyId | undefined,
    request_id,
  })
}

function render(row: Row, names: Names): Static<typeof RejectionView> {
  const { request_id, endpoint, model, status, code, key_id } = row
  return {
    object: 'rejection',
    request_id,
    created_at: isoTime(row.created_at),
    endpoint,
    model,
    status,
    code,
    key_id,
    key_name: key_id === null ? null : (names.get(key_id) ?? null),
  }
}
