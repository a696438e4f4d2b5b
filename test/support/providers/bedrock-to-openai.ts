/** Turns a recorded Converse body into the OpenAI request that asks for the same, for the fields recordings have. */
import type { ChatRequest } from '../../../src/domain/chat.ts'
import { parseChatRequest } from '../../../src/protocols/openai-chat/client/request.ts'

// biome-ignore lint/suspicious/noExplicitAny: a recording is any JSON
type Anything = any

/** @returns the request, or why there is none. */
export function bedrockToOpenAi(body: Anything, stream: boolean): ChatRequest | string {
  if (body.guardrailConfig) return 'guardrails are configured at the provider, not in the request'
  const messages = [
    ...(body.system ?? []).map(({ text }: Anything) => ({ role: 'system', content: text })),
    ...body.messages.flatMap(messagesOf),
  ]
  const { maxTokens, temperature, topP, stopSequences } = body.inferenceConfig ?? {}
  const effort = body.additionalModelRequestFields?.reasoningConfig?.maxReasoningEffort
  const request = {
    model: 'any',
    messages,
    stream,
    ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(stopSequences === undefined ? {} : { stop: stopSequences }),
    ...(body.toolConfig ? { tools: body.toolConfig.tools.map(toolOf) } : {}),
    ...(effort === undefined ? {} : { reasoning_effort: effort }),
  }
  return parseChatRequest(JSON.parse(JSON.stringify(request)))
}

function messagesOf({ role, content }: Anything): Anything[] {
  const results = content.filter((block: Anything) => block.toolResult)
  const texts = content.filter((block: Anything) => typeof block.text === 'string')
  const text = texts.map((block: Anything) => block.text).join('')
  const calls = content.filter((block: Anything) => block.toolUse).map(callOf)
  const messages = results.map(({ toolResult }: Anything) => ({
    role: 'tool',
    tool_call_id: toolResult.toolUseId,
    content: toolResult.content[0].text,
  }))
  if (role === 'assistant') return [{ role, content: text, ...(calls.length > 0 ? { tool_calls: calls } : {}) }]
  return text === '' ? messages : [...messages, { role, content: text }]
}

function callOf({ toolUse: { toolUseId, name, input } }: Anything): Anything {
  return { id: toolUseId, type: 'function', function: { name, arguments: JSON.stringify(input) } }
}

function toolOf({ toolSpec: { name, description, inputSchema } }: Anything): Anything {
  return { type: 'function', function: { name, description, parameters: inputSchema.json } }
}
