/** What a body must be before anyone looks at its fields: JSON, an object, of sane size and depth, with no poisoned names. */

import { createHash } from 'node:crypto'
import { canonicalJson } from '../lib/json.ts'
import { type JsonExcess, type JsonSize, scanJson } from '../lib/json-scan.ts'
import type { PromptContent } from './bounds/reservation.ts'
import type { IdempotentRequest } from './credit.ts'
import { GatewayError } from './errors.ts'

/** The body itself is at depth 1. */
export const MAX_BODY_DEPTH = 64
export const MAX_ARRAY_ITEMS = 10_000
/** Objects, arrays, strings, numbers, booleans and nulls. */
export const MAX_BODY_VALUES = 200_000
/** Different ones; a parser takes much longer for a new name than for one that it has seen. */
export const MAX_FIELD_NAMES = 20_000

const LIMITS = { depth: MAX_BODY_DEPTH, arrayItems: MAX_ARRAY_ITEMS, values: MAX_BODY_VALUES }
const SHOWN_CHARACTERS = 200

/**
 * Checks the limits of a body before anything is built of it: depth, array items, values, field names, and names that
 * poison prototypes where objects are merged: `__proto__`, and a `constructor` with a `prototype`. Linear in its length.
 * @throws GatewayError `invalid_value`.
 */
export function checkJsonBytes(bytes: Buffer): JsonSize {
  const size = scanJson(bytes, LIMITS)
  if (size.excess !== undefined) throw new GatewayError('invalid_value', MESSAGES[size.excess])
  if (size.names > MAX_FIELD_NAMES) checkNames(bytes)
  return size
}

const MESSAGES: Readonly<Record<JsonExcess, string>> = {
  depth: `The request body is nested deeper than ${MAX_BODY_DEPTH} levels.`,
  arrayItems: `The request body has an array of more than ${MAX_ARRAY_ITEMS} items.`,
  values: `The request body has more than ${MAX_BODY_VALUES} values.`,
  __proto__: 'The request body has a field named `__proto__`, which is not allowed.',
  'constructor.prototype': 'The request body has a field named `constructor.prototype`, which is not allowed.',
}

/** Names are compared as they are spelled: with escapes one name may count twice. */
function checkNames(bytes: Buffer): void {
  const names = new Set<string>()
  scanJson(bytes, LIMITS, (start, end) => {
    names.add(bytes.toString('latin1', start, end))
    if (names.size <= MAX_FIELD_NAMES) return
    throw new GatewayError('invalid_value', `The request body has more than ${MAX_FIELD_NAMES} different field names.`)
  })
}

/** Bodies up to here are too short to exceed any limit but that of depth. */
const SHORT_CHARACTERS = 16 * 1024

/** `checkJsonBytes` and `parseJsonBody` in one: a short body without suspicious text need not be scanned. */
export function parseCheckedBody(bytes: Buffer): unknown {
  const text = bytes.toString('utf8')
  if (!isHarmless(text)) checkJsonBytes(bytes)
  return parseJsonBody(text)
}

/** Whether text is within all limits whatever its structure is: short, with few brackets and no poisoned names. */
function isHarmless(text: string): boolean {
  if (text.length > SHORT_CHARACTERS || occurrences(text, '{') + occurrences(text, '[') > MAX_BODY_DEPTH) return false
  return !(text.includes('\\u') || text.includes('__proto__') || text.includes('constructor'))
}

/** How often a character occurs, at most one more than `MAX_BODY_DEPTH`. */
function occurrences(text: string, character: string): number {
  let count = 0
  for (let at = text.indexOf(character); at >= 0; at = text.indexOf(character, at + 1)) {
    count += 1
    if (count > MAX_BODY_DEPTH) break
  }
  return count
}

/** The object in a request's body. Throws `invalid_json`, or `invalid_type` for JSON that is no object. */
export function parseJsonBody(text: string): unknown {
  const body = parseJson(text)
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body
  const found = Array.isArray(body) ? 'an array' : body === null ? 'null' : `a ${typeof body}`
  throw new GatewayError('invalid_type', `The request body must be a JSON object, not ${found}.`)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new GatewayError('invalid_json', jsonFault(text, reason), { cause: error })
  }
}

/** @param reason The message of the engine: with the position, or with the text around the fault. */
function jsonFault(text: string, reason: string): string {
  if (text.trim() === '') return 'The request body is empty; send a JSON object.'
  if (/end of JSON input/.test(reason))
    return `The request body is not valid JSON: it ends early, at position ${text.length}.`
  return `The request body is not valid JSON: ${reason.slice(0, SHOWN_CHARACTERS)}`
}

/** Figures that take long to find out, in proportion to the body's length. */
export interface BodyFindings {
  /** Length of the body. */
  readonly bytes: number
  /** Of a chat completion that is valid. */
  readonly prompt: PromptContent | undefined
  /** Of a request with an `Idempotency-Key`; see `fingerprint.ts`. */
  readonly fingerprint: Uint8Array | undefined
}

export interface ParsedBody {
  /** What `parseJsonBody` gives. */
  readonly body: unknown
  readonly findings: BodyFindings
}

export interface LargeBody {
  /** Its memory is transferred to the thread: no other code may use it. */
  readonly bytes: Buffer
  /** Whose: bodies of several owners are served in rotation. */
  readonly owner: string
  /** Of a chat completion: `findings.prompt` is wanted. */
  readonly isChat: boolean
  /** `METHOD /path`, where `findings.fingerprint` is wanted. */
  readonly endpoint: string | undefined
  /** The client has disconnected. */
  readonly isAbandoned: () => boolean
}

/** Rejects with `GatewayError`: that of `checkJsonBytes` and `parseJsonBody`, `client_left`, or `overloaded`. */
export type ParseLargeBody = (body: LargeBody) => Promise<ParsedBody>

/** Of what a key was used for: the endpoint, and the body as JSON, however it is spelled. */
export function fingerprintOf({ endpoint, body }: Pick<IdempotentRequest, 'endpoint' | 'body'>): Uint8Array {
  return createHash('sha256').update(endpoint).update('\n').update(canonicalJson(body)).digest()
}
