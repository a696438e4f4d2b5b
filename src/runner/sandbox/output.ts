/** Keeps the beginning and the end of what a command writes: causes are told at the one, results at the other. Pure. */

export interface CapturedOutput {
  readonly push: (chunk: Buffer) => void
  /** All that was written, kept or not. */
  readonly totalBytes: () => number
  readonly isTruncated: () => boolean
  /** With a line in place of what was left out. What is not UTF-8 is replaced; control characters are as they came. */
  readonly text: () => string
}

export function captureOutput(maxBytes: number): CapturedOutput {
  const headBytes = Math.ceil(maxBytes / 2)
  const tailBytes = maxBytes - headBytes
  const head = Buffer.alloc(headBytes)
  /** Written round and round. */
  const tail = Buffer.alloc(tailBytes)
  let total = 0
  const push = (chunk: Buffer): void => {
    const toHead = Math.max(0, Math.min(chunk.length, headBytes - total))
    if (toHead > 0) chunk.copy(head, total, 0, toHead)
    if (tailBytes > 0) {
      const rest = chunk.subarray(Math.max(toHead, chunk.length - tailBytes))
      const at = (Math.max(total + chunk.length - rest.length, headBytes) - headBytes) % tailBytes
      const first = rest.copy(tail, at)
      rest.copy(tail, 0, first)
    }
    total += chunk.length
  }
  const text = (): string => {
    if (total <= headBytes) return head.toString('utf8', 0, total)
    const written = total - headBytes
    const end = written % Math.max(1, tailBytes)
    if (written <= tailBytes) return Buffer.concat([head, tail.subarray(0, written)]).toString('utf8')
    const kept = Buffer.concat([tail.subarray(end), tail.subarray(0, end)])
    return `${head.toString('utf8')}\n[${written - tailBytes} bytes left out]\n${kept.toString('utf8')}`
  }
  return { push, totalBytes: () => total, isTruncated: () => total > maxBytes, text }
}
