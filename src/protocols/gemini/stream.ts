/** A streamed answer: every chunk has the shape of a whole answer, and says only what is new but for the usage. */

import { isRecord, type Json, parseJson } from '../../lib/json.ts'
import { brokenAnswer } from '../broken-answer.ts'
import { type Frame, ProviderError, type StreamParser } from '../protocol.ts'
import { type AnswerState, newAnswer, readAnswer, tellContext } from './candidate.ts'
import { failureOf } from './errors.ts'

/**
 * One per call. Complete is a stream in which every choice that appeared has its finish reason. The wire has no last
 * frame: some models say a finish reason in every chunk, so that only the end of the body is the end. A finish event
 * may come twice for a choice, when later chunks say more than `stop`: the later counts.
 */
export function streamParser(): StreamParser {
  const state = newAnswer()
  let isDone = false
  return {
    push(frame, events) {
      isDone ||= frame.data.startsWith('[DONE]')
      if (isDone) return true
      const chunk = parseChunk(frame)
      if (chunk !== undefined) readAnswer(state, chunk, { source: frame.data, events })
      return false
    },
    end(events) {
      if (!isComplete(state)) throw brokenAnswer('The provider closed the stream before the end of the answer.')
      for (const choice of state.choices) {
        if (choice === undefined) continue
        choice.events = events
        tellContext(choice)
      }
    },
  }
}

/** @returns undefined for frames that say nothing: blank data, and event types that are not of this format. */
function parseChunk({ data, event }: Frame): Json | undefined {
  const chunk = parseJson(data)
  if (event === 'error') {
    const isWrapped = Array.isArray(chunk) || (isRecord(chunk) && 'error' in chunk)
    throw new ProviderError(failureOf(isWrapped ? chunk : { error: chunk ?? data }, 200))
  }
  if (isRecord(chunk)) return chunk
  if (Array.isArray(chunk) && isRecord(chunk[0]) && 'error' in chunk[0]) throw new ProviderError(failureOf(chunk, 200))
  if (data.trim() === '' || (event !== '' && event !== 'message')) return undefined
  throw brokenAnswer('The provider sent a chunk that cannot be read.')
}

function isComplete(state: AnswerState): boolean {
  let seen = 0
  for (const choice of state.choices) {
    if (choice === undefined) continue
    if (choice.finish === undefined) return false
    seen++
  }
  return seen > 0
}
