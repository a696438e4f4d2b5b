/** A conversation that was broken off anywhere, made whole again: every call has its result, right behind it. */
import type { AgentMessage } from '../ports.ts'
import type { ToolMessage } from './loop.ts'

const NOT_RUN = 'The work was interrupted before this call had a result. It may have been run in part.'

/**
 * Puts each result behind its call, says of calls without one that they had none, drops results without a call. The order
 * of everything else stays.
 */
export function mended(messages: readonly AgentMessage[]): AgentMessage[] {
  const results = new Map<string, ToolMessage>()
  for (const message of messages) if (message.role === 'tool') results.set(message.tool_call_id, message)
  return messages.flatMap((message): AgentMessage[] => {
    if (message.role === 'tool') return []
    if (message.role === 'user' || message.tool_calls === undefined) return [message]
    return [
      message,
      ...message.tool_calls.map(
        ({ id }): AgentMessage => results.get(id) ?? { role: 'tool', tool_call_id: id, content: NOT_RUN },
      ),
    ]
  })
}
