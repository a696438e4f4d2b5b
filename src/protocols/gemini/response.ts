/**
 * Reads the parts of an answer: finish reasons, ids and arguments of calls, log probabilities, usage. The wire is checked
 * by hand. Invalid values read as absent, unless the answer would lose something by it.
 *
 * Source: https://ai.google.dev/api/generate-content, and the recorded answers of both hosts.
 */
import { createHash } from 'node:crypto'
import type { FinishReason, Usage } from '../../domain/chat.ts'
import { isRecord, type Json, parseJson, textOf } from '../../lib/json.ts'
import { count, type MutableUsage, put, putSome, serviceTierOf } from '../body-fields.ts'
import { brokenAnswer } from '../protocol.ts'

const FINISH_REASONS: Readonly<Record<string, FinishReason>> = {
  STOP: 'stop',
  MAX_TOKENS: 'length',
  SAFETY: 'content_filter',
  RECITATION: 'content_filter',
  BLOCKLIST: 'content_filter',
  PROHIBITED_CONTENT: 'content_filter',
  SPII: 'content_filter',
  LANGUAGE: 'content_filter',
  IMAGE_SAFETY: 'content_filter',
  IMAGE_PROHIBITED_CONTENT: 'content_filter',
  IMAGE_RECITATION: 'content_filter',
  MODEL_ARMOR: 'content_filter',
}

/** Finish reasons that report a failure of the model, unless there is output already. */
const BREAKDOWNS: readonly string[] = [
  'MALFORMED_FUNCTION_CALL',
  'UNEXPECTED_TOOL_CALL',
  'TOO_MANY_TOOL_CALLS',
  'MISSING_THOUGHT_SIGNATURE',
  'MALFORMED_RESPONSE',
  'NO_IMAGE',
  'IMAGE_OTHER',
]

/** Finish reasons by number, for answers whose enumerations are encoded as numbers. */
const NUMBERED_REASONS: readonly string[] = [
  'FINISH_REASON_UNSPECIFIED',
  'STOP',
  'MAX_TOKENS',
  'SAFETY',
  'RECITATION',
  'OTHER',
]

/** The finish reason; '' when absent. */
export function finishWord(value: unknown): string {
  return typeof value === 'number' ? (NUMBERED_REASONS[value] ?? String(value)) : textOf(value)
}

/** Returns whether the finish reason means that no answer was generated. */
export function isBreakdown(word: string): boolean {
  return BREAKDOWNS.includes(word)
}

/** The enumeration grows, so an unknown value is `stop`. With tool calls `stop` becomes `tool_calls`. */
export function parseFinish(word: string, calledTools: boolean): FinishReason {
  const reason = Object.hasOwn(FINISH_REASONS, word) ? FINISH_REASONS[word] : undefined
  return calledTools && (reason === undefined || reason === 'stop') ? 'tool_calls' : (reason ?? 'stop')
}

/** Returns why the prompt was blocked before generation; '' if it was not. */
export function blockReason(answer: Json): string {
  const { promptFeedback: feedback } = answer
  if (!isRecord(feedback)) return ''
  const { blockReason: reason } = feedback
  return typeof reason === 'number' ? `BLOCK_REASON_${reason}` : textOf(reason)
}

/** JSON text of a call's arguments, which are an object or absent. */
export function argumentsText(args: unknown): string {
  if (args === undefined || args === null) return '{}'
  if (!isRecord(args)) throw brokenAnswer('The provider called a tool with arguments that are no object.')
  try {
    return JSON.stringify(args)
  } catch (error) {
    throw brokenAnswer('The provider called a tool with arguments that are nested too deeply.', error)
  }
}

/** Identifies a call within its answer. */
export interface CallPosition {
  /** The index of the choice. */
  readonly index: number
  readonly toolIndex: number
}

/**
 * The ID of a call without one, as most are. At most 40 characters, the limit of the strictest host.
 * @param answer Result of `shortName`.
 */
export function generatedCallId(answer: string, { index, toolIndex }: CallPosition): string {
  return `call_${answer}_${index}_${toolIndex}`
}

/** Returns at most 24 letters, digits, `_` and `-`. @param answer The answer's ID or its whole text. */
export function shortName(answer: string): string {
  const isShort = answer.length <= SHORT_LENGTH && /^[A-Za-z0-9_-]*$/.test(answer)
  return isShort ? answer : createHash('sha256').update(answer).digest('base64url').slice(0, SHORT_LENGTH)
}

const SHORT_LENGTH = 24

interface TokenLogprob {
  readonly token: string
  readonly logprob: number
  /** The bytes in UTF-8. */
  readonly bytes: readonly number[]
}

/**
 * @param result A candidate's `logprobsResult`: `{chosenCandidates: [{token, logProbability}], topCandidates:
 * [{candidates: […]}]}`, the two lists step by step.
 * @returns `{content: [{token, logprob, bytes, top_logprobs}], refusal: null}`; undefined when absent.
 */
export function parseLogprobs(result: unknown): Json | undefined {
  if (!isRecord(result)) return undefined
  const chosen = recordsOf(result.chosenCandidates)
  if (chosen.length === 0) return undefined
  const tops = recordsOf(result.topCandidates)
  const content = chosen.map((candidate, step) => ({
    ...tokenLogprob(candidate),
    top_logprobs: recordsOf(tops[step]?.candidates).map(tokenLogprob),
  }))
  return { content, refusal: null }
}

function tokenLogprob({ token, logProbability }: Json): TokenLogprob {
  const text = textOf(token)
  return {
    token: text,
    logprob: typeof logProbability === 'number' ? logProbability : 0,
    bytes: [...Buffer.from(text)],
  }
}

function recordsOf(list: unknown): readonly Json[] {
  return Array.isArray(list) ? list.filter(isRecord) : []
}

/**
 * A snapshot of the whole answer so far: the wire counts cumulatively. Thoughts are counted beside the candidates and a
 * server-side tool's input beside the prompt; both are within for us. Counts that are absent are left out, never zero,
 * except one: at the end of an answer a missing count of candidates is the rest of the total.
 * @returns undefined without any count.
 */
export function parseUsage(value: unknown, isEnd: boolean): Usage | undefined {
  if (!isRecord(value)) return undefined
  const thoughts = count(value.thoughtsTokenCount)
  const prompt = sum(count(value.promptTokenCount), count(value.toolUsePromptTokenCount))
  const completion = sum(count(value.candidatesTokenCount), thoughts)
  const usage: MutableUsage = {}
  put(usage, 'promptTokens', prompt)
  put(usage, 'completionTokens', completion ?? (isEnd ? remainder(value, prompt) : undefined))
  put(usage, 'cachedTokens', count(value.cachedContentTokenCount))
  put(usage, 'reasoningTokens', thoughts)
  if (Object.keys(usage).length === 0) return undefined
  const { promptTokensDetails, toolUsePromptTokensDetails, cacheTokensDetails, candidatesTokensDetails } = value
  const audio = sum(tokensOf(promptTokensDetails, 'AUDIO'), tokensOf(toolUsePromptTokensDetails, 'AUDIO'))
  putSome(usage, 'audioInputTokens', audio)
  putSome(usage, 'cachedAudioTokens', tokensOf(cacheTokensDetails, 'AUDIO'))
  putSome(usage, 'audioOutputTokens', tokensOf(candidatesTokensDetails, 'AUDIO'))
  putSome(usage, 'imageOutputTokens', tokensOf(candidatesTokensDetails, 'IMAGE'))
  const tier = serviceTierOf(value.serviceTier) ?? trafficTier(value.trafficType)
  if (tier !== undefined) usage.serviceTier = tier
  return usage
}

/**
 * Returns the tokens of one modality in a list such as `[{"modality": "TEXT", "tokenCount": 12}]`. Undefined if there
 * are none.
 */
function tokensOf(details: unknown, modality: string): number | undefined {
  if (!Array.isArray(details)) return undefined
  let total: number | undefined
  for (const each of details)
    if (isRecord(each) && each.modality === modality) total = sum(total, count(each.tokenCount))
  return total
}

/** Vertex AI names the kind of traffic: `ON_DEMAND`, `ON_DEMAND_FLEX`, `ON_DEMAND_PRIORITY`, `PROVISIONED_THROUGHPUT`. */
function trafficTier(type: unknown): string | undefined {
  return typeof type === 'string' ? serviceTierOf(type.replace(/^ON_DEMAND_/, '')) : undefined
}

function remainder(usage: Json, prompt: number | undefined): number | undefined {
  const total = count(usage.totalTokenCount)
  return total === undefined || prompt === undefined || total < prompt ? undefined : total - prompt
}

function sum(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : one + other
}

/** The steps of a path, more than any tool needs. */
const MAX_PATH_STEPS = 64

type Step = string | number
type Container = Record<string, unknown> | unknown[]

/** The arguments of one call in pieces. Its methods throw `ProviderError` for pieces with an invalid path. */
export interface PartialArguments {
  /** @param pieces `{jsonPath, stringValue | numberValue | boolValue | nullValue, willContinue?}`. */
  push(pieces: unknown): void
  /** JSON text of the pieces so far. */
  text(): string
}

export function createPartialArguments(): PartialArguments {
  const root: Record<string, unknown> = Object.create(null)
  let unfinished: string | undefined
  return {
    push(pieces) {
      if (!Array.isArray(pieces)) return
      for (const piece of pieces) {
        if (!isRecord(piece)) continue
        const path = textOf(piece.jsonPath)
        const value = scalarOf(piece)
        if (value !== undefined) assign(root, parsePath(path), { value, continues: unfinished === path })
        unfinished = piece.willContinue === true ? path : undefined
      }
    },
    text: () => argumentsText(root),
  }
}

function scalarOf(piece: Json): unknown {
  const { stringValue, numberValue, boolValue } = piece
  if (typeof stringValue === 'string') return stringValue
  return numberValue ?? boolValue ?? ('nullValue' in piece ? null : undefined)
}

interface Assignment {
  readonly value: unknown
  /** Whether the piece continues a string instead of replacing it. */
  readonly continues: boolean
}

function assign(root: Container, steps: readonly Step[], { value, continues }: Assignment): void {
  let container = root
  steps.slice(0, -1).forEach((step, position) => {
    const known = get(container, step)
    const next = known ?? (typeof steps[position + 1] === 'number' ? [] : Object.create(null))
    if (typeof next !== 'object' || next === null) throw misplaced()
    if (known === undefined) set(container, step, next)
    container = next
  })
  const last = steps.at(-1) ?? ''
  const before = continues ? get(container, last) : undefined
  set(container, last, typeof before === 'string' && typeof value === 'string' ? before + value : value)
}

function get(container: Container, step: Step): unknown {
  if (Array.isArray(container)) return typeof step === 'number' ? container[step] : undefined
  return container[step]
}

/** Lists grow one by one: a piece must not reserve memory by naming a large index. */
function set(container: Container, step: Step, value: unknown): void {
  if (!Array.isArray(container)) container[step] = value
  else if (typeof step === 'number' && step <= container.length) container[step] = value
  else throw misplaced()
}

function parsePath(path: string): readonly Step[] {
  const pattern = /\.([^.[\]]+)|\[(\d{1,9})\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/y
  const steps: Step[] = []
  pattern.lastIndex = 1
  while (pattern.lastIndex < path.length && steps.length < MAX_PATH_STEPS) {
    const match = pattern.exec(path)
    if (match === null) throw misplaced()
    const [, name, position, single, double] = match
    steps.push(name ?? (position === undefined ? unquoted(single ?? double ?? '') : Number(position)))
    pattern.lastIndex = match.index + match[0].length
  }
  if (!path.startsWith('$') || steps.length === 0 || steps.length === MAX_PATH_STEPS) throw misplaced()
  return steps
}

function unquoted(quoted: string): string {
  const name = parseJson(`"${quoted.replaceAll("\\'", "'").replace(/(?<!\\)"/g, '\\"')}"`)
  if (typeof name !== 'string') throw misplaced()
  return name
}

function misplaced(): Error {
  return brokenAnswer('The provider sent a piece of a tool call that fits nowhere.')
}
