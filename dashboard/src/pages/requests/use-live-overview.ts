import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useEffectEvent, useRef } from 'react'
import { api, take } from '../../api/client.ts'
import type { Period } from '../../lib/period.ts'
import { LIST, type ListPages, listKey, type RequestsQuestion } from './queries.ts'
import { useLiveTurn } from './use-live-turn.ts'

interface LiveOverview {
  /** How many requests came by themselves. */
  readonly count: number
  /** The period by now. */
  readonly period: Pick<Period, 'start' | 'end'>
}

/** The histogram alone is asked for now and then while requests come by themselves, or the period moves. */
export function useLiveOverview(question: RequestsQuestion, { count, period }: LiveOverview): void {
  const client = useQueryClient()
  const hasMoved = question.isLive && period.end !== question.period.end
  const turn = useLiveTurn(`${count} ${hasMoved ? period.end : ''}`)
  const first = useRef(turn) // which came with the list
  const askAgain = useEffectEvent(async () => {
    const { filters, isLive } = question
    const key = listKey(question)
    if (!isLive || client.getQueryData(key) === undefined) return
    const asked = {
      period_start: period.start,
      period_end: period.end,
      ...filters,
      include: 'overview',
      limit: 1,
    } as const
    const { overview } = await take(api.GET(LIST, { params: { query: asked } }))
    if (overview === undefined) return
    client.setQueryData<ListPages>(key, (list) => {
      const [first, ...others] = list?.pages ?? []
      return list && first && { ...list, pages: [{ ...first, overview }, ...others] }
    })
  })
  useEffect(() => {
    if (turn !== first.current) askAgain().catch(() => undefined) // the next turn asks again
  }, [turn])
}
