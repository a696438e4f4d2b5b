/** Requests as they end: their event stream, opened again where it broke off, from the last one on. */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useEffectEvent, useRef, useState, useSyncExternalStore } from 'react'
import { api, take } from '../../api/client.ts'
import { followStream, type StreamEvent } from '../../api/event-stream.ts'
import type { ApiProblem } from '../../api/problem.ts'
import { plural } from '../../lib/format.ts'
import type { Period } from '../../lib/period.ts'
import { announce } from '../../ui/announcer.tsx'
import {
  type Completion,
  isLiveList,
  LIST,
  type ListPages,
  type LiveConnection,
  type LiveRequests,
  listKey,
  newestOf,
  PAGE_SIZE,
  type RequestsQuery,
} from './queries.ts'
import type { RequestFilters } from './search.ts'

interface Known {
  readonly question: string | undefined
  readonly rows: readonly Completion[]
  /** The id of the last one that was told. */
  readonly last: string | undefined
}

type State = LiveRequests & Pick<Known, 'question'>

/** While the page is not seen nobody listens; afterwards the stream goes on where it was. */
export function useLiveRequests(filters: RequestFilters, isOn: boolean): LiveRequests {
  const client = useQueryClient()
  const isSeen = useIsSeen()
  const question = isOn ? new URLSearchParams({ ...filters }).toString() : undefined
  const count = useRef(0)
  const known = useRef<Known>({ question: undefined, rows: [], last: undefined })
  const [state, setState] = useState<State>({ ...offOrConnecting(question), count: 0 })
  useEffect(() => {
    if (known.current.question !== question) known.current = { question, rows: [], last: undefined }
    if (question === undefined) return
    const leaving = new AbortController()
    const report = (connection: LiveConnection, problem?: ApiProblem): void => {
      const { rows } = known.current
      if (!leaving.signal.aborted) setState({ question, rows, count: count.current, connection, problem })
    }
    const last = () => known.current.last
    report(isSeen && last() === undefined ? 'connecting' : 'reconnecting')
    const push = (row: Completion): void => {
      const rows = newestOf([row], known.current.rows, { limit: PAGE_SIZE })
      known.current = { question, rows, last: row.id }
      count.current++
      report('live')
    }
    const onEvent = ({ event, data }: StreamEvent): void => {
      const row = event === 'completion' ? parseCompletion(data) : undefined
      if (row !== undefined) push(row)
    }
    const onOpen = (from: string | undefined): void => {
      // what ended before is only in the list
      if (from === undefined) void client.invalidateQueries({ predicate: ({ queryKey }) => isLiveList(queryKey) })
    }
    const path = `${LIST}/stream?${question}`
    if (isSeen) void followStream({ path, last, signal: leaving.signal, onEvent, report, onOpen })
    return () => leaving.abort()
  }, [question, isSeen, client])
  return state.question === question ? state : { ...offOrConnecting(question), count: state.count }
}

function offOrConnecting(question: string | undefined): Omit<State, 'count'> {
  return { question, rows: [], connection: question === undefined ? 'off' : 'connecting', problem: undefined }
}

/** Undefined for what is none. */
function parseCompletion(text: string): Completion | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const isRow = typeof value === 'object' && value !== null && 'object' in value && value.object === 'completion'
    return isRow ? (value as Completion) : undefined // which the API says that it is
  } catch {
    return undefined
  }
}

function useIsSeen(): boolean {
  return useSyncExternalStore(subscribeSeen, () => document.visibilityState === 'visible')
}

function subscribeSeen(notify: () => void): () => void {
  document.addEventListener('visibilitychange', notify)
  return () => document.removeEventListener('visibilitychange', notify)
}

const THROTTLE_MS = 10_000

/** What has changed meanwhile, at most once in ten seconds. */
function useThrottled<Value extends string | number>(value: Value): Value {
  const [turn, setTurn] = useState({ value, at: performance.now() })
  useEffect(() => {
    if (value === turn.value) return
    const waitMs = Math.max(0, turn.at + THROTTLE_MS - performance.now())
    const timer = setTimeout(() => setTurn({ value, at: performance.now() }), waitMs)
    return () => clearTimeout(timer)
  }, [value, turn])
  return turn.value
}

/** Says how many have come since it was said before. */
export function useAnnouncedCount(count: number): void {
  const heard = useThrottled(count)
  const said = useRef(heard)
  useEffect(() => {
    if (heard > said.current) announce(plural(heard - said.current, 'new request'))
    said.current = heard
  }, [heard])
}

interface LiveOverview {
  /** How many requests came by themselves. */
  readonly count: number
  /** The period by now. */
  readonly period: Pick<Period, 'start' | 'end'>
}

/** Refreshes the histogram, throttled, while live requests arrive or the period moves. */
export function useLiveOverview(question: RequestsQuery, { count, period }: LiveOverview): void {
  const client = useQueryClient()
  const hasMoved = question.isLive && period.end !== question.period.end
  const turn = useThrottled(`${count} ${hasMoved ? period.end : ''}`)
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
