/**
 * The command line: runs one command and sets the exit code. Exit codes: 0 done, 1 failed, 2 wrong usage. Every command
 * is imported when it is called, so that each pays only for what it needs.
 */
import { styleText } from 'node:util'
import { CommanderError } from 'commander'
import { processEnvironment } from '../config/environment.ts'
import { ConfigError } from '../config/source-tree.ts'
import { asTyped } from './invocation.ts'
import { buildProgram } from './program.ts'

export interface CommandLine {
  /** Without the paths of Node.js and the script. */
  readonly arguments: readonly string[]
  readonly version: string
}

/** Without a command it runs the gateway. Sets the process's exit code, or ends the process if the command failed. Never throws. */
export async function main({ arguments: words, version }: CommandLine): Promise<void> {
  process.stdout.on('error', endQuietly)
  try {
    const command = words.length === 0 ? ['serve'] : [...words]
    await buildProgram(version, reportError).parseAsync(command, { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError) {
      process.exitCode = error.exitCode === 0 ? 0 : 2
      return
    }
    for (const line of messageLines(error)) reportError(line)
    if (processEnvironment['LOG_LEVEL'] === 'debug' && error instanceof Error) process.stderr.write(`${error.stack}\n`)
    process.exit(1)
  }
}

/** Writes one line to standard error. */
function reportError(message: string): void {
  const lines = message.split('\n').map((line) => line.trim())
  const line = asTyped(lines.filter((text) => text !== '').join(' '))
  process.stderr.write(`${styleText('red', 'turnpike:', { stream: process.stderr })} ${line}\n`)
}

function messageLines(error: unknown): readonly string[] {
  if (error instanceof ConfigError) return error.problems
  return [error instanceof Error && error.message !== '' ? error.message : String(error)]
}

/** Handles a closed output, as in `turnpike config schema | head`. */
function endQuietly(error: Error): void {
  process.exit('code' in error && error.code === 'EPIPE' ? 0 : 1)
}
