/** Delivers an answer: whole, or as an event stream while it arrives, which may end with an error event. */
import type { ChatEvent } from '../domain/chat.ts'
import type { GatewayError } from '../domain/errors.ts'
import { limitHeaders } from '../domain/limits.ts'
import { deprecationHeaders } from '../domain/model.ts'
import { usdNumber, usdText } from '../domain/money.ts'
import { reach } from '../lib/crash-point.ts'
import type { AnswerHead, AnswerStream, Bill, WholeAnswer } from '../protocols/client-api.ts'
import type { AdmittedRequest, Answering, AttemptState, Completion } from './completion.ts'
import { type AnswerGuard, createAnswerGuard } from './guardrails/answer.ts'
import { type Coverage, checkCoverage, createCoverage, isCheckDue } from './hold.ts'
import type { ClientConnection, GatewayPorts } from './ports.ts'
import { commitAnswer, commitStream, finalEvent, wholeAnswer } from './resumable/idempotency.ts'
import { calledText, withMember } from './routing/candidates.ts'
import { priceAnswer, recordFirstByte, settle } from './settle.ts'
import type { Call } from './upstream/call.ts'
import { toGatewayError, toOwnCredentialError } from './upstream/failure.ts'
import { createCallUsage, meter } from './usage/meter.ts'

interface Surroundings {
  readonly ports: GatewayPorts
  readonly client: ClientConnection
}

/** Charges an answer and sends it as one body, with its cost. */
export async function deliverWhole(
  completion: Completion,
  { ports, client }: Surroundings,
  answering: Answering,
): Promise<void> {
  const { admitted, cancellation, idempotent } = completion
  const answer = await gather(completion, answering)
  const priced = priceAnswer(completion, ports)
  const settlement = priced instanceof Promise ? await priced : priced
  const { usage, costNanoUsd } = settlement
  const rendering = renderStored(completion, answer, {
    id: admitted.id,
    created: Math.floor(admitted.createdAt / 1000),
    model: completion.current.answersAs,
    usage,
    costUsd: usdNumber(costNanoUsd),
    completedAt: Math.floor(ports.now() / 1000),
  })
  const { body, isStored } = rendering instanceof Promise ? await rendering : rendering
  const ending = { settlement, status: cancellation.abandoned ? 'client_left' : 'completed' } as const
  if (cancellation.disconnected && idempotent === undefined) return void settle(completion, ports, ending)
  if (!cancellation.disconnected) recordFirstByte(completion.outcome, ports.clock)
  const headers = completionHeaders(completion, ports, isStored === false ? STORE : NONE)
  headers['x-turnpike-cost-usd'] = usdText(costNanoUsd)
  if (idempotent === undefined) void settle(completion, ports, ending)
  else await commitAnswer(completion, ports, { ending, answer: wholeAnswer(body, headers) })
  if (cancellation.disconnected) return
  client.sendJson(body, headers)
  reach('after_last_byte')
}

interface Rendered {
  readonly body: string
  /** Whether the answer is stored. Undefined if it is not to be stored. */
  readonly isStored: boolean | undefined
}

/**
 * Renders an answer. If it is to be stored and the client has not left, stores it first and reports whether that
 * succeeded.
 */
function renderStored(
  { admitted, cancellation }: Completion,
  answer: WholeAnswer,
  head: AnswerHead & Bill,
): Rendered | Promise<Rendered> {
  const { store } = admitted
  const body = answer.render(head)
  if (store === undefined || cancellation.abandoned) return { body, isStored: undefined }
  return store(body).then((isStored) => ({
    body: isStored ? body : answer.render({ ...head, isStored }),
    isStored,
  }))
}

async function gather(completion: Completion, { calls, spread }: Answering): Promise<WholeAnswer> {
  const { admitted, attempt } = completion
  const answer = admitted.api.createAnswer(admitted.request, admitted.id)
  const events: ChatEvent[] = []
  const put = (passed: readonly ChatEvent[], position: number): void => {
    for (const event of passed) answer.push(spread && event.type !== 'usage' ? { ...event, index: position } : event)
  }
  for (let position = 0; position < calls.length; position++) {
    const call = calls[position]
    const usage = attempt.usages[position]
    if (call === undefined || usage === undefined) continue
    const guard = answerGuardOf(completion)
    do {
      call.arrived(events)
      for (const event of events) meter(usage, event)
      put(guard === undefined ? events : await guard.push(events), position)
      events.length = 0
    } while (!call.complete() && (await call.next(events)))
    if (guard !== undefined) put(await guard.end(), position)
  }
  return answer
}

/** Undefined if no guardrail applies to answers. */
function answerGuardOf({ admitted, current }: Completion): AnswerGuard | undefined {
  const { guarded, requestId, caller, trace } = admitted
  if (guarded === undefined) return undefined
  const traceId = trace?.context.traceId
  return createAnswerGuard(guarded.guard, { requestId, traceId, keyId: caller.keyId, model: current.answersAs })
}

export interface StreamDelivery extends Surroundings {
  readonly completion: Completion
  readonly renderer: AnswerStream
}

export function createDelivery(completion: Completion, ports: GatewayPorts, client: ClientConnection): StreamDelivery {
  const { api, id, createdAt, request } = completion.admitted
  const { promptTokens } = completion.reservation
  const { answersAs: model } = completion.current
  const created = Math.floor(createdAt / 1000)
  const renderer = api.createStream({ id, created, model, request, promptTokens })
  completion.renderer = renderer
  return { completion, ports, client, renderer }
}

/**
 * Relays an answer while it arrives. Resolves when it is charged and completely written. Rejects when it breaks off. A
 * disconnected client does not stop it: `disconnect` decides whether the calls continue.
 */
export async function deliverStream(delivery: StreamDelivery, answering: Answering): Promise<void> {
  const { completion, ports, client, renderer } = delivery
  const { cancellation } = completion
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
  const bill = {
    usage: settlement.usage,
    costUsd: usdNumber(settlement.costNanoUsd),
    completedAt: Math.floor(ports.now() / 1000),
  }
  const storing = storeStreamed(delivery, bill)
  const isStored = storing instanceof Promise ? await storing : storing
  if (!cancellation.disconnected) recordFirstByte(completion.outcome, ports.clock)
  const ending = { settlement, status: cancellation.disconnected ? 'client_left' : 'completed' } as const
  const last = renderer.close(isStored === false ? { ...bill, isStored } : bill)
  if (completion.idempotent?.stream === undefined) void settle(completion, ports, ending)
  else commitStream(completion, ports, { ending, last })
  write(delivery, last)
  if (isWritten(completion)) client.endStream()
  reach('after_last_byte')
}

/** Stores an answer unless its client has left. Undefined if it is not to be stored. */
function storeStreamed({ completion, renderer }: StreamDelivery, bill: Bill): Promise<boolean> | undefined {
  const { admitted, cancellation } = completion
  if (admitted.store === undefined || renderer.whole === undefined || cancellation.abandoned) return undefined
  return admitted.store(renderer.whole(bill))
}

interface Relay {
  readonly call: Call
  readonly position: number
  readonly spread: boolean
  readonly coverage: Coverage
}

/** Relays an answer. Text that guardrails withhold is relayed at the end, also if the answer breaks off. */
async function relay(delivery: StreamDelivery, relayed: Relay): Promise<void> {
  const guard = answerGuardOf(delivery.completion)
  if (guard === undefined) return relayEvents(delivery, relayed)
  try {
    await relayEvents(delivery, relayed, guard)
  } catch (error) {
    await relayRest(delivery, relayed, guard).catch(() => {}) // the rest is blocked as well
    throw error
  }
  await relayRest(delivery, relayed, guard)
}

async function relayRest(delivery: StreamDelivery, relayed: Relay, guard: AnswerGuard): Promise<void> {
  let rest = ''
  for (const event of await guard.end()) rest += render(delivery, relayed, event)
  if (rest !== '') await write(delivery, rest)
}

function render({ renderer }: StreamDelivery, { spread, position }: Relay, event: ChatEvent): string {
  return renderer.push(spread && event.type !== 'usage' ? { ...event, index: position } : event)
}

/** Relays events with one write, and at most one wait, for each network read. */
async function relayEvents(delivery: StreamDelivery, relayed: Relay, guard?: AnswerGuard): Promise<void> {
  const { completion, ports } = delivery
  const { call, position, coverage } = relayed
  const { usages } = completion.attempt
  const usage = usages[position] ?? createCallUsage()
  const events: ChatEvent[] = []
  while (await call.next(events)) {
    const { length: before, usage: reported } = usage
    let text = ''
    for (const event of events) {
      meter(usage, event)
      if (guard === undefined) text += render(delivery, relayed, event)
    }
    if (guard !== undefined) for (const event of await guard.push(events)) text += render(delivery, relayed, event)
    events.length = 0
    if (before === 0 && usage.length > 0) usage.begunAt = ports.clock()
    // Providers that report usage with each chunk report it before the text that it covers.
    if (usage.lastUsageCounts && usage.usage !== reported) usage.usageLength = usage.length
    if (isCheckDue(coverage, usage, usages)) checkCoverage(completion, ports, coverage)
    reach('mid_stream')
    if (text === '') continue
    const slow = write(delivery, text)
    if (slow === undefined) continue
    call.suspend()
    usage.slowed = true
    await slow
  }
}

function write({ completion, ports, client }: StreamDelivery, text: string): Promise<void> | undefined {
  if (!isWritten(completion)) return undefined
  recordFirstByte(completion.outcome, ports.clock)
  return client.write(text)
}

/** Returns whether events are written: a resumable stream receives them even without a reader. */
function isWritten({ cancellation, idempotent }: Completion): boolean {
  return !cancellation.disconnected || idempotent?.stream !== undefined
}

/**
 * Ends a stream with an error: as an event once the response head is sent, before that by throwing it, with its
 * status.
 */
export function failStream({ completion, client, renderer }: StreamDelivery, error: GatewayError): void {
  const { admitted, cancellation, idempotent } = completion
  if (idempotent?.stream !== undefined) idempotent.stream.fail(error, finalEvent(error, admitted, renderer))
  else if (!cancellation.disconnected) failClient(admitted, client, error, renderer)
}

/**
 * Reports an error to the client. Throws while the response can still have an error status.
 * @param renderer The renderer of the stream if this process runs it.
 */
export function failClient(
  admitted: AdmittedRequest,
  client: ClientConnection,
  error: GatewayError,
  renderer?: AnswerStream,
): void {
  if (!client.streaming()) throw error
  client.write(finalEvent(error, admitted, renderer))
  client.endStream()
}

/** The bytes of the list of warnings: clients reject response heads that are too long. */
export const MAX_WARNINGS_BYTES = 2 * 1024

/**
 * Returns the headers of a completion, without those of its body.
 * @param atEnd Warnings that the end of the answer adds.
 */
export function completionHeaders(
  { admitted, current, attempt, reservation, route: { skipped } }: Completion,
  { clock, now }: GatewayPorts,
  atEnd = NONE,
): Record<string, string> {
  const { limits, receivedAt, request, guarded } = admitted
  const { model } = current
  const headers = limitHeaders(limits)
  if (model.deprecationDate !== undefined) Object.assign(headers, deprecationHeaders(model, now()))
  const { running, answering, count, upstreamMs } = attempt
  if (running !== undefined) headers['x-turnpike-provider'] = running.target.upstream.name
  const route = routeText(attempt, skipped)
  if (route !== '') headers['x-turnpike-route'] = route
  headers['x-turnpike-attempts'] = String(count)
  if (guarded !== undefined && guarded.masked > 0) headers['x-turnpike-guardrails'] = `masked=${guarded.masked}`
  headers['x-turnpike-overhead-ms'] = Math.max(0, clock() - receivedAt - upstreamMs).toFixed(3)
  const warnings = answering?.calls[0]?.warnings ?? NONE
  const { ignoredParameters = NONE } = request
  const lowered = reservation.lowered ? LOWERED : NONE
  if (lowered.length + ignoredParameters.length + warnings.length + atEnd.length > 0)
    headers['x-turnpike-warnings'] = warningsText([...lowered, ...ignoredParameters, ...warnings, ...atEnd])
  return headers
}

/** Returns the candidates tried so far, each with the reason. */
function routeText({ selection, running }: AttemptState, skipped: string): string {
  const header = selection?.routeHeader ?? skipped
  if (running === undefined || running.inRouteHeader) return header
  return withMember(header, calledText(running.candidate.label, running.why, running.outcome))
}

/** Returns the error for the client, with its headers: the reason of an interruption, else `error`. */
export function clientError(completion: Completion, ports: GatewayPorts, error: unknown): GatewayError {
  const { cancellation, attempt } = completion
  const target = attempt.running?.target
  const provider = target?.upstream.name
  const reason = cancellation.interruption ?? error
  const headers = completionHeaders(completion, ports)
  const isOwn = provider !== undefined && target?.ownCredential !== undefined
  const own = isOwn ? toOwnCredentialError(reason, { providerName: provider, headers }) : undefined
  return own ?? toGatewayError(reason, provider, headers)
}

const NONE: readonly string[] = []
const LOWERED: readonly string[] = ['max_tokens']
const STORE: readonly string[] = ['store']

/**
 * Joins names with commas. Clients choose some of them, such as properties of a schema, so characters that a header
 * cannot contain are percent-encoded. Names beyond the limit are only counted.
 */
export function warningsText(names: readonly string[]): string {
  let text = ''
  for (const [position, name] of names.entries()) {
    const next = position === 0 ? headerText(name) : `${text}, ${headerText(name)}`
    if (next.length > MAX_WARNINGS_BYTES) return `${text}${text === '' ? '' : ', '}and ${names.length - position} more`
    text = next
  }
  return text
}

function headerText(name: string): string {
  return name.toWellFormed().replace(/[^\x21-\x2b\x2d-\x7e]/gu, encodeURIComponent)
}
