/** The JSON values of a recorded answer, and tags for what they contain. */

import { parseJson } from '../../src/lib/json.ts'
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

/** Returns the JSON values of an answer, one per event of a stream; undefined for what is not JSON. */
export function valuesOf(recorded: Recorded, framing: UpstreamProtocol['framing']): unknown[] {
  if (!isEventStream(recorded)) return [parseJson(recorded.body.toString('utf8'))]
  const frames: Frame[] = []
  try {
    createDecoder(framing, { maxEventBytes: MAX_EVENT_BYTES }).push(recorded.body, frames)
  } catch {
    // broken framing is worth recording; the frames before it are kept
  }
  return frames.map(({ data }) => parseJson(data))
}

/** Returns tags of the content, by which tests select recordings. */
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
