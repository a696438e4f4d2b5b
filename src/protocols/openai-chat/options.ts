/**
 * Differences between the hosts that speak this format. A difference that several hosts share is an option; one of a
 * single host is an `adapt…` function in that host's own file. The codec must not name hosts.
 */
import type { ChatRequest, ContentPart, ReasoningEffort, Role } from '../../domain/chat.ts'
import type { CacheMark, ForwardedFields } from '../body-fields.ts'
import type { ToolUses } from '../server-tools.ts'

/** Parameters without effect on an answer's meaning: the only ones that may be dropped with a warning. */
export type Hint = 'user' | 'metadata' | 'store' | 'prediction' | 'seed'

/** Parameters that change the answer: sent, mapped to an equivalent, or rejected. */
export type Refusable =
  | 'logprobs'
  | 'top_logprobs'
  | 'logit_bias'
  | 'frequency_penalty'
  | 'presence_penalty'
  | 'parallel_tool_calls'
  | 'modalities'

export interface OpenAiChatOptions {
  /** The name of the answer's length limit. Default: `max_tokens`. */
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens'
  /** The most stop sequences that it accepts. Default: 4, as at OpenAI. */
  readonly maxStops?: number
  /** Whether `n` is supported. Default: true. */
  readonly severalChoices?: boolean
  /** Whether `stream_options.include_usage` may be sent. Default: true. Hosts without it send usage anyway. */
  readonly streamOptions?: boolean
  /** The hints that this host does not support. */
  readonly dropped?: readonly Hint[]
  /** Parameters that this host rejects. Values without effect (`logprobs: false`) are dropped silently. */
  readonly refused?: readonly Refusable[]
  /** Response formats beside `text`. Default: both. */
  readonly responseFormats?: readonly ('json_object' | 'json_schema')[]
  /** The smallest and largest temperature; values beyond are replaced by the nearest. */
  readonly temperatureRange?: readonly [min: number, max: number]
  /** Maps the format's service tiers to the host's; others are rejected. Default: priced tiers are sent unchanged. */
  readonly serviceTiers?: Readonly<Record<string, string>>

  /** Maps efforts that this host does not know to the nearest that it does. */
  readonly reasoningEfforts?: Readonly<Partial<Record<ReasoningEffort, ReasoningEffort>>>
  /**
   * The fields that replace `reasoning_effort`, after `reasoningEfforts`; undefined: it is sent unchanged. Fields of
   * these names that the client sends take precedence.
   */
  readonly effortFields?: (effort: ReasoningEffort) => Readonly<Record<string, unknown>> | undefined

  /**
   * The values of `tool_choice` beside `auto` that are supported. Default: all. Without `none`, no tools are offered;
   * the other two replace each other where that is equivalent, else they are rejected.
   */
  readonly toolChoices?: readonly ('none' | 'required' | 'function')[]
  /** Whether `tool_choice` of type `allowed_tools` is supported. Default: false, the other tools are not offered. */
  readonly allowedTools?: boolean
  /** Whether tools of type `custom` are supported. Default: false, requests with one are rejected. */
  readonly customTools?: boolean
  /** Whether images may have `detail: "original"`. Default: false, `high` is sent instead. */
  readonly originalDetail?: boolean
  /** Whether every tool must have `parameters`; a tool without any gets an empty object schema. */
  readonly toolParameters?: boolean
  /**
   * The fields that replace the effort in a forced tool call, for hosts that cannot combine thinking and forced
   * calls.
   */
  readonly forcedWith?: Readonly<Record<string, unknown>>

  /** Whether role `developer` is supported. Default: false, it is sent as `system`. */
  readonly developerRole?: boolean
  /** Whether system messages must come first; later ones are moved there. */
  readonly systemFirst?: boolean
  /** The fields that a message may have, on a host that rejects others. Default: all. */
  readonly messageFields?: readonly string[]
  /** The roles whose messages may have a `name`. Default: all. On other roles a name is rejected. */
  readonly namedRoles?: readonly Role[]
  /** Kinds of content that this host cannot read. */
  readonly refusedParts?: readonly ContentPart['type'][]
  /** Whether results of tools may have images and files. Default: false, a message of the user shows them. */
  readonly toolMedia?: boolean
  /**
   * Whether a message of the assistant must be between results of tools and the user. If it is missing, one is added.
   */
  readonly assistantAfterResults?: boolean
  /** Whether content that consists of text parts must be a string. The parts are then joined. */
  readonly joinedText?: boolean
  /** The marks of content parts to cache the prompt that this host knows. Default: none, they are dropped. */
  readonly cacheMarks?: readonly CacheMark[]
  /** The field in which earlier reasoning is sent back. Default: `reasoning_content`. `none`: it is dropped. */
  readonly reasoningField?: 'reasoning_content' | 'reasoning' | 'none'
  /** The `reasoning_content` of assistants without any, in conversations with tool calls, for hosts that require it. */
  readonly missingReasoning?: string

  /** Chargeable uses of the host's own tools. Default: the limits of the request's tools. */
  readonly toolUses?: (request: ChatRequest, model: string) => ToolUses
  /** The host's documented extension fields, which are sent unchanged. Each registered host lists its own, or `[]`. */
  readonly forwards?: ForwardedFields

  /** Changes the request before it is rendered; throws `GatewayError` for what the host cannot read. */
  readonly adaptRequest?: (request: ChatRequest) => ChatRequest
  /** Changes the rendered body in place, last of all; names what it drops or adjusts in `warnings`. */
  readonly adaptBody?: (body: Body, rendered: Rendered) => void
}

/** A body being rendered: parameters by their names on the wire, absent or undefined where not sent. */
export type Body = Record<string, unknown>

export interface Rendered {
  readonly request: ChatRequest
  /** The names of parameters that were dropped or adjusted. */
  readonly warnings: Set<string>
}
