/**
 * The text of a resumable event stream: each block begins with its number, `id: 1` and so on, and ends with an empty line.
 */
import type { SavedAnswer } from './credit.ts'

export const EVENT_STREAM_TYPE = 'text/event-stream; charset=utf-8'

/** A comment, which clients ignore: fills silences of a stream. */
export const KEEP_ALIVE = ': keep-alive\n\n'

const DONE = 'data: [DONE]\n\n'
const BLOCK_END = '\n\n'

/** Returns the blocks of `text`, which must be complete, with their numbers. @param first Number of the first. */
export function numberedEvents(text: string, first: number): string[] {
  const blocks: string[] = []
  for (let from = 0; from < text.length; ) {
    const end = text.indexOf(BLOCK_END, from)
    const next = end < 0 ? text.length : end + BLOCK_END.length
    blocks.push(`id: ${first + blocks.length}\n${text.slice(from, next)}`)
    from = next
  }
  return blocks
}

/**
 * Returns the events after number `after` of an ended stream, or its last one if there are none. Text without numbers reports
 * the outcome of a stream and is returned unchanged.
 */
export function eventsAfter(text: string, after: number | undefined): string {
  if (after === undefined || after <= 0 || !text.startsWith('id: ')) return text
  const mark = `${BLOCK_END}id: ${after + 1}\n`
  const at = text.indexOf(mark)
  if (at >= 0) return text.slice(at + BLOCK_END.length)
  const lastEnd = text.lastIndexOf(BLOCK_END, text.length - BLOCK_END.length - 1)
  return lastEnd < 0 ? text : text.slice(lastEnd + BLOCK_END.length)
}

/** An error as the end of a stream that has begun. */
export interface BrokenEnd {
  readonly code: string
  readonly message: string
  /** The completion's ID if the process of the request has ended: it leads to the log. */
  readonly requestId: string
}

/** Renders the end of a stream that broke off after its status was sent. */
export function brokenEnd({ code, message, requestId }: BrokenEnd): string {
  return `data: ${JSON.stringify({ error: { type: 'upstream_error', message, code, request_id: requestId } })}\n\n${DONE}`
}

export function isEventStream({ headers }: Pick<SavedAnswer, 'headers'>): boolean {
  return headers['content-type']?.startsWith('text/event-stream') === true
}
