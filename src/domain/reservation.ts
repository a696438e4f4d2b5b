/**
 * What a request may use at worst, known before it is sent: from bytes and limits, never by a tokenizer, whose time grows
 * with the square of hostile text.
 */
import type { ChatMessage, ChatRequest, ContentPart } from './chat.ts'

const BYTES_A_TOKEN = 3
const TOKENS_A_MESSAGE = 8
const TOKENS_AN_IMAGE = 1_100

/** Tokens of the prompt at worst: a third of the bytes of all text, 8 a message, 1 100 an image. */
export function estimateInputTokens({ messages, tools }: Pick<ChatRequest, 'messages' | 'tools'>): number {
  let bytes = tools === undefined ? 0 : Buffer.byteLength(JSON.stringify(tools))
  let images = 0
  for (const message of messages) {
    bytes += messageBytes(message)
    if (Array.isArray(message.content)) images += message.content.filter(isImage).length
  }
  return Math.ceil(bytes / BYTES_A_TOKEN) + TOKENS_A_MESSAGE * messages.length + TOKENS_AN_IMAGE * images
}

function messageBytes({ content, tool_calls: calls, reasoning_content: reasoning }: ChatMessage): number {
  let bytes = typeof reasoning === 'string' ? Buffer.byteLength(reasoning) : 0
  if (typeof content === 'string') bytes += Buffer.byteLength(content)
  else for (const part of content ?? []) if (part.type === 'text') bytes += Buffer.byteLength(part.text)
  for (const { function: called } of calls ?? []) {
    bytes += Buffer.byteLength(called.name) + Buffer.byteLength(called.arguments)
  }
  return bytes
}

function isImage({ type }: ContentPart): boolean {
  return type === 'image_url'
}
