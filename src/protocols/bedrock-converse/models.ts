/**
 * What the families of models behind the service take, as data: the service hands parameters on to a model in the
 * words of its maker, and answers those that the model does not know with an error.
 *
 * Sources, read 2026-11-20: https://docs.aws.amazon.com/bedrock/latest/userguide/claude-messages-extended-thinking.html,
 * https://docs.aws.amazon.com/nova/latest/nova2-userguide/extended-thinking.html,
 * https://docs.aws.amazon.com/bedrock/latest/userguide/structured-output.html
 */
import { type ModelTraits, traitsOf } from '../anthropic-messages/models.ts'

export type ModelFamily =
  /** Thinking in the words of its maker, whose facts hold here too. */
  | { readonly kind: 'claude'; readonly traits: ModelTraits }
  /** `reasoningConfig` with three levels. */
  | { readonly kind: 'nova' }
  /** `reasoning_effort` with three levels. */
  | { readonly kind: 'gpt-oss' }
  /** Nothing is known, as of everything that is named by a resource name alone. */
  | { readonly kind: 'other' }

/** @param model The name of a model or inference profile, or an ARN. */
export function familyOf(model: string): ModelFamily {
  const name = model.toLowerCase()
  if (/claude-/.test(name)) return { kind: 'claude', traits: traitsOf(name) }
  if (/\bnova-\d/.test(name)) return { kind: 'nova' }
  if (/\bgpt-oss\b/.test(name)) return { kind: 'gpt-oss' }
  return { kind: 'other' }
}

/** Whether an answer can be held to a JSON Schema; what is not known is the service's to say. */
export function holdsToSchema(family: ModelFamily): boolean {
  if (family.kind === 'claude') return family.traits.structuredOutput
  return family.kind === 'other'
}

/** Whether a conversation may end with the beginning of the answer. */
export function takesPrefill(family: ModelFamily): boolean {
  return family.kind !== 'claude' || family.traits.prefill
}
