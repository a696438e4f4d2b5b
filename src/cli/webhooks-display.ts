/** What `turnpike webhooks listen` shows. What servers and receivers wrote is made harmless for the terminal. */
import { styleText } from 'node:util'
import { WEBHOOK_EVENT_TYPES } from '../domain/webhook-event.ts'
import { isRecord, parseJson } from '../lib/json.ts'
import type { FeedEvent } from './remote/event-feed.ts'
import type { Receipt } from './remote/forwarding.ts'
import { jsonLine, plainLine } from './remote/plain-text.ts'

export interface Display {
  /** The first line there is. */
  secret(secret: string): void
  event(event: FeedEvent): void
  receipt(event: FeedEvent, receipt: Receipt): void
  /** A line for people, on standard error. */
  note(text: string): void
  /** What has been shown, in numbers. */
  summary(): void
}

export interface DisplayOptions {
  /** Standard output gets bodies and nothing else, one a line. */
  readonly isJson: boolean
  /** Events are forwarded: their lines are those of the receipts. */
  readonly isForwarding: boolean
}

/** Of what a receiver says of a failure. */
const SHOWN_CHARACTERS = 200
const TYPE_WIDTH = Math.max(...WEBHOOK_EVENT_TYPES.map((type) => type.length))

export function createDisplay({ isJson, isForwarding }: DisplayOptions): Display {
  const lines = isJson ? process.stderr : process.stdout
  const tally: Tally = { events: 0, delivered: 0, failed: 0 }
  const head = ({ type, id }: FeedEvent) =>
    `${styleText('dim', clock(), { stream: lines })}  ${plainLine(type).padEnd(TYPE_WIDTH)}  ${id}`
  return {
    secret: (secret) => void lines.write(`TURNPIKE_WEBHOOK_SECRET=${secret}\n`),
    event(event) {
      tally.events++
      const body = parseJson(event.body)
      if (isJson) process.stdout.write(jsonLine(body))
      else if (!isForwarding) lines.write(`${head(event)}  ${jsonLine(isRecord(body) ? (body['data'] ?? null) : null)}`)
    },
    receipt(event, receipt) {
      const { status, durationMs, error } = receipt
      const isGood = error === undefined
      tally[isGood ? 'delivered' : 'failed']++
      const code = styleText(isGood ? 'green' : 'red', String(status ?? 'failed'), { stream: lines })
      const parts = [head(event), code, `${durationMs} ms`, complaintOf(receipt)]
      lines.write(`${parts.filter((part) => part !== '').join('  ')}\n`)
    },
    note: (text) => void process.stderr.write(`${plainLine(text)}\n`),
    summary: () => void process.stderr.write(`${summaryOf(tally, isForwarding)}\n`),
  }
}

interface Tally {
  events: number
  delivered: number
  failed: number
}

/** What the receiver says of it, where it says anything; '' for a success. */
function complaintOf({ status, error, text }: Receipt): string {
  if (error === undefined) return ''
  return error === `status ${status}` ? plainLine(text).slice(0, SHOWN_CHARACTERS) : plainLine(error)
}

function summaryOf({ events, delivered, failed }: Tally, isForwarding: boolean): string {
  const received = `${events} ${events === 1 ? 'event' : 'events'}`
  if (!isForwarding || events === 0) return `${received}.`
  const underWay = events - delivered - failed
  return `${received}: ${delivered} delivered, ${failed} failed${underWay === 0 ? '' : `, ${underWay} under way`}.`
}

/** Local, as the receiver's own log has it. */
function clock(): string {
  return new Date().toTimeString().slice(0, 8)
}
