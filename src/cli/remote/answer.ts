/** Reads the streamed answer of a model. */
import { isRecord, parseJson, textOf } from '../../lib/json.ts'
import { createSseDecoder } from '../../protocols/framing.ts'
import type { Frame } from '../../protocols/protocol.ts'
import { plainText } from '../output.ts'
import type { Client } from './client.ts'
import { errorTextOf } from './http.ts'

export interface Message {
  readonly role: 'system' | 'user' | 'assistant'
  readonly content: string
}

export interface AnswerRequest {
  readonly model: string
  readonly messages: readonly Message[]
  readonly signal: AbortSignal
  /** Receives text without terminal control sequences. */
  readonly onText: (text: string) => void
}

export interface AnswerEnd {
  /** Undefined: the answer was aborted. */
  readonly finishReason: string | undefined
  readonly promptTokens: number | undefined
  readonly completionTokens: number | undefined
  readonly costUsd: number | undefined
}

/** Rejects when the answer is incomplete. Resolves without a finish reason when `signal` aborts it. */
export async function streamAnswer(client: Client, request: AnswerRequest): Promise<AnswerEnd> {
  const { model, messages, signal } = request
  const reader = createReader(request.onText)
  try {
    const body = { model, messages, stream: true, stream_options: { include_usage: true } }
    const response = await client.stream('/chat/completions', body, signal)
    const decoder = createSseDecoder()
    for await (const bytes of response.body ?? []) {
      const frames: Frame[] = []
      decoder.push(bytes, frames)
      for (const { data } of frames) reader.take(data)
      if (reader.isDone()) break
    }
  } catch (error) {
    if (!signal.aborted) throw error
    return reader.end()
  }
  if (!reader.isDone()) throw new Error('The connection closed before the answer was complete.')
  return reader.end()
}

interface Reader {
  take(data: string): void
  isDone(): boolean
  end(): AnswerEnd
}

function createReader(onText: (text: string) => void): Reader {
  let isDone = false
  let end: AnswerEnd = NOTHING
  return {
    isDone: () => isDone,
    end: () => end,
    take(data) {
      if (data === '[DONE]') {
        isDone = true
        return
      }
      const chunk = parseJson(data)
      if (!isRecord(chunk)) return
      if (isRecord(chunk['error'])) throw new Error(errorTextOf({ status: 200, json: chunk }))
      end = { ...end, ...usageOf(chunk['usage']) }
      const [choice]: readonly unknown[] = Array.isArray(chunk['choices']) ? chunk['choices'] : []
      if (!isRecord(choice)) return
      const delta = isRecord(choice['delta']) ? choice['delta'] : {}
      const text = plainText(textOf(delta['content']) + textOf(delta['refusal']))
      if (text !== '') onText(text)
      const reason = textOf(choice['finish_reason'])
      if (reason !== '') end = { ...end, finishReason: reason }
    },
  }
}

const NOTHING: AnswerEnd = {
  finishReason: undefined,
  promptTokens: undefined,
  completionTokens: undefined,
  costUsd: undefined,
}

function usageOf(usage: unknown): Partial<AnswerEnd> {
  if (!isRecord(usage)) return {}
  return {
    promptTokens: numberOf(usage['prompt_tokens']),
    completionTokens: numberOf(usage['completion_tokens']),
    costUsd: numberOf(usage['cost']),
  }
}

const numberOf = (value: unknown) => (typeof value === 'number' ? value : undefined)
