/** Requests as they end: their event stream, opened again where it broke off, from the last one on. */
import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef, useState, useSyncExternalStore } from 'react'
import type { StreamEvent } from '../../api/event-stream.ts'
import { type FollowedConnection, followStream } from '../../api/followed-stream.ts'
import type { ApiProblem } from '../../api/problem.ts'
import { newestOf } from './live-rows.ts'
import { type Completion, isLiveList, LIST, PAGE_SIZE } from './queries.ts'
import type { RequestFilters } from './search.ts'

export type LiveConnection = FollowedConnection | 'off' | 'connecting'

export interface LiveRequests {
  /** What has come for these filters, the newest first: as many as a page has. */
  readonly rows: readonly Completion[]
  /** How many have ever come, whatever the filters were. */
  readonly count: number
  readonly connection: LiveConnection
  /** Why it cannot be opened; undefined unless it failed. */
  readonly problem: ApiProblem | undefined
}

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
    const tell = (connection: LiveConnection, problem?: ApiProblem): void => {
      const { rows } = known.current
      if (!leaving.signal.aborted) setState({ question, rows, count: count.current, connection, problem })
    }
    const last = () => known.current.last
    tell(isSeen && last() === undefined ? 'connecting' : 'reconnecting')
    const push = (row: Completion): void => {
      const rows = newestOf([row], known.current.rows, { limit: PAGE_SIZE })
      known.current = { question, rows, last: row.id }
      count.current++
      tell('live')
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
    if (isSeen) void followStream({ path, last, signal: leaving.signal, onEvent, tell, onOpen })
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
