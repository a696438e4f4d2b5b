/** Paths in diffs, which git quotes where they have more than plain letters. */

const ESCAPES: Readonly<Record<string, number>> = { a: 7, b: 8, t: 9, n: 10, v: 11, f: 12, r: 13, '"': 34, '\\': 92 }
const QUOTED = /^"((?:[^"\\]|\\.)*)"/

/** What `"a/\303\244.txt"` stands for: bytes of UTF-8 in octal. What is not quoted is itself. */
export function quotedPath(text: string): string {
  const [, inner] = QUOTED.exec(text) ?? []
  if (inner === undefined) return text
  const bytes: number[] = []
  for (const [, octal, letter, plain = ''] of inner.matchAll(/\\([0-3][0-7]{2})|\\(.)|([^\\]+)/gu)) {
    if (octal !== undefined) bytes.push(Number.parseInt(octal, 8))
    else if (letter !== undefined) bytes.push(...escaped(letter))
    else bytes.push(...utf8(plain))
  }
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(new Uint8Array(bytes))
}

export interface Sides {
  readonly oldPath: string | undefined
  readonly newPath: string | undefined
}

/**
 * Both paths of `a/one b/two`, as it stands behind `diff --git`. Unquoted ones are told apart only where they are the same,
 * which they are wherever no other header names them.
 */
export function sidesOfHeader(header: string): Sides {
  const [first] = QUOTED.exec(header) ?? []
  if (first !== undefined) {
    const rest = header.slice(first.length + 1)
    return { oldPath: withoutSide(quotedPath(first)), newPath: withoutSide(quotedPath(rest)) }
  }
  const quotedAt = header.indexOf(' "')
  if (quotedAt > 0 && header.endsWith('"')) {
    return {
      oldPath: withoutSide(header.slice(0, quotedAt)),
      newPath: withoutSide(quotedPath(header.slice(quotedAt + 1))),
    }
  }
  const middle = (header.length - 1) / 2
  const [left, right] = [header.slice(0, middle), header.slice(middle + 1)].map(withoutSide)
  return left === right ? { oldPath: left, newPath: right } : { oldPath: undefined, newPath: undefined }
}

function withoutSide(path: string): string {
  return path.replace(/^[ab]\//, '')
}

function escaped(letter: string): Iterable<number> {
  const byte = ESCAPES[letter]
  return byte === undefined ? utf8(letter) : [byte]
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}
