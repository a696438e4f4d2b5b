/**
 * What differs between the hosts that speak this format. A difference is one of these, or a wrap of the codec in the
 * host's own file; never a host's name in the codec.
 */
import type { ContentPart, ReasoningEffort, Role } from '../../domain/chat.ts'

/** Parameters that change no answer's meaning: the only ones that may be left out with a warning. */
export type Hint = 'user' | 'metadata' | 'store' | 'service_tier' | 'prediction' | 'seed'

/** Parameters that change what the answer is: said, mapped to an equal, or refused. */
export type Refusable =
  | 'logprobs'
  | 'top_logprobs'
  | 'logit_bias'
  | 'frequency_penalty'
  | 'presence_penalty'
  | 'tool_choice'
  | 'parallel_tool_calls'
  | 'modalities'
  | 'reasoning_effort'

export interface OpenAiChatOptions {
  /** The name of the answer's length limit; `max_tokens` unless said, which every host but the originator's knows. */
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens'
  /** Whether `n` is understood; true unless said. */
  readonly severalChoices?: boolean
  /** Whether `stream_options.include_usage` may be sent; true unless said. Hosts without it send usage anyway. */
  readonly streamOptions?: boolean
  /** Whether role `developer` is known; it means `system`, and is sent as that unless said. */
  readonly developerRole?: boolean
  /** Whether `tool_choice` of type `allowed_tools` is known; unless said, the other tools are left out instead. */
  readonly allowedTools?: boolean
  /** Under which name earlier reasoning is sent back; `reasoning_content` unless said. `none`: it is left out. */
  readonly reasoningField?: 'reasoning_content' | 'reasoning' | 'none'
  /** The fields a message may have on a host that refuses others. Undefined: all are sent. */
  readonly messageFields?: readonly string[]
  /** The roles whose messages may have a `name`; all unless said. On other roles a name is refused. */
  readonly namedRoles?: readonly Role[]
  /** Hints this host does not take. */
  readonly dropped?: readonly Hint[]
  /** Parameters this host cannot honour. Values that ask for nothing (`logprobs: false`) are let go silently. */
  readonly refused?: readonly Refusable[]
  /** Kinds of content this host cannot read. */
  readonly refusedParts?: readonly ContentPart['type'][]
  /** Response formats beside `text`; both unless said. */
  readonly responseFormats?: readonly ('json_object' | 'json_schema')[]
  /** Our name of a hint to the host's. */
  readonly renamed?: Readonly<Partial<Record<Hint, string>>>
  /** This host's word for `tool_choice: required`. */
  readonly requiredToolChoice?: string
  /** Efforts that this host has no word for, to the nearest it has. */
  readonly reasoningEfforts?: Readonly<Partial<Record<ReasoningEffort, string>>>
  /** Sent for smaller temperatures, on hosts that want them greater than zero. */
  readonly minimumTemperature?: number
  /** A chunk's field of the host's own that holds usage, or an error, instead of the standard ones. */
  readonly vendorField?: string
  /** Whether fields unknown to us are passed on; true unless said. */
  readonly passUnknown?: boolean
}
