/** What is in a recorded answer, as far as a recorder needs to know: its JSON values, and words for what they hold. */
import { createDecoder } from '../../src/protocols/framing.ts'
import type { Frame, UpstreamProtocol } from '../../src/protocols/protocol.ts'
import type { Recorded } from './recording-transport.ts'

const MAX_EVENT_BYTES = 16 * 1024 * 1024

export function isEventStream({ head, body }: Recorded): boolean {
  const type = head.headers['content-type'] ?? ''
  return (
    type.includes('event') || (head.status < 300 && /^(?:event|data|id|retry)?:/.test(body.toString('latin1', 0, 8)))
  )
}

/** The JSON values of an answer, one for each event of a stream. What is no JSON is left out: it is looked at raw. */
export function valuesOf(recorded: Recorded, framing: UpstreamProtocol['framing']): unknown[] {
  if (!isEventStream(recorded)) return [parsed(recorded.body.toString('utf8'))]
  const frames: Frame[] = []
  try {
    createDecoder(framing, { maxEventBytes: MAX_EVENT_BYTES }).push(recorded.body, frames)
  } catch {
    // a framing that breaks is worth recording; what came before it is there
  }
  return frames.map(({ data }) => parsed(data))
}

/** @returns undefined for what is no JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** What is in it, in words that tests choose recordings by. */
export function tagsOf(values: readonly unknown[], { stream, body }: { stream: boolean; body: Buffer }): string[] {
  const tags = new Set<string>(stream ? ['stream'] : [])
  for (const value of values) tagValue(value, tags)
  if (/^data: ?\[DONE\]/m.test(body.toString('latin1'))) tags.add('done-sentinel')
  return [...tags].sort()
}

const TAGGED: Readonly<Record<string, string>> = {
  usage: 'usage',
  usageMetadata: 'usage',
  error: 'error-object',
  tool_calls: 'tool-call',
  functionCall: 'tool-call',
  toolUse: 'tool-call',
  reasoning_content: 'reasoning',
  reasoning: 'reasoning',
  thinking: 'reasoning',
  reasoningContent: 'reasoning',
}

function tagValue(value: unknown, tags: Set<string>): void {
  if (typeof value !== 'object' || value === null) return
  for (const [key, child] of Object.entries(value)) {
    const tag = Object.hasOwn(TAGGED, key) ? TAGGED[key] : undefined
    if (tag !== undefined && child !== null && child !== '') tags.add(tag)
    if (/^(?:finish|stop)_?reason$/i.test(key) && typeof child === 'string') tags.add(`fr:${child}`)
    tagValue(child, tags)
  }
}
