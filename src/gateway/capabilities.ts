import type { ChatRequest, ContentPart } from '../domain/chat.ts'
import { GatewayError } from '../domain/errors.ts'
import type { Model } from '../domain/model.ts'

/** Refuses, before any provider is called, what the model cannot do; the error names the parameter that asks for it. */
export function checkCapabilities({ messages, tools, responseFormat }: ChatRequest, model: Model): void {
  const { vision, function_calling: functions, json_mode: json } = model.capabilities
  if (tools !== undefined && !functions) throw cannot(model, 'call functions', 'tools')
  if (responseFormat !== undefined && responseFormat.type !== 'text' && !json) {
    throw cannot(model, 'answer in JSON mode', 'response_format')
  }
  if (vision) return
  for (const [i, { content }] of messages.entries()) {
    if (typeof content !== 'object' || content === null) continue
    const j = content.findIndex(isImage)
    if (j >= 0) throw cannot(model, 'read images', `messages[${i}].content[${j}]`)
  }
}

function isImage({ type }: ContentPart): boolean {
  return type === 'image_url'
}

function cannot(model: Model, what: string, param: string): GatewayError {
  const code = param.startsWith('messages') ? 'unsupported_content' : 'unsupported_parameter'
  return new GatewayError(code, `The model '${model.id}' cannot ${what}.`, { param })
}
