import { useQuery } from '@tanstack/react-query'
import { api, take } from '../../../api/client.ts'
import { useCan } from '../../../api/me.ts'
import type { paths } from '../../../api/schema.d.ts'
import { type Pages, usePages } from '../../../ui/table/paged.tsx'
import { type Member, nameOf } from '../members/queries.ts'
import type { NameOf } from './sentence.ts'

type Answer = paths['/v1/audit']['get']['responses'][200]['content']['application/json']
export type Entry = Answer['data'][number]

const AUDIT = '/v1/audit'
const PAGE_SIZE = 50
const MOST = 100

export interface AuditFilter {
  readonly action: string | undefined
  readonly actor: string | undefined
  /** ISO 8601, the end not included. */
  readonly start: string
  readonly end: string
}

export function useAudit({ action, actor, start, end }: AuditFilter): Pages<Entry> {
  return usePages([AUDIT, action, actor, start, end], (cursor) =>
    take(
      api.GET('/v1/audit', {
        params: {
          query: {
            limit: PAGE_SIZE,
            from: start,
            to: end,
            ...(action !== undefined && { action }),
            ...(actor !== undefined && { actor_id: actor }),
            ...(cursor !== undefined && { cursor }),
          },
        },
      }),
    ),
  )
}

/**
 * One entry, found again by when it was made; null when it is not there.
 * @param at ISO 8601; undefined: nothing is asked for.
 */
export function useEntry(id: string, at: string | undefined) {
  return useQuery({
    queryKey: [AUDIT, 'one', id, at],
    enabled: at !== undefined && !Number.isNaN(Date.parse(at)),
    queryFn: async (): Promise<Entry | null> => {
      const from = new Date(at ?? 0)
      const to = new Date(from.getTime() + 1)
      const query = { limit: MOST, from: from.toISOString(), to: to.toISOString() }
      const { data } = await take(api.GET('/v1/audit', { params: { query } }))
      return data.find((entry) => entry.id === id) ?? null
    },
  })
}

export interface NamedOne {
  readonly id: string
  readonly name: string
  readonly kind: 'Member' | 'API key'
}

/** Members and keys, the newest hundred of each, for names and for the filter. */
export function useNames(): { readonly all: readonly NamedOne[]; readonly nameOf: NameOf } {
  const seesKeys = useCan('keys')
  const { data: all = [] } = useQuery({
    queryKey: [AUDIT, 'names', seesKeys],
    staleTime: 30_000,
    queryFn: () => readNames(seesKeys),
  })
  return { all, nameOf: (id) => all.find((one) => one.id === id)?.name }
}

async function readNames(seesKeys: boolean): Promise<readonly NamedOne[]> {
  const query = { limit: MOST }
  const [members, keys] = await Promise.all([
    take(api.GET('/v1/members', { params: { query } })),
    seesKeys ? take(api.GET('/v1/keys', { params: { query } })) : { data: [] },
  ])
  return [
    ...members.data.map((member) => ({
      id: member.id,
      name: distinctName(member, members.data),
      kind: 'Member' as const,
    })),
    ...keys.data.map(({ id, name }) => ({ id, name, kind: 'API key' as const })),
  ]
}

/** With the address where several are called the same. */
function distinctName(member: Member, all: readonly Member[]): string {
  const name = nameOf(member)
  const isShared = all.some((other) => other.id !== member.id && nameOf(other) === name)
  return isShared && name !== member.email ? `${name} (${member.email})` : name
}
