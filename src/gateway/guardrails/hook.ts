/** Asks the hook of a guardrail about texts, and does what it says. */
import { blocked, type Guard } from '../../domain/guardrails/guard.ts'
import type { HookQuestion, HttpRule, NamedRule } from '../../domain/guardrails/rule.ts'

/** @returns the texts as they may go on. Rejects with `content_blocked`, also where a hook that must answer did not. */
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
    throw blocked(guardrail, 'its hook did not answer, and nothing passes without it.', { kind: rule.kind, side })
  }
  if (verdict.action === 'block') {
    throw blocked(guardrail, verdict.reason ?? 'its hook rejected the content.', { kind: rule.kind, side })
  }
  return verdict.action === 'mask' && rule.action === 'mask' ? (verdict.texts ?? texts) : texts
}
