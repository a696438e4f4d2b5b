/** API keys as the gateway tells of them, and what is done to them. */
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { api, take } from '../../../api/client.ts'
import type { paths } from '../../../api/schema.d.ts'
import { type Pages, usePages } from '../../../ui/table/paged.tsx'
import type { KeyTab } from '../search.ts'

type ListAnswer = paths['/v1/keys']['get']['responses'][200]['content']['application/json']
export type Key = ListAnswer['data'][number]
export type KeyBody = paths['/v1/keys']['post']['requestBody']['content']['application/json']
export type KeyChanges = NonNullable<paths['/v1/keys/{id}']['patch']['requestBody']>['content']['application/json']
export type CreatedKey = paths['/v1/keys']['post']['responses'][201]['content']['application/json']

const KEYS = '/v1/keys'
const PAGE_SIZE = 50
/** Keys are revoked by others, too: what is seen is not older than this. */
const FRESH_MS = 3_000

export function useKeys(status: KeyTab): Pages<Key> {
  return usePages(
    [KEYS, status],
    (cursor) =>
      take(
        api.GET('/v1/keys', {
          params: { query: { status, limit: PAGE_SIZE, ...(cursor !== undefined && { cursor }) } },
        }),
      ),
    { refetchInterval: FRESH_MS },
  )
}

/** One, with how many requests used it in the last day. */
export function useKey(id: string) {
  return useQuery({
    queryKey: [KEYS, 'one', id],
    queryFn: () => take(api.GET('/v1/keys/{id}', { params: { path: { id } } })),
  })
}

export function useKeyActions() {
  const queries = useQueryClient()
  const changed = () => queries.invalidateQueries({ queryKey: [KEYS] })
  return {
    async create(body: KeyBody): Promise<CreatedKey> {
      const created = await take(api.POST('/v1/keys', { body }))
      void changed()
      return created
    },
    async change(id: string, body: KeyChanges): Promise<void> {
      await take(api.PATCH('/v1/keys/{id}', { params: { path: { id } }, body }))
      await changed()
    },
    /** @param overlapSeconds For which the present secret stays valid. */
    async rotate(id: string, overlapSeconds: number): Promise<CreatedKey> {
      const body = { overlap_seconds: overlapSeconds }
      const rotated = await take(api.POST('/v1/keys/{id}/rotate', { params: { path: { id } }, body }))
      void changed()
      return rotated
    },
    /** @param cascade Whether the keys and webhooks that it created go with it. */
    async revoke(id: string, cascade: boolean): Promise<void> {
      const query = { cascade: cascade ? ('true' as const) : ('false' as const) }
      await take(api.DELETE('/v1/keys/{id}', { params: { path: { id }, query } }))
      await changed()
    },
  }
}

export interface ModelChoice {
  readonly id: string
  readonly name: string
}

/** The models that a key could use. */
export function useModelChoices() {
  return useQuery({
    queryKey: ['/v1/models', 'choices'],
    staleTime: 60_000,
    queryFn: async (): Promise<readonly ModelChoice[]> => {
      const { data } = await take(api.GET('/v1/models'))
      return data.map(({ id, name }) => ({ id, name }))
    },
  })
}
