/**
 * What an agent's work consists of, as its parts see each other: the loop asks a model and runs commands in a sandbox; who
 * gives it both is `features/agents`. Nothing here knows a database.
 */
import type { NanoUsd } from '../domain/money.ts'

export interface SandboxCommand {
  /** For `bash -c`, or `sh -c` where there is no bash. */
  readonly script: string
  /** Below the workspace; its root unless said. */
  readonly cwd?: string | undefined
  readonly stdin?: string | Uint8Array | undefined
  readonly timeoutMs: number
  /** Kept of each of stdout and stderr; more is thrown away and `truncated` says so. */
  readonly maxOutputBytes?: number | undefined
}

export interface CommandResult {
  /** Null when it was killed. */
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
  readonly truncated: boolean
  readonly durationMs: number
  /** Why it was killed; undefined: it ended by itself. */
  readonly killed?: 'timeout' | 'output' | 'memory' | 'processes' | 'workspace' | 'cancelled' | undefined
}

/** One workspace. All that a command started is gone when `run` resolves. */
export interface Sandbox {
  run(command: SandboxCommand, signal: AbortSignal): Promise<CommandResult>
  close(): Promise<void>
}

export interface ToolCall {
  readonly id: string
  readonly name: string
  /** JSON as the model wrote it. */
  readonly arguments: string
}

/** The conversation, as OpenAI's format has it. */
export type AgentMessage =
  | { readonly role: 'user'; readonly content: string }
  | { readonly role: 'assistant'; readonly content: string | null; readonly tool_calls?: readonly ToolCallMessage[] }
  | { readonly role: 'tool'; readonly tool_call_id: string; readonly content: string }

export interface ToolCallMessage {
  readonly id: string
  readonly type: 'function'
  readonly function: { readonly name: string; readonly arguments: string }
}

export interface ModelRequest {
  readonly messages: readonly ({ readonly role: 'system'; readonly content: string } | AgentMessage)[]
  readonly tools: readonly object[]
  readonly maxTokens?: number | undefined
}

export interface ModelAnswer {
  readonly message: Extract<AgentMessage, { role: 'assistant' }>
  readonly finishReason: string
  readonly promptTokens: number
  readonly completionTokens: number
  readonly costNanoUsd: NanoUsd
  readonly completionId: string
}

/** One completion, on the account's credit. Rejects with `GatewayError`. */
export type AskModel = (request: ModelRequest, signal: AbortSignal) => Promise<ModelAnswer>
