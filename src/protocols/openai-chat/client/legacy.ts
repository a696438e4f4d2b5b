/**
 * Messages from before tool calls had IDs: an assistant's `function_call`, and its result under the role `function`,
 * which names only the function. They become tool calls, with IDs made from the calling message's place.
 */
import { isAbsent, isObject, type JsonObject, objectAt, refuse, stringAt } from './checks.ts'

interface PendingCall {
  readonly id: string
  readonly name: string
}

/** The same array when nothing in it is of the older form. Other faults are left for those who check messages. */
export function modernMessages(messages: readonly unknown[]): readonly unknown[] {
  if (!messages.some(isLegacy)) return messages
  let pending: PendingCall | undefined
  return messages.map((message, at) => {
    if (!isObject(message) || !isLegacy(message)) return message
    if (message['role'] === 'function') return toolResult(message, pending, `messages[${at}]`)
    const { function_call: call, ...rest } = message
    if (!isAbsent(rest['tool_calls'])) {
      const param = `messages[${at}].function_call`
      refuse('invalid_value', param, `Send \`tool_calls\` or \`function_call\`, not both, in \`messages[${at}]\`.`)
    }
    const called = calledFunction(call, `messages[${at}].function_call`)
    pending = { id: `call_${at}`, name: called.name }
    return { ...rest, tool_calls: [{ id: pending.id, type: 'function', function: called }] }
  })
}

function isLegacy(message: unknown): boolean {
  if (!isObject(message)) return false
  return message['role'] === 'function' || (message['role'] === 'assistant' && !isAbsent(message['function_call']))
}

function calledFunction(value: unknown, param: string): { name: string; arguments: string } {
  const call = objectAt(value, param)
  return { name: stringAt(call['name'], `${param}.name`), arguments: stringAt(call['arguments'], `${param}.arguments`) }
}

function toolResult(message: JsonObject, pending: PendingCall | undefined, place: string): JsonObject {
  const { name, ...rest } = message
  if (stringAt(name, `${place}.name`) !== pending?.name) {
    refuse('invalid_value', `${place}.name`, `\`${place}\` answers a function that no message before it has called.`)
  }
  return { ...rest, role: 'tool', tool_call_id: pending.id, content: message['content'] ?? '' }
}
