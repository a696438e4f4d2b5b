/** JSON of unknown shape, looked at field by field. */

/** An object of JSON, whatever its fields are. */
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
