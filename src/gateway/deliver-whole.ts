import type { ChatEvent } from '../domain/chat.ts'
import { usdNumber, usdText } from '../domain/money.ts'
import { createAnswer } from '../protocols/openai-chat/client/index.ts'
import type { Answering } from './attempt.ts'
import type { ClientConnection } from './client.ts'
import type { Completion } from './completion.ts'
import { completionHeaders } from './headers.ts'
import type { GatewayPorts } from './ports.ts'
import { priceAnswer, type Settlement } from './settle.ts'
import { tally } from './tally.ts'

/** Sends an answer in one piece, with what it cost. */
export async function deliverWhole(
  completion: Completion,
  { ports, client }: { ports: GatewayPorts; client: ClientConnection },
  { calls, spread }: Answering,
): Promise<Settlement> {
  const answer = createAnswer(completion.request.n)
  const events: ChatEvent[] = []
  for (const [position, call] of calls.entries()) {
    const branch = completion.branches[position]
    while (await call.next(events)) {
      for (const event of events) {
        if (branch !== undefined) tally(branch, event)
        answer.push(spread && event.type !== 'usage' ? { ...event, index: position } : event)
      }
      events.length = 0
    }
  }
  const priced = priceAnswer(completion, ports)
  const settlement = priced instanceof Promise ? await priced : priced
  const { usage, costNanoUsd } = settlement
  if (completion.left) return settlement
  const head = { id: completion.id, created: Math.floor(completion.createdAt / 1000), model: completion.request.model }
  const body = answer.render({ ...head, usage, costUsd: usdNumber(costNanoUsd) })
  completion.firstByteAt = ports.clock()
  const headers = completionHeaders(completion, ports)
  headers['x-turnpike-cost-usd'] = usdText(costNanoUsd)
  client.sendJson(body, headers)
  return settlement
}
