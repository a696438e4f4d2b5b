/** Guardrails: rules of an account about what its prompts and answers may contain. See docs/guardrails.md. */
import type { KeyId } from '../ids.ts'

/** `mask` replaces a match, `block` rejects the request or ends its answer. */
export const GUARDRAIL_ACTIONS = ['mask', 'block'] as const
export type GuardrailAction = (typeof GUARDRAIL_ACTIONS)[number]

export const GUARDRAIL_SIDES = ['prompt', 'answer'] as const
export type GuardrailSide = (typeof GUARDRAIL_SIDES)[number]

export const PII_TYPES = ['email', 'phone', 'credit_card', 'iban', 'us_ssn', 'ip_address'] as const
export type PiiType = (typeof PII_TYPES)[number]

export const HOOK_STAGES = ['pre', 'post', 'stream'] as const
export type HookStage = (typeof HOOK_STAGES)[number]

interface ContentRule {
  readonly action: GuardrailAction
  /** Absent applies to both. */
  readonly applies_to?: readonly GuardrailSide[]
}
export interface SecretsRule extends ContentRule {
  readonly kind: 'secrets'
}
export interface PiiRule extends ContentRule {
  readonly kind: 'pii'
  /** Absent selects all but `ip_address`. */
  readonly types?: readonly PiiType[]
}
export interface RegexRule extends ContentRule {
  readonly kind: 'regex'
  /** RE2 syntax. */
  readonly pattern?: string
  /** Whole words or phrases. */
  readonly words?: readonly string[]
  /** Absent: words ignore case, patterns do not. */
  readonly ignore_case?: boolean
  /** Absent: `[REDACTED]`. */
  readonly replacement?: string
  /** The characters of an answer that are withheld to find a match that arrives in pieces. */
  readonly window?: number
}
export interface MaxPromptRule {
  readonly kind: 'max_prompt'
  readonly action: 'block'
  readonly max_characters?: number
  readonly max_tokens?: number
}
export interface ToolsRule {
  readonly kind: 'tools'
  readonly action: 'block'
  /** The names of tools that requests may have. */
  readonly allowed: readonly string[]
}
export interface HttpRule {
  readonly kind: 'http'
  /** The strongest action that the hook may request: under `block`, masking is ignored. */
  readonly action: GuardrailAction
  readonly url: string
  readonly stages: readonly HookStage[]
  readonly timeout_ms: number
  /** The behaviour if the hook does not answer. */
  readonly fail: 'open' | 'closed'
}
export type GuardrailRule = SecretsRule | PiiRule | RegexRule | MaxPromptRule | ToolsRule | HttpRule

/** A rule with the name of its guardrail. */
export interface NamedRule<Rule extends GuardrailRule = GuardrailRule> {
  readonly guardrail: string
  readonly rule: Rule
}

export interface HookQuestion {
  readonly stage: HookStage
  readonly request_id: string
  /** Absent if the request is not traced. */
  readonly trace_id?: string | undefined
  readonly key_id: KeyId
  readonly model: string
  /** Texts of the prompt or of the answer, in order. */
  readonly texts: readonly string[]
}

export interface HookVerdict {
  readonly action: 'allow' | 'mask' | 'block'
  /** The reason, which the client receives. */
  readonly reason?: string
  /** With `mask`: as many texts as were sent, in the same order. */
  readonly texts?: readonly string[]
}

/** Calls the hook of a rule. Undefined if it did not answer as documented in time. Never rejects. */
export type CallHook = (named: NamedRule<HttpRule>, question: HookQuestion) => Promise<HookVerdict | undefined>
