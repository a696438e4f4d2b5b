/**
 * Decodes AWS event streams (`application/vnd.amazon.eventstream`) into frames. A message is a prelude (total
 * length, length of the headers, CRC-32 of the two), headers, a payload, and the CRC-32 of all that precedes it. Both
 * checksums are verified: a damaged message is an error, never text.
 *
 * Source: https://docs.aws.amazon.com/transcribe/latest/dg/streaming-setting-up.html ("Event stream encoding").
 */
import { crc32 } from 'node:zlib'
import {
  brokenAnswer,
  type Frame,
  type FrameDecoder,
  type FrameDecoderOptions,
  type ProviderError,
} from './protocol.ts'

const PRELUDE_BYTES = 12
const CHECKSUM_BYTES = 4
const SMALLEST_MESSAGE_BYTES = PRELUDE_BYTES + CHECKSUM_BYTES
const DEFAULT_MAX_EVENT_BYTES = 1024 * 1024
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
