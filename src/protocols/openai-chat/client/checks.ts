/**
 * Validates single values of a request. Each function returns the value with its type, or throws a `GatewayError`
 * that names the field as a path and says what is allowed.
 */
import { type ErrorCode, GatewayError } from '../../../domain/errors.ts'
import { isRecord, type Json } from '../../../lib/json.ts'

/** A range that includes both ends. */
export interface Range {
  readonly min: number
  readonly max: number
}

const SHOWN_CHARACTERS = 60

export function refuse(code: ErrorCode, param: string, message: string): never {
  throw new GatewayError(code, message, { param })
}

/** Throws `missing_field` for an absent value, else `invalid_type`. @param expected With its article: `a string`. */
export function refuseType(value: unknown, param: string, expected: string): never {
  if (value === undefined) refuse('missing_field', param, `\`${param}\` is missing; it must be ${expected}.`)
  refuse('invalid_type', param, `\`${param}\` must be ${expected}, not ${kindOf(value)}.`)
}

/** Returns whether a value is absent, or null, which OpenAI's API treats as absent. */
export function isAbsent(value: unknown): value is undefined | null {
  return value === undefined || value === null
}

/** The body of a request. */
export function bodyObject(body: unknown): Json {
  if (isRecord(body)) return body
  throw new GatewayError('invalid_type', 'The request body must be a JSON object.')
}

export function objectAt(value: unknown, param: string): Json {
  return isRecord(value) ? value : refuseType(value, param, 'an object')
}

export function arrayAt(value: unknown, param: string): readonly unknown[] {
  return Array.isArray(value) ? value : refuseType(value, param, 'an array')
}

export function stringAt(value: unknown, param: string): string {
  return typeof value === 'string' ? value : refuseType(value, param, 'a string')
}

export function booleanAt(value: unknown, param: string): boolean {
  return typeof value === 'boolean' ? value : refuseType(value, param, 'a boolean')
}

export function numberIn(value: unknown, param: string, range: Range): number {
  if (typeof value !== 'number') refuseType(value, param, 'a number')
  if (value >= range.min && value <= range.max) return value
  refuse('out_of_range', param, `\`${param}\` must be ${rangeText(range)}, not ${shown(value)}.`)
}

/** Whole numbers beyond what JSON numbers hold exactly are out of range, whatever the range says. */
export function integerIn(value: unknown, param: string, range: Range): number {
  if (typeof value !== 'number') refuseType(value, param, 'an integer')
  if (Number.isFinite(value) && !Number.isInteger(value)) {
    refuse('invalid_type', param, `\`${param}\` must be an integer, not ${shown(value)}.`)
  }
  if (Number.isSafeInteger(value) && value >= range.min && value <= range.max) return value
  refuse('out_of_range', param, `\`${param}\` must be ${rangeText(range)}, not ${shown(value)}.`)
}

export function oneOf<Allowed extends string>(value: unknown, param: string, allowed: readonly Allowed[]): Allowed {
  const text = stringAt(value, param)
  const found = allowed.find((candidate) => candidate === text)
  return found ?? refuse('invalid_value', param, `\`${param}\` must be ${listText(allowed)}, not ${shown(text)}.`)
}

/** A name as OpenAI's API takes it for functions and schemas. */
export function nameAt(value: unknown, param: string): string {
  const name = stringAt(value, param)
  if (/^[a-zA-Z0-9_-]{1,64}$/.test(name)) return name
  refuse('invalid_value', param, `\`${param}\` must be 1 to 64 letters, digits, underscores or dashes.`)
}

/** The fields of an object that are not null. */
export function presentFields(object: Json): Json {
  return Object.fromEntries(Object.entries(object).filter(([, value]) => !isAbsent(value)))
}

/** The object without those of `names` that are null; itself when none is. */
export function withoutNulls(object: Json, names: readonly string[]): Json {
  if (!names.some((name) => object[name] === null)) return object
  return Object.fromEntries(Object.entries(object).filter(([name, value]) => value !== null || !names.includes(name)))
}

/** The value as JSON, cut to a length that fits a message. */
export function shown(value: unknown): string {
  const text = value === Infinity || value === -Infinity ? String(value) : JSON.stringify(value)
  return text.length <= SHOWN_CHARACTERS ? text : `${text.slice(0, SHOWN_CHARACTERS)}…`
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}

function rangeText({ min, max }: Range): string {
  const hasMin = min > -Infinity && min !== Number.MIN_SAFE_INTEGER
  const hasMax = max < Infinity && max !== Number.MAX_SAFE_INTEGER
  if (hasMin && hasMax) return `from ${min} to ${max}`
  return hasMin ? `${min} or more` : 'a whole number that JSON carries exactly'
}

function listText(allowed: readonly string[]): string {
  const quoted = allowed.map((value) => JSON.stringify(value))
  const last = quoted.at(-1) ?? 'nothing'
  return quoted.length > 1 ? `${quoted.slice(0, -1).join(', ')} or ${last}` : last
}

/** Applies each check to the field of its name, unless that is absent. */
export function checkOptional(
  object: Json,
  path: string,
  checks: Readonly<Record<string, (value: unknown, param: string) => unknown>>,
): void {
  for (const [name, check] of Object.entries(checks)) {
    if (!isAbsent(object[name])) check(object[name], `${path}.${name}`)
  }
}
