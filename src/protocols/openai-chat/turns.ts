/** The order of messages, for hosts that are strict about who speaks when. */
import type { Json } from '../../lib/json.ts'

/** Between what were messages of their own. */
const SEPARATOR = '\n\n'

/** System messages before all others, each group in its order. The same list where they are already. */
export function systemFirst(messages: readonly Json[]): readonly Json[] {
  const firstOther = messages.findIndex((message) => !isSystem(message))
  const isOrdered = firstOther < 0 || !messages.slice(firstOther).some(isSystem)
  return isOrdered ? messages : [...messages.filter(isSystem), ...messages.filter((message) => !isSystem(message))]
}

function isSystem({ role }: Json): boolean {
  return role === 'system' || role === 'developer'
}

/** One message where a user or an assistant speaks several times running. The same list where nobody does. */
export function alternating(messages: readonly Json[]): readonly Json[] {
  const turns: Json[] = []
  for (const message of messages) {
    const last = turns.at(-1)
    const goesOn = last?.role === message.role && (message.role === 'user' || message.role === 'assistant')
    if (goesOn) turns[turns.length - 1] = { ...last, content: joinedContent(last?.content, message.content) }
    else turns.push(message)
  }
  return turns.length === messages.length ? messages : turns
}

function joinedContent(first: unknown, second: unknown): unknown {
  if (typeof first === 'string' && typeof second === 'string') return [first, second].filter(Boolean).join(SEPARATOR)
  return [...partsOf(first), ...partsOf(second)]
}

/** Content as a list of parts, whatever form it has; empty for none. */
export function partsOf(content: unknown): readonly unknown[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return Array.isArray(content) ? content : []
}
