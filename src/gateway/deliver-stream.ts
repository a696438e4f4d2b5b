import type { ChatEvent } from '../domain/chat.ts'
import { usdNumber } from '../domain/money.ts'
import { createStreamRenderer, type StreamRenderer } from '../protocols/openai-chat/client/index.ts'
import type { Answering } from './attempt.ts'
import type { Call } from './call.ts'
import type { ClientConnection } from './client.ts'
import type { Completion } from './completion.ts'
import type { GatewayPorts } from './ports.ts'
import { priceAnswer, type Settlement } from './settle.ts'
import { type Branch, tally } from './tally.ts'

export interface StreamDelivery {
  readonly completion: Completion
  readonly ports: GatewayPorts
  readonly client: ClientConnection
  readonly renderer: StreamRenderer
}

export function createDelivery(completion: Completion, ports: GatewayPorts, client: ClientConnection): StreamDelivery {
  const { id, createdAt, request } = completion
  const renderer = createStreamRenderer({
    id,
    created: Math.floor(createdAt / 1000),
    model: request.model,
    includeUsage: request.includeUsage,
  })
  return { completion, ports, client, renderer }
}

/**
 * Passes an answer on as it comes. Resolves when all of it is written, with what it cost; rejects when it breaks off.
 * A client that has left is no reason to stop here: whether the calls go on was decided when it left.
 */
export async function deliverStream(delivery: StreamDelivery, answering: Answering): Promise<Settlement> {
  const { completion, ports, client, renderer } = delivery
  const { calls, spread } = answering
  try {
    await Promise.all(
      calls.map((call, position) => relay(delivery, { call, position, spread, branch: completion.branches[position] })),
    )
  } catch (error) {
    answering.abort()
    throw error
  }
  const priced = priceAnswer(completion, ports)
  const settlement = priced instanceof Promise ? await priced : priced
  write(delivery, renderer.close({ usage: settlement.usage, costUsd: usdNumber(settlement.costNanoUsd) }))
  if (!completion.left) client.endStream()
  return settlement
}

interface Relay {
  readonly call: Call
  readonly position: number
  readonly spread: boolean
  readonly branch: Branch | undefined
}

/** One write, and at most one wait, for each network read. */
async function relay(delivery: StreamDelivery, { call, position, spread, branch }: Relay): Promise<void> {
  const { renderer } = delivery
  const events: ChatEvent[] = []
  while (await call.next(events)) {
    let text = ''
    for (const event of events) {
      if (branch !== undefined) tally(branch, event)
      text += renderer.push(spread && event.type !== 'usage' ? { ...event, index: position } : event)
    }
    events.length = 0
    if (text === '') continue
    const slow = write(delivery, text)
    if (slow === undefined) continue
    call.suspend()
    await slow
  }
}

function write({ completion, ports, client }: StreamDelivery, text: string): Promise<void> | undefined {
  if (completion.left) return undefined
  completion.firstByteAt ??= ports.clock()
  return client.write(text)
}
