/** Agents, as the pages ask for them. */
import { queryOptions } from '@tanstack/react-query'
import { api, fetchRaw, take } from '../../api/client.ts'
import { problemOf } from '../../api/problem.ts'
import type { paths } from '../../api/schema.d.ts'
import type { Status } from './search.ts'

type Ok<Operation> = Operation extends { responses: { 200: { content: { 'application/json': infer Body } } } }
  ? Body
  : never

export type Agent = Ok<paths['/v1/agents/{id}']['get']>
export type Run = Ok<paths['/v1/agents/{id}/runs']['get']>['data'][number]
export type WebhookEvent = Ok<paths['/v1/events']['get']>['data'][number]
export type Model = Ok<paths['/v1/models']['get']>['data'][number]
export type NewAgent = paths['/v1/agents']['post']['requestBody']['content']['application/json']

/** With the status that its events tell, which they do first. */
export interface LiveAgent extends Omit<Agent, 'status'> {
  readonly status: string
}

const PAGE = 50
const RECENT = 100
const RUNS = 100
const EVENTS = 25
const RECENT_REPOSITORIES = 6
const OPEN: ReadonlySet<string> = new Set(['queued', 'running'])

export function isOpen({ status }: Pick<Agent, 'status'>): boolean {
  return OPEN.has(status)
}

export interface AgentFilter {
  readonly status: Status | undefined
  readonly repository: string | undefined
}

/** Of the newest. */
export function loadAgents({ status, repository }: AgentFilter, cursor: string | undefined) {
  const query = {
    limit: PAGE,
    ...(status !== undefined && { status }),
    ...(repository !== undefined && { repository }),
    ...(cursor !== undefined && { cursor }),
  }
  return take(api.GET('/v1/agents', { params: { query } }))
}

export const agentsKey = (filter: AgentFilter) => ['/v1/agents', 'list', filter.status, filter.repository] as const

/** Repositories that agents have worked on, the last one first. */
export const repositoriesQuery = queryOptions({
  queryKey: ['/v1/agents', 'repositories'],
  staleTime: 60_000,
  async queryFn(): Promise<readonly string[]> {
    const { data } = await take(api.GET('/v1/agents', { params: { query: { limit: RECENT } } }))
    return [...new Set(data.map(({ repository }) => repository))]
  },
})

export function recentOf(repositories: readonly string[]): readonly string[] {
  return repositories.slice(0, RECENT_REPOSITORIES)
}

export const agentQuery = (id: string) =>
  queryOptions({
    queryKey: ['/v1/agents', id],
    queryFn: () => take(api.GET('/v1/agents/{id}', { params: { path: { id } } })),
  })

/** The newest first; hundreds are not to be expected. */
export const runsQuery = (id: string) =>
  queryOptions({
    queryKey: ['/v1/agents', id, 'runs'],
    async queryFn(): Promise<readonly Run[]> {
      const params = { path: { id }, query: { limit: RUNS } }
      return (await take(api.GET('/v1/agents/{id}/runs', { params }))).data
    },
  })

export const webhookEventsKey = (agentId: string) => ['/v1/events', { agentId }] as const

/** The newest first, each with where it went. */
export function loadWebhookEvents(agentId: string, cursor: string | undefined) {
  const query = { agent_id: agentId, include: 'deliveries' as const, limit: EVENTS, ...(cursor && { cursor }) }
  return take(api.GET('/v1/events', { params: { query } }))
}

export interface LoadedDiff {
  readonly text: string
  /** The gateway kept only its beginning. */
  readonly isTruncated: boolean
}

/** Null: it has left none. */
export const diffQuery = (id: string) =>
  queryOptions({
    queryKey: ['/v1/agents', id, 'diff'],
    async queryFn({ signal }): Promise<LoadedDiff | null> {
      try {
        const response = await fetchRaw(`/v1/agents/${encodeURIComponent(id)}/diff`, { signal })
        const isTruncated = response.headers.get('x-turnpike-truncated') === 'true'
        return { text: await response.text(), isTruncated }
      } catch (error) {
        if (problemOf(error).status === 404) return null
        throw error
      }
    },
  })

/** Those that agents can work with: they call functions and have a price. */
export const agentModelsQuery = queryOptions({
  queryKey: ['/v1/models', 'function_calling'],
  staleTime: 60_000,
  async queryFn(): Promise<readonly Model[]> {
    const { data } = await take(api.GET('/v1/models', { params: { query: { capability: 'function_calling' } } }))
    return data.filter(({ pricing }) => pricing !== null)
  },
})
