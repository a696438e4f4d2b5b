/**
 * Sticky routing: remembers the deployment and the credential that answered a conversation. The next request is cheaper
 * and faster there, because providers cache the beginning of prompts, separately for each of their accounts.
 */
import { hash } from 'node:crypto'
import type { ChatMessage, ChatRequest } from '../../domain/chat.ts'
import { createLruCache } from '../../lib/collections.ts'

/** The most conversations that a process remembers. */
export const MAX_REMEMBERED = 20_000
/** The characters of a prefix that are hashed, which suffice to distinguish conversations. */
export const MAX_PREFIX_LENGTH = 16 * 1024
/** The characters of a prompt that providers may cache: at least about 1,024 tokens. */
export const LONG_PREFIX_LENGTH = 4096

export interface PromptPrefix {
  readonly key: string
  /** A hash of 32 evenly distributed bits, the same in all processes. */
  readonly seed: number
  /** A provider may have cached it: it contains an answer, or instructions that an application sends each time. */
  readonly recurring: boolean
  /** The prefix is long enough to be cached, also across conversations. */
  readonly long: boolean
}

/** The deployment and the credential that answered a conversation, as the objects of their health. */
interface StickyTarget {
  readonly deployment: object
  readonly credential: object
}

export interface Affinity {
  targetOf(prefix: PromptPrefix): StickyTarget | undefined
  remember(prefix: PromptPrefix, sticky: StickyTarget): void
}

export function createAffinity(): Affinity {
  const targets = createLruCache<StickyTarget>(MAX_REMEMBERED)
  return {
    targetOf: ({ key }) => targets.get(key),
    remember({ key }, sticky) {
      const known = targets.get(key)
      if (known?.deployment === sticky.deployment && known.credential === sticky.credential) return
      targets.set(key, sticky)
    },
  }
}

export interface PrefixInput {
  /** Accounts do not share cached prompts. */
  readonly accountId: string
  readonly request: Pick<ChatRequest, 'model' | 'messages'>
}

/** Returns the beginning that all requests of a conversation share: the system messages and the first user message. */
export function promptPrefixOf({ accountId, request: { model, messages } }: PrefixInput): PromptPrefix {
  let text = `${accountId} ${model}`
  let length = 0
  for (const { role, content } of messages) {
    if (role !== 'system' && role !== 'developer' && role !== 'user') continue
    text += `\n${role}`
    for (const part of textsOf(content)) {
      length += part.length
      text += ` ${part.length} ${part.slice(0, Math.max(0, MAX_PREFIX_LENGTH - text.length))}`
    }
    if (role === 'user') break
  }
  const key = hash('sha1', text)
  const recurring = messages.some(({ role }) => role !== 'user')
  return { key, seed: Number.parseInt(key.slice(0, 8), 16), recurring, long: length >= LONG_PREFIX_LENGTH }
}

function textsOf(content: ChatMessage['content']): readonly string[] {
  if (typeof content === 'string') return [content]
  const texts: string[] = []
  for (const part of content ?? []) {
    if (part.type === 'text') texts.push(part.text)
    else if (part.type === 'image_url') texts.push(part.image_url.url)
  }
  return texts
}
