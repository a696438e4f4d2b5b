/** Runs the calls of one answer, in their order, and tells the model what came of each. */
import type { ReadAnswer, ReadCall } from './answer.ts'
import {
  DEFAULT_COMMAND_MS,
  DEFAULT_OUTPUT_BYTES,
  HINT_AFTER_REPEATS,
  MAX_CALLS,
  MAX_FULL_WORKSPACE,
  MAX_REPEATS,
  OUTPUT_PART_OF_WINDOW,
} from './limits.ts'
import { LoopFailure, type ToolMessage } from './loop.ts'
import { fenced } from './plain-text.ts'
import { REPEAT_HINT, stepsLeft } from './prompt.ts'
import { finishIn, runTool } from './run-tool.ts'
import { BYTES_OF_TOKEN } from './shorten.ts'
import { type ToolOutcome, told } from './tool-run.ts'
import { goOn, summaryText, type Work } from './work.ts'

/** So many steps before the last one, the model is told. */
const STEPS_TO_TELL = 5

const NOT_AFTER_FAILURE =
  'Not finished: a call before it, in the same answer, has failed. See to that, then call finish alone.'
const AFTER_FINISH = 'Not run: finish was called before it.'

/** How the calls of an answer have gone so far. */
interface Progress {
  summary: string | undefined
  hasFailed: boolean
}

/** @returns The summary when one of them ends the work. */
export async function runCalls(work: Work, answer: ReadAnswer): Promise<string | undefined> {
  const progress: Progress = { summary: undefined, hasFailed: false }
  for (const [at, call] of answer.calls.entries()) {
    const dropped = at === answer.calls.length - 1 ? answer.dropped : 0
    await runCall(work, call, { answer, progress, dropped })
  }
  goOn(work)
  return progress.summary
}

interface Within {
  readonly answer: ReadAnswer
  readonly progress: Progress
  readonly dropped: number
}

async function runCall(work: Work, call: ReadCall, { answer, progress, dropped }: Within): Promise<void> {
  const { input } = work
  input.signal.throwIfAborted()
  const { name, arguments: json } = call.kept.function
  await input.record({ type: 'tool_call', callId: call.kept.id, name, arguments: json })
  const started = input.clock()
  const finish = finishIn(call.toRun)
  const outcome = finish === undefined ? await used(work, call, progress) : finished(progress)
  if (finish !== undefined && !outcome.hasFailed) progress.summary ??= summaryText(finish === '' ? answer.text : finish)
  const times = work.repeats.count(call.kept.function, outcome)
  const hints = hintsFor(work, times)
  if (dropped > 0)
    hints.push(`${dropped} more calls of this answer were not run: ${MAX_CALLS} are the most of one answer.`)
  await tell(work, call, { outcome, hints, durationMs: Math.round(input.clock() - started) })
  progress.hasFailed ||= outcome.hasFailed
  endIfHopeless(work, outcome, times)
}

function finished({ hasFailed }: Progress): ToolOutcome {
  return hasFailed ? { ...told(NOT_AFTER_FAILURE), hasFailed } : told('Finished.')
}

async function used({ input }: Work, call: ReadCall, { summary }: Progress): Promise<ToolOutcome> {
  if (summary !== undefined) return told(AFTER_FINISH)
  const { sandbox, signal, limits, model } = input
  const ofWindow = Math.floor(model.contextWindow * OUTPUT_PART_OF_WINDOW) * BYTES_OF_TOKEN
  const outcome = await runTool(call.toRun, {
    sandbox,
    signal,
    outputBytes: Math.min(DEFAULT_OUTPUT_BYTES, ofWindow),
    commandTimeoutMs: limits.commandTimeoutMs ?? DEFAULT_COMMAND_MS,
  })
  signal.throwIfAborted()
  return outcome
}

/** @param times How often the same call has failed in the same way. */
function hintsFor(work: Work, times: number): string[] {
  const hints: string[] = []
  if (times >= HINT_AFTER_REPEATS) hints.push(REPEAT_HINT)
  const left = work.input.limits.maxSteps - work.steps
  if (left === STEPS_TO_TELL) hints.push(stepsLeft(left))
  return hints
}

interface Told {
  readonly outcome: ToolOutcome
  readonly hints: readonly string[]
  readonly durationMs: number
}

async function tell({ input, memory }: Work, { kept }: ReadCall, { outcome, hints, durationMs }: Told): Promise<void> {
  const { output, isData, exitCode, truncated } = outcome
  const content = [isData ? fenced(output) : output, ...hints].join('\n')
  const message: ToolMessage = { role: 'tool', tool_call_id: kept.id, content }
  memory.add(message)
  const entry = { type: 'tool_result' as const, message, name: kept.function.name, output, truncated, durationMs }
  await input.record(exitCode === undefined ? entry : { ...entry, exitCode })
}

function endIfHopeless(work: Work, { killed }: ToolOutcome, times: number): void {
  if (times >= MAX_REPEATS) {
    throw new LoopFailure('stalled', `The model made the same call ${MAX_REPEATS} times, with the same failure.`)
  }
  // a full workspace may leave the model no way to make room in it
  work.fullWorkspace = killed === 'workspace' ? work.fullWorkspace + 1 : 0
  if (work.fullWorkspace < MAX_FULL_WORKSPACE) return
  throw new LoopFailure('workspace_too_large', 'The workspace is larger than is allowed.')
}
