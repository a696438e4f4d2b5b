/**
 * The ports of an agent's work: the sandbox that runs commands, the model, and the loop's input, records and outcome.
 * `features/agents` provides them. Nothing here knows a database, a network or files of this machine.
 */
import type { RunError } from '../domain/agent.ts'
import type { NanoUsd } from '../domain/money.ts'

export interface SandboxCommand {
  /** For `bash -c`, or `sh -c` where there is no bash. */
  readonly script: string
  /** Below the workspace; its root by default. */
  readonly cwd?: string | undefined
  readonly stdin?: string | undefined
  readonly timeoutMs: number
}

/** Why a command was killed. */
export type KillReason = 'timeout' | 'output' | 'memory' | 'workspace' | 'cancelled'

export interface CommandResult {
  /** Null when it was killed. */
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
  /** Part of the middle of `stdout` or `stderr` was omitted. */
  readonly truncated: boolean
  readonly durationMs: number
  /** Undefined: it exited. */
  readonly killed?: KillReason | undefined
}

/** One workspace. No process of a command is left when `run` resolves. */
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

/** The conversation in OpenAI's format. */
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

export type AssistantMessage = Extract<AgentMessage, { role: 'assistant' }>
export type ToolMessage = Extract<AgentMessage, { role: 'tool' }>
export type UserMessage = Extract<AgentMessage, { role: 'user' }>

export interface LoopInput {
  readonly ask: AskModel
  readonly sandbox: Sandbox
  readonly model: LoopModel
  /** The last summary, the messages that it keeps, and all later ones. It may have been interrupted anywhere. */
  readonly conversation: readonly AgentMessage[]
  /** Returns the user's messages since the last call; called before each step and before the end. */
  readonly followUps: () => Promise<readonly string[]>
  /** Stores each record, in order. A rejection ends the loop with it. */
  readonly record: (entry: LoopEntry) => Promise<void>
  readonly limits: LoopLimits
  /** Earlier usage of this run, if the loop is restarted within it. */
  readonly used?: LoopUse | undefined
  readonly signal: AbortSignal
  /** Monotonic milliseconds. */
  readonly clock: () => number
  /** From 0 to 1. */
  readonly random: () => number
  /** Rejects when the signal aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
}

export interface LoopModel {
  /** In tokens. */
  readonly contextWindow: number
  readonly maxOutputTokens?: number | undefined
}

interface LoopLimits {
  /** Answers of the model. */
  readonly maxSteps: number
  readonly maxCostNanoUsd?: NanoUsd | undefined
  /** Default time limit of a shell command; `MAX_COMMAND_MS` is the maximum. */
  readonly commandTimeoutMs?: number | undefined
}

interface LoopUse {
  readonly steps: number
  readonly costNanoUsd: NanoUsd
}

/** One charged call of the model. */
export interface LoopUsage {
  readonly completionId: string
  readonly promptTokens: number
  readonly completionTokens: number
  readonly costNanoUsd: NanoUsd
  /** Usage of the run so far. */
  readonly total: LoopUse
}

export type LoopEntry =
  /** The model's message, as it is returned to the model. */
  | { readonly type: 'answer'; readonly message: AssistantMessage; readonly usage: LoopUsage }
  /** A call without usable output. */
  | { readonly type: 'usage'; readonly usage: LoopUsage }
  /** A tool call before its execution. `arguments` is a JSON object. */
  | { readonly type: 'tool_call'; readonly callId: string; readonly name: string; readonly arguments: string }
  | {
      readonly type: 'tool_result'
      readonly message: ToolMessage
      readonly name: string
      /** Without the hints and marks that the model receives. */
      readonly output: string
      /** Exit code of a shell command; null if it was killed. */
      readonly exitCode?: number | null | undefined
      readonly truncated: boolean
      readonly durationMs: number
    }
  /** Replaces all earlier messages but the last `kept` answers of the model and their results. */
  | { readonly type: 'summary'; readonly message: UserMessage; readonly kept: number; readonly usage?: LoopUsage }

export type LoopEnding =
  | { readonly kind: 'completed'; readonly summary: string }
  | { readonly kind: 'failed'; readonly code: RunError; readonly message: string }
  | { readonly kind: 'cancelled' }

/** Thrown to end the loop from any depth. */
export class LoopFailure extends Error {
  override readonly name = 'LoopFailure'
  readonly code: RunError
  /** @param message For the user. */
  constructor(code: RunError, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
