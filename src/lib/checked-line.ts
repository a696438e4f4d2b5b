/**
 * Lines of a file that may be cut off at any byte or damaged: eight hex digits of the CRC-32 of a text, a space, the text.
 * Texts have no line breaks, as JSON has none.
 */
import { crc32 } from 'node:zlib'

const PREFIX = 9
const LINE_BREAK = 10
const SPACE = 32
const HEX = Buffer.from('0123456789abcdef', 'latin1')
/** UTF-8 takes at most three bytes for a unit of UTF-16. */
const BYTES_A_UNIT = 3
const SCRATCH_BYTES = 64 * 1024

export interface LineWriter {
  /** @returns The length of the line, which is at the start of `bytes()` until the next call. */
  encode(text: string): number
  bytes(): Uint8Array
  /** The checksum of the last line. */
  sum(): number
}

/** Reuses one buffer: every request writes a line. */
export function createLineWriter(): LineWriter {
  const scratch = Buffer.allocUnsafeSlow(SCRATCH_BYTES)
  let buffer = scratch
  let sum = 0
  return {
    encode(text) {
      const most = PREFIX + text.length * BYTES_A_UNIT + 1
      buffer = most <= SCRATCH_BYTES ? scratch : Buffer.allocUnsafeSlow(most)
      const end = PREFIX + buffer.write(text, PREFIX)
      sum = crc32(buffer.subarray(PREFIX, end))
      writeHex(buffer, sum)
      buffer[PREFIX - 1] = SPACE
      buffer[end] = LINE_BREAK
      return end + 1
    },
    bytes: () => buffer,
    sum: () => sum,
  }
}

/** @returns The text of a line without its break; undefined when it is damaged. */
export function readLine(line: Uint8Array): string | undefined {
  if (line.length < PREFIX || line[PREFIX - 1] !== SPACE) return undefined
  const bytes = Buffer.from(line.buffer, line.byteOffset, line.byteLength)
  const sum = bytes.toString('latin1', 0, PREFIX - 1)
  if (!/^[0-9a-f]{8}$/.test(sum) || Number.parseInt(sum, 16) !== crc32(bytes.subarray(PREFIX))) return undefined
  return bytes.toString('utf8', PREFIX)
}

/** Yields the lines of a file, without an incomplete one at its end. */
export function* splitLines(content: Uint8Array): Generator<Uint8Array> {
  for (let start = 0; ; ) {
    const end = content.indexOf(LINE_BREAK, start)
    if (end === -1) return
    yield content.subarray(start, end)
    start = end + 1
  }
}

function writeHex(buffer: Buffer, sum: number): void {
  for (let at = 0, shift = 28; at < PREFIX - 1; at++, shift -= 4) buffer[at] = HEX[(sum >>> shift) & 15] ?? SPACE
}
