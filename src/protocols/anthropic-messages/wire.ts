/**
 * The parts of the wire that several files read, checked by hand. What is not what it should be reads as absent, unless
 * the answer would lose something by it.
 *
 * Source: https://platform.claude.com/docs/en/api/messages, and recorded answers.
 */
import type { FinishReason } from '../../domain/chat.ts'

/** A content block on its way out. */
export type Block = Record<string, unknown>

/**
 * The tool that stands for the answer itself, on models that cannot be held to a JSON Schema otherwise: a call of it is
 * text. Requests with a tool of this name are refused.
 */
export const ANSWER_TOOL = 'turnpike_json_answer'

const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  pause_turn: 'stop',
  tool_use: 'stop',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'content_filter',
}

/**
 * An unknown reason is a normal end: new ones are added.
 * @param calledTools Whether the client's tools were called; `tool_use` alone may be the answer tool.
 */
export function parseFinish(raw: string, calledTools: boolean): FinishReason {
  const reason = Object.hasOwn(FINISH_REASONS, raw) ? FINISH_REASONS[raw] : undefined
  return (reason ?? 'stop') === 'stop' ? (calledTools ? 'tool_calls' : 'stop') : (reason ?? 'stop')
}

/** For hosts that give calls no id: unique within a conversation as far as the host's message ids are. */
export function madeUpCallId(messageId: string, toolIndex: number): string {
  return `toolu_${messageId.replace(/[^A-Za-z0-9_-]/g, '').slice(-24)}_${toolIndex}`
}
