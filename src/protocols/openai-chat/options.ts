/**
 * What differs between the hosts that speak this format. A difference is one of these, or a wrap of the codec in the
 * host's own file; never a host's name in the codec.
 */
import type { ContentPart, ReasoningEffort, Role } from '../../domain/chat.ts'
import type { ForwardedFields } from '../forwarded-fields.ts'

/** Parameters that change no answer's meaning: the only ones that may be left out with a warning. */
export type Hint = 'user' | 'metadata' | 'store' | 'prediction' | 'seed'

/** Parameters that change what the answer is: said, mapped to an equal, or refused. */
export type Refusable =
  | 'logprobs'
  | 'top_logprobs'
  | 'logit_bias'
  | 'frequency_penalty'
  | 'presence_penalty'
  | 'tools'
  | 'parallel_tool_calls'
  | 'modalities'
  | 'reasoning_effort'

export interface OpenAiChatOptions {
  /** The name of the answer's length limit; `max_tokens` unless said, which every host but the originator's knows. */
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens'
  /** The most stop sequences it takes; 4 unless said, as at the originator's. */
  readonly maxStops?: number
  /** Whether `n` is understood; true unless said. */
  readonly severalChoices?: boolean
  /** Whether `stream_options.include_usage` may be sent; true unless said. Hosts without it send usage anyway. */
  readonly streamOptions?: boolean
  /** Hints this host does not take. */
  readonly dropped?: readonly Hint[]
  /** Parameters this host cannot honour. Values that ask for nothing (`logprobs: false`) are let go silently. */
  readonly refused?: readonly Refusable[]
  /** Our name of a hint to the host's. */
  readonly renamed?: Readonly<Partial<Record<Hint, string>>>
  /** Response formats beside `text`; both unless said. */
  readonly responseFormats?: readonly ('json_object' | 'json_schema')[]
  /** Sent for smaller temperatures, on hosts that want them greater than zero. */
  readonly minimumTemperature?: number
  /** Sent for greater temperatures, on hosts whose scale ends earlier. */
  readonly maximumTemperature?: number
  /** The format's service tiers to the host's; others are refused. Undefined: all that are priced are sent as they are. */
  readonly serviceTiers?: Readonly<Record<string, string>>

  /** Efforts that this host has no word for, to the nearest it has. */
  readonly reasoningEfforts?: Readonly<Partial<Record<ReasoningEffort, ReasoningEffort>>>
  /**
   * The fields that say an effort on hosts that do not know `reasoning_effort`, after `reasoningEfforts`; undefined:
   * the effort is said as it is. Where the client sends such a field itself, the client's stands.
   */
  readonly effortFields?: (effort: ReasoningEffort) => Readonly<Record<string, unknown>> | undefined

  /**
   * The values of `tool_choice` beside `auto` that are known; all unless said. Without `none`, no tools are offered; of
   * the other two one is said by the other where that means the same, else refused.
   */
  readonly toolChoices?: readonly ('none' | 'required' | 'function')[]
  /** This host's word for `tool_choice: required`. */
  readonly requiredToolChoice?: string
  /** Whether `tool_choice` of type `allowed_tools` is known; unless said, the other tools are left out instead. */
  readonly allowedTools?: boolean
  /** Whether tools of type `custom` are known; unless said, a request with one is refused. */
  readonly customTools?: boolean
  /** Whether images may have `detail: "original"`; unless said, `high` is sent instead. */
  readonly originalDetail?: boolean
  /** Whether every tool must say its `parameters`; those that say none get those of a tool that has none. */
  readonly toolParameters?: boolean
  /** Fields that go with a demanded tool call instead of an effort, on hosts that cannot think and be forced at once. */
  readonly forcedWith?: Readonly<Record<string, unknown>>
  /** Whether ids of tool calls must be nine letters and digits; others are replaced, alike in calls and results. */
  readonly shortToolIds?: boolean

  /** Whether role `developer` is known; it means `system`, and is sent as that unless said. */
  readonly developerRole?: boolean
  /** Roles whose messages this host cannot read. */
  readonly refusedRoles?: readonly Role[]
  /** Whether system messages may only stand at the beginning; later ones are moved there. */
  readonly systemFirst?: boolean
  /** Whether user and assistant must take turns; what one of them says in several messages becomes one. */
  readonly alternatingRoles?: boolean
  /** The fields a message may have on a host that refuses others. Undefined: all are sent. */
  readonly messageFields?: readonly string[]
  /** The roles whose messages may have a `name`; all unless said. On other roles a name is refused. */
  readonly namedRoles?: readonly Role[]
  /** Kinds of content this host cannot read. */
  readonly refusedParts?: readonly ContentPart['type'][]
  /** Whether images are read from their address on the web; true unless said. Otherwise only data URLs are. */
  readonly remoteImages?: boolean
  /** Whether content that is text alone must be a string; lists of text are joined. */
  readonly joinedText?: boolean
  /** Whether `refusal` of earlier answers is known, as a field and as a part; unless said, it is sent as text. */
  readonly refusals?: boolean
  /**
   * Under which name earlier reasoning is sent back; `reasoning_content` unless said. `thinking`: as a part of the
   * content. `none`: it is left out.
   */
  readonly reasoningField?: 'reasoning_content' | 'reasoning' | 'thinking' | 'none'
  /** `reasoning_content` of assistants that have none, in conversations with tool calls, where hosts insist on it. */
  readonly missingReasoning?: string
  /** Whether `reasoning_details` of earlier answers are taken back, in place of the reasoning's text. */
  readonly reasoningDetails?: boolean

  /** A chunk's field of the host's own that holds usage, or an error, instead of the standard ones. */
  readonly vendorField?: string
  /** The host's documented extension fields, which are sent as they are; none unless said. */
  readonly forwards?: ForwardedFields
}
