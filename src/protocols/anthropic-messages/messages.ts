/**
 * The conversation as turns. The API knows two roles in alternation, wants all results of a turn's tool calls in the
 * one user message after it, before anything else, and refuses ids that are used twice.
 */
import type { ChatMessage, ToolCall } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import { isRecord, parseJson } from '../../lib/json.ts'
import { type Gathering, limitBreakpoints, renderContent } from './content.ts'
import { contextOf, weave } from './context.ts'
import type { Block } from './wire.ts'

/** Stands where the API wants a user's turn and the conversation has none. */
const FILLER_BEFORE = 'Begin.'
const FILLER_AFTER = 'Continue.'

export interface TurnOptions extends Gathering {
  /** Whether earlier thinking goes back. */
  readonly thinking: boolean
  /** Whether the last turn may be the assistant's. */
  readonly prefill: boolean
  /** Said to the model after the client's own system messages. */
  readonly instructions: readonly string[]
}

export interface RenderedConversation {
  readonly system: string | readonly Block[] | undefined
  readonly messages: readonly { readonly role: 'user' | 'assistant'; readonly content: readonly Block[] }[]
}

interface UserTurn {
  readonly role: 'user'
  readonly results: Block[]
  readonly content: Block[]
}
interface AssistantTurn {
  readonly role: 'assistant'
  readonly content: Block[]
  /** The client's id of each call to ours, and the place of its message. */
  readonly calls: Map<string, OpenCall>
}
interface OpenCall {
  readonly wireId: string
  readonly param: string
}
type Turn = UserTurn | AssistantTurn

interface Conversation {
  readonly options: TurnOptions
  readonly system: Block[]
  readonly turns: Turn[]
  readonly usedIds: Set<string>
}

/** @throws GatewayError for content that cannot be read, and for calls and results that do not belong together. */
export function renderConversation(messages: readonly ChatMessage[], options: TurnOptions): RenderedConversation {
  const conversation: Conversation = { options, system: [], turns: [], usedIds: new Set() }
  messages.forEach((message, position) => {
    addMessage(conversation, message, `messages[${position}]`)
  })
  for (const text of options.instructions) conversation.system.push({ type: 'text', text })
  checkPairs(conversation.turns)
  const system = closeTurns(conversation)
  limitBreakpoints(options)
  return {
    system: renderSystem(system),
    messages: conversation.turns.map((turn) => ({
      role: turn.role,
      content: turn.role === 'user' ? [...turn.results, ...turn.content] : turn.content,
    })),
  }
}

function addMessage(conversation: Conversation, message: ChatMessage, place: string): void {
  const { options } = conversation
  if (message.name !== undefined && message.role !== 'tool') options.warnings.add('messages[].name')
  switch (message.role) {
    case 'system':
    case 'developer':
      conversation.system.push(...renderContent(message.content, `${place}.content`, options))
      break
    case 'user': {
      const blocks = renderContent(message.content, `${place}.content`, options)
      if (blocks.length > 0) userTurn(conversation).content.push(...blocks)
      break
    }
    case 'tool':
      addResult(conversation, message, place)
      break
    case 'assistant':
      addAssistant(conversation, message, place)
      break
  }
}

function userTurn({ turns }: Conversation): UserTurn {
  const last = turns.at(-1)
  if (last?.role === 'user') return last
  const turn: UserTurn = { role: 'user', results: [], content: [] }
  turns.push(turn)
  return turn
}

function assistantTurn({ turns }: Conversation): AssistantTurn {
  const last = turns.at(-1)
  if (last?.role === 'assistant') return last
  const turn: AssistantTurn = { role: 'assistant', content: [], calls: new Map() }
  turns.push(turn)
  return turn
}

function addResult(conversation: Conversation, message: ChatMessage, place: string): void {
  const turn = userTurn(conversation)
  const asked = conversation.turns.at(-2)
  const call = asked?.role === 'assistant' ? asked.calls.get(message.tool_call_id ?? '') : undefined
  if (call === undefined) {
    throw unpaired(`${place}.tool_call_id`, `\`${place}\` answers no tool call of the message before it.`)
  }
  const blocks = renderContent(message.content, `${place}.content`, conversation.options)
  const isPlain = typeof message.content === 'string' && blocks.length > 0
  const result = { type: 'tool_result', tool_use_id: call.wireId }
  if (turn.results.some((earlier) => earlier['tool_use_id'] === call.wireId)) {
    throw unpaired(`${place}.tool_call_id`, `\`${place}\` answers a tool call that was answered before.`)
  }
  turn.results.push({ ...result, content: isPlain ? message.content : blocks.length > 0 ? blocks : undefined })
}

function addAssistant(conversation: Conversation, message: ChatMessage, place: string): void {
  const { options } = conversation
  const { content, refusal, reasoning_content: reasoning } = message
  const context = contextOf(message)
  if (context === undefined && typeof reasoning === 'string' && reasoning !== '') {
    options.warnings.add('messages[].reasoning_content')
  }
  const said = renderContent(content, `${place}.content`, options)
  if (said.length === 0 && typeof refusal === 'string') said.push(...renderContent(refusal, place, options))
  const calls = message.tool_calls ?? []
  if (said.length === 0 && calls.length === 0) return
  const turn = assistantTurn(conversation)
  const rendered = calls.map((call) => renderCall(conversation, turn, { call, param: `${place}.tool_calls` }))
  const text = typeof content === 'string' ? content : ''
  const blocks =
    context !== undefined && options.thinking ? weave(context, { text, content: said, calls: rendered }) : undefined
  turn.content.push(...(blocks ?? [...said, ...rendered]))
}

function renderCall(
  { usedIds, options }: Conversation,
  turn: AssistantTurn,
  { call, param }: { readonly call: ToolCall; readonly param: string },
): Block {
  if (turn.calls.has(call.id))
    throw unpaired(param, `\`${param}\` has the id ${JSON.stringify(call.id.slice(0, 60))} twice.`)
  const wireId = freshId(call.id, usedIds)
  turn.calls.set(call.id, { wireId, param })
  const text = call.function.arguments
  const parsed = text.trim() === '' ? {} : parseJson(text)
  if (!isRecord(parsed)) options.warnings.add('messages[].tool_calls[].function.arguments')
  const input = isRecord(parsed) ? parsed : { arguments: text }
  return { type: 'tool_use', id: wireId, name: call.function.name, input }
}

/** Other providers' ids may have characters that this API refuses, or come again in a later turn. */
function freshId(id: string, usedIds: Set<string>): string {
  const clean = id.replace(/[^A-Za-z0-9_-]/g, '_') || 'call'
  let fresh = clean
  for (let suffix = 2; usedIds.has(fresh); suffix++) fresh = `${clean}_${suffix}`
  usedIds.add(fresh)
  return fresh
}

function checkPairs(turns: readonly Turn[]): void {
  turns.forEach((turn, position) => {
    if (turn.role !== 'assistant') return
    const next = turns[position + 1]
    const answered = next?.role === 'user' ? next.results.map((result) => result['tool_use_id']) : []
    for (const [id, { wireId, param }] of turn.calls) {
      if (answered.includes(wireId)) continue
      const shown = JSON.stringify(id.slice(0, 60))
      throw unpaired(param, `\`${param}\` has the call ${shown}, which no \`tool\` message after it answers.`)
    }
  })
}

function unpaired(param: string, message: string): GatewayError {
  return new GatewayError('invalid_value', message, { param })
}

/**
 * Makes the turns begin and end as the API wants them.
 * @returns What stays of the system messages: where nothing else was said, they are what the user says.
 */
function closeTurns({ turns, system, options }: Conversation): readonly Block[] {
  if (turns.length === 0) {
    turns.push(user(system.length > 0 ? system : [{ type: 'text', text: FILLER_BEFORE }]))
    return []
  }
  if (turns[0]?.role === 'assistant') turns.unshift(user([{ type: 'text', text: FILLER_BEFORE }]))
  const last = turns.at(-1)
  if (last?.role !== 'assistant') return system
  if (options.prefill) {
    trimEnd(last)
    return system
  }
  turns.push(user([{ type: 'text', text: FILLER_AFTER }]))
  options.warnings.add('messages')
  return system
}

function user(content: readonly Block[]): UserTurn {
  return { role: 'user', results: [], content: [...content] }
}

/** The API refuses white space at the end of the beginning of an answer. */
function trimEnd({ content }: AssistantTurn): void {
  const last = content.at(-1)
  if (last?.['type'] === 'text' && typeof last['text'] === 'string') last['text'] = last['text'].trimEnd()
}

/** One text, unless a part of it is marked for the cache. */
function renderSystem(blocks: readonly Block[]): RenderedConversation['system'] {
  if (blocks.length === 0) return undefined
  if (blocks.some((block) => block['cache_control'] !== undefined)) return blocks
  return blocks.map((block) => block['text']).join('\n')
}
