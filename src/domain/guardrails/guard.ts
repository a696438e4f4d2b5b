/** The guardrails that apply to a caller, compiled. */
import { GatewayError } from '../errors.ts'
import type { Caller } from '../identity/caller.ts'
import { compileMatchers, type Matcher } from './matcher.ts'
import type { CallHook, GuardrailRule, HookStage, HttpRule, MaxPromptRule, NamedRule, ToolsRule } from './rule.ts'

export interface Guard {
  readonly prompt: readonly Matcher[]
  readonly answer: readonly Matcher[]
  readonly maxPrompt: readonly NamedRule<MaxPromptRule>[]
  readonly tools: readonly NamedRule<ToolsRule>[]
  readonly hooks: Readonly<Record<HookStage, readonly NamedRule<HttpRule>[]>>
  readonly callHook: CallHook
}

/** Implemented by `features/guardrails`. */
export interface GuardrailsPort {
  /**
   * Undefined if no guardrail applies. A promise if they must be read first; it rejects with `database_unavailable`.
   */
  guardOf(caller: Caller): Guard | undefined | Promise<Guard | undefined>
}

/** @returns undefined without rules. Rejects with `invalid_value` for a pattern that is not RE2. */
export async function compileGuard(rules: readonly NamedRule[], callHook: CallHook): Promise<Guard | undefined> {
  if (rules.length === 0) return undefined
  const matchers = await compileMatchers(rules)
  const hooks = ofKind(rules, 'http')
  const hooksOf = (stage: HookStage) => hooks.filter(({ rule }) => rule.stages.includes(stage))
  return {
    prompt: matchers.filter(({ sides }) => sides.includes('prompt')),
    answer: matchers.filter(({ sides }) => sides.includes('answer')),
    maxPrompt: ofKind(rules, 'max_prompt'),
    tools: ofKind(rules, 'tools'),
    hooks: { pre: hooksOf('pre'), post: hooksOf('post'), stream: hooksOf('stream') },
    callHook,
  }
}

function ofKind<Kind extends GuardrailRule['kind']>(
  rules: readonly NamedRule[],
  kind: Kind,
): readonly NamedRule<Extract<GuardrailRule, { kind: Kind }>>[] {
  type Wanted = NamedRule<Extract<GuardrailRule, { kind: Kind }>>
  return rules.filter((named): named is NamedRule & Wanted => named.rule.kind === kind)
}

/** @param what Continues "The guardrail '…' blocked this request: ". Never the content itself. */
export function blocked(
  guardrail: string,
  what: string,
  {
    kind,
    param,
    side = 'request',
  }: { readonly kind: string; readonly param?: string; readonly side?: 'request' | 'answer' },
): GatewayError {
  const message = `The guardrail '${guardrail}' blocked this ${side}: ${what}`
  return new GatewayError('content_blocked', message, { param, details: { guardrail, rule: kind } })
}

const FOUND: Readonly<Record<string, string>> = {
  secrets: 'it contains a secret.',
  pii: 'it contains personal data.',
  regex: 'it contains forbidden text.',
}

export function blockedBy({ guardrail, kind }: Matcher, side: 'request' | 'answer', param?: string): GatewayError {
  const what = FOUND[kind] ?? 'it contains forbidden text.'
  return blocked(guardrail, what, { kind, side, ...(param !== undefined && { param }) })
}
