/**
 * What the models of this format support, as data: the API rejects parameters that a model does not support. A version
 * that is not listed counts as the latest one before it.
 *
 * Sources, read 2026-11-20: https://platform.claude.com/docs/en/models/opus-5-5/migration-guide and the guides of the
 * other models; https://platform.claude.com/docs/en/build-with-claude/thinking, /effort and /structured-outputs.
 */

/** Values of `output_config.effort`, weakest first. */
export type Effort = 'low' | 'medium' | 'high' | 'xhigh' | 'max'

export interface ModelTraits {
  /** How thinking is requested: by a budget in tokens, or adaptive under an effort. */
  readonly thinking: 'none' | 'budget' | 'adaptive'
  /** Whether it thinks by default. */
  readonly thinksByDefault: boolean
  /** The `thinking.type` that switches thinking off; undefined where nothing does. */
  readonly thinkingOff: 'disabled' | 'between_tools' | undefined
  /** Whether the text of its thinking is omitted by default. */
  readonly hidesThinking: boolean
  /** Whether its thinking is only valid after the unchanged conversation that led to it. */
  readonly bindsThinking: boolean
  /** Empty where thinking is not adaptive. */
  readonly efforts: readonly Effort[]
  /** `temperature` and `top_p`: both may be sent, one of them, or neither. */
  readonly sampling: 'both' | 'one' | 'none'
  /** Whether it supports JSON Schemas for answers (`output_config.format`) and tool calls (`strict`). */
  readonly structuredOutput: boolean
  /** Whether a tool call can be forced (`tool_choice` of type `any` or `tool`). */
  readonly forcedTools: boolean
  /** Whether a conversation may end with the beginning of the answer. */
  readonly prefill: boolean
  /** The largest output in tokens. */
  readonly maxOutputTokens: number
}

/** The traits of models before thinking. */
const CLASSIC: ModelTraits = {
  thinking: 'none',
  thinksByDefault: false,
  thinkingOff: undefined,
  hidesThinking: false,
  bindsThinking: false,
  efforts: [],
  sampling: 'both',
  structuredOutput: false,
  forcedTools: true,
  prefill: true,
  maxOutputTokens: 4096,
}
const BUDGET: ModelTraits = { ...CLASSIC, thinking: 'budget', thinkingOff: 'disabled', maxOutputTokens: 64_000 }
/** A model of another vendor behind this format. */
const OTHER_VENDOR: ModelTraits = { ...BUDGET, maxOutputTokens: 8192 }
const STRUCTURED: ModelTraits = { ...BUDGET, sampling: 'one', structuredOutput: true }
const ADAPTIVE: ModelTraits = {
  ...STRUCTURED,
  thinking: 'adaptive',
  efforts: ['low', 'medium', 'high', 'max'],
  prefill: false,
  maxOutputTokens: 128_000,
}
const UNSAMPLED: ModelTraits = {
  ...ADAPTIVE,
  efforts: ['low', 'medium', 'high', 'xhigh', 'max'],
  hidesThinking: true,
  sampling: 'none',
}
const THINKING: ModelTraits = { ...UNSAMPLED, thinksByDefault: true }
const ALWAYS_THINKING: ModelTraits = { ...THINKING, thinkingOff: undefined, bindsThinking: true, forcedTools: false }

type Version = readonly [major: number, minor: number]
interface Row {
  readonly family: string
  /** The first version that this holds for. */
  readonly from: Version
  readonly traits: ModelTraits
}

/** Later rows of a family come before earlier ones. */
const ROWS: readonly Row[] = [
  { family: 'opus', from: [5, 5], traits: ALWAYS_THINKING },
  { family: 'opus', from: [5, 0], traits: THINKING },
  { family: 'opus', from: [4, 7], traits: UNSAMPLED },
  { family: 'opus', from: [4, 6], traits: ADAPTIVE },
  { family: 'opus', from: [4, 5], traits: STRUCTURED },
  { family: 'opus', from: [4, 1], traits: { ...STRUCTURED, maxOutputTokens: 32_000 } },
  { family: 'opus', from: [4, 0], traits: { ...BUDGET, maxOutputTokens: 32_000 } },
  { family: 'opus', from: [0, 0], traits: CLASSIC },
  { family: 'sonnet', from: [5, 5], traits: { ...ALWAYS_THINKING, thinkingOff: 'between_tools' } },
  { family: 'sonnet', from: [5, 0], traits: THINKING },
  { family: 'sonnet', from: [4, 6], traits: ADAPTIVE },
  { family: 'sonnet', from: [4, 5], traits: STRUCTURED },
  { family: 'sonnet', from: [3, 7], traits: BUDGET },
  { family: 'sonnet', from: [3, 5], traits: { ...CLASSIC, maxOutputTokens: 8192 } },
  { family: 'sonnet', from: [0, 0], traits: CLASSIC },
  { family: 'haiku', from: [5, 5], traits: THINKING },
  { family: 'haiku', from: [4, 5], traits: STRUCTURED },
  { family: 'haiku', from: [3, 5], traits: { ...CLASSIC, maxOutputTokens: 8192 } },
  { family: 'haiku', from: [0, 0], traits: CLASSIC },
  { family: 'fable', from: [0, 0], traits: ALWAYS_THINKING },
  { family: 'mythos', from: [0, 0], traits: ALWAYS_THINKING },
]

/**
 * By the name of the model, dated or not, with or without a host's prefix. A family that is not listed counts as
 * the newest, which accepts least; a model of another vendor as what every server of this format supports.
 */
export function traitsOf(model: string): ModelTraits {
  const name = model.toLowerCase()
  const parsed = parseName(name)
  if (parsed === undefined) return name.includes('claude-') ? ALWAYS_THINKING : OTHER_VENDOR
  const row = ROWS.find(({ family, from }) => family === parsed.family && isAtLeast(parsed.version, from))
  return row?.traits ?? ALWAYS_THINKING
}

interface ParsedName {
  readonly family: string
  readonly version: Version
}

/**
 * Parses names such as `claude-sonnet-4-5-20250929` and `claude-opus-4.8`, and the older order
 * `claude-3-5-haiku-latest`.
 */
function parseName(name: string): ParsedName | undefined {
  const current = /claude-([a-z]+)-(\d{1,2})(?:[.-](\d{1,2}))?(?!\d)/.exec(name)
  if (current !== null) return parsedName(current[1], current[2], current[3])
  const older = /claude-(\d)(?:[.-](\d))?-([a-z]+)/.exec(name)
  return older === null ? undefined : parsedName(older[3], older[1], older[2])
}

function parsedName(family = '', major = '0', minor = '0'): ParsedName {
  return { family, version: [Number(major), Number(minor)] }
}

function isAtLeast([major, minor]: Version, [fromMajor, fromMinor]: Version): boolean {
  return major > fromMajor || (major === fromMajor && minor >= fromMinor)
}
