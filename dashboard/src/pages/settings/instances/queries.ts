/** The processes that serve this installation. */
import { api, take } from '../../../api/client.ts'
import type { paths } from '../../../api/schema.d.ts'
import { type Pages, usePages } from '../../../ui/paged.tsx'

type Answer = paths['/v1/admin/instances']['get']['responses'][200]['content']['application/json']
export type Instance = Answer['data'][number]
export type AgentsState = paths['/v1/admin/agents']['get']['responses'][200]['content']['application/json']

/** Processes report as often. */
const REFRESH_MS = 5_000
const PAGE_SIZE = 100

export function useInstances(): Pages<Instance> {
  return usePages(
    ['/v1/admin/instances'],
    (cursor) =>
      take(
        api.GET('/v1/admin/instances', {
          params: { query: { limit: PAGE_SIZE, ...(cursor !== undefined && { cursor }) } },
        }),
      ),
    { refetchInterval: REFRESH_MS },
  )
}
