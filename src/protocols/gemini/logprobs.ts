/** Log probabilities of a candidate in the shape that clients read. */
import { isRecord, type Json, textOf } from '../../lib/json.ts'

interface TokenLogprob {
  readonly token: string
  readonly logprob: number
  /** UTF-8. */
  readonly bytes: readonly number[]
}

/**
 * @param result A candidate's `logprobsResult`: `{chosenCandidates: [{token, logProbability}], topCandidates:
 * [{candidates: […]}]}`, the two lists step by step.
 * @returns `{content: [{token, logprob, bytes, top_logprobs}], refusal: null}`; undefined when nothing is said.
 */
export function parseLogprobs(result: unknown): Json | undefined {
  if (!isRecord(result)) return undefined
  const chosen = recordsOf(result.chosenCandidates)
  if (chosen.length === 0) return undefined
  const tops = recordsOf(result.topCandidates)
  const content = chosen.map((candidate, step) => ({
    ...tokenLogprob(candidate),
    top_logprobs: recordsOf(tops[step]?.candidates).map(tokenLogprob),
  }))
  return { content, refusal: null }
}

function tokenLogprob({ token, logProbability }: Json): TokenLogprob {
  const text = textOf(token)
  return {
    token: text,
    logprob: typeof logProbability === 'number' ? logProbability : 0,
    bytes: [...Buffer.from(text)],
  }
}

function recordsOf(list: unknown): readonly Json[] {
  return Array.isArray(list) ? list.filter(isRecord) : []
}
