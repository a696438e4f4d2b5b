/**
 * Reads what a model wrote as a tool's arguments, forgiving what can be forgiven without guessing: other names that are
 * usual for the same thing, numbers and flags as text, code fences, line ends within strings, commas before a bracket.
 */
import { isRecord, type Json, parseJson } from '../../lib/json.ts'

/** A mistake of the model, told to it. */
export class ToolError extends Error {
  override readonly name = 'ToolError'
}

const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  command: ['cmd', 'script', 'commands', 'input', 'value'],
  path: ['file', 'file_path', 'filename', 'filepath', 'directory', 'dir', 'value'],
  old: ['old_str', 'old_string', 'old_text', 'search', 'find'],
  new: ['new_str', 'new_string', 'new_text', 'replace', 'replacement'],
  content: ['text', 'file_text', 'contents', 'body'],
  pattern: ['query', 'regex', 'search', 'value'],
  summary: ['message', 'text', 'result', 'answer', 'value'],
  timeout_seconds: ['timeout'],
  start_line: ['start', 'from', 'offset'],
  end_line: ['end', 'to'],
}

/** @returns undefined for what cannot be read as JSON. What is JSON but no object becomes `{value}`. */
export function readArguments(text: string): Json | undefined {
  if (text.trim() === '') return {}
  const parsed = parseJson(text) ?? parseJson(repaired(text))
  if (parsed === undefined) return undefined
  if (typeof parsed === 'string' && parsed.trim().startsWith('{')) return asFields(parseJson(parsed) ?? parsed)
  return asFields(parsed)
}

function asFields(parsed: unknown): Json {
  return isRecord(parsed) ? parsed : { value: parsed }
}

const FENCE = '```'

/** One pass over the text: libraries for this (jsonrepair 3.15) are quadratic on hostile input, and forgive by guessing. */
function repaired(text: string): string {
  const bare = withoutFences(text.trim())
  const pieces: string[] = []
  let isString = false
  let comma = -1 // of a comma after which nothing but white space came, its place in `pieces`
  for (let at = 0; at < bare.length; at++) {
    const character = bare.charAt(at)
    if (isString) {
      if (character === '\\') pieces.push(character, escapeControl(bare.charAt(++at)))
      else pieces.push(escapeControl(character))
      isString = character !== '"'
      continue
    }
    if ((character === '}' || character === ']') && comma >= 0) pieces[comma] = ''
    if (character === ',') comma = pieces.length
    else if (!WHITE_SPACE.has(character)) comma = -1
    isString = character === '"'
    pieces.push(character)
  }
  return pieces.join('')
}

const WHITE_SPACE: ReadonlySet<string> = new Set([' ', '\t', '\n', '\r'])

function withoutFences(text: string): string {
  const body = text.startsWith(FENCE)
    ? text.slice(text.startsWith(`${FENCE}json`) ? FENCE.length + 4 : FENCE.length)
    : text
  return (body.endsWith(FENCE) ? body.slice(0, -FENCE.length) : body).trim()
}

/** A control character within a string, as JSON wants it written. */
function escapeControl(character: string): string {
  return character < ' ' ? JSON.stringify(character).slice(1, -1) : character
}

/** Undefined where it is absent. */
export function textField(fields: Json, name: string): string | undefined {
  const value = fieldOf(fields, name)
  if (value === undefined || value === null) return undefined
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  throw new ToolError(`\`${name}\` must be a string.`)
}

export function requiredText(fields: Json, name: string): string {
  const text = textField(fields, name)
  if (text === undefined) throw new ToolError(`\`${name}\` is missing.`)
  return text
}

/** A whole number; undefined where it is absent. */
export function countField(fields: Json, name: string): number | undefined {
  const value = fieldOf(fields, name)
  if (value === undefined || value === null || value === '') return undefined
  const count = typeof value === 'string' ? Number(value.trim()) : value
  if (typeof count !== 'number' || !Number.isFinite(count)) throw new ToolError(`\`${name}\` must be a number.`)
  return Math.trunc(count)
}

export function flagField(fields: Json, name: string): boolean {
  const value = fieldOf(fields, name)
  return value === true || value === 'true' || value === 1
}

export function fieldOf(fields: Json, name: string): unknown {
  if (Object.hasOwn(fields, name)) return fields[name]
  const other = OTHER_NAMES[name]?.find((each) => Object.hasOwn(fields, each))
  return other === undefined ? undefined : fields[other]
}
