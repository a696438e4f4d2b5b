/** Searches for keys in recordings: plain, encoded, partial, and split over a stream. */

export interface Secret {
  /** Name in messages, never the secret itself. */
  readonly name: string
  readonly value: string
}

export interface SearchedText {
  /** Location: `request body`, `header retry-after`, … */
  readonly place: string
  readonly text: string
}

export interface FoundSecret {
  readonly name: string
  readonly place: string
}

/** Parts of this length are searched for, since they would allow guessing the rest. Shorter keys are searched as a whole. */
const PART_LENGTH = 16

/** @param texts Every text in every form: raw, and without JSON's escapes. */
export function findSecrets(secrets: readonly Secret[], texts: readonly SearchedText[]): FoundSecret[] {
  return secrets.flatMap(({ name, value }) => {
    const needles = needlesOf(value)
    return texts
      .filter(({ text }) => needles.some((needle) => text.includes(needle)))
      .map(({ place }) => ({ name, place }))
  })
}

function needlesOf(value: string): readonly string[] {
  if (value === '') return []
  const parts = Array.from({ length: Math.max(1, value.length - PART_LENGTH + 1) }, (_, at) =>
    value.slice(at, at + PART_LENGTH),
  )
  const whole = value.length <= PART_LENGTH ? [value] : parts
  const bytes = Buffer.from(value)
  return [...new Set([...whole, ...base64Of(bytes), encodeURIComponent(value), bytes.toString('hex')])]
}

/** Returns the base64 characters that depend only on the bytes, at each of the three alignments. */
function base64Of(bytes: Buffer): string[] {
  if (bytes.length < 6) return []
  return [0, 1, 2].flatMap((before) => {
    const padded = Buffer.concat([Buffer.alloc(before), bytes])
    const wholeLength = padded.length - (padded.length % 3)
    const letters = padded
      .subarray(0, wholeLength)
      .toString('base64')
      .slice(before === 0 ? 0 : 4)
    return [letters, letters.replaceAll('+', '-').replaceAll('/', '_')]
  })
}

/**
 * Returns the strings of JSON values, joined by path, so that a text that a stream splits is searched as a whole.
 * @param values In the order of the stream; one for a whole answer.
 */
export function spokenTexts(values: readonly unknown[]): string[] {
  const byPath = new Map<string, string[]>()
  for (const value of values) gather(value, '', byPath)
  return [...byPath.values()].map((pieces) => pieces.join(''))
}

function gather(value: unknown, path: string, byPath: Map<string, string[]>): void {
  if (typeof value === 'string') {
    const pieces = byPath.get(path)
    if (pieces === undefined) byPath.set(path, [value])
    else pieces.push(value)
    return
  }
  if (typeof value !== 'object' || value === null) return
  for (const [key, child] of Object.entries(value)) {
    const step = Array.isArray(value) ? '[]' : key
    if (!Array.isArray(value)) gather(key, `${path} names`, byPath)
    gather(child, `${path}.${step}`, byPath)
  }
}

const SECRET_NAME = /(?:key|keys|token|secret|password|credential)s?$/i

/** Returns every setting with the name of a secret, by its path. */
export function secretsOf(settings: unknown, path = 'settings'): Secret[] {
  if (typeof settings !== 'object' || settings === null) return []
  return Object.entries(settings).flatMap(([name, value]) => {
    const place = `${path}.${name}`
    const values: readonly unknown[] = SECRET_NAME.test(name) && Array.isArray(value) ? value : [value]
    return values.flatMap((one) => {
      if (typeof one !== 'string') return secretsOf(one, place)
      return SECRET_NAME.test(name) && one !== '' ? [{ name: place, value: one }] : []
    })
  })
}
