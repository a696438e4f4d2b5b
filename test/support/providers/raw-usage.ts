/**
 * Reads what is billed out of the raw JSON of a provider's answer, for tests: in the units of genai-prices, apart from
 * the gateway's codecs on purpose, so that the two cannot share a mistake.
 */
import { EventStreamCodec } from '@smithy/eventstream-codec'
import type { Recording } from './recordings.ts'

/** Units of genai-prices; parts are within `input_tokens` and `output_tokens`. */
export interface BilledUnits {
  readonly input_tokens: number
  readonly output_tokens: number
  readonly cache_read_tokens: number
  readonly cache_write_tokens: number
  readonly cache_write_1h_tokens: number
  readonly input_audio_tokens: number
  readonly cache_audio_read_tokens: number
  readonly output_reasoning_tokens: number
  readonly output_audio_tokens: number
  readonly output_image_tokens: number
  readonly web_searches: number
}

// biome-ignore lint/suspicious/noExplicitAny: a recording is any JSON
type Json = any

/** Undefined: the answer counts nothing. */
export function readBilledUnits(recording: Recording): BilledUnits | undefined {
  const documents = documentsOf(recording)
  switch (recording.protocol) {
    case 'anthropic-messages':
      return ofMessages(documents)
    case 'gemini-generatecontent':
      return ofGemini(documents)
    case 'bedrock-converse':
      return ofConverse(documents)
    default:
      return ofChat(documents)
  }
}

/** One answer, or the data of each event. */
function documentsOf({ bytes, stream, file }: Recording): Json[] {
  if (file.endsWith('.bin')) return eventStreamDocuments(bytes)
  const text = bytes.toString('utf8')
  if (!stream) return [JSON.parse(text)].flat()
  const data = text.split(/\r\n|\n|\r/).filter((line) => line.startsWith('data:'))
  return data
    .map((line) => line.slice(5).trim())
    .filter((json) => json.startsWith('{'))
    .map((json) => JSON.parse(json))
}

function eventStreamDocuments(bytes: Buffer): Json[] {
  const codec = new EventStreamCodec(
    (part) => Buffer.from(part).toString('utf8'),
    (text) => Buffer.from(text, 'utf8'),
  )
  const documents: Json[] = []
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at)
    const { body } = codec.decode(bytes.subarray(at, at + length))
    documents.push(JSON.parse(Buffer.from(body).toString('utf8')))
    at += length
  }
  return documents
}

function units(parts: Partial<BilledUnits> & Pick<BilledUnits, 'input_tokens' | 'output_tokens'>): BilledUnits {
  return {
    cache_read_tokens: 0,
    cache_write_tokens: 0,
    cache_write_1h_tokens: 0,
    input_audio_tokens: 0,
    cache_audio_read_tokens: 0,
    output_reasoning_tokens: 0,
    output_audio_tokens: 0,
    output_image_tokens: 0,
    web_searches: 0,
    ...parts,
  }
}

function ofChat(documents: readonly Json[]): BilledUnits | undefined {
  const reported = documents.map((chunk) => chunk.usage ?? chunk.choices?.[0]?.usage ?? chunk.x_groq?.usage)
  const usage = reported.filter((each) => each?.prompt_tokens !== undefined && each.prompt_tokens !== null).at(-1)
  if (usage === undefined) return undefined
  const { prompt_tokens: prompt, completion_tokens: completion = 0, total_tokens: total } = usage
  const read = usage.prompt_tokens_details ?? {}
  const written = usage.completion_tokens_details ?? {}
  const reasoning = written.reasoning_tokens ?? 0
  // Grok at Azure counts more cached tokens than its prompt has; no token is charged twice.
  const cached =
    read.cached_tokens ?? usage.prompt_cache_hit_tokens ?? usage.cached_tokens ?? usage.num_cached_tokens ?? 0
  return units({
    input_tokens: prompt,
    // Grok and others count reasoning beside the completion, as their total shows.
    output_tokens: total === prompt + completion + reasoning ? completion + reasoning : completion,
    cache_read_tokens: Math.min(cached, prompt),
    cache_write_tokens: read.cache_write_tokens ?? 0,
    input_audio_tokens: read.audio_tokens ?? 0,
    output_reasoning_tokens: reasoning,
    output_audio_tokens: written.audio_tokens ?? 0,
  })
}

/** Of a stream the start has the prompt and the last delta the answer, each overwriting what it repeats. */
function ofMessages(documents: readonly Json[]): BilledUnits | undefined {
  const usage: Json = {}
  for (const { type, message, usage: own } of documents) {
    if (type === 'message_stop') break
    for (const [name, value] of Object.entries({ ...message?.usage, ...own })) if (value !== null) usage[name] = value
  }
  if (usage.input_tokens === undefined) return undefined
  const read = usage.cache_read_input_tokens ?? 0
  const written = usage.cache_creation_input_tokens ?? 0
  return units({
    input_tokens: usage.input_tokens + read + written,
    output_tokens: usage.output_tokens ?? 0,
    cache_read_tokens: read,
    cache_write_tokens: written,
    cache_write_1h_tokens: usage.cache_creation?.ephemeral_1h_input_tokens ?? 0,
    output_reasoning_tokens: usage.output_tokens_details?.thinking_tokens ?? 0,
    web_searches: usage.server_tool_use?.web_search_requests ?? 0,
  })
}

/** Each query once; empty ones are not billed. */
function queriesOf(documents: readonly Json[]): number {
  const metadata = documents
    .flatMap((each) => each.candidates ?? [])
    .map((candidate: Json) => candidate.groundingMetadata)
  return new Set(metadata.flatMap((each: Json) => each?.webSearchQueries ?? []).filter(Boolean)).size
}

function ofGemini(documents: readonly Json[]): BilledUnits | undefined {
  const usage = documents
    .map(({ usageMetadata }) => usageMetadata)
    .filter((each) => each !== undefined)
    .at(-1)
  if (usage?.promptTokenCount === undefined) return undefined
  const prompt = usage.promptTokenCount + (usage.toolUsePromptTokenCount ?? 0)
  const answered = usage.candidatesTokenCount ?? usage.totalTokenCount - prompt - (usage.thoughtsTokenCount ?? 0)
  const ofModality = (list: Json, modality: string): number =>
    (list ?? []).find((each: Json) => each.modality === modality)?.tokenCount ?? 0
  return units({
    input_tokens: prompt,
    output_tokens: answered + (usage.thoughtsTokenCount ?? 0),
    cache_read_tokens: usage.cachedContentTokenCount ?? 0,
    input_audio_tokens: ofModality(usage.promptTokensDetails, 'AUDIO'),
    cache_audio_read_tokens: ofModality(usage.cacheTokensDetails, 'AUDIO'),
    output_reasoning_tokens: usage.thoughtsTokenCount ?? 0,
    output_audio_tokens: ofModality(usage.candidatesTokensDetails, 'AUDIO'),
    output_image_tokens: ofModality(usage.candidatesTokensDetails, 'IMAGE'),
    web_searches: queriesOf(documents),
  })
}

function ofConverse(documents: readonly Json[]): BilledUnits | undefined {
  const usage = documents
    .map((each) => each.usage)
    .filter((each) => each?.inputTokens !== undefined)
    .at(-1)
  if (usage === undefined) return undefined
  const read = usage.cacheReadInputTokens ?? 0
  const written = usage.cacheWriteInputTokens ?? 0
  return units({
    input_tokens: usage.inputTokens + read + written,
    output_tokens: usage.outputTokens,
    cache_read_tokens: read,
    cache_write_tokens: written,
  })
}
