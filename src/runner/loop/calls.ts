/** Parses the answer of a model, runs its tool calls in order, and adds their results to the conversation. */
import { hash } from 'node:crypto'
import type { NanoUsd } from '../../domain/money.ts'
import { byteLength, fenced, groupDigits, plainText, tidy } from '../plain-text.ts'
import {
  type AssistantMessage,
  LoopFailure,
  type LoopInput,
  type ModelAnswer,
  type ToolCallMessage,
  type ToolMessage,
} from '../ports.ts'
import { BYTES_OF_TOKEN } from './compaction.ts'
import type { ContextWindow } from './context-window.ts'
import {
  DEFAULT_COMMAND_MS,
  DEFAULT_OUTPUT_BYTES,
  HINT_AFTER_REPEATS,
  MAX_ARGUMENT_BYTES,
  MAX_CALLS,
  MAX_FULL_WORKSPACE,
  MAX_REPEATS,
  MAX_SUMMARY_BYTES,
  MAX_TEXT_BYTES,
  OUTPUT_PART_OF_WINDOW,
} from './limits.ts'
import { REPEAT_HINT, stepsLeft, TOOL_NAMES, type ToolName, toolNamed } from './prompt.ts'
import { fieldOf, parseArguments, ToolError, type ToolOutcome, type ToolRun, toolMessage } from './tool.ts'
import { create, edit, search, shell, view } from './workspace-tools.ts'

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

/* Parses a model's answer into what is stored and returned to the model: bounded plain text, and valid calls. */

export interface ParsedAnswer {
  /** Undefined when the answer is empty. */
  readonly message: AssistantMessage | undefined
  readonly text: string
  readonly calls: readonly ParsedCall[]
  /** Calls beyond `MAX_CALLS`. */
  readonly dropped: number
  readonly finishReason: string
}

interface ParsedCall {
  /** As the conversation has it. */
  readonly message: ToolCallMessage
  readonly requested: RequestedCall
}

export interface RequestedCall {
  /** As the model wrote them. */
  readonly name: string
  readonly arguments: string
  /** Whether the answer ended within the arguments, at its length limit. */
  readonly isCut: boolean
  /** Whether the arguments exceed `MAX_ARGUMENT_BYTES`. */
  readonly isTooLong: boolean
}

/** @param usedIds IDs of the conversation's calls; those of this answer are added. */
export function parseAnswer(answer: ModelAnswer, usedIds: Set<string>): ParsedAnswer {
  const text = tidy(answer.message.content ?? '', MAX_TEXT_BYTES).trim()
  const given = answer.message.tool_calls ?? []
  const calls = given.slice(0, MAX_CALLS).map((call, at): ParsedCall => {
    const isLast = at === given.length - 1
    return parseCall(call, {
      id: uniqueId(call.id, usedIds, `${at}_${answer.completionId}`),
      isCut: isLast && isCut(answer),
    })
  })
  return {
    message: messageOf(text, calls),
    text,
    calls,
    dropped: given.length - calls.length,
    finishReason: answer.finishReason,
  }
}

function isCut({ finishReason }: ModelAnswer): boolean {
  return finishReason === 'length'
}

function messageOf(text: string, calls: readonly ParsedCall[]): AssistantMessage | undefined {
  const content = text === '' ? null : text
  if (calls.length > 0) return { role: 'assistant', content, tool_calls: calls.map(({ message }) => message) }
  return content === null ? undefined : { role: 'assistant', content }
}

/** Providers accept only JSON objects and names of letters and digits: anything else becomes text within an object. */
function parseCall(call: ToolCallMessage, { id, isCut }: { id: string; isCut: boolean }): ParsedCall {
  const { name, arguments: json } = call.function
  const isTooLong = byteLength(json) > MAX_ARGUMENT_BYTES
  const fields = isTooLong ? undefined : parseArguments(json)
  const arguments_ = fields === undefined ? { unreadable: tidy(json, 500) } : plainFields(fields)
  return {
    message: {
      id,
      type: 'function',
      function: { name: toolNamed(name) ?? sanitizedName(name), arguments: JSON.stringify(arguments_) },
    },
    requested: { name, arguments: json, isCut: isCut && fields === undefined, isTooLong },
  }
}

function plainFields(value: unknown): unknown {
  if (typeof value === 'string') return plainText(value)
  if (Array.isArray(value)) return value.map(plainFields)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [plainText(name), plainFields(each)]))
}

function sanitizedName(name: string): string {
  const clean = name.replace(/[^a-zA-Z0-9_-]+/g, '_').slice(0, 64)
  return clean === '' ? 'unknown' : clean
}

/** Replaces IDs that are missing, repeated or not printable: results refer to them. */
function uniqueId(id: string, usedIds: Set<string>, fallback: string): string {
  const isValid = /^[\x21-\x7e]{1,256}$/.test(id) && !usedIds.has(id)
  const unique = isValid ? id : `call_${fallback.replace(/[^a-zA-Z0-9_-]/g, '')}`.slice(0, 64)
  usedIds.add(unique)
  return unique
}
