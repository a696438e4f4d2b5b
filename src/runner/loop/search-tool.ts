import { requiredText, ToolError, textField } from './arguments.ts'
import { searchScript } from './file-scripts.ts'
import { FILE_COMMAND_MS, MAX_PATTERN_BYTES } from './limits.ts'
import { bounded, byteLength, plainText } from './plain-text.ts'
import { quoted, quotedPath, runScript, type ToolOutcome, type ToolRun } from './tool-run.ts'

const LINES = 200
const LINE_CHARACTERS = 300

export async function search(run: ToolRun): Promise<ToolOutcome> {
  const pattern = requiredText(run.fields, 'pattern')
  if (pattern === '' || /[\0\n]/.test(pattern)) throw new ToolError('`pattern` must be one line, and not empty.')
  if (byteLength(pattern) > MAX_PATTERN_BYTES) throw new ToolError('`pattern` is too long.')
  const path = quotedPath(textField(run.fields, 'path') ?? '.')
  const script = searchScript({ pattern: quoted(pattern), path, maxLines: LINES + 1 })
  const { stdout, stderr } = await runScript(run, { script, timeoutMs: FILE_COMMAND_MS })
  const said = stderr.trim().split('\n')
  if (said[0] === 'missing') throw new ToolError('There is no such `path`.')
  const lines = stdout.split('\n').filter((line) => line !== '')
  const isLiteral = said.includes('literal')
  const note = isLiteral ? 'The pattern is no regular expression; it was looked for as it is.\n' : ''
  if (lines.length === 0)
    return { output: `${note}No line matches.`, isData: false, hasFailed: false, truncated: false }
  const shown = lines.slice(0, LINES).map(matchLine).join('\n')
  const more =
    lines.length > LINES ? `\n[… more than ${LINES} lines match; make the pattern or the path narrower …]` : ''
  const { text, isCut } = bounded(shown, run.outputBytes)
  return { output: `${note}${text}${more}`, isData: true, hasFailed: false, truncated: isCut || more !== '' }
}

function matchLine(line: string): string {
  const text = plainText(line).replace(/^\.\//, '')
  return text.length > LINE_CHARACTERS ? `${text.slice(0, LINE_CHARACTERS).toWellFormed()} […]` : text
}
