/** A whole answer, read into the same events as a stream. */
import type { ChatEvent } from '../../domain/chat.ts'
import { isRecord, type Json, parseJson } from '../../lib/json.ts'
import { brokenAnswer } from '../broken-answer.ts'
import { type AnswerState, newAnswer, readAnswer, tellContext } from './candidate.ts'

/**
 * Throws `ProviderError` for what is no whole answer: no JSON, an `error` in its place, no candidates, a candidate that
 * broke down or holds nothing. One without a finish reason gets no finish event: none is ever invented.
 * A prompt that was blocked is an answer with finish reason `content_filter`. A list is a stream that was not asked to
 * come as events: its items are chunks of one answer.
 */
export function parseResponse(body: string): ChatEvent[] {
  const state = newAnswer()
  const events: ChatEvent[] = []
  for (const answer of answersOf(parseJson(body))) readAnswer(state, answer, { source: body, events })
  endChoices(state)
  return events
}

function answersOf(body: unknown): readonly Json[] {
  const answers: readonly unknown[] = Array.isArray(body) ? body : [body]
  return answers.map((answer) => {
    if (isRecord(answer)) return answer
    throw brokenAnswer('The provider answered with something that is not a JSON object.')
  })
}

function endChoices(state: AnswerState): void {
  if (state.choices.length === 0) throw brokenAnswer('The provider answered without candidates.')
  for (const choice of state.choices) {
    if (choice === undefined) throw brokenAnswer('The provider left out a candidate.')
    if (choice.finish !== undefined) continue
    const { textLength, callCount } = choice
    if (textLength + callCount + choice.images.length === 0 || choice.open !== undefined) {
      throw brokenAnswer('The provider answered with an unfinished candidate.')
    }
    tellContext(choice)
  }
}
