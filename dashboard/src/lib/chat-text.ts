/** Messages of Chat Completions as text for people. They come from clients: any field may be missing or strange. */

export type ChatMessage = Readonly<Record<string, unknown>>

const ROLES: Readonly<Record<string, string>> = {
  system: 'System',
  developer: 'Developer',
  user: 'User',
  assistant: 'Assistant',
  tool: 'Tool',
}

export function speakerOf({ role }: ChatMessage): string {
  return ROLES[String(role)] ?? String(role)
}

/** Its text, with what else it has in words: attachments, and the tools that it calls. */
export function textOfMessage({ content, refusal, tool_calls: calls }: ChatMessage): string {
  const parts = Array.isArray(content) ? content.map(textOfPart) : [typeof content === 'string' ? content : '']
  const called = Array.isArray(calls) ? calls.map(textOfCall) : []
  return [...parts, typeof refusal === 'string' ? refusal : '', ...called].filter((text) => text !== '').join('\n')
}

function textOfPart(part: unknown): string {
  const { type, text } = fieldsOf(part)
  return typeof text === 'string' ? text : `[${String(type)}]`
}

function textOfCall(call: unknown): string {
  const { function: called, custom } = fieldsOf(call)
  const { name, arguments: given, input } = fieldsOf(called ?? custom)
  return `${String(name)}(${String(given ?? input ?? '')})`
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}

interface Exchange {
  readonly messages: readonly ChatMessage[]
  readonly response: Readonly<Record<string, unknown>> | null
}

/** Those of all choices. */
export function answersOf({ response }: Pick<Exchange, 'response'>): readonly ChatMessage[] {
  const choices = response?.['choices']
  if (!Array.isArray(choices)) return []
  return choices.map((choice) => fieldsOf(fieldsOf(choice)['message']))
}

/** Everything that was said, for a comparison. */
export function textOfExchange(exchange: Exchange): string {
  const all = [...exchange.messages, ...answersOf(exchange)]
  return all.map((message) => `${speakerOf(message)}:\n${textOfMessage(message)}`).join('\n\n')
}

export interface Replay {
  readonly system: string
  readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly text: string }[]
}

/** What can be said again: texts of people and models. Calls of tools and their results are left out. */
export function replayOf(messages: readonly ChatMessage[]): Replay {
  const isSystem = ({ role }: ChatMessage): boolean => role === 'system' || role === 'developer'
  const said = messages.filter(({ role, tool_calls: calls }) => isSpeaker(role) && calls === undefined)
  return {
    system: messages.filter(isSystem).map(textOfMessage).join('\n\n'),
    messages: said.map((message) => ({ role: message['role'] as 'user' | 'assistant', text: textOfMessage(message) })),
  }
}

function isSpeaker(role: unknown): boolean {
  return role === 'user' || role === 'assistant'
}
