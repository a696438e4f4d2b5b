/**
 * Reads what a page keeps in its address. The router reads values as JSON where they are, so that a search for `123`
 * arrives as a number; people and other programs write addresses too, so that anything may be there. Nothing here throws;
 * what a page cannot use is undefined.
 */
type Raw = Readonly<Record<string, unknown>>

const MAX_LENGTH = 500

/** Text without white space around it, 500 characters at most; undefined when empty. */
export function readText(raw: Raw, name: string): string | undefined {
  const value = own(raw, name)
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') return undefined
  const text = String(value).trim().slice(0, MAX_LENGTH)
  return text === '' ? undefined : text
}

export function readChoice<const Choice extends string>(
  raw: Raw,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  const text = readText(raw, name)
  return choices.find((choice) => choice === text)
}

/** Each of several texts once, whether the address has a list, one text, or texts with commas between them. */
export function readList(raw: Raw, name: string): readonly string[] | undefined {
  const value = own(raw, name)
  const texts = Array.isArray(value) ? value : (readText(raw, name)?.split(',') ?? [])
  const list = texts.map((text) => readText({ text }, 'text')).filter((text) => text !== undefined)
  return list.length === 0 ? undefined : [...new Set(list)]
}

/** A finite number within the bounds. */
export function readNumber(
  raw: Raw,
  name: string,
  bounds: { readonly min: number; readonly max: number },
): number | undefined {
  const text = readText(raw, name)
  const value = text === undefined ? Number.NaN : Number(text)
  return Number.isFinite(value) && value >= bounds.min && value <= bounds.max ? value : undefined
}

/** True for `true` and `1`; everything else is absent, so that an address says only what is on. */
export function readFlag(raw: Raw, name: string): true | undefined {
  const text = readText(raw, name)
  return text === 'true' || text === '1' ? true : undefined
}

function own(raw: Raw, name: string): unknown {
  return Object.hasOwn(raw, name) ? raw[name] : undefined
}

/** Without the fields that are undefined, for addresses and for types that tell absent from undefined. */
export function present<Fields extends Readonly<Record<string, unknown>>>(
  fields: Fields,
): { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> } {
  const kept: { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> } = {}
  for (const name in fields) if (isPresent(fields[name])) kept[name] = fields[name]
  return kept
}

function isPresent<Value>(value: Value): value is Exclude<Value, undefined> {
  return value !== undefined
}
