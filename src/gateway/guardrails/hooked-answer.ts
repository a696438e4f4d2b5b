/**
 * Withholds the events of an answer until the hooks of guardrails have checked their texts: in pieces, or as a whole if
 * a hook has the stage `post`.
 */
import type { ChatEvent } from '../../domain/chat.ts'
import type { Guard } from '../../domain/guardrails/guard.ts'
import type { HookStage } from '../../domain/guardrails/rule.ts'
import type { KeyId } from '../../domain/ids.ts'
import { askHook } from './hook.ts'

export interface AnswerGuard {
  /** @returns the events that may reach the client. Throws `content_blocked`. */
  push(events: readonly ChatEvent[]): readonly ChatEvent[] | Promise<readonly ChatEvent[]>
  /** @returns the remaining events once the call has ended. */
  end(): readonly ChatEvent[] | Promise<readonly ChatEvent[]>
}

export interface GuardedAnswer {
  readonly requestId: string
  readonly keyId: KeyId
  readonly model: string
}

/** The characters of an answer that one request to a hook contains. */
const HOOK_PIECE = 400

/** Creates the guard for hooks of the stages `stream` and `post`. */
export function createHookedAnswer(guard: Guard, answer: GuardedAnswer): AnswerGuard {
  const isWhole = guard.hooks.post.length > 0
  let waiting: ChatEvent[] = []
  let length = 0
  const release = async (stages: readonly HookStage[]): Promise<readonly ChatEvent[]> => {
    const events = waiting
    waiting = []
    length = 0
    return askAbout(guard, answer, { events, stages })
  }
  return {
    push(events) {
      for (const event of events) {
        waiting.push(event)
        length += textIn(event)?.length ?? 0
      }
      const isDue = length >= HOOK_PIECE || waiting.some(({ type }) => type === 'finish')
      return isWhole || !isDue ? NO_EVENTS : release(STREAM)
    },
    end: () => release(isWhole ? BOTH_STAGES : STREAM),
  }
}

const NO_EVENTS: readonly ChatEvent[] = []
const STREAM: readonly HookStage[] = ['stream']
const BOTH_STAGES: readonly HookStage[] = ['stream', 'post']

interface Withheld {
  readonly events: readonly ChatEvent[]
  readonly stages: readonly HookStage[]
}

async function askAbout(
  guard: Guard,
  answer: GuardedAnswer,
  { events, stages }: Withheld,
): Promise<readonly ChatEvent[]> {
  const joined = joinTexts(events)
  const positions = joined.flatMap((event, position) => (textIn(event) ? [position] : []))
  let texts: readonly string[] = positions.map((position) => textIn(joined[position]) ?? '')
  const { requestId, keyId, model } = answer
  for (const stage of stages) {
    for (const named of guard.hooks[stage]) {
      texts = await askHook(guard, named, { stage, request_id: requestId, key_id: keyId, model, texts })
    }
  }
  const replaced = [...joined]
  for (const [at, position] of positions.entries()) {
    const event = joined[position]
    if (event !== undefined) replaced[position] = withText(event, texts[at] ?? '')
  }
  return replaced
}

/** Joins the pieces of one text, so that a hook receives it undivided. */
function joinTexts(events: readonly ChatEvent[]): readonly ChatEvent[] {
  const joined: ChatEvent[] = []
  for (const event of events) {
    const last = joined.at(-1)
    if (last !== undefined && isSameText(last, event)) {
      joined[joined.length - 1] = withText(last, (textIn(last) ?? '') + (textIn(event) ?? ''))
    } else joined.push(event)
  }
  return joined
}

function isSameText(one: ChatEvent, other: ChatEvent): boolean {
  if (one.type !== other.type || !textIn(one) || !textIn(other)) return false
  if (one.type === 'tool-call' && other.type === 'tool-call') {
    return one.index === other.index && one.toolIndex === other.toolIndex && other.id === undefined
  }
  return 'index' in one && 'index' in other && one.index === other.index
}

function textIn(event: ChatEvent | undefined): string | undefined {
  if (event?.type === 'text' || event?.type === 'reasoning' || event?.type === 'refusal') return event.text
  return event?.type === 'tool-call' ? event.arguments : undefined
}

function withText(event: ChatEvent, text: string): ChatEvent {
  if (event.type === 'tool-call') return { ...event, arguments: text }
  return event.type === 'text' || event.type === 'reasoning' || event.type === 'refusal' ? { ...event, text } : event
}
