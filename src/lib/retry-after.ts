/**
 * Reads `Retry-After` (RFC 9110, 10.2.3: delay in seconds, or an HTTP date). Fractions of a second are accepted too.
 * @param now Unix milliseconds.
 * @returns Milliseconds from `now`, at least 0; undefined when absent or unreadable. Never throws.
 */
export function parseRetryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined
  const text = value.trim()
  if (/^\d{1,9}(\.\d+)?$/.test(text)) return Math.round(Number(text) * 1000)
  if (!/^[A-Za-z]/.test(text)) return undefined
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : Math.max(0, at - now)
}

/**
 * How long an answer asks to wait: `retry-after-ms` (milliseconds, a convention of several API hosts) where it is
 * readable, else `retry-after`.
 * @param headers Lower-case names.
 * @param now Unix milliseconds.
 */
export function retryAfterMs(headers: Readonly<Record<string, string>>, now: number): number | undefined {
  const precise = headers['retry-after-ms']?.trim()
  if (precise !== undefined && /^\d{1,12}(\.\d+)?$/.test(precise)) return Math.round(Number(precise))
  return parseRetryAfter(headers['retry-after'], now)
}
