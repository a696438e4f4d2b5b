/**
 * The rules that the real Messages API holds a request to, as far as conversations are concerned, in memory. Its words
 * for what it refuses are the API's own in kind. What it signs, it recognises; nothing else passes as thinking.
 */
import { createHash } from 'node:crypto'

// biome-ignore lint/suspicious/noExplicitAny: a request is any JSON until it is checked
type Anything = any

/** Which of the API's generations of models answers. */
export interface FakeModel {
  /** Thinking by budget must lead the turn that tool results belong to. */
  readonly wantsLeadingThinking: boolean
}

/** @returns What the API would answer with 400; undefined for a request that it takes. */
export function refusalOf(body: Anything, { wantsLeadingThinking }: FakeModel): string | undefined {
  return (
    basics(body) ??
    turns(body) ??
    blocks(body) ??
    pairs(body) ??
    (wantsLeadingThinking && body.thinking?.type === 'enabled' ? leadingThinking(body) : undefined)
  )
}

/** Thinking as the API gives it. */
function signedThinking(text: string): Anything {
  return { type: 'thinking', thinking: text, signature: seal(text) }
}

function redactedThinking(text: string): Anything {
  return { type: 'redacted_thinking', data: `redacted.${seal(text)}` }
}

function seal(text: string): string {
  return createHash('sha256').update(`the provider's secret ${text}`).digest('base64')
}

const use = (id: string): Anything => ({ type: 'tool_use', id, name: 'look', input: { at: id } })
const text = (said: string): Anything => ({ type: 'text', text: said })

/** What a model says in a loop of the tool `look`: thinking first, thinking between, thinking hidden, and the answer. */
export const THINKING_LOOP: readonly (readonly Anything[])[] = [
  [signedThinking('First I look left.'), text('I look. '), use('toolu_1'), use('toolu_2')],
  [signedThinking('Now'), text('Left is empty. '), signedThinking('then right.'), text('Right?'), use('toolu_3')],
  [redactedThinking('secret'), use('toolu_4')],
  [text('Nothing anywhere.')],
]

function basics(body: Anything): string | undefined {
  if (!Number.isInteger(body.max_tokens) || body.max_tokens < 1) return 'max_tokens: Field required'
  const { thinking, temperature, tool_choice: choice } = body
  if (thinking?.type !== 'enabled') return undefined
  if (!(thinking.budget_tokens >= 1024)) return 'thinking.budget_tokens: at least 1024'
  if (thinking.budget_tokens >= body.max_tokens) return '`max_tokens` must be greater than `thinking.budget_tokens`'
  if (temperature !== undefined && temperature !== 1) return '`temperature` may only be 1 when thinking is enabled'
  if (choice?.type === 'any' || choice?.type === 'tool')
    return 'Thinking may not be enabled when tool_choice forces tool use'
  return undefined
}

function turns({ messages }: Anything): string | undefined {
  if (!Array.isArray(messages) || messages.length === 0) return 'messages: at least one message is required'
  if (messages[0].role !== 'user') return 'messages: first message must use the "user" role'
  for (let at = 1; at < messages.length; at++) {
    if (messages[at].role === messages[at - 1].role) return 'messages: roles must alternate'
  }
  return undefined
}

function blocks({ messages }: Anything): string | undefined {
  for (const [at, { role, content }] of messages.entries()) {
    if (!Array.isArray(content) || content.length === 0) return `messages.${at}: must have non-empty content`
    for (const block of content) {
      const fault = blockFault(block, role)
      if (fault !== undefined) return `messages.${at}.content: ${fault}`
    }
    if (content.at(-1).type.endsWith('thinking')) return 'The final block in an assistant message cannot be `thinking`.'
  }
  return undefined
}

function blockFault(block: Anything, role: string): string | undefined {
  const allowed: Anything = {
    text: ['type', 'text', 'cache_control'],
    thinking: ['type', 'thinking', 'signature'],
    redacted_thinking: ['type', 'data'],
    tool_use: ['type', 'id', 'name', 'input'],
    tool_result: ['type', 'tool_use_id', 'content', 'is_error', 'cache_control'],
  }
  const fields = allowed[block.type]
  if (fields === undefined) return `'${block.type}' is no block`
  const extra = Object.keys(block).find((field) => !fields.includes(field))
  if (extra !== undefined) return `${extra}: Extra inputs are not permitted`
  if (block.type === 'text' && block.text.trim() === '') return 'text content blocks must contain non-whitespace text'
  if (block.type === 'thinking' && block.signature !== seal(block.thinking))
    return 'Invalid `signature` in `thinking` block'
  if (block.type === 'redacted_thinking' && !block.data.startsWith('redacted.')) return 'Invalid `data`'
  if (block.type === 'tool_use' && (typeof block.input !== 'object' || !/^[\w-]+$/.test(block.id)))
    return 'bad tool_use'
  const speaker = block.type === 'tool_result' ? 'user' : block.type === 'text' ? role : 'assistant'
  return speaker === role ? undefined : `'${block.type}' in a message of the ${role}`
}

function pairs({ messages, tools }: Anything): string | undefined {
  const ids = new Set<string>()
  for (const [at, { role, content }] of messages.entries()) {
    const results = content.filter((block: Anything) => block.type === 'tool_result')
    const before = messages[at - 1]?.content.filter((block: Anything) => block.type === 'tool_use') ?? []
    if (role === 'user') {
      const asked = before
        .map((block: Anything) => block.id)
        .sort()
        .join()
      const answered = results
        .map((block: Anything) => block.tool_use_id)
        .sort()
        .join()
      if (asked !== answered) return '`tool_use` ids were found without `tool_result` blocks immediately after'
      if (content.slice(0, results.length).some((block: Anything) => block.type !== 'tool_result')) {
        return 'tool_result blocks must come first'
      }
    }
    for (const { type, id } of content) {
      if (type !== 'tool_use') continue
      if (ids.has(id)) return '`tool_use` ids must be unique'
      ids.add(id)
    }
  }
  if (ids.size > 0 && !(tools?.length > 0)) return 'Requests which include `tool_use` blocks must define tools'
  const last = messages.at(-1).content
  return last.some((block: Anything) => block.type === 'tool_use') ? 'tool_use without results' : undefined
}

/** The turn that the last results belong to must begin with thinking. */
function leadingThinking({ messages }: Anything): string | undefined {
  const hasResults = (message: Anything): boolean =>
    message.content.some((block: Anything) => block.type === 'tool_result')
  if (!hasResults(messages.at(-1))) return undefined
  let start = messages.length - 1
  while (start > 0 && hasResults(messages[start])) start -= 2
  const [first] = messages[start + 1].content
  return first.type.endsWith('thinking')
    ? undefined
    : `messages.${start + 1}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first.type}\``
}
