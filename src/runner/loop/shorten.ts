/** How much of a window a conversation takes, and how it is made to take less without asking anybody. Pure. */
import { isRecord, parseJson } from '../../lib/json.ts'
import type { AgentMessage, ToolCallMessage } from '../ports.ts'
import { bounded, byteLength } from './plain-text.ts'

/** A token is rarely less than three bytes, so this is rarely too little. */
export const BYTES_OF_TOKEN = 3
const TOKENS_OF_MESSAGE = 8
/** Steps at the end whose outputs are left as they are for as long as possible. */
const FRESH_STEPS = 2
/** What a text is cut down to, more and more. */
const CAPS = [4_000, 1_500, 500, 160]
/** Short enough for every window. */
const LAST_CAP = 48

export function tokensOfText(text: string): number {
  return Math.ceil(byteLength(text) / BYTES_OF_TOKEN)
}

export function tokensOfMessage(message: AgentMessage): number {
  const calls = message.role === 'assistant' && message.tool_calls ? JSON.stringify(message.tool_calls) : ''
  return tokensOfText(message.content ?? '') + tokensOfText(calls) + TOKENS_OF_MESSAGE
}

export function tokensOf(messages: readonly AgentMessage[]): number {
  return messages.reduce((sum, message) => sum + tokensOfMessage(message), 0)
}

/** Results of tools that the model has had the time to read, cut down to what reminds it of them. */
export function withoutOldOutputs(messages: readonly AgentMessage[]): AgentMessage[] {
  const fresh = startOfLastSteps(messages, FRESH_STEPS)
  return messages.map((message, at) => (at < fresh && message.role === 'tool' ? shortened(message, 500) : message))
}

/**
 * The same messages in at most `maxTokens`: old outputs are cut first, then what the model wrote long ago, then all outputs,
 * at last what the users wrote. Where even that is not enough, it is as short as it can be.
 */
export function fitted(messages: readonly AgentMessage[], maxTokens: number): AgentMessage[] {
  let fit = [...messages]
  const fresh = startOfLastSteps(messages, 1)
  const mayCut: ((message: AgentMessage, at: number) => boolean)[] = [
    ({ role }, at) => role === 'tool' && at < fresh,
    ({ role }, at) => role !== 'user' && at < fresh,
    ({ role }) => role !== 'user',
    (_message, at) => at < messages.length - 1,
    () => true,
  ]
  for (const may of mayCut) {
    for (const cap of [...CAPS, LAST_CAP]) {
      if (tokensOf(fit) <= maxTokens) return fit
      fit = fit.map((message, at) => (may(message, at) ? shortened(message, cap) : message))
    }
  }
  return fit
}

/** Where the last so many answers of the model begin. */
export function startOfLastSteps(messages: readonly AgentMessage[], steps: number): number {
  let left = steps
  let at = messages.length
  while (at > 0 && left > 0) {
    at -= 1
    if (messages[at]?.role === 'assistant') left -= 1
  }
  return at
}

export function shortened(message: AgentMessage, maxBytes: number): AgentMessage {
  if (message.role !== 'assistant') return { ...message, content: bounded(message.content, maxBytes).text }
  const content = message.content === null ? null : bounded(message.content, maxBytes).text
  if (message.tool_calls === undefined) return { role: 'assistant', content }
  return { role: 'assistant', content, tool_calls: message.tool_calls.map((call) => shortenedCall(call, maxBytes)) }
}

/** Arguments stay JSON: it is their texts that are cut. */
function shortenedCall(call: ToolCallMessage, maxBytes: number): ToolCallMessage {
  const { name, arguments: json } = call.function
  if (byteLength(json) <= maxBytes) return call
  const fields = parseJson(json)
  const cut = Object.entries(isRecord(fields) ? fields : {})
    .slice(0, 8)
    .map(([field, value]) => [
      field.slice(0, 40),
      typeof value === 'string' ? bounded(value, Math.floor(maxBytes / 2)).text : '…',
    ])
  return { ...call, function: { name, arguments: JSON.stringify(Object.fromEntries(cut)) } }
}
