/** What the gateway charges for an answer: its codec, its meter and its price in memory, for tests. */
import assert from 'node:assert/strict'
import type { CatalogueTariff } from '../../../catalogue/entry.ts'
import type { ChatEvent } from '../../../src/domain/chat.ts'
import { toPrice } from '../../../src/features/models/price.ts'
import type { Completion } from '../../../src/gateway/completion.ts'
import { costOf } from '../../../src/gateway/settle.ts'
import type { CountedUsage } from '../../../src/gateway/usage/measure.ts'
import { createCallUsage, meter } from '../../../src/gateway/usage/meter.ts'
import { createDecoder } from '../../../src/protocols/framing.ts'
import { openaiChat } from '../../../src/protocols/openai-chat/index.ts'
import type { Frame } from '../../../src/protocols/protocol.ts'
import { PROVIDERS } from '../../../src/providers/index.ts'
import type { Recording } from './recordings.ts'

/** Hosts outside the registry speak the plain format. */
const PLAIN = openaiChat({})
const MAX_EVENT_BYTES = 2 ** 24

/** What the meter holds at the end of the answer. Fails where it holds no count. */
export function meteredUsage(recording: Pick<Recording, 'provider' | 'stream' | 'bytes'>): CountedUsage {
  const branch = createCallUsage(codecOf(recording))
  for (const event of answerEvents(recording)) meter(branch, event)
  const { promptTokens, completionTokens } = branch.usage
  assert.ok(promptTokens !== undefined && completionTokens !== undefined, 'the codec counted the answer')
  return { ...branch.usage, promptTokens, completionTokens }
}

/** Hosts by other names of them in recordings. */
const NAMES: Readonly<Record<string, string>> = {
  gemini: 'google',
  'own-gemini-generatecontent': 'google',
  'own-anthropic-messages': 'anthropic',
  'own-bedrock-converse': 'bedrock',
}

export function codecOf({ provider }: Pick<Recording, 'provider'>) {
  return PROVIDERS[NAMES[provider] ?? provider]?.protocol ?? PLAIN
}

/** The events of an answer. @param events Receives them, those before a failure too. */
export function answerEvents(
  { provider, stream, bytes }: Pick<Recording, 'provider' | 'stream' | 'bytes'>,
  events: ChatEvent[] = [],
): ChatEvent[] {
  const codec = codecOf({ provider })
  if (!stream) return codec.parseResponse(bytes.toString('utf8'))
  const frames: Frame[] = []
  createDecoder(codec.framing, { maxEventBytes: MAX_EVENT_BYTES }).push(bytes, frames)
  const parser = codec.streamParser()
  for (const frame of frames) if (parser.push(frame, events)) break
  parser.end(events)
  return events
}

/** The charge at midnight UTC, of one call without images. */
export function gatewayNanoUsd(usage: CountedUsage, tariff: CatalogueTariff): bigint {
  const admitted = { price: toPrice(tariff), request: { messages: [] }, createdAt: 0 }
  const completion = {
    admitted,
    current: admitted,
    attempt: { usages: [createCallUsage()], running: undefined },
  }
  return costOf(completion as unknown as Completion, usage)
}
