/** A whole answer, read into the same events as a stream. */
import type { ChatEvent } from '../../domain/chat.ts'
import { isRecord, type Json, parseJson, textOf } from '../../lib/json.ts'
import { brokenAnswer } from '../broken-answer.ts'
import { ProviderError } from '../protocol.ts'
import { type ContextEntry, renderContext } from './context.ts'
import { failureOf } from './errors.ts'
import { readCounts, usageOf } from './usage.ts'
import { ANSWER_TOOL, madeUpCallId, parseFinish } from './wire.ts'

interface Reading {
  readonly messageId: string
  readonly events: ChatEvent[]
  readonly entries: ContextEntry[]
  toolCount: number
}

/**
 * Throws `ProviderError` for what is no answer: no JSON, an error in its place, no content. An empty content is an
 * answer; one without a stop reason has no finish event.
 */
export function parseResponse(body: string): ChatEvent[] {
  const answer = parseAnswer(body)
  const { content, stop_reason: reason } = answer
  if (!Array.isArray(content)) throw brokenAnswer('The provider answered without content.')
  const reading: Reading = { messageId: textOf(answer['id']), events: [], entries: [], toolCount: 0 }
  for (const block of content) if (isRecord(block)) readBlock(block, reading)
  const raw = textOf(reason)
  const { events, entries, toolCount } = reading
  const context = renderContext(entries)
  if (context !== undefined) events.push({ type: 'extension', index: 0, field: 'provider_context', value: context })
  if (raw !== '') events.push({ type: 'finish', index: 0, reason: parseFinish(raw, toolCount > 0), raw })
  const usage = usageOf(readCounts(answer['usage']))
  if (usage !== undefined) events.push({ type: 'usage', usage })
  return events
}

function parseAnswer(body: string): Json {
  const answer = parseJson(body)
  if (!isRecord(answer)) throw brokenAnswer('The provider answered with something that is not JSON.')
  if (answer['type'] === 'error' || isRecord(answer['error'])) throw new ProviderError(failureOf(answer, 200))
  return answer
}

/** Blocks of other types are the provider's own business: its tools, its containers, and whatever is added later. */
function readBlock(block: Json, reading: Reading): void {
  const { events, entries } = reading
  const { type, text, thinking, signature, data } = block
  if (type === 'text') readText(textOf(text), reading)
  else if (type === 'tool_use') readCall(block, reading)
  else if (type === 'redacted_thinking' && textOf(data) !== '') entries.push({ type, data: textOf(data) })
  else if (type === 'thinking') {
    entries.push({ type, thinking: textOf(thinking), signature: textOf(signature) })
    if (textOf(thinking) !== '') events.push({ type: 'reasoning', index: 0, text: textOf(thinking) })
  }
}

function readText(text: string, { events, entries }: Reading): void {
  if (text === '') return
  events.push({ type: 'text', index: 0, text })
  entries.push({ type: 'text', length: text.length })
}

function readCall(block: Json, reading: Reading): void {
  const { events, entries, messageId } = reading
  const name = textOf(block['name'])
  if (name === '') throw brokenAnswer('The provider called a tool without a name.')
  const input = JSON.stringify(block['input'] ?? {})
  if (name === ANSWER_TOOL) {
    readText(input, reading)
    return
  }
  const toolIndex = reading.toolCount++
  const id = textOf(block['id']) || madeUpCallId(messageId, toolIndex)
  events.push({ type: 'tool-call', index: 0, toolIndex, id, name, arguments: input })
  entries.push({ type: 'tool_use', id })
}
