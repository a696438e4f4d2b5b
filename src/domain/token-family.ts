/** How far the bound of `token-bound.ts` holds for a model, by its name: whose tokenizer it has. */

export interface TokenFamily {
  /** What the bound is multiplied by where the tokenizer is not one of those that were measured. */
  readonly margin: number
  /** Tokens of a request beside its text: templates, and instructions that the provider adds. */
  readonly request: number
  /** The tokenizer that counts exactly for it. */
  readonly exact: 'o200k_base' | undefined
}

const MEASURED: TokenFamily = { margin: 1, request: 160, exact: undefined }

const FAMILIES: readonly (readonly [pattern: RegExp, family: TokenFamily])[] = [
  [/gpt-|chatgpt|(?:^|\/)o[1-9]/, { ...MEASURED, exact: 'o200k_base' }],
  [/gemini|gemma|llama-?[34]|qwen|deep-?seek|m(?:in|ag)?istral|codestral|devstral|pixtral/, MEASURED],
  // Not published. Newer ones make up to 1.35 times the tokens of those before.
  // Source: https://platform.claude.com/docs/en/models/opus-4-7/migration-guide
  [/claude/, { margin: 1.5, request: 160, exact: undefined }],
  // "Hi" alone is counted as several hundred tokens.
  [/grok/, { margin: 1.5, request: 1024, exact: undefined }],
]
const UNKNOWN: TokenFamily = { margin: 1.5, request: 512, exact: undefined }

/** Whether its name says whose tokenizer a model has. */
export function isKnownModel(model: string): boolean {
  return tokenFamilyOf(model) !== UNKNOWN
}

/** @param model The provider's own name of it. */
export function tokenFamilyOf(model: string): TokenFamily {
  const name = model.toLowerCase()
  return FAMILIES.find(([pattern]) => pattern.test(name))?.[1] ?? UNKNOWN
}
