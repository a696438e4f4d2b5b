/**
 * The parts of the wire that several files read, checked by hand. What is not what it should be reads as absent, unless
 * the answer would lose something by it.
 *
 * Source: https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html, and recorded answers.
 */
import type { FinishReason } from '../../domain/chat.ts'
import type { Json } from '../../lib/json.ts'
import { brokenAnswer } from '../broken-answer.ts'

/** A content block on its way out. */
export type Block = Record<string, unknown>

/**
 * The tool that stands for the answer itself, on models that cannot be held to a JSON Schema otherwise: a call of it is
 * text. Requests with a tool of this name are refused.
 */
export const ANSWER_TOOL = 'turnpike_json_answer'

const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  guardrail_intervened: 'content_filter',
  content_filtered: 'content_filter',
}

/** Words in the place of a stop reason that say that there is no whole answer. */
const BREAKDOWNS: readonly string[] = ['malformed_model_output', 'malformed_tool_use']

/**
 * An unknown reason is a normal end: new ones are added. Throws `ProviderError` for those that say that the model broke
 * down.
 * @param calledTools Whether the client's tools were called; `tool_use` alone may be the answer tool.
 */
export function parseFinish(raw: string, calledTools: boolean): FinishReason {
  if (BREAKDOWNS.includes(raw)) throw brokenAnswer('The model wrote an answer that could not be read.')
  const reason = Object.hasOwn(FINISH_REASONS, raw) ? FINISH_REASONS[raw] : undefined
  return reason ?? (calledTools ? 'tool_calls' : 'stop')
}

/** Calls of tools that the service runs by itself are none of the client's. */
export function isClientCall(toolUse: Json): boolean {
  return toolUse['type'] !== 'server_tool_use'
}
