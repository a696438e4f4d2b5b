/** Teams as the gateway tells of them, and what is done to them. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { api, take } from '../../../api/client.ts'
import type { paths } from '../../../api/schema.d.ts'
import { type Pages, usePages } from '../../../ui/table/paged.tsx'
import type { TeamTab } from '../search.ts'

export type Team = paths['/v1/teams']['get']['responses'][200]['content']['application/json']['data'][number]
export type TeamBody = paths['/v1/teams']['post']['requestBody']['content']['application/json']
export type Endpoint = Team['endpoints'][number]
type MembersAnswer = paths['/v1/teams/{id}/members']['get']['responses'][200]['content']['application/json']
export type TeamMember = MembersAnswer['data'][number]
export type TeamRole = TeamMember['role']
export type TeamKey = paths['/v1/keys']['get']['responses'][200]['content']['application/json']['data'][number]

const TEAMS = '/v1/teams'
const PAGE_SIZE = 100
const pageOf = (cursor: string | undefined) => ({ limit: PAGE_SIZE, ...(cursor !== undefined && { cursor }) })

export function useTeams(status: TeamTab): Pages<Team> {
  return usePages([TEAMS, status], (cursor) =>
    take(api.GET('/v1/teams', { params: { query: { ...pageOf(cursor), status, order: 'asc' } } })),
  )
}

export function useTeam(id: string) {
  return useQuery({
    queryKey: [TEAMS, 'one', id],
    queryFn: () => take(api.GET('/v1/teams/{id}', { params: { path: { id } } })),
  })
}

export function useTeamMembers(id: string): Pages<TeamMember> {
  return usePages([TEAMS, 'members', id], (cursor) =>
    take(api.GET('/v1/teams/{id}/members', { params: { path: { id }, query: { ...pageOf(cursor), order: 'asc' } } })),
  )
}

/** Active ones. */
export function useTeamKeys(id: string, enabled: boolean): Pages<TeamKey> {
  return usePages(
    ['/v1/keys', 'of team', id],
    (cursor) => take(api.GET('/v1/keys', { params: { query: { ...pageOf(cursor), team_id: id, status: 'active' } } })),
    { enabled },
  )
}

const USAGE_FRESH_MS = 15_000

/** Of the current month (UTC), by team. */
export function useTeamSpend() {
  return useQuery({
    queryKey: ['/v1/usage', 'by team'],
    staleTime: USAGE_FRESH_MS,
    queryFn: async (): Promise<ReadonlyMap<string, number>> => {
      const { groups = [] } = await take(api.GET('/v1/usage', { params: { query: { group_by: 'team' } } }))
      return new Map(groups.map(({ key, cost_usd: usd }) => [key, usd]))
    },
  })
}

/** Of the current month (UTC). */
export function useUsageOfTeam(id: string) {
  return useQuery({
    queryKey: ['/v1/usage', 'of team', id],
    staleTime: USAGE_FRESH_MS,
    queryFn: () => take(api.GET('/v1/usage', { params: { query: { team_id: id } } })),
  })
}

export function useTeamActions() {
  const queries = useQueryClient()
  const changed = async <Result>(answer: Promise<Result>): Promise<Result> => {
    const result = await answer
    await queries.invalidateQueries({ queryKey: [TEAMS] })
    return result
  }
  const of = (id: string, userId: string) => ({ path: { id, user_id: userId } })
  return {
    create: (body: TeamBody) => changed(take(api.POST('/v1/teams', { body }))),
    change: (id: string, body: TeamBody) =>
      changed(take(api.PATCH('/v1/teams/{id}', { params: { path: { id } }, body }))),
    archive: (id: string) => changed(take(api.DELETE('/v1/teams/{id}', { params: { path: { id } } }))),
    addMember: (id: string, userId: string, role: TeamRole) =>
      changed(take(api.POST('/v1/teams/{id}/members', { params: { path: { id } }, body: { user_id: userId, role } }))),
    changeRole: (id: string, userId: string, role: TeamRole) =>
      changed(take(api.PATCH('/v1/teams/{id}/members/{user_id}', { params: of(id, userId), body: { role } }))),
    removeMember: (id: string, userId: string) =>
      changed(take(api.DELETE('/v1/teams/{id}/members/{user_id}', { params: of(id, userId) }))),
  }
}
