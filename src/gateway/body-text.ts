import type { UpstreamExchange } from '../providers/provider.ts'

const MAX_DISCARD_MS = 1_000

/**
 * The whole body as text. Rejects when it is cut.
 * @param parts What was read of it already; it is added to.
 * @returns undefined, with the rest unread, once the body is larger than `maxBytes`.
 */
export async function readBodyText(
  exchange: UpstreamExchange,
  parts: Uint8Array[],
  maxBytes: number,
): Promise<string | undefined> {
  let size = parts.reduce((sum, { length }) => sum + length, 0)
  while (size <= maxBytes) {
    const bytes = await exchange.read()
    if (bytes === undefined) return textOf(parts)
    size += bytes.length
    parts.push(bytes)
  }
  return undefined
}

/** The body's first `maxBytes` as text, or what there was before the connection broke. */
export async function readBodyStart(exchange: UpstreamExchange, maxBytes: number): Promise<string> {
  const parts: Uint8Array[] = []
  let size = 0
  try {
    while (size < maxBytes) {
      const bytes = await exchange.read()
      if (bytes === undefined) break
      size += bytes.length
      parts.push(bytes)
    }
  } catch {
    // Whoever wants the start does not need the end.
  }
  return Buffer.concat(parts, Math.min(size, maxBytes)).toString('utf8')
}

/** Reads what is left, so that the connection can serve again; not for longer than a second. Never rejects. */
export async function discardBody(exchange: UpstreamExchange): Promise<void> {
  const timer = setTimeout(() => exchange.abort(), MAX_DISCARD_MS)
  try {
    while ((await exchange.read()) !== undefined);
  } catch {
    // How a connection ends whose answer is whole concerns nobody.
  } finally {
    clearTimeout(timer)
  }
}

function textOf(parts: readonly Uint8Array[]): string {
  const [only] = parts
  const whole = parts.length === 1 && only !== undefined ? only : Buffer.concat(parts)
  return Buffer.from(whole.buffer, whole.byteOffset, whole.byteLength).toString('utf8')
}
