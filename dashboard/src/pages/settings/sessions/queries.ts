import { useQueryClient } from '@tanstack/react-query'
import { api, take } from '../../../api/client.ts'
import type { paths } from '../../../api/schema.d.ts'
import { type Pages, usePages } from '../../../ui/paged.tsx'

export type Session = paths['/v1/sessions']['get']['responses'][200]['content']['application/json']['data'][number]

const SESSIONS = '/v1/sessions'
const PAGE_SIZE = 50

export function useSessions(): Pages<Session> {
  return usePages([SESSIONS], (cursor) =>
    take(api.GET('/v1/sessions', { params: { query: { limit: PAGE_SIZE, ...(cursor !== undefined && { cursor }) } } })),
  )
}

/** Ends sessions one after the other; one that is over already is no failure. */
export function useEndSessions(): (ids: readonly string[]) => Promise<void> {
  const queries = useQueryClient()
  return async (ids) => {
    try {
      for (const id of ids) await endOne(id)
    } finally {
      await queries.invalidateQueries({ queryKey: [SESSIONS] })
    }
  }
}

async function endOne(id: string): Promise<void> {
  const answer = await api.DELETE('/v1/sessions/{id}', { params: { path: { id } } })
  if (answer.response.status !== 404) await take(Promise.resolve(answer))
}
