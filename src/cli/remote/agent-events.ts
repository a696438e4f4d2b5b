/** What an agent does, as it does it, until it has ended. It knows nothing of what becomes of an event. */
import { isRecord, type Json, parseJson, textOf } from '../../lib/json.ts'
import type { Client } from './client.ts'
import { keepStream, type StreamWatcher } from './kept-stream.ts'

export interface AgentEvent {
  readonly type: string
  /** ISO 8601. */
  readonly createdAt: string
  readonly data: Json
  /** As it was sent. */
  readonly whole: Json
}

export interface AgentFeed extends StreamWatcher {
  readonly client: Client
  readonly agentId: string
  /** The number of the last event that is known; 0 unless said. */
  readonly after?: number
  /** What has happened so far is all. */
  readonly isPast?: boolean
  readonly onEvent: (event: AgentEvent) => void
  readonly isPatient?: boolean
}

/** As `Last-Event-ID`: nothing of what has happened. */
export const FROM_NOW_ON = Number.MAX_SAFE_INTEGER

/** Resolves when the agent has ended and all is told, or what is past, or `signal` says so. Rejects as `keepStream` does. */
export async function followAgent(feed: AgentFeed): Promise<void> {
  let last = feed.after ?? 0
  await keepStream({
    ...feed,
    path: `/agents/${feed.agentId}/events${feed.isPast === true ? '?follow=false' : ''}`,
    lastEventId: () => (last === 0 ? undefined : String(last)),
    async onFrame({ event, data }) {
      if (event === 'done') return 'over'
      const whole = parseJson(data)
      const sequence = isRecord(whole) ? whole['sequence'] : undefined
      if (!isRecord(whole) || typeof sequence !== 'number') return undefined
      if (sequence <= last && last !== FROM_NOW_ON) return undefined
      last = sequence
      feed.onEvent({
        type: textOf(whole['type']),
        createdAt: textOf(whole['created_at']),
        data: isRecord(whole['data']) ? whole['data'] : {},
        whole,
      })
      return undefined
    },
  })
}
