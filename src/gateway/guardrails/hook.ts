/** Sends texts to the hook of a guardrail and applies its verdict. */
import { blocked, type Guard } from '../../domain/guardrails/guard.ts'
import type { HookQuestion, HttpRule, NamedRule } from '../../domain/guardrails/rule.ts'

/**
 * @returns the texts as the hook leaves them. Rejects with `content_blocked`, also if a required hook did not answer.
 */
export async function askHook(
  { callHook }: Guard,
  named: NamedRule<HttpRule>,
  question: HookQuestion,
): Promise<readonly string[]> {
  const { texts, stage } = question
  if (texts.length === 0) return texts
  const { guardrail, rule } = named
  const side = stage === 'pre' ? 'request' : 'answer'
  const verdict = await callHook(named, question)
  if (verdict === undefined) {
    if (rule.fail === 'open') return texts
    throw blocked(guardrail, 'its hook did not answer, and the guardrail requires its verdict.', {
      kind: rule.kind,
      side,
    })
  }
  if (verdict.action === 'block') {
    throw blocked(guardrail, verdict.reason ?? 'its hook rejected the content.', { kind: rule.kind, side })
  }
  return verdict.action === 'mask' && rule.action === 'mask' ? (verdict.texts ?? texts) : texts
}
