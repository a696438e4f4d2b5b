/** What the first bytes of an answer say of its kind. */
import type { ChatEvent } from '../domain/chat.ts'
import type { UpstreamHead } from '../providers/provider.ts'

const JSON_START = /^\s*[{[]/

/** What the head says; some hosts say it of event streams too, so the first bytes decide. */
export function isJson(head: UpstreamHead): boolean {
  return (head.headers['content-type'] ?? '').startsWith('application/json')
}

export function startsAsJson(text: string): boolean {
  return JSON_START.test(text)
}

export function startsAsJsonBytes(bytes: Uint8Array): boolean {
  return JSON_START.test(Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 64)).toString('latin1'))
}

export function isCompressed({ headers }: UpstreamHead): boolean {
  const encoding = headers['content-encoding']
  return encoding !== undefined && encoding !== 'identity'
}

export function isRefused(head: UpstreamHead): boolean {
  return head.status < 200 || head.status >= 300 || isCompressed(head)
}

/** Whether each choice of a whole answer has its finish reason: without one nobody knows whether it is complete. */
export function endsEveryChoice(events: readonly ChatEvent[]): boolean {
  const open = new Set<number>()
  for (const event of events) if (event.type !== 'usage') open.add(event.index)
  for (const event of events) if (event.type === 'finish') open.delete(event.index)
  return open.size === 0
}
