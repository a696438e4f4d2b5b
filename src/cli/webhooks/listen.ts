/** `turnpike webhooks listen`: prints an account's events on this machine, or posts them to a receiver under development. */

import { styleText } from 'node:util'
import { WEBHOOK_EVENT_TYPES } from '../../domain/webhook-event.ts'
import { webhookKey } from '../../domain/webhook-signature.ts'
import { isRecord, parseJson } from '../../lib/json.ts'
import { wrongUsage } from '../option-values.ts'
import { jsonLine, note, plainLine } from '../output.ts'
import { configFolder } from '../remote/auth/private-files.ts'
import { createClient } from '../remote/client.ts'
import { CONNECTION_NOTES, untilStopped } from '../remote/event-stream.ts'
import { chooseTarget, type RemoteOptions, type Target } from '../remote/target.ts'
import { type FeedEvent, followEvents } from './event-feed.ts'
import { createForwarder, type Forwarder, localWebhookSecret, type Receipt } from './forwarding.ts'

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
  const received = `${events} ${events === 1 ? 'event' : 'events'}`
  if (!isForwarding || events === 0) return `${received}.`
  const inFlight = events - delivered - failed
  return `${received}: ${delivered} delivered, ${failed} failed${inFlight === 0 ? '' : `, ${inFlight} in flight`}.`
}

/** Returns the local time, as in the receiver's log. */
function clock(): string {
  return new Date().toTimeString().slice(0, 8)
}
