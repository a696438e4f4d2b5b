/**
 * Measures JSON text as bytes, in one linear pass that builds nothing: how many values and field names it has, how deep
 * it is nested, how long its arrays are. It stops at the first limit that is exceeded.
 *
 * It is no validator. Of valid JSON the figures are exact; of other text they are at least those of the part that a parser
 * reads before it finds the fault, which is all that a limit on the parser's work needs.
 */

export interface JsonLimits {
  /** The outermost value is at depth 1. */
  readonly depth: number
  readonly arrayItems: number
  /** Objects, arrays, strings, numbers, booleans and nulls. */
  readonly values: number
}

export interface JsonSize {
  /** At least: values after the excess are not counted. */
  readonly values: number
  /** Field names, each time that they occur. */
  readonly names: number
  /** Undefined: within the limits. */
  readonly excess: JsonExcess | undefined
}

/** A limit that is exceeded, or a field name that poisons prototypes where objects are merged. */
export type JsonExcess = 'depth' | 'arrayItems' | 'values' | '__proto__' | 'constructor.prototype'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** Strings longer than this are searched by the system, which is faster for long and slower for short ones. */
const SHORT_STRING = 64
/** Longest spelling of a name that is looked for: every character as `\u0000`. */
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
  /** Of each open container: items so far of an array, -1 or `CONSTRUCTOR` of an object. */
  readonly open: Int32Array
}

const OBJECT = -1
/** An object that is the value of a field named `constructor`. */
const CONSTRUCTOR = -2

/** @param onName Told the bytes of each field name, without its quotes. */
export function scanJson(bytes: Buffer, limits: JsonLimits, onName?: (start: number, end: number) => void): JsonSize {
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

/** The name, however it is spelled, where it may be one of those that are looked for. */
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
    return undefined // no string: the parser says so
  }
}
