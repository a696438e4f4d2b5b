/** What every tool has and gives. */
import type { Json } from '../../lib/json.ts'
import type { CommandResult, Sandbox, SandboxCommand } from '../ports.ts'
import { ToolError } from './arguments.ts'
import { KEPT_OUTPUT_BYTES, MAX_PATH_BYTES } from './limits.ts'
import { byteLength, plainText } from './plain-text.ts'

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
  /** Plain and bounded. */
  readonly output: string
  /** Whether it is data that nobody here has written. */
  readonly isData: boolean
  readonly hasFailed: boolean
  readonly exitCode?: number | null | undefined
  readonly truncated: boolean
  readonly killed?: CommandResult['killed']
}

/** What the tool itself says, no data. */
export function told(output: string): ToolOutcome {
  return { output: plainText(output), isData: false, hasFailed: false, truncated: false }
}

/** Runs one of our own scripts. Throws `ToolError` when it was killed. */
export async function runScript(run: ToolRun, command: Omit<SandboxCommand, 'maxOutputBytes'>): Promise<CommandResult> {
  const result = await run.sandbox.run({ ...command, maxOutputBytes: KEPT_OUTPUT_BYTES }, run.signal)
  if (result.killed === 'workspace') throw new ToolError(WORKSPACE_FULL, { cause: result.killed })
  if (result.killed !== undefined && result.killed !== 'output') {
    throw new ToolError(`It was stopped: ${reasonOf(result.killed)}.`)
  }
  return result
}

export const WORKSPACE_FULL = 'It was stopped: the workspace is full. Remove what is not needed.'

export function reasonOf(killed: NonNullable<CommandResult['killed']>): string {
  return REASONS[killed]
}

const REASONS: Readonly<Record<NonNullable<CommandResult['killed']>, string>> = {
  timeout: 'it took too long',
  output: 'it wrote too much',
  memory: 'it used too much memory',
  processes: 'it started too many processes',
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
  if (isAbsolute && !/^\/+workspace(\/|$)/.test(trimmed)) throw outside()
  const parts: string[] = []
  for (const part of trimmed.replace(/^\/+workspace(?=\/|$)/, '').split('/')) {
    if (part === '..' && parts.pop() === undefined) throw outside()
    if (part !== '' && part !== '.' && part !== '..') parts.push(part)
  }
  return parts.length === 0 ? '.' : `./${parts.join('/')}`
}

function outside(): ToolError {
  return new ToolError('`path` must be within /workspace.')
}
