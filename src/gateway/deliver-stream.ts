import type { ChatEvent } from '../domain/chat.ts'
import { usdNumber } from '../domain/money.ts'
import { reach } from '../lib/crash-point.ts'
import { createStreamRenderer, type StreamRenderer } from '../protocols/openai-chat/client/index.ts'
import type { Answering } from './attempt.ts'
import type { Call } from './call.ts'
import type { ClientConnection } from './client.ts'
import type { Completion } from './completion.ts'
import { commitStream } from './idempotent.ts'
import type { GatewayPorts } from './ports.ts'
import { priceAnswer, settle } from './settle.ts'
import { type Branch, createBranch, tally } from './tally.ts'
import { type Coverage, createCoverage, lookAtCoverage } from './top-up.ts'

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
    legacyFunctions: request.legacyFunctions,
  })
  return { completion, ports, client, renderer }
}

/**
 * Passes an answer on as it comes. Resolves when it is charged for and all of it is written; rejects when it breaks off.
 * A client that has left is no reason to stop here: whether the calls go on was decided when it left.
 */
export async function deliverStream(delivery: StreamDelivery, answering: Answering): Promise<void> {
  const { completion, ports, client, renderer } = delivery
  const { calls, spread } = answering
  const coverage = createCoverage(completion)
  try {
    const [only] = calls
    if (calls.length === 1 && only !== undefined) await relay(delivery, { call: only, position: 0, spread, coverage })
    else await Promise.all(calls.map((call, position) => relay(delivery, { call, position, spread, coverage })))
  } catch (error) {
    answering.abort()
    throw error
  }
  const priced = priceAnswer(completion, ports)
  const settlement = priced instanceof Promise ? await priced : priced
  if (!completion.left) completion.firstByteAt ??= ports.clock()
  const outcome = { settlement, status: completion.left ? 'client_left' : 'completed' } as const
  const last = renderer.close({ usage: settlement.usage, costUsd: usdNumber(settlement.costNanoUsd) })
  if (completion.stream === undefined) void settle(completion, ports, outcome)
  else commitStream(completion, ports, { outcome, last })
  write(delivery, last)
  if (isTold(completion)) client.endStream()
  reach('after_last_byte')
}

interface Relay {
  readonly call: Call
  readonly position: number
  readonly spread: boolean
  readonly coverage: Coverage
}

/** One write, and at most one wait, for each network read. */
async function relay(delivery: StreamDelivery, { call, position, spread, coverage }: Relay): Promise<void> {
  const { renderer, completion, ports } = delivery
  const { branches } = completion
  const branch = branches[position] ?? createBranch()
  const events: ChatEvent[] = []
  while (await call.next(events)) {
    const before = branch.length
    let text = ''
    for (const event of events) {
      tally(branch, event)
      text += renderer.push(spread && event.type !== 'usage' ? { ...event, index: position } : event)
    }
    events.length = 0
    completion.generated += branch.length - before
    if (isToBeLookedAt(coverage, branch, completion)) lookAtCoverage(completion, ports, coverage)
    reach('mid_stream')
    if (text === '') continue
    const slow = write(delivery, text)
    if (slow === undefined) continue
    call.suspend()
    await slow
  }
}

function isToBeLookedAt(coverage: Coverage, { usage }: Branch, { generated, branches }: Completion): boolean {
  if (generated >= coverage.lookAtLength) return true
  return usage.completionTokens !== undefined && usage.completionTokens * branches.length >= coverage.lookAtReported
}

function write({ completion, ports, client }: StreamDelivery, text: string): Promise<void> | undefined {
  if (!isTold(completion)) return undefined
  completion.firstByteAt ??= ports.clock()
  return client.write(text)
}

/** A stream that is kept is told also when nobody listens. */
function isTold({ left, stream }: Completion): boolean {
  return !left || stream !== undefined
}
