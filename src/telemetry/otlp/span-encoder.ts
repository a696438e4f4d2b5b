/**
 * Encodes spans as an OTLP request in protobuf, byte for byte as OpenTelemetry's encoder does, in a fraction of its time: that one
 * passes over each span twice, and encodes the names of attributes each time. docs/decisions/0024 has the figures.
 */
import type { AttributeValue, SpanKind, SpanStatusCode } from '@opentelemetry/api'
import type { Resource } from '@opentelemetry/resources'

/** Receives spans, one at a time: `begin`, its attributes, its events, `end`. */
export interface SpanWriter {
  begin(span: SpanHead): void
  /** @param value Undefined: the span has no such attribute. */
  attribute(name: AttributeName, value: AttributeValue | undefined): void
  event(event: SpanEvent): void
  end(status: SpanStatusCode): void
}

export interface SpanHead {
  readonly name: string
  readonly kind: SpanKind
  readonly traceId: string
  readonly spanId: string
  readonly isSampled: boolean
  readonly parentSpanId: string | undefined
  /** The parent is of another service. */
  readonly isParentRemote: boolean
  /** Unix milliseconds. */
  readonly startMs: number
  /** Unix milliseconds, not before `startMs`. */
  readonly endMs: number
}

export interface SpanEvent {
  readonly name: string
  /** Unix milliseconds. */
  readonly atMs: number
  readonly attribute: AttributeName
  readonly value: number
}

/** What all spans of a request have in common. */
export interface SpanOrigin {
  readonly resource: Resource
  readonly scope: { readonly name: string; readonly version: string }
}

/** How spans become an OTLP request. @template Encoded Some spans. */
export interface SpanEncoding<Encoded> {
  readonly writer: SpanWriter
  /** Takes the spans that were written since it was called before. */
  take(): Encoded
  requestOf(spans: readonly Encoded[], origin: SpanOrigin): Uint8Array
  /** Lets a later request use the memory of one that was sent. */
  recycle(request: Uint8Array): void
}

/** The name of an attribute, with what is known of it encoded. */
export interface AttributeName {
  readonly text: string
  /** As a field of its own. */
  readonly bytes: Uint8Array
  /** The whole attribute, with its length, by its value: most have few. Undefined: each value comes once. */
  readonly values: Map<AttributeValue, Uint8Array> | undefined
}

/** By text, of which there are few. */
const attributeNames = new Map<string, AttributeName>()

/** @param isUnique Whether hardly a value comes twice, so that none is worth keeping. */
export function attributeName(text: string, { isUnique = false } = {}): AttributeName {
  const seen = attributeNames.get(text)
  if (seen !== undefined) return seen
  const out = newOutput(FIELD_BYTES)
  writeText(out, nested(1), text)
  const name = { text, bytes: out.bytes.subarray(0, out.at), values: isUnique ? undefined : new Map() }
  attributeNames.set(text, name)
  return name
}

/** What is encoded so far. A field begins with its tag, of one byte but for `flags`. */
interface Output {
  bytes: Buffer
  at: number
}

/** Tags of fields, by their number in `trace.proto`, `resource.proto` and `common.proto`. */
const nested = (field: number): number => (field << 3) | 2
const varint = (field: number): number => field << 3
const fixed64 = (field: number): number => (field << 3) | 1
/** Of field 16, with 4 bytes: the low byte first. */
const FLAGS = 0x0185
export const IS_SAMPLED = 1
const IS_REMOTE_KNOWN = 0x100
const IS_REMOTE = 0x200

const FIRST_BYTES = 64 * 1024
/** A larger buffer is not kept for the spans after. */
const MAX_KEPT_OUTPUT_BYTES = 1024 * 1024
/** What a field takes at most besides its text, with the lengths around it. */
const FIELD_BYTES = 64
/** A longer text is encoded by the engine. */
const SHORT_TEXT = 64

/** One at a time uses it: what is written is taken before anything else runs. */
export const protobufSpans: SpanEncoding<Uint8Array> = createProtobufSpans()

function createProtobufSpans(): SpanEncoding<Uint8Array> {
  let out = newOutput(FIRST_BYTES)
  return {
    writer: createProtobufWriter(() => out),
    take() {
      const spans = Buffer.from(out.bytes.subarray(0, out.at))
      if (out.bytes.length > MAX_KEPT_OUTPUT_BYTES) out = newOutput(FIRST_BYTES)
      out.at = 0
      return spans
    },
    requestOf: protobufRequest,
    recycle,
  }
}

function createProtobufWriter(output: () => Output): SpanWriter {
  let start = 0
  let flags = 0
  let hasOpenAttributes = false
  const endAttributes = (out: Output): void => {
    if (hasOpenAttributes) writeInteger(out, varint(10), 0) // attributes that were dropped, as events and links below
    hasOpenAttributes = false
  }
  return {
    begin(span) {
      const out = output()
      start = open(out, nested(2))
      flags = flagsOf(span)
      hasOpenAttributes = true
      writeHead(out, span)
    },
    attribute(name, value) {
      if (value !== undefined) writeAttribute(output(), nested(9), name, value)
    },
    event(event) {
      const out = output()
      endAttributes(out)
      writeEvent(out, event)
    },
    end(code) {
      const out = output()
      endAttributes(out)
      writeInteger(out, varint(12), 0)
      writeInteger(out, varint(14), 0)
      const status = open(out, nested(15))
      writeInteger(out, varint(3), code)
      close(out, status)
      reserve(out, FIELD_BYTES)
      out.at = out.bytes.writeUInt16LE(FLAGS, out.at)
      out.at = out.bytes.writeUInt32LE(flags, out.at)
      close(out, start)
    },
  }
}

function flagsOf({ isSampled, parentSpanId, isParentRemote }: SpanHead): number {
  const remote = parentSpanId !== undefined && isParentRemote ? IS_REMOTE : 0
  return (isSampled ? IS_SAMPLED : 0) | IS_REMOTE_KNOWN | remote
}

function writeHead(out: Output, { traceId, spanId, parentSpanId, name, kind, startMs, endMs }: SpanHead): void {
  writeHex(out, nested(1), traceId)
  writeHex(out, nested(2), spanId)
  if (parentSpanId !== undefined) writeHex(out, nested(4), parentSpanId)
  writeText(out, nested(5), name)
  writeInteger(out, varint(6), kind + 1)
  writeTime(out, fixed64(7), startMs)
  writeTime(out, fixed64(8), endMs)
}

function writeEvent(out: Output, { atMs, name, attribute, value }: SpanEvent): void {
  const start = open(out, nested(11))
  writeTime(out, fixed64(1), atMs)
  writeText(out, nested(2), name)
  writeAttribute(out, nested(3), attribute, value)
  writeInteger(out, varint(4), 0)
  close(out, start)
}

function protobufRequest(spans: readonly Uint8Array[], { resource, scope }: SpanOrigin): Uint8Array {
  const out: Output = { bytes: requestBuffer(spans.reduce((sum, { length }) => sum + length, FIRST_BYTES)), at: 0 }
  const resourceSpans = open(out, nested(1))
  const inResource = open(out, nested(1))
  for (const [name, value] of Object.entries(resource.attributes)) {
    if (value !== undefined) writeAttribute(out, nested(1), attributeName(name), value)
  }
  writeInteger(out, varint(2), 0)
  close(out, inResource)
  const scopeSpans = open(out, nested(2))
  const inScope = open(out, nested(1))
  writeText(out, nested(1), scope.name)
  writeText(out, nested(2), scope.version)
  close(out, inScope)
  for (const each of spans) writeBytes(out, each)
  close(out, scopeSpans)
  close(out, resourceSpans)
  return out.bytes.subarray(0, out.at)
}

/*
 * Memory of requests, which have hundreds of kilobytes, several a second. Were it new for each, the engine would collect all
 * garbage several times as often: a tenth of a request's CPU time. A receiver may answer before it has read everything, so
 * memory that a socket still reads can be in use again: the operator's exporter alone sends it as it is. What an account's
 * receiver gets is compressed, into memory of its own.
 */

const spares: Buffer[] = []
const MAX_SPARES = 4
const MAX_SPARE_BYTES = 1024 * 1024

function requestBuffer(size: number): Buffer {
  const at = spares.findIndex(({ length }) => length >= size)
  const [spare] = at < 0 ? [] : spares.splice(at, 1)
  return spare ?? Buffer.allocUnsafeSlow(Math.ceil(size / FIRST_BYTES) * FIRST_BYTES)
}

function recycle({ buffer }: Uint8Array): void {
  if (spares.length < MAX_SPARES && buffer.byteLength <= MAX_SPARE_BYTES)
    spares.push(Buffer.from(buffer as ArrayBuffer))
}

function writeAttribute(out: Output, tag: number, { bytes, values }: AttributeName, value: AttributeValue): void {
  const encoded = values?.get(value)
  if (encoded !== undefined) {
    reserve(out, FIELD_BYTES)
    out.bytes[out.at++] = tag
    writeBytes(out, encoded)
    return
  }
  const start = open(out, tag)
  writeBytes(out, bytes)
  const any = open(out, nested(2))
  writeValue(out, value)
  close(out, any)
  close(out, start)
  const isKept = values !== undefined && typeof value !== 'object' && values.size < MAX_KEPT_VALUES
  if (isKept && out.at - start <= MAX_KEPT_BYTES) values.set(value, Uint8Array.from(out.bytes.subarray(start, out.at)))
}

/** Values that are kept of an attribute. */
const MAX_KEPT_VALUES = 64
const MAX_KEPT_BYTES = 128

function writeValue(out: Output, value: AttributeValue | null | undefined): void {
  if (typeof value === 'string') writeText(out, nested(1), value)
  else if (typeof value === 'boolean') writeInteger(out, varint(2), value ? 1 : 0)
  else if (typeof value === 'number') writeNumber(out, value)
  else if (Array.isArray(value)) {
    const list = open(out, nested(5))
    for (const item of value) {
      const start = open(out, nested(1))
      writeValue(out, item)
      close(out, start)
    }
    close(out, list)
  }
}

function writeNumber(out: Output, value: number): void {
  if (Number.isSafeInteger(value)) {
    writeInteger(out, varint(3), value)
    return
  }
  reserve(out, FIELD_BYTES)
  out.bytes[out.at++] = fixed64(4)
  out.at = out.bytes.writeDoubleLE(value, out.at)
}

function newOutput(size: number): Output {
  return { bytes: Buffer.allocUnsafeSlow(size), at: 0 }
}

function reserve(out: Output, count: number): void {
  if (out.at + count <= out.bytes.length) return
  const grown = Buffer.allocUnsafeSlow(Math.max(2 * out.bytes.length, out.at + count))
  out.bytes.copy(grown, 0, 0, out.at)
  out.bytes = grown
}

/** Begins a field whose length is known when it is closed. @returns what `close` takes. */
function open(out: Output, tag: number): number {
  reserve(out, FIELD_BYTES)
  out.bytes[out.at++] = tag
  return out.at++
}

/** Moves the content where its length takes more than the byte before it. */
function close(out: Output, start: number): void {
  const length = out.at - start - 1
  if (length <= 0x7f) {
    out.bytes[start] = length
    return
  }
  reserve(out, FIELD_BYTES)
  const further = Math.floor(Math.log2(length) / 7)
  out.bytes.copyWithin(start + 1 + further, start + 1, out.at)
  out.at = start
  writeVarint(out, length)
  out.at += length
}

/** @param value From 0. */
function writeVarint(out: Output, value: number): void {
  let rest = value
  for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) out.bytes[out.at++] = (rest % 0x80) | 0x80
  out.bytes[out.at++] = rest
}

function writeInteger(out: Output, tag: number, value: number): void {
  reserve(out, FIELD_BYTES)
  out.bytes[out.at++] = tag
  if (value >= 0) {
    writeVarint(out, value)
    return
  }
  let rest = BigInt.asUintN(64, BigInt(value))
  for (; rest > 0x7fn; rest >>= 7n) out.bytes[out.at++] = Number(rest & 0x7fn) | 0x80
  out.bytes[out.at++] = Number(rest)
}

/** @param unixMs As nanoseconds, in two halves, which numbers can hold. */
function writeTime(out: Output, tag: number, unixMs: number): void {
  reserve(out, FIELD_BYTES)
  out.bytes[out.at++] = tag
  const seconds = Math.floor(unixMs / 1000)
  const upper = Math.floor(seconds / 0x10000) * 1e9 // times 2¹⁶
  const lower = (upper % 0x10000) * 0x10000 + (seconds % 0x10000) * 1e9 + nanosecondsOf(unixMs, seconds)
  out.at = out.bytes.writeUInt32LE(lower % 0x100000000, out.at)
  out.at = out.bytes.writeUInt32LE(Math.floor(upper / 0x10000) + Math.floor(lower / 0x100000000), out.at)
}

/** Nanoseconds of a time beyond its seconds. */
export function nanosecondsOf(unixMs: number, seconds: number): number {
  return Math.round((unixMs - seconds * 1000) * 1e6)
}

function writeHex(out: Output, tag: number, value: string): void {
  reserve(out, FIELD_BYTES)
  const { bytes } = out
  bytes[out.at++] = tag
  bytes[out.at++] = value.length / 2
  for (let index = 0; index < value.length; index += 2) {
    bytes[out.at++] = (hexDigit(value.charCodeAt(index)) << 4) | hexDigit(value.charCodeAt(index + 1))
  }
}

/** Of a lowercase digit. */
function hexDigit(code: number): number {
  return code < 0x3a ? code - 0x30 : code - 0x57
}

function writeBytes(out: Output, bytes: Uint8Array): void {
  reserve(out, bytes.length)
  out.bytes.set(bytes, out.at)
  out.at += bytes.length
}

function writeText(out: Output, tag: number, value: string): void {
  reserve(out, 3 * value.length + FIELD_BYTES)
  out.bytes[out.at++] = tag
  if (value.length <= SHORT_TEXT && writeAscii(out, value)) return
  writeVarint(out, Buffer.byteLength(value))
  out.at += out.bytes.write(value, out.at)
}

/** @param value So short that a byte says its length. @returns False, and nothing is written, where it is not ASCII. */
function writeAscii(out: Output, value: string): boolean {
  const { bytes, at } = out
  const { length } = value
  bytes[at] = length
  for (let index = 0; index < length; index++) {
    const code = value.charCodeAt(index)
    if (code > 0x7f) return false
    bytes[at + 1 + index] = code
  }
  out.at = at + 1 + length
  return true
}
