/**
 * What all tools share: input, outcome, paths, and the lenient parsing of a model's arguments: common other names, numbers
 * and flags as text, code fences, raw line ends in strings, trailing commas.
 */
import { isRecord, type Json, parseJson } from '../../lib/json.ts'
import { byteLength, plainText } from '../plain-text.ts'
import type { CommandResult, KillReason, Sandbox, SandboxCommand } from '../ports.ts'
import { MAX_PATH_BYTES } from './limits.ts'

export interface ToolRun {
  readonly fields: Json
  readonly sandbox: Sandbox
  readonly signal: AbortSignal
  /** Of the output, to the model, where the call does not ask for more. */
  readonly outputBytes: number
  /** Of a shell command that asks for no time. */
  readonly commandTimeoutMs: number
}

export interface ToolOutcome {
  /** Plain text of bounded length. */
  readonly output: string
  /** Whether the output is untrusted data. */
  readonly isData: boolean
  readonly hasFailed: boolean
  readonly exitCode?: number | null | undefined
  readonly truncated: boolean
  readonly killed?: KillReason | undefined
}

/** A message of the tool itself, not data. */
export function toolMessage(output: string): ToolOutcome {
  return { output: plainText(output), isData: false, hasFailed: false, truncated: false }
}

/** Runs a script of ours. Throws `ToolError` when it was killed. */
export async function runScript(run: ToolRun, command: SandboxCommand): Promise<CommandResult> {
  const result = await run.sandbox.run(command, run.signal)
  if (result.killed === 'workspace') throw new ToolError(WORKSPACE_FULL, { cause: result.killed })
  if (result.killed !== undefined && result.killed !== 'output') {
    throw new ToolError(`It was stopped: ${KILLED[result.killed]}.`)
  }
  return result
}

const WORKSPACE_FULL = 'It was stopped: the workspace is full. Remove what is not needed.'

export const KILLED: Readonly<Record<KillReason, string>> = {
  timeout: 'it took too long',
  output: 'it wrote too much',
  memory: 'it used too much memory',
  workspace: 'the workspace is full',
  cancelled: 'the work was cancelled',
}

/** @returns Below the workspace, beginning with `./`, in single quotes for a shell. */
export function quotedPath(path: string): string {
  return quoted(localPath(path))
}

export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}

/** @returns Relative to the workspace, beginning with `./`; `.` for itself. Symbolic links are the sandbox's business. */
export function localPath(path: string): string {
  const trimmed = path.trim()
  if (byteLength(trimmed) > MAX_PATH_BYTES) throw new ToolError('`path` is too long.')
  if (plainText(trimmed) !== trimmed || /[\n\t]/.test(trimmed)) {
    throw new ToolError('`path` must not have line ends or control characters.')
  }
  const isAbsolute = trimmed.startsWith('/')
  if (isAbsolute && !/^\/+workspace(\/|$)/.test(trimmed)) throw outsideWorkspace()
  const parts: string[] = []
  for (const part of trimmed.replace(/^\/+workspace(?=\/|$)/, '').split('/')) {
    if (part === '..' && parts.pop() === undefined) throw outsideWorkspace()
    if (part !== '' && part !== '.' && part !== '..') parts.push(part)
  }
  return parts.length === 0 ? '.' : `./${parts.join('/')}`
}

function outsideWorkspace(): ToolError {
  return new ToolError('`path` must be within /workspace.')
}

/** A mistake of the model; its message becomes the call's result. */
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

/** @returns undefined for what is not JSON even after repair. JSON that is not an object becomes `{value}`. */
export function parseArguments(text: string): Json | undefined {
  if (text.trim() === '') return {}
  const parsed = parseJson(text) ?? parseJson(repairJson(text))
  if (parsed === undefined) return undefined
  if (typeof parsed === 'string' && parsed.trim().startsWith('{')) return asFields(parseJson(parsed) ?? parsed)
  return asFields(parsed)
}

function asFields(parsed: unknown): Json {
  return isRecord(parsed) ? parsed : { value: parsed }
}

const FENCE = '```'

/** Takes one pass: libraries for this (jsonrepair 3.15) are quadratic on hostile input, and guess. */
function repairJson(text: string): string {
  const bare = withoutFences(text.trim())
  const pieces: string[] = []
  let isString = false
  let comma = -1 // index in `pieces` of a comma followed by white space alone
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

/** Escapes a control character within a string. */
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
