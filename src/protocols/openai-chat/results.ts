/**
 * Places results of tools as hosts read them: many accept media in messages of users only, and some want the assistant
 * between results and the user.
 *
 * Errors of such hosts: "Image URLs are only allowed for messages with role 'user', but this message with role 'tool'
 * contains an image URL." (quoted in OpenHands, issue 7700); "Unexpected role 'user' after role 'tool'" (Mistral, code 3230).
 */
import type { ChatMessage, ChatRequest, ContentPart } from '../../domain/chat.ts'
import type { OpenAiChatOptions } from './options.ts'

/** Precedes media that were moved out of results. */
const INTRODUCTION = 'The tools returned:'
/** The text of a result that has media alone. */
const SHOWN_BELOW = 'The result follows in the next message.'
/** The assistant's text between results and the user, for hosts that require one. */
const FILLER = 'I have the results.'

type Options = Pick<OpenAiChatOptions, 'toolMedia' | 'assistantAfterResults'>

/** The request itself where nothing changes. */
export function placeResults(request: ChatRequest, options: Options, warnings: Set<string>): ChatRequest {
  const { toolMedia = false, assistantAfterResults = false } = options
  const hasResults = request.messages.some(({ role }) => role === 'tool')
  if (!hasResults) return request
  const moved = toolMedia ? request.messages : withMediaShown(request.messages, warnings)
  const messages = assistantAfterResults ? withAssistantBetween(moved, warnings) : moved
  return messages === request.messages ? request : { ...request, messages }
}

/** Moves media behind all results of a turn, into a message of the user. */
function withMediaShown(messages: readonly ChatMessage[], warnings: Set<string>): readonly ChatMessage[] {
  if (!messages.some(hasMedia)) return messages
  warnings.add('messages[].content[].type')
  const placed: ChatMessage[] = []
  let media: ContentPart[] = []
  const show = (): void => {
    if (media.length > 0) placed.push({ role: 'user', content: [{ type: 'text', text: INTRODUCTION }, ...media] })
    media = []
  }
  for (const message of messages) {
    if (message.role !== 'tool') show()
    if (!hasMedia(message)) {
      placed.push(message)
      continue
    }
    const parts = partsOf(message)
    media.push(...parts.filter((part) => !isText(part)))
    const texts = parts.filter(isText)
    placed.push({ ...message, content: texts.length > 0 ? texts : SHOWN_BELOW })
  }
  show()
  return placed
}

function hasMedia(message: ChatMessage): boolean {
  return message.role === 'tool' && partsOf(message).some((part) => !isText(part))
}

function partsOf({ content }: ChatMessage): readonly ContentPart[] {
  return Array.isArray(content) ? content : []
}

function isText({ type }: ContentPart): boolean {
  return type === 'text'
}

/** System messages between do not count: such hosts get them first. */
function withAssistantBetween(messages: readonly ChatMessage[], warnings: Set<string>): readonly ChatMessage[] {
  const placed: ChatMessage[] = []
  let last: ChatMessage['role'] | undefined
  for (const message of messages) {
    const { role } = message
    if (role === 'user' && last === 'tool') {
      warnings.add('messages')
      placed.push({ role: 'assistant', content: FILLER })
    }
    placed.push(message)
    if (role !== 'system' && role !== 'developer') last = role
  }
  return placed.length === messages.length ? messages : placed
}
