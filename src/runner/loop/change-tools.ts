/** The tools that write files: edit and create. */
import { flagField, requiredText, ToolError } from './arguments.ts'
import { readScript, statScript, writeScript } from './file-scripts.ts'
import { FILE_COMMAND_MS, MAX_EDIT_BYTES } from './limits.ts'
import { byteLength, grouped } from './plain-text.ts'
import { replaced } from './replacement.ts'
import { localPath, quotedPath, runScript, type ToolOutcome, type ToolRun, told } from './tool-run.ts'
import { foundIn, notThere, numberedLines } from './view-tool.ts'

const LINES_SHOWN_AROUND = 3
const LINES_SHOWN = 30

export async function edit(run: ToolRun): Promise<ToolOutcome> {
  const path = requiredText(run.fields, 'path')
  const old = requiredText(run.fields, 'old')
  const next = requiredText(run.fields, 'new')
  if (old === '') return await createFrom(run, { path, content: next })
  const before = await readText(run, path)
  const { text, count, line } = replaced(before, { old, new: next, replacesAll: flagField(run.fields, 'replace_all') })
  await write(run, path, text)
  const places = count === 1 ? '' : ` ${count} times`
  const first = Math.max(1, line - LINES_SHOWN_AROUND)
  const length = Math.min(LINES_SHOWN, next.split('\n').length + 2 * LINES_SHOWN_AROUND)
  const shown = text.split(/\r?\n/).slice(first - 1, first - 1 + length)
  return { ...told(`Replaced${places} in ${localPath(path)}. Now:\n${numberedLines(shown, first)}`), isData: true }
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
  return told(`Wrote ${grouped(byteLength(content))} bytes to ${local}.`)
}

/** Throws `ToolError` for what is not UTF-8: replacing in it would change bytes that nobody meant. */
async function readText(run: ToolRun, path: string): Promise<string> {
  const local = localPath(path)
  const script = readScript(quotedPath(path), MAX_EDIT_BYTES)
  const { stdout, truncated } = await runScript(run, { script, timeoutMs: FILE_COMMAND_MS })
  const { found, rest, bytes } = foundIn(stdout)
  if (found === 'large') {
    throw new ToolError(`${local} has ${grouped(bytes)} bytes: too many for edit. Change it with a shell command.`)
  }
  if (found !== 'file') throw notThere(found, local)
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
