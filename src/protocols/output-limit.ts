/** The one rule of how long an answer may be, for every protocol: what is sent never exceeds what is held. */
import type { ChatRequest } from '../domain/chat.ts'
import type { RenderTarget } from './protocol.ts'

/** Tokens of one answer at most; undefined: neither client nor gateway said, which only tests of a codec do. */
export function outputLimitOf(
  { maxTokens: asked }: Pick<ChatRequest, 'maxTokens'>,
  { outputTokens: held }: RenderTarget,
): number | undefined {
  if (asked === undefined || held === undefined) return asked ?? held
  return Math.min(asked, held)
}
