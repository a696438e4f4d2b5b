/** Plays the client of a scenario, and says what it saw: how it ended, what came, and whatever broke the rules of the wire. */
import { once } from 'node:events'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { CHAT } from '../../support/client.ts'
import type { WireUsage } from '../../support/providers/sse.ts'
import type { ClientPlan, Scenario } from './scenario.ts'

/**
 * `whole`: a whole answer. `refused`: an error with a status. `broken`: an error event, then `[DONE]`. `left`: the client
 * went away. `lost`: the connection ended, and nobody said why.
 */
/** What every request asks for at most. */
export const MAX_TOKENS = 200

export type Ending = 'whole' | 'refused' | 'broken' | 'left' | 'lost'

export interface View {
  readonly ending: Ending
  /** 0: there was no head. */
  readonly status: number
  readonly code: string | undefined
  /** Words of the answer that came. */
  readonly words: number
  readonly usage: WireUsage | undefined
  /** What no client should ever see. */
  readonly faults: readonly string[]
}

export interface Server {
  readonly port: number
  readonly key: string
}

const TOO_LONG_MS = 90_000

export async function playClient(server: Server, scenario: Scenario): Promise<View> {
  const { client } = scenario
  const first = await ask(server, scenario, { plan: client, lastEventId: undefined })
  const isOver = first.text.endsWith('data: [DONE]\n\n')
  if (client.does !== 'resume' || !first.left || isOver) return viewOf(scenario, isOver ? asRead(first) : first)
  const lastEventId = lastIdOf(first.text)
  const kept = wholeEvents(first.text)
  const rest = await ask(server, scenario, { plan: { does: 'read' }, lastEventId })
  // Nothing may have been generated, or charged, of a request that ended before its first event: it is run again then.
  const text = rest.status === 200 && isStream(rest) ? kept + rest.text : rest.text
  return viewOf(scenario, { ...rest, text })
}

/** It went away, but it had everything. */
function asRead(received: Received): Received {
  return { ...received, left: false, complete: true }
}

interface Received {
  status: number
  type: string
  text: string
  /** The answer came to its proper end. */
  complete: boolean
  /** The client itself went away. */
  left: boolean
}

interface Asking {
  readonly plan: ClientPlan
  readonly lastEventId: string | undefined
}

async function ask(server: Server, scenario: Scenario, { plan, lastEventId }: Asking): Promise<Received> {
  const received: Received = { status: 0, type: '', text: '', complete: false, left: false }
  const { name, model, stream, keyed } = scenario
  const headers: Record<string, string> = {
    authorization: `Bearer ${server.key}`,
    'content-type': 'application/json',
    'x-client-request-id': name,
    ...(keyed ? { 'idempotency-key': name } : {}),
    ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
  }
  const options = { host: '127.0.0.1', port: server.port, path: CHAT, method: 'POST', headers, agent: false }
  const request = httpRequest(options)
  const over = new Promise<void>((resolve) => request.once('close', resolve))
  request.on('error', () => {})
  const timer = setTimeout(() => request.destroy(), TOO_LONG_MS)
  request.end(JSON.stringify({ model, stream, max_tokens: MAX_TOKENS, messages: [{ role: 'user', content: name }] }))
  const leave = (): void => {
    received.left = true
    request.destroy()
  }
  if (plan.does === 'leave' && plan.afterBytes === 0) setTimeout(leave, plan.waitMs)
  else if (plan.does === 'resume' && plan.afterBytes === 0) setTimeout(leave, 5)
  try {
    const [response] = (await Promise.race([once(request, 'response'), over.then(() => [])])) as [IncomingMessage?]
    if (response !== undefined) await read(response, { plan, received, leave })
  } catch {
    // how it ended is in `received`
  }
  await over
  clearTimeout(timer)
  return received
}

interface Reading {
  readonly plan: ClientPlan
  readonly received: Received
  readonly leave: () => void
}

async function read(response: IncomingMessage, { plan, received, leave }: Reading): Promise<void> {
  received.status = response.statusCode ?? 0
  received.type = String(response.headers['content-type'])
  let size = 0
  let paused = false
  const decoder = new TextDecoder()
  for await (const bytes of response as AsyncIterable<Buffer>) {
    size += bytes.length
    received.text += decoder.decode(bytes, { stream: true })
    if (plan.does === 'read' || size < plan.afterBytes) continue
    if (plan.does !== 'pause') return leave()
    if (!paused) await sleep(plan.waitMs)
    paused = true
  }
  received.complete = response.complete
}

/** Of the last event that came whole. */
function lastIdOf(text: string): string | undefined {
  return [...wholeEvents(text).matchAll(/^id: ?(\S+)$/gm)].at(-1)?.[1]
}

function wholeEvents(text: string): string {
  const end = text.lastIndexOf('\n\n')
  return end < 0 ? '' : text.slice(0, end + 2)
}

function isStream({ type }: Received): boolean {
  return type.startsWith('text/event-stream')
}

function viewOf(scenario: Scenario, received: Received): View {
  if (received.left) return { ...NOTHING, ...countOf(received), ending: 'left', status: received.status }
  if (isStream(received)) return streamView(received)
  if (received.status === 0 || !received.complete) return { ...NOTHING, ending: 'lost', status: received.status }
  return bodyView(scenario, received)
}

const NOTHING = { code: undefined, words: 0, usage: undefined, faults: [] } as const

function bodyView({ stream }: Scenario, { status, text }: Received): View {
  const body = JSON.parse(text) as Body
  const error = body.error
  if (error === undefined) {
    const words = body.choices?.[0]?.message?.content?.match(/\S+/g)?.length ?? 0
    const faults = stream ? ['a stream was answered in one piece'] : []
    return { ending: 'whole', status, code: undefined, words, usage: body.usage, faults }
  }
  const faults = status < 400 ? [`an error with the status ${status}`] : []
  if (status === 500) faults.push(`our own fault: ${error.message}`)
  return { ...NOTHING, ending: 'refused', status, code: error.code, faults }
}

interface Body {
  readonly error?: { readonly code: string; readonly message: string }
  readonly usage?: WireUsage
  readonly choices?: readonly {
    readonly message?: { readonly content?: string }
    readonly delta?: { readonly content?: string | null }
    readonly finish_reason?: string | null
  }[]
}

/** As far as whole events tell. */
function countOf({ text }: Received): Pick<View, 'words'> {
  const words = payloadsOf(wholeEvents(text)).filter((data) => data.includes('"content":" hello"')).length
  return { words }
}

function payloadsOf(text: string): string[] {
  return text.split('\n\n').flatMap((block) =>
    block
      .split('\n')
      .filter((line) => line.startsWith('data:'))
      .map((line) => line.slice(5).trim()),
  )
}

function streamView({ status, text, complete }: Received): View {
  const payloads = payloadsOf(text)
  const dones = payloads.filter((data) => data === '[DONE]').length
  const events = payloads.filter((data) => data !== '[DONE]').map((data) => JSON.parse(data) as Body)
  const errors = events.filter(({ error }) => error !== undefined)
  const finishes = events.filter(({ choices }) => (choices?.[0]?.finish_reason ?? null) !== null).length
  const words = events.filter(({ choices }) => choices?.[0]?.delta?.content === ' hello').length
  const usage = events.findLast((event) => event.usage !== undefined && event.usage !== null)?.usage
  const code = errors[0]?.error?.code
  const ids = [...text.matchAll(/^id: ?(\d+)$/gm)].map(([, id]) => Number(id))
  const faults: string[] = []
  if (ids.some((id, place) => id !== place + 1)) faults.push(`ids out of order: ${ids.join(' ')}`)
  if (dones === 0) return { ending: 'lost', status, code, words, usage, faults }
  if (!complete) faults.push('the body did not end after [DONE]')
  if (dones > 1 || payloads.at(-1) !== '[DONE]') faults.push(`${dones} × [DONE], the last event: ${payloads.at(-1)}`)
  if (errors.length > 1) faults.push(`${errors.length} error events`)
  if (errors.length + finishes !== 1) faults.push(`${errors.length} errors and ${finishes} finish reasons`)
  return { ending: errors.length > 0 ? 'broken' : 'whole', status, code, words, usage, faults }
}
