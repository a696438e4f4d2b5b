import type { ChatEvent } from '../domain/chat.ts'
import { usdNumber, usdText } from '../domain/money.ts'
import { reach } from '../lib/crash-point.ts'
import { type Answer, createAnswer } from '../protocols/openai-chat/client/index.ts'
import type { Answering } from './attempt.ts'
import type { ClientConnection } from './client.ts'
import type { Completion } from './completion.ts'
import { completionHeaders } from './headers.ts'
import { commitAnswer, wholeAnswer } from './idempotent.ts'
import type { GatewayPorts } from './ports.ts'
import { priceAnswer, settle } from './settle.ts'
import { tally } from './tally.ts'

/** Charges for an answer and sends it in one piece, with what it cost. */
export async function deliverWhole(
  completion: Completion,
  { ports, client }: { ports: GatewayPorts; client: ClientConnection },
  answering: Answering,
): Promise<void> {
  const answer = await gather(completion, answering)
  const priced = priceAnswer(completion, ports)
  const settlement = priced instanceof Promise ? await priced : priced
  const outcome = { settlement, status: completion.abandoned ? 'client_left' : 'completed' } as const
  if (completion.left && completion.run === undefined) return void settle(completion, ports, outcome)
  const { usage, costNanoUsd } = settlement
  const { id, createdAt, request } = completion
  const created = Math.floor(createdAt / 1000)
  const body = answer.render({ id, created, model: request.model, usage, costUsd: usdNumber(costNanoUsd) })
  if (!completion.left) completion.firstByteAt = ports.clock()
  const headers = completionHeaders(completion, ports)
  headers['x-turnpike-cost-usd'] = usdText(costNanoUsd)
  if (completion.run === undefined) void settle(completion, ports, outcome)
  else await commitAnswer(completion, ports, { outcome, answer: wholeAnswer(body, headers) })
  if (completion.left) return
  client.sendJson(body, headers)
  reach('after_last_byte')
}

async function gather(completion: Completion, { calls, spread }: Answering): Promise<Answer> {
  const answer = createAnswer(completion.request.n, completion.request)
  const events: ChatEvent[] = []
  for (let position = 0; position < calls.length; position++) {
    const call = calls[position]
    const branch = completion.branches[position]
    if (call === undefined || branch === undefined) continue
    do {
      call.arrived(events)
      for (const event of events) {
        tally(branch, event)
        answer.push(spread && event.type !== 'usage' ? { ...event, index: position } : event)
      }
      events.length = 0
    } while (!call.complete() && (await call.next(events)))
  }
  return answer
}
