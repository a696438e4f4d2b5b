/** Members and invitations as the gateway tells of them, and what is done to them. */
import { useQueryClient } from '@tanstack/react-query'
import { api, take } from '../../../api/client.ts'
import type { paths } from '../../../api/schema.d.ts'
import { type Pages, usePages } from '../../../ui/table/paged.tsx'
import type { Role } from './rights.ts'

export type Member = paths['/v1/members']['get']['responses'][200]['content']['application/json']['data'][number]
export type Invitation =
  paths['/v1/invitations']['get']['responses'][200]['content']['application/json']['data'][number]
export type CreatedInvitation = paths['/v1/invitations']['post']['responses'][201]['content']['application/json']

const MEMBERS = '/v1/members'
const INVITATIONS = '/v1/invitations'
const PAGE_SIZE = 100

/** By when they joined, the first one first. */
export function useMembers(): Pages<Member> {
  return usePages([MEMBERS], (cursor) =>
    take(
      api.GET('/v1/members', {
        params: { query: { limit: PAGE_SIZE, order: 'asc', ...(cursor !== undefined && { cursor }) } },
      }),
    ),
  )
}

/** Those that were used, withdrawn or ran out included. */
export function useInvitations(): Pages<Invitation> {
  return usePages([INVITATIONS], (cursor) =>
    take(
      api.GET('/v1/invitations', { params: { query: { limit: PAGE_SIZE, ...(cursor !== undefined && { cursor }) } } }),
    ),
  )
}

/** What somebody is called: the name, or the address where there is none. */
export function nameOf({ name, email }: Pick<Member, 'name' | 'email'>): string {
  return name === '' ? email : name
}

/** @param now Unix milliseconds. */
export function isOpen({ used_at, revoked_at, expires_at }: Invitation, now: number): boolean {
  return used_at === null && revoked_at === null && Date.parse(expires_at) > now
}

export function useMemberActions() {
  const queries = useQueryClient()
  const changed = (path: string) => queries.invalidateQueries({ queryKey: [path] })
  return {
    async changeRole(id: string, role: Role): Promise<void> {
      await take(api.PATCH('/v1/members/{id}', { params: { path: { id } }, body: { role } }))
      await changed(MEMBERS)
    },
    async remove(id: string, { erasesContent }: { readonly erasesContent: boolean }): Promise<void> {
      const query = { erase_content: erasesContent ? ('true' as const) : ('false' as const) }
      await take(api.DELETE('/v1/members/{id}', { params: { path: { id }, query } }))
      await changed(MEMBERS)
    },
    async invite(role: Role, email: string): Promise<CreatedInvitation> {
      const body = { role, ...(email !== '' && { email }) }
      const created = await take(api.POST('/v1/invitations', { body }))
      void changed(INVITATIONS)
      return created
    },
    async withdraw(id: string): Promise<void> {
      await take(api.DELETE('/v1/invitations/{id}', { params: { path: { id } } }))
      await changed(INVITATIONS)
    },
  }
}
