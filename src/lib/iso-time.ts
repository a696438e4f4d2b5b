const ISO_TIME = /^(\d{4}-\d{2}-\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:\d{2}))?$/

/**
 * Unix milliseconds of an ISO 8601 date (midnight UTC) or date and time with its offset.
 * @returns undefined for anything else, days that do not exist included.
 */
export function parseIsoTime(text: string): number | undefined {
  const [, date] = ISO_TIME.exec(text) ?? []
  if (date === undefined) return undefined
  const midnight = Date.parse(date)
  const exists = !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(date)
  const time = Date.parse(text)
  return exists && !Number.isNaN(time) ? time : undefined
}
