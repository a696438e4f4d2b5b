/**
 * Framing of streamed answers: bytes in, frames out. Server-sent events are read here (WHATWG HTML, 9.2.6 "Interpreting
 * an event stream"). It must not know what a frame contains, sockets, or time.
 *
 * Complete frames are cut out of the bytes first (a blank line is bytes that no code point can contain), decoded at
 * once and then parsed; the bytes of an unfinished frame stay undecoded. So neither a code point nor a CRLF is split by
 * the boundaries of network reads.
 */

import { crc32 } from 'node:zlib'
import {
  brokenAnswer,
  type Frame,
  type FrameDecoder,
  type FrameDecoderOptions,
  type ProviderError,
  type UpstreamProtocol,
} from './protocol.ts'

export function createDecoder(framing: UpstreamProtocol['framing'], options: FrameDecoderOptions): FrameDecoder {
  return framing === 'sse' ? createSseDecoder(options) : createAwsEventStreamDecoder(options)
}

const LF = 10
const CR = 13
const BYTE_ORDER_MARK = 0xfeff
const DEFAULT_MAX_EVENT_BYTES = 1024 * 1024
/** A larger buffer is released once it is empty. */
const KEPT_BYTES = 64 * 1024
/** The first characters of nearly every frame. */
const DATA = 'data: '

/**
 * One per response body. Ignores `id` and `retry`, since the gateway never reconnects. `end` returns the text of an
 * unfinished frame, else of a last block without `data` that looks like a body (a JSON error or a web page).
 */
export function createSseDecoder({
  maxEventBytes = DEFAULT_MAX_EVENT_BYTES,
}: Partial<FrameDecoderOptions> = {}): FrameDecoder {
  const tail = createTail()
  const block: Block = { stray: '' }
  let started = false

  const read = (bytes: Uint8Array, end: number, frames: Frame[]): void => {
    const first = frames.length
    let text = decode(bytes, end)
    if (!started) {
      started = true
      if (text.charCodeAt(0) === BYTE_ORDER_MARK) text = text.slice(1)
    }
    readFrames(text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text, frames, block)
    if (end > maxEventBytes) checkSizes(frames, first, maxEventBytes)
  }

  return {
    push(bytes, frames) {
      const before = tail.length()
      const all = before === 0 ? bytes : tail.append(bytes)
      const end = lastBlankLine(all, before)
      if (end > 0) read(all, end, frames)
      if (end > 0 || before === 0) tail.replace(all, end)
      if (tail.length() > maxEventBytes) throw tooLarge(maxEventBytes)
    },
    end() {
      return tail.length() === 0 ? block.stray : decode(tail.bytes(), tail.length())
    },
  }
}

/** Returns where the last blank line ends, searching back to `from`; 0 when there is none. */
function lastBlankLine(bytes: Uint8Array, from: number): number {
  for (let at = bytes.length - 1; at > 0 && at >= from; at--) {
    const byte = bytes[at]
    if (byte !== LF && byte !== CR) continue
    const before = bytes[at - 1]
    if (before === LF) return at + 1
    if (before === CR && (byte === CR || bytes[at - 2] === LF || bytes[at - 2] === CR)) return at + 1
  }
  return 0
}

function decode(bytes: Uint8Array, end: number): string {
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, end)
  return buffer.toString('utf8', 0, end)
}

/** The unfinished frame's bytes: grows by doubling, so that many small reads of a large event cost no more than one. */
interface Tail {
  length(): number
  bytes(): Uint8Array
  append(bytes: Uint8Array): Uint8Array
  /** Keeps the bytes after `from`. */
  replace(bytes: Uint8Array, from: number): void
}

function createTail(): Tail {
  let store = new Uint8Array(0)
  let length = 0
  const reserve = (size: number): void => {
    if (size <= store.length) return
    const larger = new Uint8Array(Math.max(size, store.length * 2, 1024))
    larger.set(store.subarray(0, length))
    store = larger
  }
  return {
    length: () => length,
    bytes: () => store.subarray(0, length),
    append(bytes) {
      reserve(length + bytes.length)
      store.set(bytes, length)
      length += bytes.length
      return store.subarray(0, length)
    },
    replace(bytes, from) {
      length = 0
      if (from === bytes.length) {
        if (store.length > KEPT_BYTES) store = new Uint8Array(0)
        return
      }
      const rest = bytes.subarray(from)
      reserve(rest.length)
      store.set(rest)
      length = rest.length
    },
  }
}

interface Block {
  /** The last block without `data` that looks like a body. */
  stray: string
}

/** @param text Whole frames with LF line ends. */
function readFrames(text: string, frames: Frame[], block: Block): void {
  let at = 0
  while (at < text.length) {
    const end = text.indexOf('\n', at)
    if (text.charCodeAt(end + 1) === LF && text.startsWith(DATA, at)) {
      frames.push({ event: '', data: text.slice(at + DATA.length, end) })
      at = end + 2
    } else {
      at = readFrame(text, at, { frames, block })
    }
  }
}

/** Reads one frame of any shape. @returns where the next one begins. */
function readFrame(text: string, from: number, out: { readonly frames: Frame[]; readonly block: Block }): number {
  let event = ''
  let data: string | undefined
  let at = from
  while (at < text.length) {
    const end = text.indexOf('\n', at)
    const line = end < 0 ? text.slice(at) : text.slice(at, end)
    at = end < 0 ? text.length : end + 1
    if (line === '') break
    const colon = line.indexOf(':')
    const field = colon < 0 ? line : line.slice(0, colon)
    if (field === 'data') data = data === undefined ? fieldValue(line, colon) : `${data}\n${fieldValue(line, colon)}`
    else if (field === 'event') event = fieldValue(line, colon)
  }
  if (data !== undefined) out.frames.push({ event, data })
  else if (at - from > 1 && /^\s*[{[<]/.test(text.slice(from, from + 64))) out.block.stray = text.slice(from, at)
  return at
}

function fieldValue(line: string, colon: number): string {
  if (colon < 0) return ''
  return line.slice(line.startsWith(' ', colon + 1) ? colon + 2 : colon + 1)
}

function checkSizes(frames: readonly Frame[], from: number, maxEventBytes: number): void {
  for (const frame of frames.slice(from)) {
    if (Buffer.byteLength(frame.data) > maxEventBytes) throw tooLarge(maxEventBytes)
  }
}

function tooLarge(maxEventBytes: number): ProviderError {
  return brokenAnswer(`The provider sent an event of more than ${maxEventBytes} bytes.`)
}

/*
 * Decodes AWS event streams (`application/vnd.amazon.eventstream`) into frames. A message is a prelude (total length,
 * length of the headers, CRC-32 of the two), headers, a payload, and the CRC-32 of all that precedes it. Both
 * checksums are verified: a damaged message is an error, never text.  Source:
 * https://docs.aws.amazon.com/transcribe/latest/dg/streaming-setting-up.html ("Event stream encoding").
 */

const PRELUDE_BYTES = 12
const CHECKSUM_BYTES = 4
const SMALLEST_MESSAGE_BYTES = PRELUDE_BYTES + CHECKSUM_BYTES
/** Prefix of the name of an exception in `Frame.event`; event types have no colon. */
export const EXCEPTION_PREFIX = 'exception:'

/**
 * One per response body. `event` is the event type, or `exception:` with the name of an exception. An error without a
 * payload has its text as `{"message": …}` in `data`, as exceptions have. `end` always returns '': an unfinished message
 * has no readable text.
 */
export function createAwsEventStreamDecoder({
  maxEventBytes = DEFAULT_MAX_EVENT_BYTES,
}: Partial<FrameDecoderOptions> = {}): FrameDecoder {
  let kept: Uint8Array[] = []
  let keptBytes = 0
  /** Number of bytes that the next step needs. */
  let wantedBytes = PRELUDE_BYTES

  return {
    push(bytes, frames) {
      if (keptBytes + bytes.length < wantedBytes) {
        kept.push(Uint8Array.from(bytes))
        keptBytes += bytes.length
        return
      }
      const all = asBuffer(keptBytes === 0 ? bytes : Buffer.concat([...kept, bytes]))
      const { end, wanted } = readMessages(all, { maxEventBytes, frames })
      kept = end === all.length ? [] : [Uint8Array.from(all.subarray(end))]
      keptBytes = all.length - end
      wantedBytes = wanted
    },
    end: () => '',
  }
}

interface Reading {
  readonly maxEventBytes: number
  readonly frames: Frame[]
}

/** Decodes every whole message. @returns the end of the last one, and the number of bytes that the next step needs. */
function readMessages(all: Buffer, { maxEventBytes, frames }: Reading): { end: number; wanted: number } {
  let at = 0
  while (all.length - at >= PRELUDE_BYTES) {
    const length = messageLength(all.subarray(at, at + PRELUDE_BYTES), maxEventBytes)
    if (all.length - at < length) return { end: at, wanted: length }
    frames.push(readMessage(all.subarray(at, at + length)))
    at += length
  }
  return { end: at, wanted: PRELUDE_BYTES }
}

function messageLength(prelude: Buffer, maxEventBytes: number): number {
  if (prelude.readUInt32BE(8) !== crc32(prelude.subarray(0, 8))) throw damaged('a wrong checksum')
  const length = prelude.readUInt32BE(0)
  if (length < SMALLEST_MESSAGE_BYTES + prelude.readUInt32BE(4)) throw damaged('a length that cannot be')
  if (length > maxEventBytes) throw brokenAnswer(`The provider sent an event of more than ${maxEventBytes} bytes.`)
  return length
}

function readMessage(message: Buffer): Frame {
  const bodyEnd = message.length - CHECKSUM_BYTES
  if (message.readUInt32BE(bodyEnd) !== crc32(message.subarray(0, bodyEnd))) throw damaged('a wrong checksum')
  const headersEnd = PRELUDE_BYTES + message.readUInt32BE(4)
  const headers = readHeaders(message.subarray(PRELUDE_BYTES, headersEnd))
  const data = message.toString('utf8', headersEnd, bodyEnd)
  const kind = headers.get(':message-type')
  if (kind === 'exception') return { event: `${EXCEPTION_PREFIX}${headers.get(':exception-type') ?? ''}`, data }
  if (kind !== 'error') return { event: headers.get(':event-type') ?? '', data }
  const described = JSON.stringify({ message: headers.get(':error-message') ?? '' })
  return { event: `${EXCEPTION_PREFIX}${headers.get(':error-code') ?? ''}`, data: data === '' ? described : data }
}

const STRING_TYPE = 7
/** The bytes of a header's value by its type; -1 if two bytes of length come first. */
const VALUE_BYTES: readonly number[] = [0, 0, 1, 2, 4, 8, -1, -1, 8, 16]

/** Returns the headers with string values; skips others. */
function readHeaders(bytes: Buffer): Map<string, string> {
  const headers = new Map<string, string>()
  let at = 0
  while (at < bytes.length) {
    const nameEnd = at + 1 + (bytes[at] ?? 0)
    const type = bytes[nameEnd] ?? -1
    const fixedBytes = VALUE_BYTES[type]
    if (fixedBytes === undefined) throw damaged('a header that cannot be read')
    const valueStart = nameEnd + 1 + (fixedBytes < 0 ? 2 : 0)
    if (valueStart > bytes.length) throw damaged('a header that cannot be read')
    const valueEnd = valueStart + (fixedBytes < 0 ? bytes.readUInt16BE(nameEnd + 1) : fixedBytes)
    if (valueEnd > bytes.length) throw damaged('a header that cannot be read')
    if (type === STRING_TYPE) {
      headers.set(bytes.toString('utf8', at + 1, nameEnd), bytes.toString('utf8', valueStart, valueEnd))
    }
    at = valueEnd
  }
  return headers
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

function damaged(what: string): ProviderError {
  return brokenAnswer(`The provider sent an event with ${what}.`)
}
