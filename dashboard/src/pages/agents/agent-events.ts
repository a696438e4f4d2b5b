/** What `GET /v1/agents/{id}/events` tells, read so that nothing of it is believed unseen. */

interface EventHeader {
  readonly sequence: number
  readonly runId: string
  /** ISO 8601 UTC. */
  readonly at: string
}

export interface RunFailure {
  readonly code: string
  readonly message: string
}

export type AgentEvent = EventHeader &
  (
    | { readonly type: 'status'; readonly status: string; readonly error: RunFailure | undefined }
    | { readonly type: 'phase'; readonly phase: string }
    | { readonly type: 'message'; readonly role: string; readonly content: string }
    | { readonly type: 'tool_call'; readonly callId: string; readonly name: string; readonly arguments: string }
    | {
        readonly type: 'tool_result'
        readonly callId: string
        readonly name: string
        readonly output: string
        /** Null: it was stopped. Undefined: the tool has none. */
        readonly exitCode: number | null | undefined
        readonly isTruncated: boolean
      }
    | { readonly type: 'usage'; readonly tokens: number; readonly costUsd: number }
    | { readonly type: 'diff'; readonly files: number; readonly insertions: number; readonly deletions: number }
    | { readonly type: 'other' }
  )

type Fields = Readonly<Record<string, unknown>>

/** @returns undefined for what is no event of an agent; `other` for a kind that this page does not know. */
export function parseAgentEvent(text: string): AgentEvent | undefined {
  const event = fieldsOf(parsed(text))
  const sequence = event['sequence']
  if (typeof sequence !== 'number') return undefined
  const header = { sequence, runId: textOf(event['run_id']), at: textOf(event['created_at']) }
  return { ...header, ...contentOf(textOf(event['type']), fieldsOf(event['data'])) }
}

type Content = AgentEvent extends infer Event ? (Event extends unknown ? Omit<Event, keyof EventHeader> : never) : never

function contentOf(type: string, data: Fields): Content {
  switch (type) {
    case 'status':
      return { type, status: textOf(data['status']), error: failureOf(data['error']) }
    case 'phase':
      return { type, phase: textOf(data['phase']) }
    case 'message':
      return { type, role: textOf(data['role']), content: textOf(data['content']) }
    case 'tool_call':
      return { type, ...callOf(data), arguments: textOf(data['arguments']) }
    case 'tool_result':
      return { type, ...callOf(data), ...resultOf(data) }
    case 'usage':
      return { type, tokens: numberOf(data['tokens']), costUsd: numberOf(data['cost_usd']) }
    case 'diff': {
      const { files, insertions, deletions } = data
      return { type, files: numberOf(files), insertions: numberOf(insertions), deletions: numberOf(deletions) }
    }
    default:
      return { type: 'other' }
  }
}

function callOf(data: Fields) {
  return { callId: textOf(data['call_id']), name: textOf(data['name']) }
}

function resultOf(data: Fields) {
  const code = data['exit_code']
  const exitCode = typeof code === 'number' || code === null ? code : undefined
  return { output: textOf(data['output']), exitCode, isTruncated: data['truncated'] === true }
}

function failureOf(value: unknown): RunFailure | undefined {
  if (value === undefined || value === null) return undefined
  const error = fieldsOf(value)
  return { code: textOf(error['code']), message: textOf(error['message']) }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function numberOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0
}
