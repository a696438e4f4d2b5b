/** What the teams, people and keys of the account are called. */
import { queryOptions, useQuery } from '@tanstack/react-query'
import { shortId } from '../lib/group-names.ts'
import { allPages } from './all-pages.ts'
import { api, take } from './client.ts'
import { useCan } from './me.ts'

export interface Named {
  readonly id: string
  readonly name: string
  /** It can still be chosen: neither archived nor revoked. */
  readonly isActive: boolean
}

const FRESH_MS = 30_000
const PAGE_SIZE = 100
const pageOf = (cursor: string | undefined) => ({ limit: PAGE_SIZE, ...(cursor !== undefined && { cursor }) })

export const teamNamesQuery = queryOptions({
  queryKey: ['/v1/teams', 'names'],
  staleTime: FRESH_MS,
  queryFn: async (): Promise<readonly Named[]> => {
    const status = 'all' as const
    const teams = await allPages((cursor) =>
      take(api.GET('/v1/teams', { params: { query: { ...pageOf(cursor), status } } })),
    )
    return teams.map(({ id, name, archived_at: end }) => ({ id, name, isActive: end === null }))
  },
})

const memberNamesQuery = queryOptions({
  queryKey: ['/v1/members', 'names'],
  staleTime: FRESH_MS,
  queryFn: async (): Promise<readonly Named[]> => {
    const members = await allPages((cursor) => take(api.GET('/v1/members', { params: { query: pageOf(cursor) } })))
    return members.map(({ id, name, email }) => ({ id, name: name === '' ? email : name, isActive: true }))
  },
})

const keyNamesQuery = queryOptions({
  queryKey: ['/v1/keys', 'names'],
  staleTime: FRESH_MS,
  queryFn: async (): Promise<readonly Named[]> => {
    const keys = await allPages((cursor) => take(api.GET('/v1/keys', { params: { query: pageOf(cursor) } })))
    return keys.map(({ id, name, revoked_at: end }) => ({ id, name, isActive: end === null }))
  },
})

const NONE: readonly Named[] = []

export interface TeamOption {
  readonly value: string
  readonly label: string
}

/** Teams that can be chosen. Empty while they are loading. */
export function useTeamOptions(): readonly TeamOption[] {
  const teams = useQuery({ ...teamNamesQuery, enabled: useCan('teams:read') }).data ?? NONE
  return teams.filter(({ isActive }) => isActive).map(({ id, name }) => ({ value: id, label: name }))
}

export interface AccountNames {
  readonly teams: readonly Named[]
  readonly members: readonly Named[]
  /** None for those who may not see keys. */
  readonly keys: readonly Named[]
  /** By any id; one that is not known is shortened. */
  readonly nameOf: (id: string) => string
}

/** Empty while they are loading. */
export function useAccountNames(): AccountNames {
  const teams = useQuery({ ...teamNamesQuery, enabled: useCan('teams:read') }).data ?? NONE
  const members = useQuery({ ...memberNamesQuery, enabled: useCan('members:read') }).data ?? NONE
  const keys = useQuery({ ...keyNamesQuery, enabled: useCan('keys') }).data ?? NONE
  const all = [teams, members, keys]
  const nameOf = (id: string) =>
    all.flatMap((list) => list.find((each) => each.id === id) ?? [])[0]?.name ?? shortId(id)
  return { teams, members, keys, nameOf }
}
