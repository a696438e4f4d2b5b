/** Custom tools: free text in place of JSON arguments, which only the originator of the chat-completions format has. */
import type { ChatRequest } from '../domain/chat.ts'
import { GatewayError } from '../domain/errors.ts'

/** @throws GatewayError `unsupported_parameter` for a custom tool, or for the call of one in the conversation. */
export function refuseCustomTools({ tools = [], messages }: ChatRequest): void {
  const position = tools.findIndex(({ custom }) => custom !== undefined)
  if (position >= 0) throw unsupported(`tools[${position}].type`)
  for (let at = 0; at < messages.length; at++) {
    const called = messages[at]?.tool_calls?.findIndex(({ custom }) => custom) ?? -1
    if (called >= 0) throw unsupported(`messages[${at}].tool_calls[${called}].type`)
  }
}

function unsupported(param: string): GatewayError {
  return new GatewayError('unsupported_parameter', 'The provider of this model does not support custom tools.', {
    param,
  })
}
