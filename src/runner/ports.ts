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

export type AssistantMessage = Extract<AgentMessage, { role: 'assistant' }>
export type ToolMessage = Extract<AgentMessage, { role: 'tool' }>
export type UserMessage = Extract<AgentMessage, { role: 'user' }>

export interface LoopInput {
  readonly ask: AskModel
  readonly sandbox: Sandbox
  readonly model: LoopModel
  /** The last summary and what it keeps and what came later. It may have been broken off anywhere. */
  readonly conversation: readonly AgentMessage[]
  /** The user's messages that came since the last call: asked for before each step and before the end. */
  readonly followUps: () => Promise<readonly string[]>
  /** Everything to be kept, in order. A rejection ends the loop with it. */
  readonly record: (entry: LoopEntry) => Promise<void>
  readonly limits: LoopLimits
  /** What this run has used before, where the loop is started once more within it. */
  readonly used?: LoopUse | undefined
  readonly signal: AbortSignal
  /** Milliseconds from any beginning. */
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
  /** Of a shell command that asks for no time; `MAX_COMMAND_MS` is the most it can ask for. */
  readonly commandTimeoutMs?: number | undefined
}

interface LoopUse {
  readonly steps: number
  readonly costNanoUsd: NanoUsd
}

/** One call of the model, paid for. */
export interface LoopUsage {
  readonly completionId: string
  readonly promptTokens: number
  readonly completionTokens: number
  readonly costNanoUsd: NanoUsd
  /** Of the run until here. */
  readonly total: LoopUse
}

export type LoopEntry =
  /** What the model said, as it is given back to it. */
  | { readonly type: 'answer'; readonly message: AssistantMessage; readonly usage: LoopUsage }
  /** A call that gave nothing to keep. */
  | { readonly type: 'usage'; readonly usage: LoopUsage }
  /** Before it is run. `arguments` is a JSON object. */
  | { readonly type: 'tool_call'; readonly callId: string; readonly name: string; readonly arguments: string }
  | {
      readonly type: 'tool_result'
      readonly message: ToolMessage
      readonly name: string
      /** Without the hints and marks that the model is given with it. */
      readonly output: string
      /** Of a shell command; null when it was killed. */
      readonly exitCode?: number | null | undefined
      readonly truncated: boolean
      readonly durationMs: number
    }
  /** Stands for all before it but the last `kept` messages of the model and what came with them. */
  | { readonly type: 'summary'; readonly message: UserMessage; readonly kept: number; readonly usage?: LoopUsage }

export type LoopEnding =
  | { readonly kind: 'completed'; readonly summary: string }
  | { readonly kind: 'failed'; readonly code: RunError; readonly message: string }
  | { readonly kind: 'cancelled' }

/** Ends the loop from deep within it. */
export class LoopFailure extends Error {
  override readonly name = 'LoopFailure'
  readonly code: RunError
  /** @param message For the user. */
  constructor(code: RunError, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}
