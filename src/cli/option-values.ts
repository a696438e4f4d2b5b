/** Parses the values of flags and arguments. An invalid value is wrong usage: exit code 2. */

import { styleText } from 'node:util'
import { CommanderError, InvalidArgumentError, Option } from 'commander'
import { MAX_TAGS, parseTags, TAG_KEY_PATTERN, TAG_RULE } from '../domain/attribution.ts'
import { BUDGET_WINDOWS } from '../domain/budget.ts'
import { MAX_ENTRY_USD, MAX_NOTE_LENGTH } from '../domain/credit.ts'
import { type NanoUsd, parseNanoUsd } from '../domain/money.ts'
import { isWebhookEventType, WEBHOOK_EVENT_TYPES, type WebhookEventType } from '../domain/webhook-event.ts'
import { isLoopbackUrl } from '../lib/ip-address.ts'
import { parseDurationMs, parseIsoTime } from '../lib/time.ts'
import { asTyped } from './invocation.ts'

const WRONG_USAGE_EXIT_CODE = 2

/** Prints what is wrong with an argument, and returns the error to throw, which ends the command with exit code 2. */
export function wrongUsage(message: string): CommanderError {
  process.stderr.write(`${styleText('red', 'turnpike:', { stream: process.stderr })} ${asTyped(message)}\n`)
  return new CommanderError(WRONG_USAGE_EXIT_CODE, 'turnpike.wrongUsage', message)
}

type Parser<Value> = (text: string) => Value

/** Returns a parser of values that `read` accepts; undefined is wrong usage. @param allowed For the error message. */
function parserOf<Value>(read: (text: string) => Value | undefined, allowed: string): Parser<Value> {
  return (text) => {
    const value = read(text)
    if (value !== undefined) return value
    throw new InvalidArgumentError(`Allowed: ${allowed}.`)
  }
}

/** Returns a parser that accepts texts of a form and returns them unchanged. */
function textOfForm(form: RegExp, allowed: string): Parser<string> {
  return parserOf((text) => (form.test(text) ? text : undefined), allowed)
}

function numberOfForm(form: RegExp, allowed: string): Parser<number> {
  return parserOf((text) => (form.test(text) ? Number(text) : undefined), allowed)
}

/** `a,b` → `['a', 'b']`; spaces around the parts do not matter. */
export const parseList = parserOf((text) => {
  const parts = text.split(',').map((part) => part.trim())
  return parts.includes('') ? undefined : parts
}, 'comma-separated names')

function readTags(text: string): Readonly<Record<string, string>> | undefined {
  try {
    return Object.fromEntries(parseTags(text))
  } catch {
    return undefined
  }
}
export const parseTagList = parserOf(readTags, `up to ${MAX_TAGS} tags, each a key of ${TAG_RULE}`)
const TAG_KEY_LIST = new RegExp(`^(?:${TAG_KEY_PATTERN.slice(1, -1)},){0,${MAX_TAGS - 1}}${TAG_KEY_PATTERN.slice(1)}`)
export const parseTagKeys = parserOf(
  (text) => (TAG_KEY_LIST.test(text) ? [...new Set(text.split(','))] : undefined),
  `up to ${MAX_TAGS} keys of tags, such as customer,project`,
)

/** Also accepts '', which removes the setting. */
export function orNone<Value, None>(parse: Parser<Value>, none: None): Parser<Value | None> {
  return (text) => (text === '' ? none : parse(text))
}

/** @returns A whole number, 0 or more. */
export const parseWholeNumber = numberOfForm(/^\d{1,15}$/, 'a whole number')
export const parseMaxSteps = numberOfForm(/^[1-9]\d{0,8}$/, 'a whole number above 0')
const readPort = (text: string) => (parseWholeNumber(text) > 65_535 ? undefined : Number(text))
export const parsePort = parserOf(readPort, '0 to 65535')
/** @returns The text. */
export const parseProcesses = textOfForm(/^(?:auto|[1-9]|[1-5]\d|6[0-4])$/, '1 to 64, or auto')

const MAX_AMOUNT = BigInt(MAX_ENTRY_USD) * 1_000_000_000n

function readAmount(text: string, isAllowed: (amount: NanoUsd) => boolean): NanoUsd | undefined {
  const amount = parseNanoUsd(text)
  return amount !== undefined && isAllowed(amount) ? amount : undefined
}

/** @returns Dollars, 0 or more, as written with at most 6 decimals. */
export const parseUsd = numberOfForm(/^\d{1,9}(\.\d{1,6})?$/, 'dollars with at most 6 decimals, such as 12.50')
/** @returns Dollars as written, above zero, with at most 9 decimals. */
export const parseAmount = parserOf(
  (text) => readAmount(text, (amount) => amount > 0n && amount <= MAX_AMOUNT),
  `dollars above 0, up to ${MAX_ENTRY_USD}, with at most 9 decimals, such as 12.50`,
)
function readBudget(text: string) {
  const [, usd = '', name = ''] = /^([^/]+)\/(\w+)$/.exec(text) ?? []
  const amount = readAmount(usd, (each) => each <= MAX_AMOUNT)
  const window = BUDGET_WINDOWS.find((each) => each === name)
  return amount === undefined || window === undefined ? undefined : { usd: amount, window }
}

type BudgetOption = Exclude<ReturnType<typeof readBudget>, undefined>

const parseBudget = parserOf(readBudget, `dollars and a window (${BUDGET_WINDOWS.join(', ')}), such as 500/month`)
/** Of an option that may be repeated. */
export const parseBudgets = (text: string, before: readonly BudgetOption[] = []) => [...before, parseBudget(text)]
/** @returns Null: the overrun cap of the plan. */
export const parseOverrun = parserOf<NanoUsd | null>(
  (text) => (text === 'default' ? null : readAmount(text, (amount) => amount <= MAX_AMOUNT)),
  `dollars from 0 to ${MAX_ENTRY_USD}, with at most 9 decimals, such as 0.05; or default`,
)
/** @returns Dollars, above zero, as written with at most 9 decimals. */
export const parseMaxCost = parserOf(
  (text) => (readAmount(text, (amount) => amount > 0n) === undefined ? undefined : Number(text)),
  'dollars above 0 with at most 9 decimals, such as 2.50',
)

function unlessNegative(time: number | undefined): number | undefined {
  return time !== undefined && time >= 0 ? time : undefined
}

/** Parses a time, or how long ago it was. @returns Unix milliseconds. */
export const parsePastTime = parserOf((text) => {
  const agoMs = parseDurationMs(text)
  return unlessNegative(agoMs === undefined ? parseIsoTime(text) : Date.now() - agoMs)
}, 'a number and a unit (s, m, h, d), such as 2h, or an ISO 8601 date or time in UTC, such as 2026-01-31T12:00:00Z')

/** An idempotency key, in the form of the header of the same name. */
export const parseKey = textOfForm(/^[\x20-\x7e]{1,255}$/, '1 to 255 printable ASCII characters')
export const parseName = textOfForm(/\S/, 'a name that is not empty')
export const parseDurationText = textOfForm(/^[1-9]\d{0,8}[smhd]$/, 'a number and a unit (s, m, h, d), such as 30d')
const readNote = (text: string) => (text.length > MAX_NOTE_LENGTH ? undefined : text)
export const parseNote = parserOf(readNote, `at most ${MAX_NOTE_LENGTH} characters`)
const parseNotEmpty = textOfForm(/\S/, 'a note that is not empty')
export const parseReason = (text: string) => parseNote(parseNotEmpty(text))

const AGENT_ID = /^agt_[0-9A-Za-z]+$/
const REPOSITORY = /^[\w.-]+\/[\w.-]+$/
export const isAgentId = (text: string) => AGENT_ID.test(text)
export const isRepository = (text: string) => REPOSITORY.test(text)
export const parseAgentId = textOfForm(AGENT_ID, "the ID of an agent, agt_…; 'turnpike agents list' shows them")
/** Checks the form only; the server knows which repositories exist. */
export const parseRepository = textOfForm(REPOSITORY, 'organisation/repository, such as example/website')
export const parseWebhookId = textOfForm(
  /^whk_\w+$/,
  "the ID of an endpoint, whk_…; 'turnpike webhooks list' shows them",
)
export const parseProviderCredentialId = textOfForm(
  /^pcr_\w+$/,
  "the ID of a provider credential, pcr_…; 'turnpike provider-credentials list' shows them",
)
export const parseDeliveryId = textOfForm(
  /^dlv_\w+$/,
  "the ID of a delivery, dlv_…; 'turnpike webhooks deliveries ID' shows them",
)

const readEventType = (text: string) => (isWebhookEventType(text) ? text : undefined)
export const parseEventType = parserOf<WebhookEventType>(readEventType, WEBHOOK_EVENT_TYPES.join(', '))

export function parseEventTypes(text: string): readonly WebhookEventType[] {
  return [...new Set(parseList(text).map(parseEventType))]
}

/** Parses a receiver's address: `localhost:3000/hook`, `3000/hook`, or a complete URL. */
export const parseReceiver = parserOf((text) => {
  const url = readReceiver(text.trim())
  return url !== undefined && url.hostname !== '' && url.username === '' && url.password === '' ? url : undefined
}, 'an http or https address, such as localhost:3000/webhooks')

/** Reads a port alone as one of this machine: `URL` would read 3000 as the address 0.0.11.184. */
function readReceiver(text: string): URL | undefined {
  const isPort = /^:?\d{1,5}(?:[/?]|$)/.test(text)
  return readUrl(isPort ? `http://localhost:${text.replace(/^:/, '')}` : text)
}

/** The name of an environment variable. */
export const parseVariable = textOfForm(
  /^[A-Za-z_][A-Za-z0-9_]{0,99}$/,
  'letters, digits and _, such as TURNPIKE_API_KEY',
)

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

/* Options of a data policy. */

export const dataCollection = () =>
  new Option('--data-collection <choice>', 'deny: only deployments that do not keep data to train on').choices([
    'allow',
    'deny',
  ])
export const ZDR = 'only deployments with zero data retention'
export const REGIONS = 'comma-separated regions: only deployments in one of these'

/** The clients that `turnpike setup` knows; apart from their settings, which only that command loads. */
export const CLIENT_NAMES = ['claude', 'codex', 'opencode', 'aider'] as const
export type ClientName = (typeof CLIENT_NAMES)[number]
