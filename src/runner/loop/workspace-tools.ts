/**
 * The tools that work in the workspace: a shell, and those that view, edit, create and search files. Each of the
 * latter runs a script of ours in the sandbox; its first line of output says what the path is. Devices and pipes are
 * never opened.
 */
import { bounded, byteLength, groupDigits, numberedLines, plainText } from '../plain-text.ts'
import {
  FILE_COMMAND_MS,
  MAX_COMMAND_MS,
  MAX_EDIT_BYTES,
  MAX_OUTPUT_BYTES,
  MAX_PATTERN_BYTES,
  MAX_SCRIPT_BYTES,
} from './limits.ts'
import {
  countField,
  fieldOf,
  flagField,
  KILLED,
  localPath,
  quoted,
  quotedPath,
  requiredText,
  runScript,
  ToolError,
  type ToolOutcome,
  type ToolRun,
  textField,
  toolMessage,
} from './tool.ts'
import { runTask, WorkThreadError } from './work-thread.ts'

const MATCHES = 200
const MATCH_CHARACTERS = 300
/** Lines of an edited file that the result shows. */
const LINES_SHOWN = 30
const LINES_SHOWN_AROUND = 3

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
  if (found === 'binary') return { ...data(`${shown} is a binary file of ${groupDigits(bytes)} bytes.`), isData: false }
  throw notFound(found, shown)
}

/** Negative numbers: to the end. */
function lastLine({ fields }: ToolRun, from: number): number {
  const line = countField(fields, 'end_line')
  if (line === undefined || line < 0) return 1_000_000_000
  if (line < from) throw new ToolError(`\`end_line\` ${line} is before \`start_line\` ${from}.`)
  return line
}

interface Found {
  readonly found: string
  readonly bytes: number
  readonly lines: number
  readonly rest: string
}

/** Splits a script's output into its first line and the rest. */
function foundIn(stdout: string): Found {
  const end = stdout.indexOf('\n')
  const [found = '', bytes, lines] = (end < 0 ? stdout : stdout.slice(0, end)).trim().split(/\s+/)
  return { found, bytes: Number(bytes ?? 0), lines: Number(lines ?? 0), rest: end < 0 ? '' : stdout.slice(end + 1) }
}

function notFound(found: string, path: string): ToolError {
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

function data(output: string, truncated = false): ToolOutcome {
  return { output, isData: true, hasFailed: false, truncated }
}

export async function edit(run: ToolRun): Promise<ToolOutcome> {
  const path = requiredText(run.fields, 'path')
  const old = requiredText(run.fields, 'old')
  const next = requiredText(run.fields, 'new')
  if (old === '') return await createFrom(run, { path, content: next })
  const before = await readText(run, path)
  const replacement = { old, new: next, replacesAll: flagField(run.fields, 'replace_all') }
  const { text, count, line } = await runTask(run.signal, 'replaceExact', before, replacement).catch(asToolError)
  await write(run, path, text)
  const places = count === 1 ? '' : ` ${count} times`
  const first = Math.max(1, line - LINES_SHOWN_AROUND)
  const length = Math.min(LINES_SHOWN, next.split('\n').length + 2 * LINES_SHOWN_AROUND)
  const shown = text.split(/\r?\n/).slice(first - 1, first - 1 + length)
  return {
    ...toolMessage(`Replaced${places} in ${localPath(path)}. Now:\n${numberedLines(shown, first)}`),
    isData: true,
  }
}

function asToolError(error: unknown): never {
  throw error instanceof WorkThreadError ? new ToolError(`The text could not be replaced: ${error.message}`) : error
}

export async function create(run: ToolRun): Promise<ToolOutcome> {
  const path = requiredText(run.fields, 'path')
  return await createFrom(run, { path, content: requiredText(run.fields, 'content') })
}

async function createFrom(run: ToolRun, { path, content }: { path: string; content: string }): Promise<ToolOutcome> {
  const local = localPath(path)
  if (local === '.') throw new ToolError('`path` must name a file.')
  const { stdout } = await runScript(run, { script: statScript(quotedPath(path)), timeoutMs: FILE_COMMAND_MS })
  const { found, bytes } = foundIn(stdout)
  if (found === 'other') throw new ToolError(`${local} is there and is no file.`)
  if (found === 'file' && bytes > 0 && !flagField(run.fields, 'overwrite')) {
    throw new ToolError(`${local} is there already. Use edit to change it, or set overwrite to replace it.`)
  }
  await write(run, path, content)
  return toolMessage(`Wrote ${groupDigits(byteLength(content))} bytes to ${local}.`)
}

/** Throws `ToolError` for invalid UTF-8: a replacement would change other bytes. */
async function readText(run: ToolRun, path: string): Promise<string> {
  const local = localPath(path)
  const script = readScript(quotedPath(path), MAX_EDIT_BYTES)
  const { stdout, truncated } = await runScript(run, { script, timeoutMs: FILE_COMMAND_MS })
  const { found, rest, bytes } = foundIn(stdout)
  if (found === 'large') {
    throw new ToolError(`${local} has ${groupDigits(bytes)} bytes: too many for edit. Change it with a shell command.`)
  }
  if (found !== 'file') throw notFound(found, local)
  if (truncated) throw new ToolError(`${local} could not be read whole.`)
  const text = decoded(Buffer.from(rest, 'base64'))
  if (text === undefined) throw new ToolError(`${local} is not UTF-8 text. Change it with a shell command.`)
  return text
}

function decoded(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

async function write(run: ToolRun, path: string, text: string): Promise<void> {
  const script = writeScript(quotedPath(path))
  const { stdout, stderr } = await runScript(run, { script, stdin: text, timeoutMs: FILE_COMMAND_MS })
  const { found, bytes } = foundIn(stdout)
  if (found === 'written' && bytes === byteLength(text)) return
  const why = found === 'other' ? 'it is no file' : (stderr.trim().split('\n').at(-1)?.slice(0, 300) ?? '')
  throw new ToolError(`${localPath(path)} could not be written${why === '' ? '' : `: ${why}`}.`)
}

export async function search(run: ToolRun): Promise<ToolOutcome> {
  const pattern = requiredText(run.fields, 'pattern')
  if (pattern === '' || /[\0\n]/.test(pattern)) throw new ToolError('`pattern` must be one line, and not empty.')
  if (byteLength(pattern) > MAX_PATTERN_BYTES) throw new ToolError('`pattern` is too long.')
  const path = quotedPath(textField(run.fields, 'path') ?? '.')
  const script = searchScript({ pattern: quoted(pattern), path, maxLines: MATCHES + 1 })
  const { stdout, stderr } = await runScript(run, { script, timeoutMs: FILE_COMMAND_MS })
  const notes = stderr.trim().split('\n')
  if (notes[0] === 'missing') throw new ToolError('There is no such `path`.')
  const lines = stdout.split('\n').filter((line) => line !== '')
  const isLiteral = notes.includes('literal')
  const note = isLiteral ? 'The pattern is no regular expression; it was looked for as it is.\n' : ''
  if (lines.length === 0)
    return { output: `${note}No line matches.`, isData: false, hasFailed: false, truncated: false }
  const shown = lines.slice(0, MATCHES).map(matchLine).join('\n')
  const more =
    lines.length > MATCHES ? `\n[… more than ${MATCHES} lines match; make the pattern or the path narrower …]` : ''
  const { text, isCut } = bounded(shown, run.outputBytes)
  return { output: `${note}${text}${more}`, isData: true, hasFailed: false, truncated: isCut || more !== '' }
}

function matchLine(line: string): string {
  const text = plainText(line).replace(/^\.\//, '')
  return text.length > MATCH_CHARACTERS ? `${text.slice(0, MATCH_CHARACTERS).toWellFormed()} […]` : text
}

/** `missing`, `other`, `directory`, `binary BYTES`, `file BYTES LINES`, then names or lines. */
function viewScript(path: string, [from, to]: readonly [number, number], maxBytes: number): string {
  return `p=${path}
LC_ALL=C; export LC_ALL
if [ -d "$p" ]; then echo directory; ls -1Ap "$p" | head -c ${maxBytes}
elif [ ! -e "$p" ]; then echo missing
elif [ ! -f "$p" ]; then echo other
elif [ ! -r "$p" ]; then echo unreadable
elif [ "$(head -c 8000 "$p" | tr -d '\\000' | wc -c)" -ne "$(head -c 8000 "$p" | wc -c)" ]; then echo binary $(wc -c < "$p")
else echo file $(wc -c < "$p") $(grep -ac '' "$p"); sed -n '${from},${to}p' "$p" | head -c ${maxBytes}
fi`
}

/** `missing`, `other`, `large BYTES`, `file`, then its bytes in base64. */
function readScript(path: string, maxBytes: number): string {
  return `p=${path}
if [ -d "$p" ]; then echo directory
elif [ ! -e "$p" ]; then echo missing
elif [ ! -f "$p" ]; then echo other
elif [ ! -r "$p" ]; then echo unreadable
elif [ "$(wc -c < "$p")" -gt ${maxBytes} ]; then echo large $(wc -c < "$p")
else echo file; base64 < "$p"
fi`
}

/** Keeps the mode and links of an existing file. Prints its size afterwards. */
function writeScript(path: string): string {
  return `p=${path}
if [ -e "$p" ] && [ ! -f "$p" ]; then echo other; exit 0; fi
mkdir -p -- "$(dirname "$p")" && cat > "$p" && echo written $(wc -c < "$p")`
}

/** `missing`, `file BYTES`, `other`. */
function statScript(path: string): string {
  return `p=${path}
if [ -f "$p" ]; then echo file $(wc -c < "$p")
elif [ -e "$p" ] || [ -L "$p" ]; then echo other
else echo missing
fi`
}

/**
 * Prints matches on stdout. Searches an invalid pattern as literal text, and prints `literal` on stderr. Tests the pattern on
 * empty input first, since the search has the same exit code for an unreadable file.
 */
function searchScript({ pattern, path, maxLines }: { pattern: string; path: string; maxLines: number }): string {
  return `p=${path}
if command -v rg >/dev/null 2>&1; then
  attempt() { rg -q -e ${pattern} -; }
  search() { rg --no-heading --color never --no-messages -H -n $1 -e ${pattern} -- "$p"; }
else
  attempt() { grep -qE -e ${pattern}; }
  search() { grep -rnIHs \${1:--E} --exclude-dir=.git --exclude-dir=node_modules -e ${pattern} -- "$p"; }
fi
[ -e "$p" ] || { echo missing >&2; exit 0; }
attempt < /dev/null 2>/dev/null
if [ $? -eq 2 ]; then echo literal >&2; search -F; else search; fi | head -n ${maxLines}`
}

/** Share of the output limit that each stream has at least; a short stream leaves its share to the other. */
const LEAST_PART = 0.25
const LEAST_OUTPUT_BYTES = 256
/** How many times the default output a call may request. */
const MORE_OUTPUT = 4

export async function shell(run: ToolRun): Promise<ToolOutcome> {
  const script = commandIn(run)
  if (byteLength(script) > MAX_SCRIPT_BYTES) {
    throw new ToolError(
      `\`command\` has more than ${MAX_SCRIPT_BYTES} bytes. Write it to a file with create, and run that.`,
    )
  }
  const seconds = countField(run.fields, 'timeout_seconds')
  const timeoutMs = seconds === undefined ? run.commandTimeoutMs : Math.max(1, seconds) * 1000
  const result = await run.sandbox.run({ script, timeoutMs: Math.min(timeoutMs, MAX_COMMAND_MS) }, run.signal)
  const wanted = countField(run.fields, 'output_bytes')
  const most = Math.min(MAX_OUTPUT_BYTES, run.outputBytes * MORE_OUTPUT)
  const maxBytes = Math.min(most, Math.max(LEAST_OUTPUT_BYTES, wanted ?? run.outputBytes))
  const { text, isCut } = streams(result, maxBytes)
  const how = result.killed === undefined ? `exit code ${result.exitCode}` : `stopped: ${KILLED[result.killed]}`
  const seen = `${how}, after ${(result.durationMs / 1000).toFixed(1)} s`
  return {
    output: text === '' ? `${seen}, no output` : `${seen}\n${text}`,
    isData: true,
    hasFailed: result.exitCode !== 0,
    exitCode: result.exitCode,
    truncated: isCut || result.truncated,
    killed: result.killed,
  }
}

function commandIn({ fields }: ToolRun): string {
  const value = fieldOf(fields, 'command')
  if (Array.isArray(value) && value.length > 0 && value.every((word) => typeof word === 'string')) return joined(value)
  if (typeof value !== 'string' || value.trim() === '') throw new ToolError('`command` is missing.')
  if (value.includes('\0')) throw new ToolError('`command` must not have NUL characters.')
  return value
}

/** An argument list, as other tools have it: `["bash", "-lc", "npm test"]`. */
function joined(words: readonly string[]): string {
  const [program, option, script] = words
  const isShell = /^(?:\/bin\/)?(?:ba)?sh$/.test(program ?? '') && /^-l?c$/.test(option ?? '')
  return isShell && words.length === 3 && script !== undefined ? script : words.map(quoted).join(' ')
}

function streams(result: { stdout: string; stderr: string }, maxBytes: number): { text: string; isCut: boolean } {
  const stdout = plainText(result.stdout).trimEnd()
  const stderr = plainText(result.stderr).trimEnd()
  if (stderr === '') return both(stdout, '', [maxBytes, 0])
  const least = Math.floor(maxBytes * LEAST_PART)
  const toStderr = Math.max(least, maxBytes - byteLength(stdout))
  const toStdout = Math.max(maxBytes - Math.min(toStderr, byteLength(stderr)), least)
  return both(stdout, stderr, [toStdout, maxBytes - Math.min(toStdout, byteLength(stdout))])
}

function both(stdout: string, stderr: string, [toStdout, toStderr]: readonly [number, number]) {
  const out = bounded(stdout, toStdout)
  const error = bounded(stderr, toStderr)
  const text = stderr === '' ? out.text : `${out.text === '' ? '' : `${out.text}\n`}--- stderr\n${error.text}`
  return { text, isCut: out.isCut || error.isCut }
}
