/** `/admin/instances`: the processes of this installation. `/admin/agents`: whether the answering process can run agents. */
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Kysely } from 'kysely'
import { type Static, Type } from 'typebox'
import type { Database, InstanceTable } from '../../db/schema/schema.ts'
import { pageBy } from '../../db/shared-queries.ts'
import { byId, listPage, PAGE_QUERY, type PageBinding, type PageRequest, pageSchema } from '../../http/page.ts'
import { isoTime, nullable, oneOf, textOrNull } from '../../http/wire-fields.ts'
import { databaseTimeIn } from '../../jobs/sql.ts'
import type { ListDeps } from '../deps.ts'

export interface InstancesDeps extends ListDeps {
  /** An instance that was not seen for longer counts as gone. */
  readonly goneAfterMs: number
}

const InstanceView = Type.Object({
  id: Type.String(),
  object: Type.Literal('instance'),
  version: Type.String(),
  role: Type.String(),
  address: textOrNull('Address of the process.'),
  started_at: Type.String({ description: 'ISO 8601 UTC, by the database’s clock.' }),
  seen_at: Type.String({ description: 'Time of the last report. Processes report every 5 s.' }),
  load: nullable<number>('number', 'CPU time of the last minute; 1 is one processor. Null: not reported yet.'),
  lag_ms: nullable<number>('number', '99th percentile of the event loop delay.'),
  active_requests: nullable<number>('number', 'Number of completions in flight.'),
})

const schema = {
  summary: 'List processes',
  description: 'Returns the running processes that share this database. A killed process stays listed for 30 s.',
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
      const read = (page: PageRequest) => listInstances(db, page, goneAfterMs)
      return listPage({ query: request.query, binding, read, position: byId, render: renderInstance })
    })
  }
}

function renderInstance(row: InstanceTable): Static<typeof InstanceView> {
  return {
    id: row.id,
    object: 'instance',
    version: row.version,
    role: row.role,
    address: row.address,
    started_at: isoTime(row.started_at),
    seen_at: isoTime(row.seen_at),
    load: row.load_permille === null ? null : row.load_permille / 1_000,
    lag_ms: row.lag_ms,
    active_requests: row.active_requests,
  }
}

export interface AgentsStateDeps {
  /** `agents.sandbox.backend` of the configuration that the process started with. */
  readonly backend: 'bubblewrap' | 'none'
  /** Undefined: this process runs no agents. */
  readonly availability:
    | (() => Promise<{ readonly ok: true } | { readonly ok: false; readonly reason: string }>)
    | undefined
  /** Agent runs in this process. */
  readonly active: () => number
}

const AgentsState = Type.Object({
  object: Type.Literal('agents_state'),
  backend: oneOf(['bubblewrap', 'none'], {
    description: 'Sandbox of agents’ commands. none: commands have all rights of the service.',
  }),
  available: Type.Unsafe<boolean | null>({
    type: ['boolean', 'null'],
    description: 'Whether this process accepts runs. Null: it does no background work.',
  }),
  reason: textOrNull('Reason why it accepts no runs, and how to fix it. Null: no problem.'),
  running: Type.Integer({ description: 'Number of runs in this process.' }),
})

const agentsSchema = {
  summary: 'Get the status of agents',
  description: 'Returns whether the responding process can run agents on its machine.',
  tags: ['Operators'],
  response: { 200: AgentsState },
}

/** `GET /admin/agents`. */
export function agentsStateRoute({ backend, availability, active }: AgentsStateDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/admin/agents',
      { config: { scope: 'operator' }, schema: agentsSchema },
      async (): Promise<Static<typeof AgentsState>> => {
        const state = await availability?.()
        return {
          object: 'agents_state',
          backend,
          available: state?.ok ?? null,
          reason: state?.ok === false ? state.reason : null,
          running: active(),
        }
      },
    )
  }
}

/**
 * By age.
 * @param seenWithinMs Instances that were not seen for longer are left out.
 */
async function listInstances(
  db: Kysely<Database>,
  page: PageRequest,
  seenWithinMs: number,
): Promise<readonly InstanceTable[]> {
  return db
    .selectFrom('instance')
    .selectAll()
    .where('seen_at', '>=', databaseTimeIn(-seenWithinMs))
    .$call(pageBy('id', page))
    .execute()
}

/**
 * Finds where a process is reached. The address is undefined until it accepts connections.
 * @returns undefined when it ended, or was not seen for `seenWithinMs`.
 */
export async function findAddress(
  db: Kysely<Database>,
  id: string,
  seenWithinMs: number,
): Promise<{ readonly address: string | undefined } | undefined> {
  const row = await db
    .selectFrom('instance')
    .select('address')
    .where('id', '=', id)
    .where('seen_at', '>=', databaseTimeIn(-seenWithinMs))
    .executeTakeFirst()
  return row === undefined ? undefined : { address: row.address ?? undefined }
}
