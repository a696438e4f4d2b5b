/** The end of a message, whole or streamed: its stop reason, and the contexts of other providers. */
import type { ChatEvent, ChatRequest, FinishReason } from '../../../domain/chat.ts'
import { isRecord } from '../../../lib/json.ts'
import { encodeContext } from '../../opaque-context.ts'

export interface Stop {
  readonly stop_reason: string | null
  readonly stop_sequence: string | null
}

interface RedactedThinking {
  readonly type: 'redacted_thinking'
  readonly data: string
}

export interface Ending {
  push(event: ChatEvent): void
  /**
   * Blocks for the end of the content, which clients return with it: the provider's context in the form of encrypted
   * thinking. Only for clients that must expect such blocks, or whose tool loop needs them.
   */
  contextBlocks(): readonly RedactedThinking[]
  stop(): Stop
}

interface EndingState {
  /** Undefined until the answer has ended. */
  finish: Extract<ChatEvent, { type: 'finish' }> | undefined
  context: unknown
  hasCalled: boolean
  /** The end of the text, as long as the longest stop sequence. */
  tail: string
}

/** Longer sequences are not searched for in texts, because the search would take time for each piece. */
const MAX_SEQUENCE_LENGTH = 256

export function createEnding({ stop = [], extra }: ChatRequest): Ending {
  const sequences = stop.filter(({ length }) => length <= MAX_SEQUENCE_LENGTH)
  const longest = Math.max(0, ...sequences.map(({ length }) => length))
  const state: EndingState = { finish: undefined, context: undefined, hasCalled: false, tail: '' }
  return {
    push(event) {
      if (event.type === 'tool-call') state.hasCalled = true
      else if (event.type === 'finish') state.finish = event
      else if (event.type === 'extension' && event.field === 'provider_context') state.context = event.value
      else if (event.type === 'text' && longest > 0) state.tail = (state.tail + event.text).slice(-longest)
    },
    contextBlocks() {
      const isExpected = state.hasCalled || extra['thinking'] !== undefined
      return isExpected ? contextBlocks(state.context) : []
    },
    stop: () => stopOf(state, stop, sequences),
  }
}

/** Thinking that Anthropic signed has blocks of its own. */
function contextBlocks(context: unknown): readonly RedactedThinking[] {
  if (!isRecord(context)) return []
  const { anthropic: _, ...others } = context
  const data = Object.keys(others).length === 0 ? undefined : encodeContext(others)
  return data === undefined ? [] : [{ type: 'redacted_thinking', data }]
}

const STOP_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: 'end_turn',
  length: 'max_tokens',
  tool_calls: 'tool_use',
  content_filter: 'refusal',
}
/** Stop reasons of the same API that are more exact than a finish reason. */
const OWN_REASONS: ReadonlySet<string> = new Set(['stop_sequence', 'pause_turn', 'model_context_window_exceeded'])

/**
 * Returns the stop sequence. Some hosts name it and some leave it at the end of the text; a single one needs no name.
 */
function stopOf(
  { finish, hasCalled, tail }: EndingState,
  requested: readonly string[],
  sought: readonly string[],
): Stop {
  if (finish === undefined) return { stop_reason: null, stop_sequence: null }
  const { reason, raw, stopSequence } = finish
  if (reason === 'stop') {
    const only = raw === 'stop_sequence' && requested.length === 1 ? requested[0] : undefined
    const sequence = stopSequence ?? only ?? sought.find((each) => tail.endsWith(each))
    if (sequence !== undefined) return { stop_reason: 'stop_sequence', stop_sequence: sequence }
  }
  const own = OWN_REASONS.has(raw) ? raw : STOP_REASONS[reason]
  return { stop_reason: hasCalled && own === 'end_turn' ? 'tool_use' : own, stop_sequence: null }
}
