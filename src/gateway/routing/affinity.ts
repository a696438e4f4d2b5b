/**
 * Which deployment and credential a conversation was answered by: its next turn is cheaper and sooner there, since
 * providers keep the beginning of prompts for a while, each for itself and for each of its accounts.
 */
import { hash } from 'node:crypto'
import type { ChatMessage, ChatRequest } from '../../domain/chat.ts'
import { createLruCache } from '../../lib/lru-cache.ts'
import type { CredentialHealth } from './credential.ts'
import type { DeploymentHealth } from './health.ts'

/** Conversations that are remembered. */
export const MAX_REMEMBERED = 20_000
/** Of a conversation's head, in characters: more is not needed to tell it from others. */
export const MAX_HEAD_LENGTH = 16 * 1024
/** Providers keep nothing of prompts that are much shorter than 1 024 tokens. */
export const LONG_HEAD_LENGTH = 4096

export interface Head {
  readonly key: string
  /** Evenly spread over 32 bits, the same in all processes. */
  readonly seed: number
  /** It may be kept somewhere already: there is an answer in it, or what an application tells the model each time. */
  readonly recurring: boolean
  /** Long enough to be kept, also between conversations. */
  readonly long: boolean
}

/** Where a conversation was answered. */
export interface Home {
  readonly deployment: DeploymentHealth
  readonly credential: CredentialHealth
}

export interface Affinity {
  homeOf(head: Head): Home | undefined
  remember(head: Head, home: Home): void
}

export function createAffinity(): Affinity {
  const homes = createLruCache<Home>(MAX_REMEMBERED)
  return {
    homeOf: ({ key }) => homes.get(key),
    remember({ key }, home) {
      const known = homes.get(key)
      if (known?.deployment === home.deployment && known.credential === home.credential) return
      homes.set(key, home)
    },
  }
}

export interface HeadInput {
  /** Nobody shares a prompt's cache with another account. */
  readonly accountId: string
  readonly request: Pick<ChatRequest, 'model' | 'messages'>
}

/** What stays the same from turn to turn: what the system says, and what the user said first. */
export function headOf({ accountId, request: { model, messages } }: HeadInput): Head {
  let text = `${accountId} ${model}`
  let length = 0
  for (const { role, content } of messages) {
    if (role !== 'system' && role !== 'developer' && role !== 'user') continue
    text += `\n${role}`
    for (const said of textsOf(content)) {
      length += said.length
      text += ` ${said.length} ${said.slice(0, Math.max(0, MAX_HEAD_LENGTH - text.length))}`
    }
    if (role === 'user') break
  }
  const key = hash('sha1', text)
  const recurring = messages.some(({ role }) => role !== 'user')
  return { key, seed: Number.parseInt(key.slice(0, 8), 16), recurring, long: length >= LONG_HEAD_LENGTH }
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
