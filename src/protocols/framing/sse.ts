/**
 * Server-sent events, read: bytes in, frames out (WHATWG HTML, 9.2.6 "Interpreting an event stream"). It knows nothing
 * of what is in a frame, of sockets, or of time.
 *
 * Whole frames are cut out of the bytes first (a blank line is bytes that no code point can contain), decoded in one
 * go and only then taken apart; the bytes of an unfinished frame wait undecoded. So neither a code point nor a CRLF
 * can be torn by where the network happened to cut.
 */
import type { Frame } from '../protocol.ts'
import { ProviderError } from '../protocol.ts'

const LF = 10
const CR = 13
const BYTE_ORDER_MARK = 0xfeff
const DEFAULT_MAX_EVENT_BYTES = 1024 * 1024
/** A buffer that grew larger is given back once it is empty. */
const KEPT_BYTES = 64 * 1024
/** `data: `, the six characters that begin nearly every frame there is. */
const DATA = 'data: '

export interface SseDecoderOptions {
  /** Cap on the bytes of one event; 1 MiB unless said. */
  readonly maxEventBytes?: number
}

export interface SseDecoder {
  /**
   * Appends the frames that are complete with these bytes. `id` and `retry` are read over: nobody reconnects.
   * The bytes may be changed afterwards. Throws `ProviderError` when an event is larger than the cap.
   */
  push(bytes: Uint8Array, frames: Frame[]): void
  /**
   * What came outside any complete frame: the text of an unfinished one, else of a last block that had no `data` and
   * looks like a body (a JSON error or a web page sent in place of events). '' when there is nothing of the kind.
   * It is for diagnosis alone; as events it is discarded, as the standard says.
   */
  end(): string
}

/** One per response body. */
export function createSseDecoder({ maxEventBytes = DEFAULT_MAX_EVENT_BYTES }: SseDecoderOptions = {}): SseDecoder {
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
      const known = tail.length()
      const all = known === 0 ? bytes : tail.append(bytes)
      const end = lastBlankLine(all, known)
      if (end > 0) read(all, end, frames)
      if (end > 0 || known === 0) tail.replace(all, end)
      if (tail.length() > maxEventBytes) throw tooLarge(maxEventBytes)
    },
    end() {
      return tail.length() === 0 ? block.stray : decode(tail.bytes(), tail.length())
    },
  }
}

/** Where the last blank line ends, looking no further back than `from`; 0 when there is none. */
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
  /** Keeps what follows `from`. */
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

/** One frame of any shape. @returns where the next one begins. */
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
  return new ProviderError({
    kind: 'failed',
    message: `The provider sent an event of more than ${maxEventBytes} bytes.`,
    status: 0,
  })
}
