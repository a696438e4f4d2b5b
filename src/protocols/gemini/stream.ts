/** Parses answers, whole and streamed: a chunk has the shape of a whole answer, so one reader serves both. */
import type { ChatEvent, FinishReason } from '../../domain/chat.ts'
import { isRecord, type Json, parseJson, textOf } from '../../lib/json.ts'
import { brokenAnswer, type Frame, ProviderError, type StreamParser } from '../protocol.ts'
import { CONTEXT_FIELD, type PartKind, renderContext, renderRange, type Signature } from './context.ts'
import { failureOf } from './errors.ts'
import {
  argumentsText,
  blockReason,
  createPartialArguments,
  finishWord,
  generatedCallId,
  isBreakdown,
  type PartialArguments,
  parseFinish,
  parseLogprobs,
  parseUsage,
  shortName,
} from './response.ts'
import { addQueries, groundingPages } from './tools.ts'

/**
 * One per call. A stream is complete when every choice in it has a finish reason. The format has no final frame: some models
 * send a finish reason in every chunk, so that only the end of the body ends the answer. A choice may have two finish events
 * if later chunks are more specific than `stop`: the later one counts.
 */
export function streamParser(): StreamParser {
  const state = newAnswer()
  let isDone = false
  return {
    push(frame, events) {
      isDone ||= frame.data.startsWith('[DONE]')
      if (isDone) return true
      const chunk = parseChunk(frame)
      if (chunk !== undefined) readAnswer(state, chunk, { source: frame.data, events })
      return false
    },
    end(events) {
      if (!isComplete(state)) throw brokenAnswer('The provider closed the stream before the end of the answer.')
      for (const choice of state.choices) {
        if (choice === undefined) continue
        choice.events = events
        emitContext(choice)
      }
    },
  }
}

/** @returns undefined for blank data, and for event types that are not part of this format. */
function parseChunk({ data, event }: Frame): Json | undefined {
  const chunk = parseJson(data)
  if (event === 'error') {
    const isWrapped = Array.isArray(chunk) || (isRecord(chunk) && 'error' in chunk)
    throw new ProviderError(failureOf(isWrapped ? chunk : { error: chunk ?? data }, 200))
  }
  if (isRecord(chunk)) return chunk
  if (Array.isArray(chunk) && isRecord(chunk[0]) && 'error' in chunk[0]) throw new ProviderError(failureOf(chunk, 200))
  if (data.trim() === '' || (event !== '' && event !== 'message')) return undefined
  throw brokenAnswer('The provider sent a chunk that cannot be read.')
}

function isComplete(state: AnswerState): boolean {
  let seen = 0
  for (const choice of state.choices) {
    if (choice === undefined) continue
    if (choice.finish === undefined) return false
    seen++
  }
  return seen > 0
}

/**
 * A candidate without a finish reason has no finish event. A blocked prompt is an answer with the finish reason
 * `content_filter`. A list is a stream in another framing: its items are chunks of one answer.
 */
export function parseResponse(body: string): ChatEvent[] {
  const state = newAnswer()
  const events: ChatEvent[] = []
  for (const answer of answersOf(parseJson(body))) readAnswer(state, answer, { source: body, events })
  endChoices(state)
  return events
}

function answersOf(body: unknown): readonly Json[] {
  const answers: readonly unknown[] = Array.isArray(body) ? body : [body]
  return answers.map((answer) => {
    if (isRecord(answer)) return answer
    throw brokenAnswer('The provider answered with something that is not a JSON object.')
  })
}

function endChoices(state: AnswerState): void {
  if (state.choices.length === 0) throw brokenAnswer('The provider answered without candidates.')
  for (const choice of state.choices) {
    if (choice === undefined) throw brokenAnswer('The provider left out a candidate.')
    const { textLength, callCount, finish } = choice
    const isEmpty = textLength + callCount + choice.images.length === 0
    if (finish === undefined && (isEmpty || choice.open !== undefined)) {
      throw brokenAnswer('The provider answered with an unfinished candidate.')
    }
    emitContext(choice)
  }
}

/** The choices of a stream, above the API's own limit of candidates and of `n`. */
const MAX_CHOICES = 128

/** The state of the answer so far. */
export interface AnswerState {
  readonly choices: (Choice | undefined)[]
  /** The answer's own id; '' until known. */
  answerId: string
  /** The last ID or text for which a short name was computed. */
  named: { readonly answer: string; readonly name: string } | undefined
  /** The search queries so far. */
  readonly queries: Set<string>
}

export interface Choice {
  readonly index: number
  /** Receives the events of the current chunk. */
  events: ChatEvent[]
  /** UTF-16 units of text and of reasoning so far. */
  textLength: number
  reasoningLength: number
  callCount: number
  readonly callIds: Set<string>
  /** A call with incomplete arguments. */
  open: { readonly toolIndex: number; readonly arguments: PartialArguments } | undefined
  readonly images: unknown[]
  readonly signatures: Signature[]
  /** Number of them that were emitted. */
  emittedSignatures: number
  finish: FinishReason | undefined
}

function newAnswer(): AnswerState {
  return { choices: [], answerId: '', named: undefined, queries: new Set() }
}

/** Computed once for all calls, since the text may be as long as all of them. */
function nameOf(state: AnswerState, answer: string): string {
  if (state.named?.answer !== answer) state.named = { answer, name: shortName(answer) }
  return state.named.name
}

/**
 * Appends the events of an answer or chunk. Usage comes first, so that it is emitted even if the rest is an error.
 * @param source The parsed text, from which calls of answers without an ID get theirs.
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
    readCandidate(choice, candidate, () => nameOf(state, state.answerId || source))
    if (candidate.groundingMetadata !== undefined) readGrounding(state, choice, candidate)
  }
  if (blocked !== '') readBlock(choiceAt(state, 0), blocked, events)
}

/** Search queries, from which alone the uses can be counted, and the pages found. */
function readGrounding({ queries }: AnswerState, { index, events, textLength }: Choice, candidate: Json): void {
  addQueries(queries, candidate)
  if (queries.size > 0) events.push({ type: 'usage', usage: { serverToolUses: { web_search: queries.size } } })
  const annotations = groundingPages(candidate, textLength)
  if (annotations.length > 0) events.push({ type: 'extension', index, field: 'annotations', value: annotations })
}

function isLast(candidates: readonly unknown[]): boolean {
  for (const each of candidates) if (isRecord(each) && finishWord(each.finishReason) !== '') return true
  return false
}

/** Returns whether the body reports an error instead of an answer. */
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
    emittedSignatures: 0,
    finish: undefined,
  }
  state.choices[index] = choice
  return choice
}

/** @param answer The part of generated call IDs that identifies the answer. */
function readCandidate(choice: Choice, candidate: Json, answer: () => string): void {
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

/** @returns whether `logprobs` was emitted. Parts of server-side tools have no text and are ignored. */
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

/** Each event contains all images so far, so further ones are dropped. */
const MAX_IMAGES = 128

/** Generated images; other data is ignored. */
function readImage(choice: Choice, part: Json, data: Json): void {
  const mimeType = textOf(data.mimeType)
  if (part.thought === true || !mimeType.startsWith('image/')) return
  const position = choice.images.length
  if (position >= MAX_IMAGES) return
  const url = `data:${mimeType};base64,${textOf(data.data)}`
  sign(choice, part, ['image', String(position)])
  choice.images.push({ index: position, type: 'image_url', image_url: { url } })
  choice.events.push({ type: 'extension', index: choice.index, field: 'images', value: [...choice.images] })
}

/**
 * A call is one part, or begins with a named part, continues in parts without a name, and ends with the first one without
 * `willContinue`.
 */
function readCall(choice: Choice, part: Json, answer: () => string): void {
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

/** The provider's ID, unless it is missing or repeated. */
function callId(choice: Choice, call: Json, at: { answer: () => string; toolIndex: number }): string {
  const given = textOf(call.id)
  const isUsable = given !== '' && !choice.callIds.has(given)
  const id = isUsable ? given : generatedCallId(at.answer(), { index: choice.index, toolIndex: at.toolIndex })
  choice.callIds.add(id)
  return id
}

/** A later reason replaces an earlier one unless it is less specific: never by `stop`, and never `tool_calls`. */
function readFinish(choice: Choice, word: string): void {
  const { index, events, finish: earlier } = choice
  if (isBreakdown(word) && !hasOutput(choice)) {
    throw brokenAnswer(`The provider ended the answer without any output: ${word}.`)
  }
  const reason = parseFinish(word, choice.callCount > 0)
  if (reason === 'tool_calls') endOpenCall(choice)
  if (choice.emittedSignatures === 0) emitContext(choice)
  if (earlier === reason || (earlier !== undefined && reason === 'stop') || earlier === 'tool_calls') return
  choice.finish = reason
  events.push({ type: 'finish', index, reason, raw: word })
}

function hasOutput({ textLength, callCount, images }: Choice): boolean {
  return textLength > 0 || callCount > 0 || images.length > 0
}

/** Emits new signatures: at the first finish reason, and at the end if more followed. */
function emitContext(choice: Choice): void {
  const { index, events, signatures } = choice
  if (signatures.length === choice.emittedSignatures) return
  choice.emittedSignatures = signatures.length
  events.push({ type: 'extension', index, field: CONTEXT_FIELD, value: renderContext(signatures) })
}

/** A blocked prompt is an empty answer; the API returns it with status 200, too. */
function readBlock(choice: Choice, word: string, events: ChatEvent[]): void {
  if (choice.finish !== undefined) return
  choice.finish = 'content_filter'
  events.push({ type: 'finish', index: choice.index, reason: 'content_filter', raw: word })
}
