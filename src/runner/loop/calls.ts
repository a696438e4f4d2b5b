/** Runs the tool calls of one answer, in order, and adds their results to the conversation. */
import { hash } from 'node:crypto'
import type { NanoUsd } from '../../domain/money.ts'
import { fenced, groupDigits, tidy } from '../plain-text.ts'
import { LoopFailure, type LoopInput, type ToolMessage } from '../ports.ts'
import type { ParsedAnswer, ParsedCall, RequestedCall } from './answer.ts'
import { BYTES_OF_TOKEN } from './compaction.ts'
import type { ContextWindow } from './context-window.ts'
import { create, edit, search, view } from './file-tools.ts'
import {
  DEFAULT_COMMAND_MS,
  DEFAULT_OUTPUT_BYTES,
  HINT_AFTER_REPEATS,
  MAX_ARGUMENT_BYTES,
  MAX_CALLS,
  MAX_FULL_WORKSPACE,
  MAX_REPEATS,
  MAX_SUMMARY_BYTES,
  OUTPUT_PART_OF_WINDOW,
} from './limits.ts'
import { REPEAT_HINT, stepsLeft, TOOL_NAMES, type ToolName, toolNamed } from './prompt.ts'
import { shell } from './shell-tool.ts'
import { fieldOf, parseArguments, ToolError, type ToolOutcome, type ToolRun, toolMessage } from './tool.ts'

/** State of the loop between steps. */
export interface LoopState {
  readonly input: LoopInput
  readonly context: ContextWindow
  readonly repeats: RepeatCounter
  /** IDs of calls in the conversation. */
  readonly callIds: Set<string>
  steps: number
  costNanoUsd: NanoUsd
  /** Answers in a row without usable output. */
  idleAnswers: number
  /** The text of the previous answer without a call. */
  lastText: string
  /** Commands in a row that were killed because the workspace was full. */
  fullWorkspace: number
}

export function resetIdle(state: LoopState): void {
  state.idleAnswers = 0
  state.lastText = ''
}

export function summaryText(text: string): string {
  const summary = tidy(text, MAX_SUMMARY_BYTES).trim()
  return summary === '' ? 'Done.' : summary
}

/** Remaining steps at which the model receives a hint. */
const HINT_AT_STEPS_LEFT = 5

const NOT_AFTER_FAILURE =
  'Not finished: a call before it, in the same answer, has failed. See to that, then call finish alone.'
const AFTER_FINISH = 'Not run: finish was called before it.'

/** The outcome of an answer's calls so far. */
interface Progress {
  summary: string | undefined
  hasFailed: boolean
}

/** @returns The summary when one of the calls is `finish`. */
export async function runCalls(state: LoopState, answer: ParsedAnswer): Promise<string | undefined> {
  const progress: Progress = { summary: undefined, hasFailed: false }
  for (const [at, call] of answer.calls.entries()) {
    const dropped = at === answer.calls.length - 1 ? answer.dropped : 0
    await runCall(state, call, { answer, progress, dropped })
  }
  resetIdle(state)
  return progress.summary
}

interface AnswerContext {
  readonly answer: ParsedAnswer
  readonly progress: Progress
  readonly dropped: number
}

async function runCall(
  state: LoopState,
  call: ParsedCall,
  { answer, progress, dropped }: AnswerContext,
): Promise<void> {
  const { input } = state
  input.signal.throwIfAborted()
  const { name, arguments: json } = call.message.function
  await input.record({ type: 'tool_call', callId: call.message.id, name, arguments: json })
  const started = input.clock()
  const finish = finishSummary(call.requested)
  const outcome = finish === undefined ? await useTool(state, call, progress) : finishOutcome(progress)
  if (finish !== undefined && !outcome.hasFailed) progress.summary ??= summaryText(finish === '' ? answer.text : finish)
  const repeats = state.repeats.count(call.message.function, outcome)
  const hints = hintsFor(state, repeats)
  if (dropped > 0)
    hints.push(`${dropped} more calls of this answer were not run: ${MAX_CALLS} are the most of one answer.`)
  await recordResult(state, call, { outcome, hints, durationMs: Math.round(input.clock() - started) })
  progress.hasFailed ||= outcome.hasFailed
  assertProgress(state, outcome, repeats)
}

function finishOutcome({ hasFailed }: Progress): ToolOutcome {
  return hasFailed ? { ...toolMessage(NOT_AFTER_FAILURE), hasFailed } : toolMessage('Finished.')
}

async function useTool({ input }: LoopState, call: ParsedCall, { summary }: Progress): Promise<ToolOutcome> {
  if (summary !== undefined) return toolMessage(AFTER_FINISH)
  const { sandbox, signal, limits, model } = input
  const ofWindow = Math.floor(model.contextWindow * OUTPUT_PART_OF_WINDOW) * BYTES_OF_TOKEN
  const outcome = await runTool(call.requested, {
    sandbox,
    signal,
    outputBytes: Math.min(DEFAULT_OUTPUT_BYTES, ofWindow),
    commandTimeoutMs: limits.commandTimeoutMs ?? DEFAULT_COMMAND_MS,
  })
  signal.throwIfAborted()
  return outcome
}

/** @param repeats How often the same call has failed in the same way. */
function hintsFor(state: LoopState, repeats: number): string[] {
  const hints: string[] = []
  if (repeats >= HINT_AFTER_REPEATS) hints.push(REPEAT_HINT)
  const left = state.input.limits.maxSteps - state.steps
  if (left === HINT_AT_STEPS_LEFT) hints.push(stepsLeft(left))
  return hints
}

interface CallResult {
  readonly outcome: ToolOutcome
  readonly hints: readonly string[]
  readonly durationMs: number
}

async function recordResult(
  { input, context }: LoopState,
  { message: call }: ParsedCall,
  { outcome, hints, durationMs }: CallResult,
): Promise<void> {
  const { output, isData, exitCode, truncated } = outcome
  const content = [isData ? fenced(output) : output, ...hints].join('\n')
  const message: ToolMessage = { role: 'tool', tool_call_id: call.id, content }
  context.add(message)
  const entry = { type: 'tool_result' as const, message, name: call.function.name, output, truncated, durationMs }
  await input.record(exitCode === undefined ? entry : { ...entry, exitCode })
}

/** Throws `LoopFailure` when further calls are unlikely to help. */
function assertProgress(state: LoopState, { killed }: ToolOutcome, repeats: number): void {
  if (repeats >= MAX_REPEATS) {
    throw new LoopFailure('stalled', `The model made the same call ${MAX_REPEATS} times, with the same failure.`)
  }
  // the model may be unable to free space in a full workspace
  state.fullWorkspace = killed === 'workspace' ? state.fullWorkspace + 1 : 0
  if (state.fullWorkspace < MAX_FULL_WORKSPACE) return
  throw new LoopFailure('workspace_too_large', 'The workspace exceeds its size limit.')
}

/** Counts repetitions of the same call with the same failure while no file is changed. */
interface RepeatCounter {
  /** @returns How often, this time included; 0 for a call that did not fail. */
  count(
    call: { readonly name: string; readonly arguments: string },
    outcome: { readonly hasFailed: boolean; readonly output: string },
  ): number
}

/** In the first line of a shell command's output; it differs each time. */
const DURATION = /, after \d+\.\d s/

export function createRepeatCounter(): RepeatCounter {
  const counts = new Map<string, number>()
  return {
    count({ name, arguments: json }, { hasFailed, output }) {
      if (!hasFailed) {
        if (name === 'edit' || name === 'create') counts.clear()
        return 0
      }
      const key = hash('sha256', JSON.stringify([name, json, output.replace(DURATION, '')]))
      const count = (counts.get(key) ?? 0) + 1
      counts.set(key, count)
      return count
    },
  }
}

const TOOLS: Readonly<Record<Exclude<ToolName, 'finish'>, (run: ToolRun) => Promise<ToolOutcome>>> = {
  shell,
  view,
  edit,
  create,
  search,
}

/** Runs one call. Mistakes of the model become its result; only our own failures are thrown. */
export async function runTool(call: RequestedCall, given: Omit<ToolRun, 'fields'>): Promise<ToolOutcome> {
  try {
    const name = toolNamed(call.name)
    const fields = call.isTooLong ? undefined : parseArguments(call.arguments)
    if (name === undefined) throw new ToolError(unknownTool(call.name))
    if (fields === undefined || name === 'finish') throw new ToolError(unreadable(call))
    return await TOOLS[name]({ ...given, fields })
  } catch (error) {
    if (!(error instanceof ToolError)) throw error
    const outcome = toolMessage(error.message)
    return { ...outcome, hasFailed: true, ...(error.cause === 'workspace' ? { killed: 'workspace' } : {}) }
  }
}

/** Returns the summary of a call of `finish`, '' without one; undefined for another call. */
export function finishSummary(call: RequestedCall): string | undefined {
  if (toolNamed(call.name) !== 'finish' || call.isCut || call.isTooLong) return undefined
  const fields = parseArguments(call.arguments)
  if (fields === undefined || Object.keys(fields).length === 0) return ''
  const summary = fieldOf(fields, 'summary')
  return typeof summary === 'string' ? summary : JSON.stringify(fields)
}

function unknownTool(name: string): string {
  return `There is no tool '${name.slice(0, 64)}'. The tools are ${TOOL_NAMES.join(', ')}.`
}

function unreadable({ isCut, isTooLong }: RequestedCall): string {
  if (isTooLong)
    return `The arguments have more than ${groupDigits(MAX_ARGUMENT_BYTES)} bytes. Write it in smaller pieces.`
  if (isCut) return 'The arguments were cut, because your answer reached its length limit. Write it in smaller pieces.'
  return 'The arguments are no JSON object. Within strings, write line ends as \\n and quotes as \\".'
}
