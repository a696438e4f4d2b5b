/**
 * What the loop is given and what it tells. It knows a model to ask, a sandbox to work in and somebody who writes down; it
 * knows no database, no network and no files of this machine.
 */
import type { RunError } from '../../domain/agent.ts'
import type { NanoUsd } from '../../domain/money.ts'
import type { AgentMessage, AskModel, Sandbox } from '../ports.ts'

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

export interface LoopLimits {
  /** Answers of the model. */
  readonly maxSteps: number
  readonly maxCostNanoUsd?: NanoUsd | undefined
  /** Of a shell command that asks for no time; `MAX_COMMAND_MS` is the most it can ask for. */
  readonly commandTimeoutMs?: number | undefined
}

export interface LoopUse {
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
