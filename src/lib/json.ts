/** A JSON object with unknown fields. */
export type Json = Readonly<Record<string, unknown>>

export function isRecord(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** '' for everything that is not a string. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** @returns undefined for what is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Renders canonical JSON: fields sorted by name (UTF-16 code units), no white space, numbers and strings as in
 * `JSON.stringify`. Equal values have equal texts; `1.0` is `1`, and `-0` is `0`.
 * @param value A result of `JSON.parse`. Recursion is as deep as its nesting, which the caller has bounded.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item)).join(',')}]`
  if (typeof value === 'object' && value !== null) return objectText(value as Readonly<Record<string, unknown>>)
  if (value === Number.POSITIVE_INFINITY) return '1e999' // numbers beyond the range; not null
  if (value === Number.NEGATIVE_INFINITY) return '-1e999'
  return JSON.stringify(value) ?? 'null'
}

function objectText(object: Readonly<Record<string, unknown>>): string {
  const fields: string[] = []
  for (const name of Object.keys(object).sort()) {
    const value = object[name]
    if (value !== undefined) fields.push(`${JSON.stringify(name)}:${canonicalJson(value)}`)
  }
  return `{${fields.join(',')}}`
}
