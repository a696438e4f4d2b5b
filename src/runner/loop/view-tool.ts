import { countField, ToolError, textField } from './arguments.ts'
import { viewScript } from './file-scripts.ts'
import { FILE_COMMAND_MS } from './limits.ts'
import { byteLength, grouped, plainText } from './plain-text.ts'
import { localPath, quotedPath, runScript, type ToolOutcome, type ToolRun } from './tool-run.ts'

const LINE_CHARACTERS = 2_000

export async function view(run: ToolRun): Promise<ToolOutcome> {
  const path = textField(run.fields, 'path') ?? '.'
  const from = Math.max(1, countField(run.fields, 'start_line') ?? 1)
  const to = Math.max(from, lastLine(run, from))
  const script = viewScript(quotedPath(path), [from, to], run.outputBytes)
  const { stdout } = await runScript(run, { script, timeoutMs: FILE_COMMAND_MS })
  const { found, bytes, lines, rest } = foundIn(stdout)
  const shown = localPath(path)
  if (found === 'directory') return listing(shown, rest, run.outputBytes)
  if (found === 'file') return numbered({ path: shown, from, to, lines, bytes, text: rest }, run.outputBytes)
  if (found === 'binary') return { ...data(`${shown} is a binary file of ${grouped(bytes)} bytes.`), isData: false }
  throw notThere(found, shown)
}

/** -1 and the like: to the end. */
function lastLine({ fields }: ToolRun, from: number): number {
  const line = countField(fields, 'end_line')
  if (line === undefined || line < 0) return 1_000_000_000
  if (line < from) throw new ToolError(`\`end_line\` ${line} is before \`start_line\` ${from}.`)
  return line
}

export interface Found {
  readonly found: string
  readonly bytes: number
  readonly lines: number
  readonly rest: string
}

/** The first line of what a script says, and the rest. */
export function foundIn(stdout: string): Found {
  const end = stdout.indexOf('\n')
  const [found = '', bytes, lines] = (end < 0 ? stdout : stdout.slice(0, end)).trim().split(/\s+/)
  return { found, bytes: Number(bytes ?? 0), lines: Number(lines ?? 0), rest: end < 0 ? '' : stdout.slice(end + 1) }
}

export function notThere(found: string, path: string): ToolError {
  if (found === 'missing') return new ToolError(`There is no ${path}.`)
  if (found === 'directory') return new ToolError(`${path} is a directory.`)
  if (found === 'unreadable') return new ToolError(`${path} may not be read.`)
  if (found === 'other') return new ToolError(`${path} is neither a file nor a directory.`)
  return new ToolError(`${path} could not be looked at.`)
}

function listing(path: string, names: string, maxBytes: number): ToolOutcome {
  const list = plainText(names)
  const isCut = byteLength(names) >= maxBytes
  const whole = isCut ? `${list.slice(0, list.lastIndexOf('\n') + 1)}[… more …]` : list.trimEnd()
  return data(`${path}:\n${whole === '' ? '(empty)' : whole}`, isCut)
}

interface Excerpt {
  readonly path: string
  readonly from: number
  readonly to: number
  readonly lines: number
  readonly bytes: number
  readonly text: string
}

function numbered({ path, from, to, lines, bytes, text }: Excerpt, maxBytes: number): ToolOutcome {
  if (bytes === 0) return data(`${path} is empty.`)
  if (from > lines) throw new ToolError(`${path} has ${lines} lines; \`start_line\` ${from} is beyond them.`)
  const isCut = byteLength(text) >= maxBytes
  const all = text.replace(/\n$/, '').split('\n')
  const whole = isCut && all.length > 1 ? all.slice(0, -1) : all
  const last = from + whole.length - 1
  const more = last < Math.min(to, lines) ? `\n[view it with start_line ${last + 1} for more]` : ''
  const body = numberedLines(whole, from)
  return data(`${path}, lines ${from} to ${last} of ${lines}:\n${body}${more}`, isCut)
}

/** As `    12  text`. */
export function numberedLines(lines: readonly string[], from: number): string {
  const width = String(from + lines.length).length
  return lines.map((line, at) => `${String(from + at).padStart(width)}  ${shortLine(plainText(line))}`).join('\n')
}

export function shortLine(line: string): string {
  if (line.length <= LINE_CHARACTERS) return line
  return `${line.slice(0, LINE_CHARACTERS).toWellFormed()} [… ${grouped(line.length - LINE_CHARACTERS)} characters cut …]`
}

function data(output: string, truncated = false): ToolOutcome {
  return { output, isData: true, hasFailed: false, truncated }
}
