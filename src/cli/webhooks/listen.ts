/** `turnpike webhooks listen`: prints an account's events on this machine, or posts them to a receiver under development. */

import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { styleText } from 'node:util'
import { Agent } from 'undici'
import { WEBHOOK_EVENT_TYPES } from '../../domain/webhook-event.ts'
import { mintWebhookSecret, signWebhook, webhookKey } from '../../domain/webhook-signature.ts'
import { DEADLINE_MS, post } from '../../features/webhooks/deliver/attempt.ts'
import { isRecord, parseJson, textOf } from '../../lib/json.ts'
import { wrongUsage } from '../option-values.ts'
import { grouped, jsonLine, note, plainLine } from '../output.ts'
import {
  configFolder,
  isOpenToOthers,
  readPrivateFile,
  withLock,
  writePrivateFile,
} from '../remote/auth/private-files.ts'
import { type Client, createClient } from '../remote/client.ts'
import { CONNECTION_NOTES, readStream, type StreamWatcher, untilStopped } from '../remote/event-stream.ts'
import { reasonOf } from '../remote/http.ts'
import { chooseTarget, type RemoteOptions, type Target } from '../remote/target.ts'

export interface ListenOptions extends RemoteOptions {
  readonly forward?: URL
  /** Event types (default: all). */
  readonly events?: readonly string[]
  readonly secret?: string
  readonly printJson?: boolean
}

/** Concurrent deliveries, as a server has for one endpoint. */
const AT_ONCE = 10

/** @param version Sent to receivers in `User-Agent`. */
export async function webhooksListen(options: ListenOptions, version: string): Promise<void> {
  checkSecret(options)
  const target = await chooseTarget(options)
  const { forward, printJson, json } = options
  const display = createDisplay({ isJson: (printJson ?? json) === true, isForwarding: forward !== undefined })
  await untilStopped(async (signal) => {
    const secret =
      forward === undefined ? undefined : (options.secret ?? (await localWebhookSecret(configFolder(), target)))
    if (secret !== undefined) display.secret(secret)
    const forwarder =
      forward === undefined || secret === undefined
        ? undefined
        : createForwarder({ url: forward, secret, signal, userAgent: `Turnpike-Webhooks/${version}` })
    await listen({ options, target, display, forwarder, signal })
  })
}

function checkSecret({ secret, forward }: ListenOptions): void {
  if (secret === undefined) return
  // the message does not contain it: it may be a valid secret with a typing error
  if (webhookKey(secret) === undefined)
    throw wrongUsage('--secret: allowed: whsec_ followed by 24 to 64 bytes in base64.')
  if (forward === undefined) throw wrongUsage('--secret requires --forward: only forwarded events are signed.')
}

interface Listening {
  readonly options: ListenOptions
  readonly target: Target
  readonly display: Display
  /** Undefined: events are only shown. */
  readonly forwarder: Forwarder | undefined
  readonly signal: AbortSignal
}

async function listen({ options, target, display, forwarder, signal }: Listening): Promise<void> {
  const { events: types, forward } = options
  const inFlight = createSlots(AT_ONCE)
  let isConnected = false
  try {
    await followEvents({
      client: createClient(target),
      signal,
      onConnected(lostMs) {
        isConnected = true
        note(lostMs === undefined ? opening(target, forward) : regained(lostMs))
      },
      onLost: CONNECTION_NOTES.onLost,
      async onEvent(event) {
        if (types?.includes(event.type) === false) return
        display.event(event)
        if (forwarder === undefined) return
        await inFlight.use(async () => {
          const receipt = await forwarder.send(event)
          if (!signal.aborted) display.receipt(event, receipt)
        })
      },
    })
  } finally {
    await inFlight.end()
    await forwarder?.close()
    if (isConnected) display.summary()
  }
}

function opening({ url }: Target, forward: URL | undefined): string {
  if (forward === undefined)
    return `Listening to ${url}. Pass --forward URL to post the events to a receiver. Press Ctrl-C to stop.`
  return `Listening to ${url}; forwarding events to ${forward.href}. Press Ctrl-C to stop.`
}

function regained(lostMs: number): string {
  return `Reconnected after ${(lostMs / 1_000).toFixed(1)} s; missed events follow.`
}

interface Slots {
  /** Resolves when the work has started. The work must not reject. */
  use(work: () => Promise<void>): Promise<void>
  /** Resolves when all work is done. */
  end(): Promise<void>
}

function createSlots(most: number): Slots {
  const taken = new Set<Promise<void>>()
  return {
    async use(work) {
      while (taken.size >= most) await Promise.race(taken)
      const one: Promise<void> = work().finally(() => taken.delete(one))
      taken.add(one)
    },
    end: async () => void (await Promise.all(taken)),
  }
}

interface Display {
  /** Prints the signing secret as the first line. */
  secret(secret: string): void
  event(event: FeedEvent): void
  receipt(event: FeedEvent, receipt: Receipt): void
  /** Writes the counts to standard error. */
  summary(): void
}

interface DisplayOptions {
  /** Standard output gets only bodies, one per line. */
  readonly isJson: boolean
  /** Events are forwarded, and receipts are printed instead of them. */
  readonly isForwarding: boolean
}

/** Length of the printed part of a failed receiver's response. */
const SHOWN_CHARACTERS = 200
const TYPE_WIDTH = Math.max(...WEBHOOK_EVENT_TYPES.map((type) => type.length))

function createDisplay({ isJson, isForwarding }: DisplayOptions): Display {
  const lines = isJson ? process.stderr : process.stdout
  const counts: Counts = { events: 0, delivered: 0, failed: 0 }
  const head = ({ type, id }: FeedEvent) =>
    `${styleText('dim', clock(), { stream: lines })}  ${plainLine(type).padEnd(TYPE_WIDTH)}  ${id}`
  return {
    secret: (secret) => void lines.write(`TURNPIKE_WEBHOOK_SECRET=${secret}\n`),
    event(event) {
      counts.events++
      const body = parseJson(event.body)
      if (isJson) process.stdout.write(jsonLine(body))
      else if (!isForwarding) lines.write(`${head(event)}  ${jsonLine(isRecord(body) ? (body['data'] ?? null) : null)}`)
    },
    receipt(event, receipt) {
      const { status, durationMs, error } = receipt
      const isGood = error === undefined
      counts[isGood ? 'delivered' : 'failed']++
      const code = styleText(isGood ? 'green' : 'red', String(status ?? 'failed'), { stream: lines })
      const parts = [head(event), code, `${durationMs} ms`, failureTextOf(receipt)]
      lines.write(`${parts.filter((part) => part !== '').join('  ')}\n`)
    },
    summary: () => void process.stderr.write(`${summaryOf(counts, isForwarding)}\n`),
  }
}

interface Counts {
  events: number
  delivered: number
  failed: number
}

/** Describes a failure by the receiver's response, or by the error; '' for a success. */
function failureTextOf({ status, error, text }: Receipt): string {
  if (error === undefined) return ''
  return error === `status ${status}` ? plainLine(text).slice(0, SHOWN_CHARACTERS) : plainLine(error)
}

function summaryOf({ events, delivered, failed }: Counts, isForwarding: boolean): string {
  const received = `${grouped(events)} ${events === 1 ? 'event' : 'events'}`
  if (!isForwarding || events === 0) return `${received}.`
  const inFlight = events - delivered - failed
  const pending = inFlight === 0 ? '' : `, ${grouped(inFlight)} in flight`
  return `${received}: ${grouped(delivered)} delivered, ${grouped(failed)} failed${pending}.`
}

/** Returns the local time, as in the receiver's log. */
function clock(): string {
  return new Date().toTimeString().slice(0, 8)
}

/* Receives an account's events across reconnects, without gaps. It does not know how events are used. */

export interface FeedEvent {
  readonly id: string
  readonly type: string
  /** Body of the webhook, unchanged. */
  readonly body: string
}

export interface Feed extends StreamWatcher {
  readonly client: Client
  /** The next event is read when this resolves. */
  readonly onEvent: (event: FeedEvent) => Promise<void>
}

/** IDs of recent events, which a server may repeat after a reconnect. */
const REMEMBERED_IDS = 20_000

/** Sorts before every ID of an event: the starting position of an account without events. */
const BEFORE_ALL = `evt_${'0'.repeat(22)}`

interface Position {
  lastId: string
  /** The newest event before the start; it and older ones are skipped. */
  readonly firstId: string
  readonly known: Set<string>
}

/** Resolves when `signal` aborts. Rejects when the first connection fails, or the server rejects a later one. */
export async function followEvents(feed: Feed): Promise<void> {
  try {
    const position = await startingPosition(feed.client)
    await readStream({
      ...feed,
      path: '/events/stream',
      lastEventId: () => position.lastId,
      onFrame: async ({ data }) => take(feed, position, data),
    })
  } catch (error) {
    if (!feed.signal.aborted) throw error
  }
}

/** Starts after the newest event, so that no event is missed even if the first connection is lost before any arrives. */
async function startingPosition(client: Client): Promise<Position> {
  const page = await client.get('/events?limit=1')
  const events: readonly unknown[] = isRecord(page) && Array.isArray(page['data']) ? page['data'] : []
  const [newest] = events
  const firstId = (isRecord(newest) ? idOf(newest['id']) : undefined) ?? BEFORE_ALL
  return { lastId: firstId, firstId, known: new Set() }
}

/** Returns an ID that fits into a header. */
function idOf(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\x21-\x7e]{1,255}$/.test(value) ? value : undefined
}

async function take({ onEvent }: Feed, position: Position, body: string): Promise<undefined> {
  const event = parseJson(body)
  const id = isRecord(event) ? idOf(event['event_id']) : undefined
  if (!isRecord(event) || id === undefined) return
  // an event that was committed late has an older ID than the events before it
  if (id > position.lastId) position.lastId = id
  if (id <= position.firstId || position.known.has(id)) return
  position.known.add(id)
  const [oldest] = position.known
  if (position.known.size > REMEMBERED_IDS && oldest !== undefined) position.known.delete(oldest)
  await onEvent({ id, type: textOf(event['type']), body })
}

/*
 * Posts events to a receiver on the developer's machine, with the signature and the rules of the server's deliveries.
 */

export interface ForwarderOptions {
  readonly url: URL
  readonly secret: string
  /** Aborts deliveries in flight. */
  readonly signal: AbortSignal
  readonly userAgent: string
  readonly deadlineMs?: number
}

export interface Receipt {
  /** HTTP status; undefined: no response. */
  readonly status: number | undefined
  readonly durationMs: number
  /** As in the delivery log; undefined: success. */
  readonly error: string | undefined
  /** Start of the response body. */
  readonly text: string
}

interface Forwarder {
  /** Never rejects. */
  send(event: FeedEvent): Promise<Receipt>
  close(): Promise<void>
}

export function createForwarder({ url, secret, signal, userAgent, ...rest }: ForwarderOptions): Forwarder {
  // a separate agent, since a proxy of the environment cannot reach this machine
  const agent = new Agent({ headersTimeout: 0, bodyTimeout: 0 })
  const options = { signal, deadlineMs: rest.deadlineMs ?? DEADLINE_MS }
  return {
    async send({ id, body: text }) {
      const startedAt = performance.now()
      const body = Buffer.from(text)
      const signature = signWebhook({ id, timestamp: Math.floor(Date.now() / 1_000), body, secrets: [secret] })
      const headers = { 'content-type': 'application/json', 'user-agent': userAgent, ...signature }
      const answer = await post(agent, { url, headers, body }, options).catch(unexpected)
      return { ...answer, text: answer.text ?? '', durationMs: Math.round(performance.now() - startedAt) }
    },
    close: () => agent.destroy(),
  }
}

function unexpected(error: unknown): { readonly status: undefined; readonly error: string; readonly text: undefined } {
  return { status: undefined, error: reasonOf(error), text: undefined }
}

/*
 * Secrets of `webhooks listen`. They belong to this machine, unknown to servers, and stay the same, so that a receiver under
 * development is configured once.
 */

/** Returns the secret of a profile or, for a key, of the server's address. Creates it on first use. */
export function localWebhookSecret(folder: string, { profile, url }: Target): Promise<string> {
  const path = join(folder, 'webhook-secrets.json')
  const owner = profile?.name ?? url
  return withLock(`${path}.lock`, async () => {
    const all = await readAll(path)
    const known = all.get(owner)
    if (known !== undefined) return known
    const secret = mintWebhookSecret(randomBytes)
    await writePrivateFile(path, `${JSON.stringify(Object.fromEntries(all.set(owner, secret)), null, 2)}\n`)
    return secret
  })
}

async function readAll(path: string): Promise<Map<string, string>> {
  const text = await readPrivateFile(path)
  if (text === undefined) return new Map()
  if (await isOpenToOthers(path)) {
    throw new Error(`Other users can read ${path}, which contains secrets. Delete it: the command creates new ones.`)
  }
  const value = parseJson(text)
  const entries = isRecord(value) ? Object.entries(value) : undefined
  const all = entries?.flatMap(([owner, secret]) => (isSecret(secret) ? [[owner, secret] as const] : []))
  if (all === undefined || all.length !== entries?.length) {
    throw new Error(`${path} is invalid. Delete it: the command creates new secrets.`)
  }
  return new Map(all)
}

function isSecret(value: unknown): value is string {
  return typeof value === 'string' && webhookKey(value) !== undefined
}
