/**
 * One reading for the recordings of every protocol, put together from the plain readers, which share nothing with the
 * gateway's codecs. What is the same for all clients is said here in the words of the OpenAI format.
 */
import { type ReadMessage, readMessageStream, readWholeMessage } from './providers/anthropic-reader.ts'
import * as bedrock from './providers/bedrock-reader.ts'
import { type ReadGeminiAnswer, readGeminiStream, readGeminiWhole } from './providers/gemini-reader.ts'
import * as openai from './providers/recording-reader.ts'
import type { Recording } from './providers/recordings.ts'
import { type ReadResponse, readResponseStream, readWholeResponse } from './providers/responses-reader.ts'
import { sseBlocks } from './providers/sse-blocks.ts'

export interface Choice extends openai.ReadChoice {
  /** Signatures and sealed thinking that must come back with the next turn, in order; undefined where nobody read. */
  readonly seals: readonly string[] | undefined
  /** Data URLs. */
  readonly images: readonly string[]
}
export interface Whole {
  /** By index. */
  readonly choices: Readonly<Record<number, Choice>>
  readonly usage: openai.ReadUsage | undefined
  /** The answer is an error, or ends in one, or is none. */
  readonly isError: boolean
}
export interface Stream extends Whole {
  /** Bytes after which the answer is complete; undefined when that never comes. */
  readonly terminalOffset: number | undefined
  /** Bytes before what is no event at all; undefined when there is nothing of the kind. */
  readonly strayOffset: number | undefined
}

interface Reader {
  whole(body: string): Whole
  stream(bytes: Uint8Array): Omit<Stream, 'strayOffset'> & Partial<Pick<Stream, 'strayOffset'>>
}

const READERS: Readonly<Record<string, Reader>> = {
  'openai-chat': {
    whole: (body) => ofChat(openai.readWhole(body)),
    stream: (bytes) => {
      const read = openai.readStream(bytes)
      return { ...ofChat(read), terminalOffset: read.terminalOffset }
    },
  },
  'anthropic-messages': {
    whole: (body) => ofMessage(readWholeMessage(body)),
    stream: (bytes) => {
      const read = readMessageStream(bytes)
      return { ...ofMessage(read), terminalOffset: read.terminalOffset }
    },
  },
  'gemini-generatecontent': {
    whole: (body) => ofGemini(readGeminiWhole(body)),
    stream: (bytes) => {
      const read = readGeminiStream(bytes)
      return { ...ofGemini(read), terminalOffset: read.terminalOffset, strayOffset: read.strayOffset }
    },
  },
  'bedrock-converse': {
    whole: (body) => ofConverse(bedrock.readWhole(body)),
    stream: (bytes) => {
      const read = bedrock.readStream(bytes)
      return { ...ofConverse(read), terminalOffset: read.terminalOffset }
    },
  },
  'openai-responses': {
    whole: (body) => ofResponse(readWholeResponse(body)),
    stream: (bytes) => {
      const read = readResponseStream(bytes)
      return { ...ofResponse(read), terminalOffset: read.terminalOffset }
    },
  },
}

export function readWhole({ protocol, bytes }: Recording): Whole {
  return readerOf(protocol).whole(bytes.toString('utf8'))
}

/** @param end Reads no further; must be the end of a frame. */
export function readStream({ protocol, bytes }: Recording, end = bytes.length): Stream {
  const { strayOffset, ...read } = readerOf(protocol).stream(bytes.subarray(0, end))
  return { ...read, strayOffset }
}

/** Offsets just behind each whole frame. */
export function frameEnds({ protocol, bytes }: Recording): number[] {
  if (protocol === 'bedrock-converse') return bedrock.messageEnds(bytes)
  return sseBlocks(bytes).flatMap(({ end, isWhole }) => (isWhole ? [end] : []))
}

function readerOf(protocol: string): Reader {
  const reader = READERS[protocol]
  if (reader === undefined) throw new Error(`There is no reader for '${protocol}'.`)
  return reader
}

function ofChat({ choices, usage, isError }: openai.ReadAnswer): Whole {
  const entries = Object.entries(choices).map(([index, choice]) => [index, { ...choice, seals: undefined, images: [] }])
  return { choices: Object.fromEntries(entries), usage, isError }
}

/** Thinking that nothing follows has no place in a later request. */
function ofMessage({ seals, usage, isError, ...message }: ReadMessage): Whole {
  const isReturnable = message.text !== '' || message.toolCalls.length > 0
  const choice = { ...message, refusal: '', seals: isReturnable ? seals : [], images: [] }
  return { choices: { 0: choice }, usage: Object.keys(usage).length === 0 ? undefined : usage, isError }
}

function ofGemini({ choices, usage, isError }: ReadGeminiAnswer): Whole {
  const entries = Object.entries(choices).map(([index, { signatures, ...choice }]) => [
    index,
    { ...choice, seals: signatures },
  ])
  return { choices: Object.fromEntries(entries), usage, isError }
}

function ofConverse({ choice, usage, signed, isError }: bedrock.ReadAnswer): Whole {
  const seals = signed.map(({ signature, redacted }) => signature ?? redacted ?? '')
  return { choices: { 0: { ...choice, seals, images: [] } }, usage, isError }
}

function ofResponse({ choice, usage, isError }: ReadResponse): Whole {
  return { choices: { 0: { ...choice, seals: undefined, images: [] } }, usage, isError }
}
