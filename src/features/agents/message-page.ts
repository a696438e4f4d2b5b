/** Renders pages of messages: small ones at once, those of megabytes on the agents' worker thread. */
import { GatewayError } from '../../domain/errors.ts'
import type { Page } from '../../http/page.ts'
import { renderStoredMessage, type StoredMessage, type TranscriptPage } from '../../runner/loop/transcript-page.ts'
import { runTask } from '../../runner/loop/work-thread.ts'

/** Characters of stored messages that take less than a few milliseconds to render. */
const SMALL_PAGE = 256 * 1024
/** Larger pages that are rendered, or wait for it, at once. */
const MAX_LARGE_PAGES = 8
/** A compaction before it takes at most 10 s. */
const WAIT_MS = 30_000
const RETRY_AFTER_MS = 1_000

let largePages = 0

type MessagePage = Page<ReturnType<typeof renderStoredMessage>>

/** @returns The page, or its JSON in UTF-8. Rejects with 503 where too many large ones are under way, or it took too long. */
export async function renderMessages(page: TranscriptPage): Promise<MessagePage | Buffer> {
  if (sizeOf(page.data) <= SMALL_PAGE) return { ...page, data: page.data.map(renderStoredMessage) }
  if (largePages >= MAX_LARGE_PAGES) throw overloaded()
  largePages += 1
  const signal = AbortSignal.timeout(WAIT_MS)
  try {
    const { buffer, byteOffset, byteLength } = await runTask(signal, 'renderTranscriptPage', page)
    return Buffer.from(buffer, byteOffset, byteLength)
  } catch (error) {
    throw signal.aborted ? overloaded(error) : error
  } finally {
    largePages -= 1
  }
}

function sizeOf(messages: readonly StoredMessage[]): number {
  return messages.reduce((sum, { content }) => sum + content.length, 0)
}

function overloaded(cause?: unknown): GatewayError {
  const message = 'Too many large pages of messages are being rendered; try again, or ask for fewer messages.'
  return new GatewayError('overloaded', message, { retryAfterMs: RETRY_AFTER_MS, cause })
}
