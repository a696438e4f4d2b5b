/** What a loop remembers from step to step. */
import type { NanoUsd } from '../../domain/money.ts'
import { MAX_SUMMARY_BYTES } from './limits.ts'
import type { LoopInput } from './loop.ts'
import type { Memory } from './memory.ts'
import { tidy } from './plain-text.ts'
import type { Repeats } from './repeats.ts'

export interface Work {
  readonly input: LoopInput
  readonly memory: Memory
  readonly repeats: Repeats
  /** IDs of calls that the conversation has. */
  readonly callIds: Set<string>
  steps: number
  costNanoUsd: NanoUsd
  /** Answers in a row that brought nothing. */
  idle: number
  /** The text of the one before, where it had one. */
  said: string
  /** Commands in a row that were killed because the workspace is full. */
  fullWorkspace: number
}

/** Something was done. */
export function goOn(work: Work): void {
  work.idle = 0
  work.said = ''
}

export function summaryText(text: string): string {
  const summary = tidy(text, MAX_SUMMARY_BYTES).trim()
  return summary === '' ? 'Done.' : summary
}
