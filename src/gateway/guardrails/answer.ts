/**
 * Applies guardrails to the events of an answer before they are rendered for the client. Withholds text that may still
 * become a match, and the arguments of a tool call until they are complete. Each call has its own guard.
 */
import type { ChatEvent, ToolCallEvent } from '../../domain/chat.ts'
import { replaceInJson, replaceTexts } from '../../domain/guardrails/body-texts.ts'
import { blockedBy, type Guard } from '../../domain/guardrails/guard.ts'
import { createMasker, type Masker, maskText } from '../../domain/guardrails/masking.ts'
import type { Matcher } from '../../domain/guardrails/matcher.ts'
import { type AnswerGuard, createHookedAnswer, type GuardedAnswer } from './hooked-answer.ts'

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
