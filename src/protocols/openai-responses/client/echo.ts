/**
 * The fields of a response that repeat its request, with the API's defaults. They follow the Open Responses contract, which
 * requires each of them.
 */

import { isRecord, type Json } from '../../../lib/json.ts'
import { isAbsent } from '../../openai-chat/client/checks.ts'
import type { StoredContext } from './stored.ts'

/** Efforts in the contract; others are in OpenAI's API alone. */
const EFFORTS: ReadonlySet<unknown> = new Set(['none', 'low', 'medium', 'high', 'xhigh'])

/** @param body A request that has been validated. @param context Undefined: responses are not stored. */
export function echoOf(body: Json, context?: StoredContext): Json {
  const { reasoning, text, tools } = body
  return {
    background: false,
    frequency_penalty: body['frequency_penalty'] ?? 0,
    instructions: body['instructions'] ?? null,
    max_output_tokens: body['max_output_tokens'] ?? null,
    max_tool_calls: body['max_tool_calls'] ?? null,
    metadata: body['metadata'] ?? {},
    parallel_tool_calls: body['parallel_tool_calls'] ?? true,
    presence_penalty: body['presence_penalty'] ?? 0,
    previous_response_id: context?.previousId ?? null,
    prompt_cache_key: body['prompt_cache_key'] ?? null,
    reasoning: echoReasoning(reasoning),
    safety_identifier: body['safety_identifier'] ?? null,
    store: context?.store ?? false,
    temperature: body['temperature'] ?? 1,
    text: echoText(text),
    tool_choice: body['tool_choice'] ?? 'auto',
    tools: Array.isArray(tools) ? tools.map(echoTool) : [],
    top_logprobs: body['top_logprobs'] ?? 0,
    top_p: body['top_p'] ?? 1,
    truncation: 'disabled',
    ...(body['user'] !== undefined && { user: body['user'] }),
  }
}

function echoReasoning(reasoning: unknown): Json {
  const { effort, summary } = isRecord(reasoning) ? reasoning : {}
  return { effort: EFFORTS.has(effort) ? effort : null, summary: summary ?? null }
}

/** The contract has no schema in the format of an answer. */
function echoText(text: unknown): Json {
  const { format, verbosity } = isRecord(text) ? text : {}
  const shown = isAbsent(verbosity) ? {} : { verbosity }
  if (!isRecord(format)) return { format: { type: 'text' }, ...shown }
  const { type, name, description = null, strict } = format
  if (type !== 'json_schema') return { format: { type }, ...shown }
  return { format: { type, name, description, schema: null, strict: strict === true }, ...shown }
}

function echoTool(tool: unknown): unknown {
  if (!isRecord(tool) || tool['type'] !== 'function') return tool
  const { type, name, description = null, parameters = null, strict = null } = tool
  return { type, name, description, parameters, strict }
}
