/** One answer or one chunk of it: they have the same shape, so one reader serves both. */
import type { ChatEvent, FinishReason } from '../../domain/chat.ts'
import { isRecord, type Json, textOf } from '../../lib/json.ts'
import { brokenAnswer } from '../broken-answer.ts'
import { ProviderError } from '../protocol.ts'
import { CONTEXT_FIELD, type PartKind, renderContext, renderRange, type Signature } from './context.ts'
import { failureOf } from './errors.ts'
import { parseLogprobs } from './logprobs.ts'
import { createPartialArguments, type PartialArguments } from './partial-arguments.ts'
import { parseUsage } from './usage.ts'
import { argumentsText, blockReason, finishWord, isBreakdown, madeUpCallId, parseFinish } from './wire.ts'

/** More than the API's own limit of candidates, and than that of `n`. */
const MAX_CHOICES = 128

/** What has been read of an answer. */
export interface AnswerState {
  readonly choices: (Choice | undefined)[]
  /** The answer's own id; '' until known. */
  answerId: string
}

export interface Choice {
  readonly index: number
  /** Where the current chunk's events go. */
  events: ChatEvent[]
  /** UTF-16 units of text and of reasoning so far. */
  textLength: number
  reasoningLength: number
  callCount: number
  readonly callIds: Set<string>
  /** A call whose arguments are still coming. */
  open: { readonly toolIndex: number; readonly arguments: PartialArguments } | undefined
  readonly images: unknown[]
  readonly signatures: Signature[]
  /** How many of them have been told. */
  toldSignatures: number
  finish: FinishReason | undefined
}

export function newAnswer(): AnswerState {
  return { choices: [], answerId: '' }
}

/**
 * Appends what an answer or chunk says. Usage comes first, so that it is there even if the rest is an error.
 * @param source The text that was parsed; names calls of answers that have no id.
 */
export function readAnswer(state: AnswerState, answer: Json, into: { source: string; events: ChatEvent[] }): void {
  const { source, events } = into
  const candidates = Array.isArray(answer.candidates) ? answer.candidates : []
  const blocked = candidates.length === 0 ? blockReason(answer) : ''
  const usage = parseUsage(answer.usageMetadata, blocked !== '' || isLast(candidates))
  if (usage !== undefined) events.push({ type: 'usage', usage })
  if (hasError(answer)) throw new ProviderError(failureOf(answer, 200))
  if (state.answerId === '') state.answerId = textOf(answer.responseId)
  for (let position = 0; position < candidates.length; position++) {
    const candidate: unknown = candidates[position]
    if (!isRecord(candidate)) throw brokenAnswer('The provider sent an unreadable candidate.')
    const choice = choiceAt(state, candidate.index ?? position)
    choice.events = events
    readCandidate(choice, candidate, state.answerId || source)
  }
  if (blocked !== '') readBlock(choiceAt(state, 0), blocked, events)
}

function isLast(candidates: readonly unknown[]): boolean {
  for (const each of candidates) if (isRecord(each) && finishWord(each.finishReason) !== '') return true
  return false
}

/** Whether there is an error in the place of an answer. */
function hasError({ error }: Json): boolean {
  return error !== undefined && error !== null
}

function choiceAt(state: AnswerState, index: unknown): Choice {
  if (typeof index !== 'number' || !Number.isInteger(index) || index < 0 || index >= MAX_CHOICES) {
    throw brokenAnswer('The provider sent a candidate without a usable index.')
  }
  const known = state.choices[index]
  if (known !== undefined) return known
  const choice: Choice = {
    index,
    events: [],
    textLength: 0,
    reasoningLength: 0,
    callCount: 0,
    callIds: new Set(),
    open: undefined,
    images: [],
    signatures: [],
    toldSignatures: 0,
    finish: undefined,
  }
  state.choices[index] = choice
  return choice
}

function readCandidate(choice: Choice, candidate: Json, answer: string): void {
  const { content } = candidate
  const parts = isRecord(content) && Array.isArray(content.parts) ? content.parts : []
  let logprobs = parseLogprobs(candidate.logprobsResult)
  for (const part of parts) {
    if (!isRecord(part)) continue
    if (isRecord(part.functionCall)) readCall(choice, part, answer)
    else if (isRecord(part.inlineData)) readImage(choice, part, part.inlineData)
    else if (typeof part.text === 'string' && readText(choice, part, logprobs)) logprobs = undefined
  }
  const word = finishWord(candidate.finishReason)
  if (word !== '') readFinish(choice, word)
}

/** @returns whether `logprobs` has been told. Parts of server-side tools have no text and are read over. */
function readText(choice: Choice, part: Json, logprobs: Json | undefined): boolean {
  const { index, events } = choice
  const text = textOf(part.text)
  if (part.thought === true) {
    if (part.thoughtSignature !== undefined) signText(choice, part, 'reasoning')
    choice.reasoningLength += text.length
    if (text !== '') events.push({ type: 'reasoning', index, text })
    return false
  }
  if (part.thoughtSignature !== undefined) signText(choice, part, 'text')
  choice.textLength += text.length
  if (text === '') return false
  if (logprobs === undefined) events.push({ type: 'text', index, text })
  else events.push({ type: 'text', index, text, logprobs })
  return true
}

function signText(choice: Choice, part: Json, kind: 'text' | 'reasoning'): void {
  const from = kind === 'text' ? choice.textLength : choice.reasoningLength
  sign(choice, part, [kind, renderRange({ from, to: from + textOf(part.text).length })])
}

function sign(choice: Choice, { thoughtSignature }: Json, [kind, of]: readonly [PartKind, string]): void {
  const signature = textOf(thoughtSignature)
  if (signature !== '') choice.signatures.push({ kind, of, signature })
}

/** Generated images; other data has no place in a message. Each event has all images so far. */
function readImage(choice: Choice, part: Json, data: Json): void {
  const mimeType = textOf(data.mimeType)
  if (part.thought === true || !mimeType.startsWith('image/')) return
  const position = choice.images.length
  const url = `data:${mimeType};base64,${textOf(data.data)}`
  sign(choice, part, ['image', String(position)])
  choice.images.push({ index: position, type: 'image_url', image_url: { url } })
  choice.events.push({ type: 'extension', index: choice.index, field: 'images', value: [...choice.images] })
}

/**
 * A call comes whole in one part, or begins in a part with a name, goes on in parts without, and ends with the first
 * that does not say `willContinue`.
 */
function readCall(choice: Choice, part: Json, answer: string): void {
  const call = isRecord(part.functionCall) ? part.functionCall : {}
  const name = textOf(call.name)
  const goesOn = call.willContinue === true
  if (name === '') {
    continueCall(choice, call, goesOn)
    return
  }
  endOpenCall(choice)
  const { index, events } = choice
  const toolIndex = choice.callCount++
  const id = callId(choice, call, { answer, toolIndex })
  sign(choice, part, ['tool_call', id])
  const isWhole = !goesOn && call.partialArgs === undefined
  events.push({ type: 'tool-call', index, toolIndex, id, name, arguments: isWhole ? argumentsText(call.args) : '' })
  if (isWhole) return
  choice.open = { toolIndex, arguments: createPartialArguments() }
  continueCall(choice, call, goesOn)
}

function continueCall(choice: Choice, call: Json, goesOn: boolean): void {
  if (choice.open === undefined) throw brokenAnswer('The provider called a tool without a name.')
  choice.open.arguments.push(call.partialArgs)
  if (!goesOn) endOpenCall(choice)
}

function endOpenCall(choice: Choice): void {
  const { open, index, events } = choice
  if (open === undefined) return
  choice.open = undefined
  events.push({ type: 'tool-call', index, toolIndex: open.toolIndex, arguments: open.arguments.text() })
}

/** The provider's own id, unless it has none or has given it before. */
function callId(choice: Choice, call: Json, { answer, toolIndex }: { answer: string; toolIndex: number }): string {
  const given = textOf(call.id)
  const isUsable = given !== '' && !choice.callIds.has(given)
  const id = isUsable ? given : madeUpCallId(answer, { index: choice.index, toolIndex })
  choice.callIds.add(id)
  return id
}

/** A later word replaces an earlier one unless it says less; `stop` says least, `tool_calls` is never taken back. */
function readFinish(choice: Choice, word: string): void {
  const { index, events, finish: earlier } = choice
  if (isBreakdown(word) && !hasOutput(choice)) {
    throw brokenAnswer(`The provider ended the answer without any output: ${word}.`)
  }
  const reason = parseFinish(word, choice.callCount > 0)
  if (reason === 'tool_calls') endOpenCall(choice)
  tellContext(choice)
  if (earlier === reason || (earlier !== undefined && reason === 'stop') || earlier === 'tool_calls') return
  choice.finish = reason
  events.push({ type: 'finish', index, reason, raw: word })
}

function hasOutput({ textLength, callCount, images }: Choice): boolean {
  return textLength > 0 || callCount > 0 || images.length > 0
}

/** Appends the signatures unless they have been told. */
export function tellContext(choice: Choice): void {
  const { index, events, signatures } = choice
  if (signatures.length === choice.toldSignatures) return
  choice.toldSignatures = signatures.length
  events.push({ type: 'extension', index, field: CONTEXT_FIELD, value: renderContext(signatures) })
}

/** A prompt that was refused is an answer with nothing in it: the API, too, answers it with status 200. */
function readBlock(choice: Choice, word: string, events: ChatEvent[]): void {
  if (choice.finish !== undefined) return
  choice.finish = 'content_filter'
  events.push({ type: 'finish', index: choice.index, reason: 'content_filter', raw: word })
}
