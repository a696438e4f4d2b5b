/** A whole answer, read into the same events as a stream. */
import type { ChatEvent } from '../../domain/chat.ts'
import { isRecord, type Json, parseJson, textOf } from '../../lib/json.ts'
import { brokenAnswer } from '../broken-answer.ts'
import { ProviderError } from '../protocol.ts'
import { type ContextEntry, renderContext } from './context.ts'
import { failureOf } from './errors.ts'
import { parseUsage } from './usage.ts'
import { ANSWER_TOOL, isClientCall, parseFinish } from './wire.ts'

/** Throws `ProviderError` for what is no answer: no JSON, no message. Without a stop reason there is no finish event. */
export function parseResponse(body: string): ChatEvent[] {
  const answer = parseJson(body)
  if (!isRecord(answer)) throw brokenAnswer('The provider answered with something that is not JSON.')
  const message = isRecord(answer['output']) ? answer['output']['message'] : undefined
  if (!isRecord(message)) throw new ProviderError(failureOf({ status: 200, type: '', body: answer }))
  const raw = textOf(answer['stopReason'])
  const reading: Reading = { events: [], entries: [], textLength: 0, calls: 0 }
  const blocks = Array.isArray(message['content']) ? message['content'] : []
  for (const block of blocks) if (isRecord(block)) readBlock(block, reading)
  const { events, entries, calls } = reading
  const context = renderContext(entries)
  if (context !== undefined) events.push({ type: 'extension', index: 0, field: 'provider_context', value: context })
  if (raw !== '') events.push({ type: 'finish', index: 0, reason: parseFinish(raw, calls > 0), raw })
  const usage = parseUsage(answer['usage'], answer['serviceTier'])
  if (usage !== undefined) events.push({ type: 'usage', usage })
  return events
}

interface Reading {
  readonly events: ChatEvent[]
  readonly entries: ContextEntry[]
  textLength: number
  calls: number
}

/** Blocks of other kinds are for nobody here: new ones are added. */
function readBlock(block: Json, reading: Reading): void {
  const { text, toolUse, reasoningContent, citationsContent } = block
  if (typeof text === 'string') readText(text, reading)
  if (isRecord(citationsContent)) readCited(citationsContent['content'], reading)
  if (isRecord(reasoningContent)) readReasoning(reasoningContent, reading)
  if (isRecord(toolUse) && isClientCall(toolUse)) readCall(toolUse, reading)
}

function readText(text: string, reading: Reading): void {
  if (text === '') return
  reading.textLength += text.length
  reading.events.push({ type: 'text', index: 0, text })
}

function readCited(pieces: unknown, reading: Reading): void {
  if (!Array.isArray(pieces)) return
  for (const piece of pieces) if (isRecord(piece)) readText(textOf(piece['text']), reading)
}

function readReasoning({ reasoningText, redactedContent }: Json, { events, entries, ...place }: Reading): void {
  const where = { textBefore: place.textLength, callsBefore: place.calls }
  const redacted = textOf(redactedContent)
  if (redacted !== '') entries.push({ redacted, ...where })
  if (!isRecord(reasoningText)) return
  const text = textOf(reasoningText['text'])
  const signature = textOf(reasoningText['signature'])
  if (text !== '') events.push({ type: 'reasoning', index: 0, text })
  if (signature !== '') entries.push({ text, signature, ...where })
}

function readCall(toolUse: Json, reading: Reading): void {
  const name = textOf(toolUse['name'])
  const input = JSON.stringify(toolUse['input'] ?? {})
  if (name === '') throw brokenAnswer('The provider called a tool without a name.')
  if (name === ANSWER_TOOL) {
    readText(input, reading)
    return
  }
  const toolIndex = reading.calls++
  const id = textOf(toolUse['toolUseId']) || `tooluse_${toolIndex}`
  reading.events.push({ type: 'tool-call', index: 0, toolIndex, id, name, arguments: input })
}
