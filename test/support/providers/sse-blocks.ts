/** Recorded event streams as bytes, cut where their frames end: the plainest reading there is, apart from the gateway's. */

export interface SseBlock {
  readonly text: string
  /** Bytes from the beginning of the file. */
  readonly start: number
  /** Just behind the blank line, of which the CR is enough. */
  readonly end: number
  /** False for what comes after the last blank line. */
  readonly isWhole: boolean
}

/** Byte-wise, so that offsets are those of the file. */
export function sseBlocks(bytes: Uint8Array): SseBlock[] {
  const latin = Buffer.from(bytes).toString('latin1')
  const blocks: SseBlock[] = []
  const blankLine = /\r\n\r|\n\n|\r\r/g
  let start = 0
  for (let match = blankLine.exec(latin); match !== null; match = blankLine.exec(latin)) {
    const end = match.index + match[0].length
    blocks.push({ text: textOf(latin.slice(start, match.index)), start, end, isWhole: true })
    start = end
  }
  const rest = latin.slice(start)
  if (rest.trim() !== '') blocks.push({ text: textOf(rest), start, end: latin.length, isWhole: false })
  return blocks
}

function textOf(latin: string): string {
  return Buffer.from(latin, 'latin1').toString('utf8')
}

/** The payload of a block's `data` lines; '' when it has none. */
export function dataOf({ text }: SseBlock): string {
  const lines = text.split(/\r\n|\n|\r/).filter((line) => line.startsWith('data:'))
  return lines.map((line) => line.slice(5).trim()).join('\n')
}
