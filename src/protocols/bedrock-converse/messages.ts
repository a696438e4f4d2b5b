/**
 * The conversation as turns. The API knows two roles in alternation, begins with the user, wants all results of a turn's
 * tool calls in the one user turn after it, and refuses text that is blank.
 */
import type { ChatMessage, ToolCall } from '../../domain/chat.ts'
import { GatewayError } from '../../domain/errors.ts'
import { isRecord, parseJson } from '../../lib/json.ts'
import { type Gathering, renderContent } from './content.ts'
import { contextOf, weave } from './context.ts'
import type { Block } from './wire.ts'

/** Stands where the API wants a user's turn and the conversation has none. */
const FILLER_BEFORE = 'Begin.'
const FILLER_AFTER = 'Continue.'
/** The API's own limit of the id of a tool call. */
const MAX_ID_LENGTH = 64
/** The most cache points of a request that models take. */
const MAX_CACHE_POINTS = 4

export interface TurnOptions extends Pick<Gathering, 'warnings' | 'price'> {
  /** Whether earlier reasoning goes back. */
  readonly reasoning: boolean
  /** Whether the last turn may be the assistant's. */
  readonly prefill: boolean
  /** Whether the request has tools: without them, calls and results can only be told as text. */
  readonly tools: boolean
  /** Said to the model after the client's own system messages. */
  readonly instructions: readonly string[]
}

export interface Turn {
  readonly role: 'user' | 'assistant'
  readonly content: readonly Block[]
}
export interface RenderedConversation {
  readonly system: readonly Block[]
  readonly messages: readonly Turn[]
}

interface UserTurn {
  readonly role: 'user'
  readonly answered: Set<string>
  readonly results: Block[]
  readonly content: Block[]
}
interface AssistantTurn {
  readonly role: 'assistant'
  readonly content: Block[]
  /** The client's id of each call to ours. */
  readonly calls: Map<string, OpenCall>
}
interface OpenCall {
  readonly wireId: string
  readonly name: string
  readonly param: string
}

interface Conversation {
  readonly options: TurnOptions & Gathering
  readonly system: Block[]
  readonly turns: (UserTurn | AssistantTurn)[]
  readonly usedIds: Set<string>
}

/** @throws GatewayError for content that cannot be read, and for calls and results that do not belong together. */
export function renderConversation(messages: readonly ChatMessage[], options: TurnOptions): RenderedConversation {
  const conversation: Conversation = {
    options: { ...options, documentNames: new Set() },
    system: [],
    turns: [],
    usedIds: new Set(),
  }
  for (const [position, message] of messages.entries()) addMessage(conversation, message, `messages[${position}]`)
  for (const text of options.instructions) conversation.system.push({ text })
  checkPairs(conversation)
  const system = closeTurns(conversation)
  const turns = conversation.turns.map((turn) => ({
    role: turn.role,
    content: turn.role === 'user' ? [...turn.results, ...turn.content] : turn.content,
  }))
  return limitCachePoints({ system, messages: turns }, options)
}

function addMessage(conversation: Conversation, message: ChatMessage, place: string): void {
  const { options } = conversation
  if (message.name !== undefined && message.role !== 'tool') options.warnings.add('messages[].name')
  switch (message.role) {
    case 'system':
    case 'developer':
      addSystem(conversation, message, place)
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

function addSystem({ system, options }: Conversation, { content }: ChatMessage, place: string): void {
  const strange = Array.isArray(content) ? content.findIndex((part) => part.type !== 'text') : -1
  if (strange >= 0) {
    throw new GatewayError('unsupported_content', 'The provider of this model reads only text in system messages.', {
      param: `${place}.content[${strange}]`,
    })
  }
  system.push(...renderContent(content, `${place}.content`, options))
}

function userTurn({ turns }: Conversation): UserTurn {
  const last = turns.at(-1)
  if (last?.role === 'user') return last
  const turn: UserTurn = { role: 'user', answered: new Set(), results: [], content: [] }
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
  const { options, turns } = conversation
  const turn = userTurn(conversation)
  const asked = turns.at(-2)
  const call = asked?.role === 'assistant' ? asked.calls.get(message.tool_call_id ?? '') : undefined
  if (call === undefined) {
    throw unpaired(`${place}.tool_call_id`, `\`${place}\` answers no tool call of the message before it.`)
  }
  if (turn.answered.has(call.wireId)) {
    throw unpaired(`${place}.tool_call_id`, `\`${place}\` answers a tool call that was answered before.`)
  }
  turn.answered.add(call.wireId)
  const content = renderContent(message.content, `${place}.content`, options)
  if (options.tools) turn.results.push({ toolResult: { toolUseId: call.wireId, content, status: 'success' } })
  else turn.results.push({ text: `[Result of the tool ${call.name}:]` }, ...content)
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
  const kept = options.reasoning ? context : undefined
  if (said.length === 0 && calls.length === 0 && kept === undefined) return
  const turn = assistantTurn(conversation)
  const rendered = calls.map((call) => renderCall(conversation, turn, { call, param: `${place}.tool_calls` }))
  const text = typeof content === 'string' ? content : content === null || content === undefined ? '' : undefined
  turn.content.push(...weave(kept ?? [], { text, content: said, calls: rendered }))
}

function renderCall(
  { usedIds, options }: Conversation,
  turn: AssistantTurn,
  { call, param }: { readonly call: ToolCall; readonly param: string },
): Block {
  const { name, arguments: text } = call.function
  if (turn.calls.has(call.id)) throw unpaired(param, `\`${param}\` has the id ${shown(call.id)} twice.`)
  const wireId = freshId(call.id, usedIds)
  turn.calls.set(call.id, { wireId, name, param })
  if (!options.tools) {
    options.warnings.add('messages[].tool_calls')
    return { text: `[Call of the tool ${name} with ${text.trim() === '' ? '{}' : text}]` }
  }
  const parsed = text.trim() === '' ? {} : parseJson(text)
  if (!isRecord(parsed)) options.warnings.add('messages[].tool_calls[].function.arguments')
  return { toolUse: { toolUseId: wireId, name, input: isRecord(parsed) ? parsed : { arguments: text } } }
}

/** Other providers' ids may have characters that this API refuses, be too long, or come again in a later turn. */
function freshId(id: string, usedIds: Set<string>): string {
  const clean = id.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, MAX_ID_LENGTH - 6) || 'call'
  let fresh = id.length <= MAX_ID_LENGTH && /^[A-Za-z0-9_-]+$/.test(id) ? id : clean
  for (let suffix = 2; usedIds.has(fresh); suffix++) fresh = `${clean}_${suffix}`
  usedIds.add(fresh)
  return fresh
}

function checkPairs({ turns }: Conversation): void {
  turns.forEach((turn, position) => {
    if (turn.role !== 'assistant') return
    const next = turns[position + 1]
    for (const [id, { wireId, param }] of turn.calls) {
      if (next?.role === 'user' && next.answered.has(wireId)) continue
      throw unpaired(param, `\`${param}\` has the call ${shown(id)}, which no \`tool\` message after it answers.`)
    }
  })
}

function shown(id: string): string {
  return JSON.stringify(id.slice(0, 60))
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
    turns.push(userSays(system.length > 0 ? system : [{ text: FILLER_BEFORE }]))
    return []
  }
  if (turns[0]?.role === 'assistant') turns.unshift(userSays([{ text: FILLER_BEFORE }]))
  const last = turns.at(-1)
  if (last?.role !== 'assistant') return system
  if (options.prefill) {
    trimEnd(last)
    return system
  }
  turns.push(userSays([{ text: FILLER_AFTER }]))
  options.warnings.add('messages')
  return system
}

function userSays(content: readonly Block[]): UserTurn {
  return { role: 'user', answered: new Set(), results: [], content: [...content] }
}

/** White space at the end of the beginning of an answer is refused. */
function trimEnd({ content }: AssistantTurn): void {
  const last = content.at(-1)
  if (typeof last?.['text'] === 'string') last['text'] = last['text'].trimEnd()
}

/** The last cache points reach furthest, so they are the ones to keep. */
function limitCachePoints(rendered: RenderedConversation, { warnings }: TurnOptions): RenderedConversation {
  const points = [rendered.system, ...rendered.messages.map(({ content }) => content)].flat().filter(isCachePoint)
  const surplus = new Set(points.slice(0, Math.max(0, points.length - MAX_CACHE_POINTS)))
  if (surplus.size === 0) return rendered
  warnings.add('prompt_cache_breakpoint')
  const kept = (blocks: readonly Block[]): Block[] => blocks.filter((block) => !surplus.has(block))
  return {
    system: kept(rendered.system),
    messages: rendered.messages.map(({ role, content }) => ({ role, content: kept(content) })),
  }
}

function isCachePoint(block: Block): boolean {
  return block['cachePoint'] !== undefined
}
