/**
 * Applies guardrails to the events of an answer before they are rendered for the client. Withholds text that may still
 * become a match, and the arguments of a tool call until they are complete. Each call has its own guard.
 */
import type { ChatEvent, ToolCallEvent } from '../../domain/chat.ts'
import { replaceInJson, replaceTexts } from '../../domain/guardrails/body-texts.ts'
import { blockedBy, type Guard } from '../../domain/guardrails/guard.ts'
import { createMasker, type Masker, type Matcher, maskText } from '../../domain/guardrails/matcher.ts'
import type { HookStage } from '../../domain/guardrails/rule.ts'
import type { KeyId } from '../../domain/ids.ts'
import { askHook } from './prompt.ts'

export function createAnswerGuard(guard: Guard, answer: GuardedAnswer): AnswerGuard {
  const masking = createMasking(guard.answer)
  const { stream, post } = guard.hooks
  if (stream.length + post.length === 0) return masking
  const hooked = createHookedAnswer(guard, answer)
  return {
    push: (events) => hooked.push(masking.push(events)),
    end: async () => [...(await hooked.push(masking.end())), ...(await hooked.end())],
  }
}

type TextKind = 'text' | 'reasoning' | 'refusal'

/** The open part of a choice: text, or the arguments of a tool call. */
interface OpenText {
  readonly kind: TextKind
  readonly masker: Masker
}
interface OpenCall {
  readonly kind: 'tool-call'
  readonly event: ToolCallEvent
  arguments: string
}
type Open = OpenText | OpenCall

interface SyncGuard extends AnswerGuard {
  push(events: readonly ChatEvent[]): readonly ChatEvent[]
  end(): readonly ChatEvent[]
}

interface MaskingState {
  readonly matchers: readonly Matcher[]
  /** The open part of each choice, by index. */
  readonly open: Map<number, Open>
  /** Masking reasoning would invalidate its signature, which is therefore removed. */
  isReasoningMasked: boolean
  readonly passed: ChatEvent[]
}

function createMasking(matchers: readonly Matcher[]): SyncGuard {
  if (matchers.length === 0) return { push: (events) => [...events], end: () => [] }
  const state: MaskingState = { matchers, open: new Map(), isReasoningMasked: false, passed: [] }
  return {
    push(events) {
      for (const event of events) pushEvent(state, event)
      return state.passed.splice(0)
    },
    end() {
      for (const index of [...state.open.keys()]) close(state, index)
      return state.passed.splice(0)
    },
  }
}

function pushEvent(state: MaskingState, event: ChatEvent): void {
  const { matchers, passed } = state
  if (event.type === 'usage') passed.push(event)
  else if (event.type === 'tool-call') pushCall(state, event)
  else if ('text' in event && event.text !== '') pushPiece(state, event)
  else {
    close(state, event.index)
    if (event.type === 'extension' || event.type === 'native') {
      passed.push({
        ...event,
        value: replaceTexts(event.value, (text) => maskText(matchers, text, check)),
      } as ChatEvent)
    } else if (!('signature' in event) || !state.isReasoningMasked) passed.push(event)
  }
}

function check(matcher: Matcher): void {
  if (matcher.action === 'block') throw blockedBy(matcher, 'answer')
}

interface Piece {
  readonly type: TextKind
  readonly index: number
  readonly text: string
}

function pushPiece(state: MaskingState, { type, index, text }: Piece): void {
  const { open, matchers } = state
  let last = open.get(index)
  if (last === undefined || last.kind !== type) {
    close(state, index)
    const onMatch = (matcher: Matcher): void => {
      check(matcher)
      if (type === 'reasoning') state.isReasoningMasked = true
    }
    last = { kind: type, masker: createMasker(matchers, onMatch) }
    open.set(index, last)
  }
  passText(state, { type, index, text: last.masker.push(text) })
}

function pushCall(state: MaskingState, event: ToolCallEvent): void {
  const { open, passed } = state
  const { index, toolIndex } = event
  const last = open.get(index)
  if (last?.kind === 'tool-call' && last.event.toolIndex === toolIndex) {
    last.arguments += event.arguments
    return
  }
  close(state, index)
  passed.push({ ...event, arguments: '' })
  const { id: _, name: __, ...fragment } = event
  open.set(index, { kind: 'tool-call', event: fragment, arguments: event.arguments })
}

/** Passes on the withheld part of the open text or tool call of a choice. */
function close(state: MaskingState, index: number): void {
  const { open, matchers, passed } = state
  const last = open.get(index)
  if (last === undefined) return
  open.delete(index)
  if (last.kind === 'tool-call') passed.push({ ...last.event, arguments: maskArguments(last, matchers) })
  else passText(state, { type: last.kind, index, text: last.masker.flush() })
}

/** Log probabilities are left out: they spell the text. */
function passText({ passed }: MaskingState, piece: Piece): void {
  if (piece.text !== '') passed.push(piece)
}

function maskArguments({ event, arguments: text }: OpenCall, matchers: readonly Matcher[]): string {
  const mask = (each: string): string => maskText(matchers, each, check)
  if (event.custom === true) return mask(text)
  return replaceInJson(text, (parsed) => replaceTexts(parsed, mask, { isFree: true })) ?? mask(text)
}

/*
 * Hooks: the events of an answer are withheld until the hooks of guardrails have checked their texts, in pieces, or as a
 * whole if a hook has the stage `post`.
 */

export interface AnswerGuard {
  /** @returns the events that may reach the client. Throws `content_blocked`. */
  push(events: readonly ChatEvent[]): readonly ChatEvent[] | Promise<readonly ChatEvent[]>
  /** @returns the remaining events once the call has ended. */
  end(): readonly ChatEvent[] | Promise<readonly ChatEvent[]>
}

interface GuardedAnswer {
  readonly requestId: string
  /** Undefined if the request is not traced. */
  readonly traceId?: string | undefined
  readonly keyId: KeyId
  readonly model: string
}

/** The characters of an answer that one request to a hook contains. */
const HOOK_PIECE = 400

/** Creates the guard for hooks of the stages `stream` and `post`. */
function createHookedAnswer(guard: Guard, answer: GuardedAnswer): AnswerGuard {
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
  const { requestId, traceId, keyId, model } = answer
  const shared = { request_id: requestId, trace_id: traceId, key_id: keyId, model }
  for (const stage of stages) {
    for (const named of guard.hooks[stage]) {
      texts = await askHook(guard, named, { stage, ...shared, texts })
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
