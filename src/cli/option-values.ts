/** Parses the values of flags and arguments. An invalid value is wrong usage: exit code 2. */

import { styleText } from 'node:util'
import { CommanderError, InvalidArgumentError } from 'commander'
import { MAX_ENTRY_USD, MAX_NOTE_LENGTH } from '../domain/credit.ts'
import { type NanoUsd, parseNanoUsd } from '../domain/money.ts'
import { isWebhookEventType, WEBHOOK_EVENT_TYPES, type WebhookEventType } from '../domain/webhook-event.ts'
import { isLoopbackUrl } from '../lib/ip-address.ts'
import { parseDurationMs, parseIsoTime } from '../lib/time.ts'

const WRONG_USAGE_EXIT_CODE = 2

/** Prints what is wrong with an argument, and returns the error to throw, which ends the command with exit code 2. */
export function wrongUsage(message: string): CommanderError {
  process.stderr.write(`${styleText('red', 'turnpike:', { stream: process.stderr })} ${message}\n`)
  return new CommanderError(WRONG_USAGE_EXIT_CODE, 'turnpike.wrongUsage', message)
}

/** `a,b` → `['a', 'b']`; spaces around the parts do not matter. */
export function parseList(text: string): string[] {
  const parts = text.split(',').map((part) => part.trim())
  if (parts.includes('')) throw new InvalidArgumentError('Allowed: comma-separated names.')
  return parts
}

export function parsePort(text: string): number {
  const port = parseWholeNumber(text)
  if (port > 65_535) throw new InvalidArgumentError('Allowed: 0 to 65535.')
  return port
}

/** @returns A whole number, 0 or more. */
export function parseWholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError('Allowed: a whole number.')
  return Number(text)
}

/** @returns Dollars, 0 or more, as written with at most 6 decimals. */
export function parseUsd(text: string): number {
  if (!/^\d{1,9}(\.\d{1,6})?$/.test(text)) {
    throw new InvalidArgumentError('Allowed: dollars with at most 6 decimals, such as 12.50.')
  }
  return Number(text)
}

const MAX_AMOUNT = BigInt(MAX_ENTRY_USD) * 1_000_000_000n

/** @returns Dollars as written, above zero, with at most 9 decimals. */
export function parseAmount(text: string): NanoUsd {
  const amount = parseNanoUsd(text)
  if (amount !== undefined && amount > 0n && amount <= MAX_AMOUNT) return amount
  throw new InvalidArgumentError(
    `Allowed: dollars above 0, up to ${MAX_ENTRY_USD}, with at most 9 decimals, such as 12.50.`,
  )
}

/** @returns Null: the overrun cap of the plan. */
export function parseOverrun(text: string): NanoUsd | null {
  if (text === 'default') return null
  const amount = parseNanoUsd(text)
  if (amount !== undefined && amount <= MAX_AMOUNT) return amount
  throw new InvalidArgumentError(
    `Allowed: dollars from 0 to ${MAX_ENTRY_USD}, with at most 9 decimals, such as 0.05; or default.`,
  )
}

/** @returns Unix milliseconds. */
export function parseTime(text: string): number {
  const time = parseIsoTime(text)
  if (time !== undefined && time >= 0) return time
  throw new InvalidArgumentError(
    'Allowed: an ISO 8601 date or time in UTC, such as 2026-01-31 or 2026-01-31T12:00:00Z.',
  )
}

/** Returns a parser that accepts texts of a form and returns them unchanged. @param allowed For the error message. */
function textOfForm(form: RegExp, allowed: string): (text: string) => string {
  return (text) => {
    if (form.test(text)) return text
    throw new InvalidArgumentError(`Allowed: ${allowed}.`)
  }
}

const AGENT_ID = /^agt_[0-9A-Za-z]+$/
const REPOSITORY = /^[\w.-]+\/[\w.-]+$/

/** An idempotency key, in the form of the header of the same name. */
export const parseKey = textOfForm(/^[\x20-\x7e]{1,255}$/, '1 to 255 printable ASCII characters')
export const parseName = textOfForm(/\S/, 'a name that is not empty')
export const parseDurationText = textOfForm(/^[1-9]\d{0,8}[smhd]$/, 'a number and a unit (s, m, h, d), such as 30d')
export const parseAgentId = textOfForm(AGENT_ID, "the ID of an agent, agt_…; 'turnpike agents list' shows them")
/** Checks the form only; the server knows which repositories exist. */
export const parseRepository = textOfForm(REPOSITORY, 'organisation/repository, such as example/website')
export const parseWebhookId = textOfForm(
  /^whk_\w+$/,
  "the ID of an endpoint, whk_…; 'turnpike webhooks list' shows them",
)
export const parseDeliveryId = textOfForm(
  /^dlv_\w+$/,
  "the ID of a delivery, dlv_…; 'turnpike webhooks deliveries ID' shows them",
)

export function isAgentId(text: string): boolean {
  return AGENT_ID.test(text)
}

export function isRepository(text: string): boolean {
  return REPOSITORY.test(text)
}

export function parseNote(text: string): string {
  if (text.length > MAX_NOTE_LENGTH) throw new InvalidArgumentError(`Allowed: at most ${MAX_NOTE_LENGTH} characters.`)
  return text
}

export function parseReason(text: string): string {
  if (text.trim() === '') throw new InvalidArgumentError('Allowed: a note that is not empty.')
  return parseNote(text)
}

/** @returns Dollars, above zero, as written with at most 9 decimals. */
export function parseMaxCost(text: string): number {
  const cost = parseNanoUsd(text)
  if (cost !== undefined && cost > 0n) return Number(text)
  throw new InvalidArgumentError('Allowed: dollars above 0 with at most 9 decimals, such as 2.50.')
}

export function parseMaxSteps(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Allowed: a whole number above 0.')
}

export function parseEventType(text: string): WebhookEventType {
  if (isWebhookEventType(text)) return text
  throw new InvalidArgumentError(`Allowed: ${WEBHOOK_EVENT_TYPES.join(', ')}.`)
}

export function parseEventTypes(text: string): readonly WebhookEventType[] {
  return [...new Set(parseList(text).map(parseEventType))]
}

/** Parses a time, or how long ago it was. @returns Unix milliseconds. */
export function parsePastTime(text: string): number {
  const agoMs = parseDurationMs(text)
  const time = agoMs === undefined ? parseIsoTime(text) : Date.now() - agoMs
  if (time !== undefined && time >= 0) return time
  throw new InvalidArgumentError(
    'Allowed: a number and a unit (s, m, h, d), such as 2h, or an ISO 8601 date or time in UTC, such as 2026-01-31T12:00:00Z.',
  )
}

/** Parses a receiver's address: `localhost:3000/hook`, `3000/hook`, or a complete URL. */
export function parseReceiver(text: string): URL {
  const url = readReceiver(text.trim())
  if (url !== undefined && url.hostname !== '' && url.username === '' && url.password === '') return url
  throw new InvalidArgumentError('Allowed: an http or https address, such as localhost:3000/webhooks.')
}

/** Reads a port alone as one of this machine: `URL` would read 3000 as the address 0.0.11.184. */
function readReceiver(text: string): URL | undefined {
  const isPort = /^:?\d{1,5}(?:[/?]|$)/.test(text)
  return readUrl(isPort ? `http://localhost:${text.replace(/^:/, '')}` : text)
}

/** @returns Without trailing slash and without the `/v1` of the API; `https://` where no scheme was written. */
export function parseServerUrl(text: string): string {
  const url = readUrl(text.trim())
  if (url === undefined || url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new InvalidArgumentError('Allowed: an http or https address, such as https://ai.example.com.')
  }
  return url.href.replace(/\/+$/, '').replace(/\/v1$/, '')
}

function readUrl(text: string): URL | undefined {
  if (/^https?:\/\//i.test(text)) return URL.parse(text) ?? undefined
  if (text.includes('://')) return undefined
  const plain = URL.parse(`http://${text}`)
  if (plain === null || plain.hostname === '') return undefined
  return isLoopbackUrl(plain) ? plain : (URL.parse(`https://${text}`) ?? undefined)
}

/** Whether requests to an address cross the network unencrypted. */
export function isUnencrypted(address: string): boolean {
  const url = new URL(address)
  return url.protocol === 'http:' && !isLoopbackUrl(url)
}
