/** Renders a page of a transcript as JSON. Pure; pages of megabytes are rendered on the worker thread. */
import type { AgentMessage } from '../ports.ts'

/** A message as it is stored, with what is shown beside it. */
export interface StoredMessage {
  readonly id: string
  /** Within the agent, from 1. */
  readonly number: number
  readonly run_id: string
  readonly kind: 'user' | 'assistant' | 'tool' | 'summary'
  /** An `AgentMessage` in JSON. */
  readonly content: string
  readonly author: { readonly type: 'key' | 'device' | 'member'; readonly id: string } | null
  /** ISO 8601 UTC. */
  readonly created_at: string
}

export interface TranscriptPage {
  readonly data: readonly StoredMessage[]
  readonly has_more: boolean
  readonly next_cursor: string | null
}

/** @returns The page as UTF-8, in memory of its own. */
export function renderTranscriptPage({ data, ...rest }: TranscriptPage): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify({ data: data.map(renderStoredMessage), ...rest }))
}

export function renderStoredMessage({ content, author, created_at, ...row }: StoredMessage) {
  const message = JSON.parse(content) as AgentMessage // as it was stored
  const { id, number, run_id, kind } = row
  return {
    id,
    object: 'agent.message' as const,
    number,
    run_id,
    kind,
    content: message.content,
    tool_calls: message.role === 'assistant' ? (message.tool_calls ?? null) : null,
    author,
    tool_call_id: message.role === 'tool' ? message.tool_call_id : null,
    created_at,
  }
}
