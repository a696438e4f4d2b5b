/**
 * Reads a recorded generateContent answer for tests: the plainest reading of the format there is, written apart from
 * the codec on purpose, so that the two cannot share a mistake. It knows whole recordings only.
 */
import type { ReadChoice, ReadToolCall, ReadUsage } from './recording-reader.ts'
import { dataOf, sseBlocks } from './sse-blocks.ts'

export interface ReadGeminiChoice extends ReadChoice {
  /** In the order of the parts. */
  readonly signatures: readonly string[]
  /** Data URLs. */
  readonly images: readonly string[]
}
export interface ReadGeminiAnswer {
  /** By index. */
  readonly choices: Readonly<Record<number, ReadGeminiChoice>>
  readonly usage: ReadUsage | undefined
  /** The answer is an error, or ends in one, or holds nothing. */
  readonly isError: boolean
}
export interface ReadGeminiStream extends ReadGeminiAnswer {
  /** Bytes after which every choice of the recording has a finish reason; undefined when that never comes. */
  readonly terminalOffset: number | undefined
  /** Bytes before what is no event at all; undefined when there is nothing of the kind. */
  readonly strayOffset: number | undefined
}

interface Draft {
  text: string
  reasoning: string
  // biome-ignore lint/suspicious/noExplicitAny: a recording is any JSON
  calls: { id: string; name: string; args: any }[]
  signatures: string[]
  images: string[]
  word: string | undefined
}
// The reader trusts recordings: what it reads out of them is compared, not believed.
// biome-ignore lint/suspicious/noExplicitAny: a recording is any JSON
type Anything = any

export function readGeminiWhole(body: string): ReadGeminiAnswer {
  const answer: Anything = JSON.parse(body)
  const drafts: Record<number, Draft> = {}
  addAnswer(drafts, answer)
  const unfinished = Object.values(drafts).some((draft) => draft.word === undefined && isEmpty(draft))
  const isError = Boolean(answer.error) || Object.keys(drafts).length === 0 || unfinished || isBroken(drafts)
  return { choices: finished(drafts), usage: withSearches(usageOf(answer.usageMetadata, true), [answer]), isError }
}

/** The queries of all chunks, each once and no empty one. */
function withSearches(usage: ReadUsage | undefined, answers: readonly Anything[]): ReadUsage | undefined {
  const metadata = answers.flatMap(({ candidates = [] }) => candidates).map((each: Anything) => each.groundingMetadata)
  const queries = new Set(metadata.flatMap((each: Anything) => each?.webSearchQueries ?? []).filter(Boolean))
  return queries.size === 0
    ? usage
    : ({ ...usage, serverToolUses: { web_search: queries.size } } as unknown as ReadUsage)
}

export function readGeminiStream(bytes: Uint8Array): ReadGeminiStream {
  const drafts: Record<number, Draft> = {}
  const { chunks, strayOffset } = blocksOf(bytes)
  const indices = new Set(chunks.flatMap(({ chunk }) => indicesOf(chunk)))
  let usage: ReadUsage | undefined
  let terminalOffset: number | undefined
  let isError = strayOffset !== undefined
  for (const { chunk, end } of chunks) {
    if (chunk.error) isError = true
    if (chunk.error) break
    addAnswer(drafts, chunk)
    const isLast =
      indicesOf(chunk).length > 0 && Boolean(chunk.promptFeedback?.blockReason || wordsOf(chunk).some(Boolean))
    usage = { ...usage, ...usageOf(chunk.usageMetadata, isLast) }
    if (indices.size > 0 && [...indices].every((index) => drafts[index]?.word)) terminalOffset ??= end
  }
  const found = usage !== undefined && Object.keys(usage).length > 0 ? usage : undefined
  const counted = withSearches(
    found,
    chunks.map(({ chunk }) => chunk),
  )
  return {
    choices: finished(drafts),
    usage: counted,
    isError: isError || isBroken(drafts),
    terminalOffset,
    strayOffset,
  }
}

function wordsOf(chunk: Anything): Anything[] {
  return (chunk.candidates ?? []).map((candidate: Anything) => candidate.finishReason)
}

function indicesOf(chunk: Anything): number[] {
  const indices = (chunk.candidates ?? []).map((candidate: Anything, at: number) => candidate.index ?? at)
  return indices.length === 0 && chunk.promptFeedback?.blockReason ? [0] : indices
}

function blocksOf(bytes: Uint8Array): { chunks: { chunk: Anything; end: number }[]; strayOffset: number | undefined } {
  const blocks = sseBlocks(bytes)
  const chunks = blocks.filter((block) => block.isWhole && dataOf(block) !== '')
  const stray = blocks.find(({ text }) => text.trimStart().startsWith('{'))
  return {
    chunks: chunks.map((block) => ({ chunk: JSON.parse(dataOf(block)), end: block.end })),
    strayOffset: stray && stray.start + stray.text.indexOf('{'),
  }
}

function addAnswer(drafts: Record<number, Draft>, answer: Anything): void {
  for (const [at, candidate] of (answer.candidates ?? []).entries()) {
    const draft = draftAt(drafts, candidate.index ?? at)
    for (const part of candidate.content?.parts ?? []) addPart(draft, part)
    const word = candidate.finishReason === 1 ? 'STOP' : candidate.finishReason
    if (word && !(draft.word && word === 'STOP')) draft.word = word
  }
  if (!answer.candidates && answer.promptFeedback?.blockReason) draftAt(drafts, 0).word = 'SAFETY'
}

function draftAt(drafts: Record<number, Draft>, index: number): Draft {
  const draft = drafts[index] ?? { text: '', reasoning: '', calls: [], signatures: [], images: [], word: undefined }
  drafts[index] = draft
  return draft
}

function addPart(draft: Draft, part: Anything): void {
  const { text, functionCall: call, inlineData: data, thoughtSignature: signature } = part
  if (typeof text === 'string') draft[part.thought ? 'reasoning' : 'text'] += text
  if (data) draft.images.push(`data:${data.mimeType};base64,${data.data}`)
  if (call?.name) draft.calls.push({ id: call.id ?? '', name: call.name, args: call.args ?? {} })
  for (const piece of call?.partialArgs ?? []) addPiece(draft.calls.at(-1)?.args, piece)
  if (signature && (typeof text === 'string' || call || data)) draft.signatures.push(signature)
}

/** Strings and numbers at the top, which is all that was recorded. */
function addPiece(args: Anything, { jsonPath, stringValue, numberValue }: Anything): void {
  const name = jsonPath.slice(2)
  args[name] = stringValue === undefined ? numberValue : (args[name] ?? '') + stringValue
}

const BROKEN = new Set(['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL', 'NO_IMAGE', 'TOO_MANY_TOOL_CALLS'])

function isEmpty({ text, calls, images }: Draft): boolean {
  return text === '' && calls.length === 0 && images.length === 0
}

function isBroken(drafts: Record<number, Draft>): boolean {
  return Object.values(drafts).some((draft) => BROKEN.has(draft.word ?? '') && isEmpty(draft))
}

function finished(drafts: Record<number, Draft>): Record<number, ReadGeminiChoice> {
  const entries = Object.entries(drafts).map(([index, { text, reasoning, calls, signatures, images, word }]) => {
    const toolCalls: ReadToolCall[] = calls.map(({ id, name, args }) => ({ id, name, arguments: JSON.stringify(args) }))
    const finish = finishOf(word, calls.length > 0)
    return [index, { text, reasoning, refusal: '', toolCalls, finish, signatures, images }]
  })
  return Object.fromEntries(entries)
}

function finishOf(word: string | undefined, hasCalls: boolean): string | undefined {
  if (word === 'MAX_TOKENS') return 'length'
  if (word === 'SAFETY' || word === 'RECITATION') return 'content_filter'
  return hasCalls ? 'tool_calls' : 'stop'
}

/** What the total counts beyond the prompt and its tools is the completion. */
function usageOf(usage: Anything, isLast: boolean): ReadUsage | undefined {
  if (!usage) return undefined
  const { promptTokenCount: prompt, toolUsePromptTokenCount: tool = 0, thoughtsTokenCount: thoughts } = usage
  const { candidatesTokenCount: candidates, cachedContentTokenCount: cached, totalTokenCount: total } = usage
  if (prompt === undefined) return undefined
  const isCounted = isLast || candidates !== undefined || thoughts !== undefined
  return {
    promptTokens: prompt + tool,
    ...(isCounted ? { completionTokens: total - prompt - tool } : {}),
    ...(cached === undefined ? {} : { cachedTokens: cached }),
    ...(thoughts === undefined ? {} : { reasoningTokens: thoughts }),
    ...seldomClasses(usage),
  }
}

/** Of what most answers have none. */
function seldomClasses(usage: Anything): Partial<ReadUsage> {
  const of = (details: Anything, modality: string): number | undefined =>
    details?.find((each: Anything) => each.modality === modality)?.tokenCount
  const heard = of(usage.promptTokensDetails, 'AUDIO')
  const drawn = of(usage.candidatesTokensDetails, 'IMAGE')
  return {
    ...(heard === undefined ? {} : { audioInputTokens: heard }),
    ...(drawn === undefined ? {} : { imageOutputTokens: drawn }),
    ...(usage.trafficType === 'PROVISIONED_THROUGHPUT' ? { serviceTier: 'provisioned_throughput' } : {}),
  }
}
