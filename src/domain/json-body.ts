/**
 * Checks request bodies before their fields: JSON objects within limits of size and depth, without prototype
 * pollution.
 */

import { createHash } from 'node:crypto'
import { canonicalJson, isRecord, type Json } from '../lib/json.ts'
import type { PromptContent } from './bounds/reservation.ts'
import type { IdempotentRequest } from './credit.ts'
import { GatewayError } from './errors.ts'

/** The body itself is at depth 1. */
export const MAX_BODY_DEPTH = 64
export const MAX_ARRAY_ITEMS = 10_000
/** Objects, arrays, strings, numbers, booleans and nulls. */
export const MAX_BODY_VALUES = 200_000
/** Distinct names; a parser takes much longer for a new name than for a known one. */
export const MAX_FIELD_NAMES = 20_000

/**
 * Escape sequences in all strings. Each takes up to 18 ns on the event loop when the request is rendered for a
 * provider. A prompt of so many escaped characters fits no context window, and images have none.
 */
export const MAX_ESCAPES = 3_000_000

const LIMITS = { depth: MAX_BODY_DEPTH, arrayItems: MAX_ARRAY_ITEMS, values: MAX_BODY_VALUES }
const SHOWN_CHARACTERS = 200

/**
 * Checks a body before it is parsed: depth, array items, values, escapes, field names, and names that pollute
 * prototypes when objects are merged (`__proto__`, and a `constructor` with a `prototype`). Linear in its length.
 * @throws GatewayError `invalid_value`.
 */
export function checkJsonBytes(bytes: Buffer): JsonSize {
  const size = scanJson(bytes, LIMITS)
  if (size.excess !== undefined) throw new GatewayError('invalid_value', MESSAGES[size.excess])
  if (size.names > MAX_FIELD_NAMES) checkNames(bytes)
  if (bytes.length > 2 * MAX_ESCAPES) checkEscapes(bytes)
  return size
}

const MESSAGES: Readonly<Record<JsonExcess, string>> = {
  depth: `The request body is nested deeper than ${MAX_BODY_DEPTH} levels.`,
  arrayItems: `The request body has an array of more than ${MAX_ARRAY_ITEMS} items.`,
  values: `The request body has more than ${MAX_BODY_VALUES} values.`,
  ['__proto__']: 'The request body has a field named `__proto__`, which is not allowed.',
  'constructor.prototype': 'The request body has a field named `constructor.prototype`, which is not allowed.',
}

/** Compares names as spelled: one name with different escapes counts twice. */
function checkNames(bytes: Buffer): void {
  const names = new Set<string>()
  scanJson(bytes, LIMITS, (start, end) => {
    names.add(bytes.toString('latin1', start, end))
    if (names.size <= MAX_FIELD_NAMES) return
    throw new GatewayError('invalid_value', `The request body has more than ${MAX_FIELD_NAMES} different field names.`)
  })
}

function checkEscapes(bytes: Buffer): void {
  let escapes = 0
  for (let at = 0; at < bytes.length; at++) {
    if (bytes[at] !== BACKSLASH) continue
    escapes += 1
    at += 1
  }
  if (escapes <= MAX_ESCAPES) return
  throw new GatewayError('invalid_value', `The request body has more than ${MAX_ESCAPES} escape sequences.`)
}

/** Shorter bodies can exceed only the limit of depth. */
const SHORT_CHARACTERS = 16 * 1024

/** Combines `checkJsonBytes` and `parseJsonBody`; does not scan short bodies without suspicious text. */
export function parseCheckedBody(bytes: Buffer): unknown {
  const text = bytes.toString('utf8')
  if (!isHarmless(text)) checkJsonBytes(bytes)
  return parseJsonBody(text)
}

/**
 * Returns whether text is within all limits whatever its structure: short, with few brackets and no forbidden names.
 */
function isHarmless(text: string): boolean {
  if (text.length > SHORT_CHARACTERS || occurrences(text, '{') + occurrences(text, '[') > MAX_BODY_DEPTH) return false
  return !(text.includes('\\u') || text.includes('__proto__') || text.includes('constructor'))
}

/** Returns the number of occurrences of a character, at most one more than `MAX_BODY_DEPTH`. */
function occurrences(text: string, character: string): number {
  let count = 0
  for (let at = text.indexOf(character); at >= 0; at = text.indexOf(character, at + 1)) {
    count += 1
    if (count > MAX_BODY_DEPTH) break
  }
  return count
}

/** Parses the object in a body. Throws `invalid_json`, or `invalid_type` for other JSON. */
export function parseJsonBody(text: string): Json {
  const body = parseJson(text)
  if (isRecord(body)) return body
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

/** @param reason Message of the engine, with the position of the error or the text around it. */
function jsonFault(text: string, reason: string): string {
  if (text.trim() === '') return 'The request body is empty; send a JSON object.'
  if (/end of JSON input/.test(reason))
    return `The request body is not valid JSON: it ends early, at position ${text.length}.`
  return `The request body is not valid JSON: ${reason.slice(0, SHOWN_CHARACTERS)}`
}

/** Results whose computation takes time in proportion to the length of the body. */
export interface BodyFindings {
  /** Length of the body. */
  readonly bytes: number
  /** The prompt of a valid chat completion. */
  readonly prompt: PromptContent | undefined
  /** The fingerprint of a request with an `Idempotency-Key`; see `fingerprint.ts`. */
  readonly fingerprint: Uint8Array | undefined
}

export interface ParsedBody {
  /** The result of `parseJsonBody`. */
  readonly body: unknown
  readonly findings: BodyFindings
}

export interface LargeBody {
  /** The memory is transferred to the thread: no other code may use it. */
  readonly bytes: Buffer
  /** The owner: bodies of several owners are served round-robin. */
  readonly owner: string
  /** `METHOD /path` of the API if it requests a completion, which needs `findings.prompt`. Undefined for others. */
  readonly endpoint: string | undefined
  /** The request has an `Idempotency-Key`, which needs `findings.fingerprint`. */
  readonly isKeyed: boolean
  /** Returns whether the client has disconnected. */
  readonly isAbandoned: () => boolean
}

/** Rejects with a `GatewayError` of `checkJsonBytes` or `parseJsonBody`, with `client_left`, or with `overloaded`. */
export type ParseLargeBody = (body: LargeBody) => Promise<ParsedBody>

/** Fingerprint of an idempotent request: endpoint and canonical body. */
export function fingerprintOf({ endpoint, body }: Pick<IdempotentRequest, 'endpoint' | 'body'>): Uint8Array {
  return createHash('sha256').update(endpoint).update('\n').update(canonicalJson(body)).digest()
}

/*
 * Measures JSON bytes in one linear pass without allocation: values, field names, depth, lengths of arrays. It stops at
 * the first exceeded limit. It does not validate: for invalid JSON the figures are at least those of the part before
 * the error, which suffices to limit the work of the parser.
 */

interface JsonLimits {
  /** The outermost value is at depth 1. */
  readonly depth: number
  readonly arrayItems: number
  /** Objects, arrays, strings, numbers, booleans and nulls. */
  readonly values: number
}

interface JsonSize {
  /** A lower bound if a limit is exceeded. */
  readonly values: number
  /** Occurrences of field names. */
  readonly names: number
  /** Undefined if the body is within the limits. */
  readonly excess: JsonExcess | undefined
}

/** An exceeded limit, or a field name that pollutes prototypes. */
type JsonExcess = 'depth' | 'arrayItems' | 'values' | '__proto__' | 'constructor.prototype'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** Longer strings are searched with `indexOf`, which is faster for long strings and slower for short ones. */
const SHORT_STRING = 64
/** Longest spelling of a hostile name: every character as `\u0000`. */
const LONGEST_SPELLING = 6 * 'constructor'.length

interface Scan {
  readonly bytes: Buffer
  readonly limits: JsonLimits
  readonly onName: ((start: number, end: number) => void) | undefined
  values: number
  names: number
  depth: number
  excess: JsonExcess | undefined
  /** The next string is a field name. */
  isName: boolean
  /** The last field name was `constructor`, and its value has not begun. */
  isConstructor: boolean
  /** The state of each open container: the number of items of an array, or -1 or `CONSTRUCTOR` for an object. */
  readonly open: Int32Array
}

const OBJECT = -1
/** An object that is the value of a field named `constructor`. */
const CONSTRUCTOR = -2

/** @param onName Called with the position of each field name, without its quotes. */
function scanJson(bytes: Buffer, limits: JsonLimits, onName?: (start: number, end: number) => void): JsonSize {
  const open = new Int32Array(limits.depth + 1)
  const scan: Scan = {
    bytes,
    limits,
    onName,
    values: 0,
    names: 0,
    depth: 0,
    excess: undefined,
    isName: false,
    isConstructor: false,
    open,
  }
  let at = 0
  while (at < bytes.length && scan.excess === undefined) {
    const byte = bytes[at] as number
    if (byte === QUOTE) at = readString(scan, at + 1)
    else if (byte <= 0x20) at += 1
    else if (byte === COLON) at += 1
    else if (byte === COMMA) {
      noteComma(scan)
      at += 1
    } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      enter(scan, byte === OPEN_OBJECT)
      at += 1
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      if (scan.depth > 0) scan.depth -= 1
      scan.isName = false
      at += 1
    } else {
      countValue(scan)
      at = scalarEnd(bytes, at + 1)
    }
  }
  return { values: scan.values, names: scan.names, excess: scan.excess }
}

function countValue(scan: Scan): void {
  scan.values += 1
  scan.isConstructor = false
  if (scan.values > scan.limits.values) scan.excess = 'values'
}

function enter(scan: Scan, isObject: boolean): void {
  const { isConstructor } = scan
  countValue(scan)
  if (scan.depth >= scan.limits.depth) {
    scan.excess = 'depth'
    return
  }
  scan.depth += 1
  scan.isName = isObject
  scan.open[scan.depth] = isObject ? (isConstructor ? CONSTRUCTOR : OBJECT) : 1
}

function noteComma(scan: Scan): void {
  const items = scan.open[scan.depth] as number
  scan.isName = items < 0
  if (items <= 0) return
  scan.open[scan.depth] = items + 1
  if (items >= scan.limits.arrayItems) scan.excess = 'arrayItems'
}

/** @param start Of the string's first byte. @returns where what follows the string begins. */
function readString(scan: Scan, start: number): number {
  const end = stringEnd(scan.bytes, start)
  if (!scan.isName) {
    countValue(scan)
    return end + 1
  }
  scan.isName = false
  scan.names += 1
  scan.onName?.(start, end)
  const length = end - start
  const name = length <= LONGEST_SPELLING ? hostileName(scan.bytes, start, end) : undefined
  scan.isConstructor = name === 'constructor'
  if (name === '__proto__') scan.excess = '__proto__'
  if (name === 'prototype' && scan.open[scan.depth] === CONSTRUCTOR) scan.excess = 'constructor.prototype'
  return end + 1
}

/** The position of the closing quote, or of the end of the text where there is none. */
function stringEnd(bytes: Buffer, start: number): number {
  let at = start
  for (;;) {
    const slow = Math.min(at + SHORT_STRING, bytes.length)
    while (at < slow) {
      const byte = bytes[at] as number
      if (byte === QUOTE) return at
      at += byte === BACKSLASH ? 2 : 1
    }
    if (at >= bytes.length) return bytes.length
    const quote = bytes.indexOf(QUOTE, at)
    if (quote < 0) return bytes.length
    let escapes = quote
    while (escapes > at && bytes[escapes - 1] === BACKSLASH) escapes -= 1
    if ((quote - escapes) % 2 === 0) return quote
    at = quote + 1
  }
}

function scalarEnd(bytes: Buffer, start: number): number {
  let at = start
  for (; at < bytes.length; at++) {
    const byte = bytes[at] as number
    if (byte <= 0x20 || byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) return at
    if (byte === QUOTE || byte === COLON || byte === OPEN_OBJECT || byte === OPEN_ARRAY) return at
  }
  return at
}

const LENGTHS: ReadonlySet<number> = new Set(['__proto__', 'prototype', 'constructor'].map(({ length }) => length))

/** Decodes a name that may be hostile. */
function hostileName(bytes: Buffer, start: number, end: number): string | undefined {
  const length = end - start
  if (LENGTHS.has(length)) {
    const first = bytes[start]
    if (first === 0x5f || first === 0x70 || first === 0x63) return decoded(bytes, start, end)
  }
  for (let at = start; at < end; at++) if (bytes[at] === BACKSLASH) return decoded(bytes, start, end)
  return undefined
}

function decoded(bytes: Buffer, start: number, end: number): string | undefined {
  try {
    return JSON.parse(bytes.toString('latin1', start - 1, end + 1)) as string
  } catch {
    return undefined // the parser reports it
  }
}
