import { bounded, byteLength, plainText } from '../plain-text.ts'
import { MAX_COMMAND_MS, MAX_OUTPUT_BYTES, MAX_SCRIPT_BYTES } from './limits.ts'
import { countField, fieldOf, KILLED, quoted, ToolError, type ToolOutcome, type ToolRun } from './tool.ts'

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
