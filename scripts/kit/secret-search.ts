/** Looks for keys in what would be written: as they are, in other encodings, in parts, and spread over a stream. */

export interface Secret {
  /** What it is called in messages: never the secret itself. */
  readonly name: string
  readonly value: string
}

export interface SearchedText {
  /** Where it would stand: `request body`, `header retry-after`, … */
  readonly place: string
  readonly text: string
}

export interface FoundSecret {
  readonly name: string
  readonly place: string
}

/** A part of a key as long as this is as good as the key to whoever guesses. Shorter keys are looked for as a whole. */
const PART_LENGTH = 16

/** @param texts Every text in every form it has: raw, and with JSON's escapes taken out (`textsOf`). */
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

/** What base 64 makes of the bytes wherever they begin among others: the letters that depend on them alone. */
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
 * The strings of JSON values, joined by where they stand, so that what a stream spells piece by piece is read as a whole.
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

/** Every setting that is named like a secret, with its place as its name. */
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
