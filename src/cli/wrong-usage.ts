import { styleText } from 'node:util'
import { CommanderError } from 'commander'

const WRONG_USAGE_EXIT_CODE = 2

/** Says on stderr what is wrong with an argument and gives the error to throw, which ends the command with exit code 2. */
export function wrongUsage(message: string): CommanderError {
  process.stderr.write(`${styleText('red', 'turnpike:', { stream: process.stderr })} ${message}\n`)
  return new CommanderError(WRONG_USAGE_EXIT_CODE, 'turnpike.wrongUsage', message)
}
