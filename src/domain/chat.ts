/**
 * Chat completions, independent of providers: the request of a client, the events of an answer. Messages, tools and
 * response formats keep the shape of the OpenAI chat-completions API, so that the most common route copies nothing.
 */

export type Role = 'system' | 'developer' | 'user' | 'assistant' | 'tool'

/** A document that the answer can cite, with the position of the cited text. */
export interface Citable {
  readonly title?: string
  /** The text without its title, whole or in pieces; absent: the file of the part. */
  readonly source?: string | readonly string[]
}
interface TextPart {
  readonly type: 'text'
  readonly text: string
  readonly citable?: Citable
}
export interface ImagePart {
  readonly type: 'image_url'
  /** `url` is https or a data URL. */
  readonly image_url: { readonly url: string; readonly detail?: 'auto' | 'low' | 'high' | 'original' }
}
export interface AudioPart {
  readonly type: 'input_audio'
  /** `data` is base64. */
  readonly input_audio: { readonly data: string; readonly format: string }
}
export interface FilePart {
  readonly type: 'file'
  /** `file_data` is a data URL. */
  readonly file: { readonly filename?: string; readonly file_data?: string; readonly file_id?: string }
  readonly citable?: Citable
}
interface RefusalPart {
  readonly type: 'refusal'
  readonly refusal: string
}
export type ContentPart = TextPart | ImagePart | AudioPart | FilePart | RefusalPart

export interface ToolCall {
  readonly id: string
  readonly type: 'function'
  /** `arguments` is JSON text as the model wrote it; it need not be valid JSON. */
  readonly function: { readonly name: string; readonly arguments: string }
  /** The call of a custom tool: `arguments` is its `input`, free text. */
  readonly custom?: true
}

/** One message of the conversation. Other fields stay as the client sent them. */
export interface ChatMessage {
  readonly role: Role
  readonly content?: string | null | readonly ContentPart[]
  readonly name?: string
  readonly tool_calls?: readonly ToolCall[]
  readonly tool_call_id?: string
  readonly refusal?: string | null
  readonly reasoning_content?: string | null
  /** Data that a provider needs with the next request, by protocol ID; clients return it unchanged or drop it. */
  readonly provider_context?: Readonly<Record<string, unknown>>
}

export interface Tool {
  readonly type: 'function'
  readonly function: {
    readonly name: string
    readonly description?: string
    /** A JSON Schema. Data, never compiled. */
    readonly parameters?: Readonly<Record<string, unknown>>
    readonly strict?: boolean | null
  }
  /** A custom tool: its input is free text, or text of a grammar (`format`), instead of JSON arguments. */
  readonly custom?: { readonly format?: unknown }
}

/** A tool that runs at the provider: web search, code execution, … */
export interface ServerTool {
  /** Name in prices: `web_search`, … */
  readonly name: string
  /** Path in the request: `tools[2]`, or `tools[2].type`. */
  readonly param: string
  /** The tool as the client wrote it. */
  readonly wire: Readonly<Record<string, unknown>>
  /** Limit of one call, if the client sets one. */
  readonly maxUses?: number
}

export type ToolChoice =
  | 'none'
  | 'auto'
  | 'required'
  | { readonly type: 'function'; readonly function: { readonly name: string } }
  | {
      readonly type: 'allowed_tools'
      readonly allowed_tools: { readonly mode: 'auto' | 'required'; readonly tools: readonly Tool[] }
    }

export type ResponseFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json_object' }
  | {
      readonly type: 'json_schema'
      readonly json_schema: {
        readonly name: string
        readonly description?: string
        readonly schema?: Readonly<Record<string, unknown>>
        readonly strict?: boolean | null
      }
    }

export type ReasoningEffort = 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max'

/** A validated request. Absent: not in the request. */
export interface ChatRequest {
  /** The model ID as the client wrote it. */
  readonly model: string
  readonly messages: readonly ChatMessage[]
  readonly stream: boolean
  /** `stream_options.include_usage`. */
  readonly includeUsage: boolean
  /** `stream_options.include_obfuscation: false`: the provider should not pad chunks. */
  readonly plainChunks?: boolean
  /** Ignored parameters, for `x-turnpike-warnings`. */
  readonly ignoredParameters?: readonly string[]
  /** 1 to 16. */
  readonly n: number
  /** `max_completion_tokens`, or its older name `max_tokens`. */
  readonly maxTokens?: number
  readonly temperature?: number
  readonly topP?: number
  readonly stop?: readonly string[]
  /** Functions and custom tools, which run at the client. */
  readonly tools?: readonly Tool[]
  readonly serverTools?: readonly ServerTool[]
  readonly toolChoice?: ToolChoice
  readonly parallelToolCalls?: boolean
  readonly responseFormat?: ResponseFormat
  readonly seed?: number
  readonly logprobs?: boolean
  readonly topLogprobs?: number
  readonly frequencyPenalty?: number
  readonly presencePenalty?: number
  readonly logitBias?: Readonly<Record<string, number>>
  readonly user?: string
  readonly metadata?: Readonly<Record<string, string>>
  readonly reasoningEffort?: ReasoningEffort
  readonly serviceTier?: string
  readonly store?: boolean
  readonly prediction?: unknown
  readonly modalities?: readonly string[]
  /** Absent for a chat completion. */
  readonly task?: Task
  /** The request has `functions`, the older form of `tools`: the answer has `function_call`. */
  readonly legacyFunctions?: boolean
  /** Custom tools and their calls may be sent as functions with one text, `input`, to providers without such tools. */
  readonly customToolsAsFunctions?: boolean
  /** The request came by another API: a host receives only those fields of `extra` that it is known to have. */
  readonly isTranslated?: boolean
  /** The request for hosts that use the protocol of the client's API. */
  readonly native?: NativeRequest
  /** The routing fields of the request, which are never forwarded. */
  readonly routing?: RequestedRouting
  /** All other top-level fields. Forwarded to OpenAI-compatible providers only. */
  readonly extra: Readonly<Record<string, unknown>>
}

/** The header with the routing fields, for clients that cannot add fields to the body. */
export const ROUTING_HEADER = 'x-turnpike-routing'

/** The client's preferences for the models that may answer. */
export interface RequestedRouting {
  /** IDs to try after `model`, in order. */
  readonly models?: readonly string[]
  readonly provider?: ProviderPreferences
}

/** The client's preferences for providers and their order. Absent fields leave it to the operator. */
export interface ProviderPreferences {
  /** Names of providers that are tried first, in this order. */
  readonly order?: readonly string[]
  /** Names of the only providers that may answer. */
  readonly only?: readonly string[]
  /** Names of providers that may not answer. */
  readonly ignore?: readonly string[]
  readonly sort?: RequestedSort
  readonly maxPrice?: MaxPrice
  /** False allows only those of `order`; without it, only the best provider. */
  readonly allowFallbacks?: boolean
  /** `deny`: only deployments that do not keep data to train on. */
  readonly dataCollection?: 'allow' | 'deny'
  /** Only deployments with zero data retention. */
  readonly zdr?: boolean
  /** Only deployments in one of these regions. */
  readonly regions?: readonly string[]
  /** Only deployments that receive every parameter of the request. */
  readonly requireParameters?: boolean
}

export const SORT_ORDERS = ['price', 'latency', 'throughput'] as const
export type SortOrder = (typeof SORT_ORDERS)[number]

export interface RequestedSort {
  readonly by: SortOrder
  /** Whether the sort order applies across models; otherwise the deployments of each model are sorted separately. */
  readonly acrossModels: boolean
  /** Whether the request measures a deployment without measurements. Undefined: its sort decides. */
  readonly explores?: boolean
}

/** The highest price that a model may have. */
export interface MaxPrice {
  /** Micro-dollars per million tokens. */
  readonly inputMicroUsd?: number
  readonly outputMicroUsd?: number
  readonly perRequestNanoUsd?: number
  readonly perImageNanoUsd?: number
}

/** A request as its client wrote it, which hosts of the same protocol receive without translation. */
export interface NativeRequest {
  /** ID of the protocol. */
  readonly protocol: string
  /** The body, of which the translated fields are validated. */
  readonly body: Readonly<Record<string, unknown>>
  /** The fields of `body` that have no translation. */
  readonly extra: Readonly<Record<string, unknown>>
  /** Headers that belong to the request, with lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** The path of the first content or tool that is essential to the request and that other protocols reject. */
  readonly essential?: string | undefined
  /** The fields that other protocols omit, for `x-turnpike-warnings`. */
  readonly dropped: readonly string[]
  /** Blocks and fields whose tokens the translation lacks. */
  readonly untranslated: readonly unknown[]
  /** Tools that the provider describes to the model and the client executes. */
  readonly builtInTools: number
  /** The longest requested lifetime of the prompt cache. */
  readonly caching?: '5m' | '1h' | undefined
}

/** The finish reasons that clients receive. */
export type FinishReason = 'stop' | 'length' | 'tool_calls' | 'content_filter'

/**
 * A snapshot of the call so far: a later one replaces an earlier one, field by field. Absent is not zero.
 * `promptTokens` includes cached, written and audio ones, `completionTokens` reasoning, audio and images, for every
 * provider.
 */
export interface Usage {
  readonly promptTokens?: number
  readonly completionTokens?: number
  readonly cachedTokens?: number
  /** The tokens of all lifetimes together. */
  readonly cacheWriteTokens?: number
  /** Part of `cacheWriteTokens`. */
  readonly cacheWrite1hTokens?: number
  /** Part of `cacheWriteTokens`. */
  readonly cacheWrite12hTokens?: number
  /** Includes cached tokens. */
  readonly audioInputTokens?: number
  /** Part of `cachedTokens` and of `audioInputTokens`. */
  readonly cachedAudioTokens?: number
  readonly reasoningTokens?: number
  readonly audioOutputTokens?: number
  readonly imageOutputTokens?: number
  /** Uses of tools that the provider runs, by their name in prices: `web_search`, … */
  readonly serverToolUses?: Readonly<Record<string, number>>
  /** The service tier of the answer, in the provider's words. */
  readonly serviceTier?: string
}
/** The fields of usage that count tokens. */
export type TokenField = Exclude<keyof Usage, 'serverToolUses' | 'serviceTier'>

interface TextEvent {
  readonly type: 'text'
  /** The index of the choice, from 0. */
  readonly index: number
  readonly text: string
  /** The wire's `logprobs` object for this text, if requested. */
  readonly logprobs?: unknown
}
interface ReasoningEvent {
  readonly type: 'reasoning'
  readonly index: number
  readonly text: string
  /** The provider's signature of all reasoning text since the last one. It arrives alone, with empty text. */
  readonly signature?: string
  /** Encrypted reasoning, whole. Comes alone, with empty text. */
  readonly redacted?: string
}
interface RefusalEvent {
  readonly type: 'refusal'
  readonly index: number
  readonly text: string
  readonly logprobs?: unknown
}
/** A fragment of a tool call. `id` and `name` come with the first fragment of each `toolIndex`, once. */
export interface ToolCallEvent {
  readonly type: 'tool-call'
  readonly index: number
  /** Position among the choice's tool calls, from 0 without gaps. */
  readonly toolIndex: number
  readonly id?: string
  readonly name?: string
  readonly arguments: string
  /** Set on every fragment of a call of a custom tool, whose `arguments` are free text. */
  readonly custom?: true
}
/**
 * A field of the message that the gateway only forwards: `annotations`, `audio`, a provider's context. Later ones
 * replace.
 */
export interface ExtensionEvent {
  readonly type: 'extension'
  readonly index: number
  readonly field: string
  readonly value: unknown
}
interface FinishEvent {
  readonly type: 'finish'
  readonly index: number
  readonly reason: FinishReason
  /** The provider's own term. */
  readonly raw: string
  /** The stop sequence that ended the text, if the provider reports it. */
  readonly stopSequence?: string
  /** The provider sent `content: null`, which the client also receives. */
  readonly contentIsNull?: boolean
}
/**
 * A part of the answer in the provider's own form, which clients of the same protocol receive unaltered: `start`
 * opens a content block, `delta` continues the open one, `stop` ends it; `message` has fields beside the content.
 */
export interface NativeEvent {
  readonly type: 'native'
  readonly index: number
  readonly protocol: string
  readonly part: 'start' | 'delta' | 'stop' | 'message'
  readonly value: Readonly<Record<string, unknown>>
}
interface UsageEvent {
  readonly type: 'usage'
  readonly usage: Usage
}
export type ChatEvent =
  | TextEvent
  | ReasoningEvent
  | RefusalEvent
  | ToolCallEvent
  | ExtensionEvent
  | FinishEvent
  | NativeEvent
  | UsageEvent

// Requests other than conversations: embeddings, rankings and legacy completions. Each is a `ChatRequest` whose
// messages are its texts, so that one pipeline limits, holds, routes, meters and charges all of them. The task has
// their special fields.

/** A sequence of numbers, or the base64 of its 32-bit floats, little-endian. */
export type Vector = readonly number[] | string

export interface EmbeddingTask {
  readonly type: 'embedding'
  /** Texts, or token IDs of the model's own tokenizer, in order. */
  readonly inputs: readonly (string | readonly number[])[]
  readonly dimensions?: number
  /** Absent if the client omitted it, so that its vectors are numbers. */
  readonly encodingFormat?: 'float' | 'base64'
}

export interface RerankTask {
  readonly type: 'rerank'
  readonly query: string
  readonly documents: readonly string[]
  /** The number of best results to return. Absent returns all. */
  readonly topN?: number
  /** Whether results contain the text of their documents. */
  readonly returnDocuments: boolean
}

/** The rank of one document. */
export interface RankedDocument {
  /** Position in the request's documents. */
  readonly index: number
  readonly score: number
}

/** Legacy completion: the prompt is the request's only message. */
export interface CompletionTask {
  readonly type: 'completion'
  readonly prompt: string
  /** The text after the completion, which the model fills in. */
  readonly suffix?: string
}

export type Task = EmbeddingTask | RerankTask | CompletionTask

/** Returns whether the answer is generated text; otherwise it has no output tokens. */
export function generatesText(task: Task | undefined): boolean {
  return task === undefined || task.type === 'completion'
}

/** The texts that the model reads separately: its context window applies to each. */
export function inputCount(task: Task | undefined): number {
  if (task?.type === 'embedding') return task.inputs.length
  return task?.type === 'rerank' ? task.documents.length : 1
}

/** The request field that has the texts, for error messages. */
export function textParam(task: Task | undefined): string {
  switch (task?.type) {
    case undefined:
      return 'messages'
    case 'embedding':
      return 'input'
    case 'rerank':
      return 'documents'
    case 'completion':
      return 'prompt'
  }
}

/** Returns the number of tokens that the client sends as token IDs. */
export function tokenIdCount({ inputs }: EmbeddingTask): number {
  let tokens = 0
  for (const input of inputs) if (typeof input !== 'string') tokens += input.length
  return tokens
}
