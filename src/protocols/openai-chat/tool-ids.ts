/** Ids of tool calls for hosts that want nine letters and digits: the same id becomes the same, in every request. */
import { createHash } from 'node:crypto'
import type { ChatMessage } from '../../domain/chat.ts'

const SHORT = /^[A-Za-z0-9]{9}$/
const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const LENGTH = 9

/** Every id of the conversation that is not short enough, with what stands for it; no two share one. */
export function shortenedIds(messages: readonly ChatMessage[]): ReadonlyMap<string, string> {
  const ids = new Set(messages.flatMap(idsOf))
  const taken = new Set([...ids].filter((id) => SHORT.test(id)))
  const shortened = new Map<string, string>()
  for (const id of ids) {
    if (SHORT.test(id)) continue
    const short = freeId(id, taken)
    taken.add(short)
    shortened.set(id, short)
  }
  return shortened
}

function idsOf({ tool_calls: calls = [], tool_call_id: id }: ChatMessage): readonly string[] {
  const called = calls.map((call) => call.id)
  return id === undefined ? called : [...called, id]
}

function freeId(id: string, taken: ReadonlySet<string>): string {
  for (let attempt = 0; ; attempt++) {
    const short = digest(attempt === 0 ? id : `${id} ${attempt}`)
    if (!taken.has(short)) return short
  }
}

function digest(text: string): string {
  const bytes = createHash('sha256').update(text).digest()
  let short = ''
  for (let at = 0; at < LENGTH; at++) short += DIGITS[(bytes[at] ?? 0) % DIGITS.length]
  return short
}
