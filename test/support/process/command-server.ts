/**
 * Runs commands of `turnpike` one after another in one process, which starts at the first: most of the CPU time of a command
 * is the start of its process. What a process of its own does about a command is for other tests.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type CommandResult, type CommandSurroundings, type Program, runCommandHere } from './command-in-process.ts'

interface Question {
  readonly words: readonly string[]
  readonly surroundings: CommandSurroundings
}

let server: ChildProcess | undefined
let isBusy = false

/** Resolves with the result of a command; undefined: another one is running, which might take as long as it likes. */
export async function askCommandServer(
  words: readonly string[],
  surroundings: CommandSurroundings,
): Promise<CommandResult | undefined> {
  if (isBusy) return undefined
  isBusy = true
  const child = server ?? startServer()
  try {
    for (const handle of [child, child.channel]) handle?.ref()
    return await answerOf(child, { words, surroundings })
  } finally {
    for (const handle of [child, child.channel]) handle?.unref()
    isBusy = false
  }
}

/** It ends with this process, which it does not keep from ending. */
function startServer(): ChildProcess {
  const { PATH = '', NODE_COMPILE_CACHE } = process.env
  const env = { PATH, ...(NODE_COMPILE_CACHE !== undefined && { NODE_COMPILE_CACHE }) }
  const child = fork(import.meta.filename, { env, execArgv: [], stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  server = child
  child.once('exit', () => {
    server = undefined
  })
  return child
}

function answerOf(child: ChildProcess, question: Question): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const ended = (): void => reject(new Error(`The process of commands ended in: ${question.words.join(' ')}`))
    child.once('exit', ended)
    child.once('message', (result: CommandResult) => {
      child.off('exit', ended)
      resolve(result)
    })
    child.send(question)
  })
}

const ROOT = join(import.meta.dirname, '..', '..', '..')

/** As `bin/turnpike.js` finds and calls it. */
async function loadProgram(): Promise<Program> {
  const { freshBundle } = await import('../../../bin/bundle.js')
  const { main } = await import(freshBundle()?.href ?? join(ROOT, 'src', 'cli', 'main.ts'))
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  return (line) => main({ ...line, version })
}

async function serve(): Promise<void> {
  const program = await loadProgram()
  process.once('disconnect', () => process.exit())
  process.on('message', async ({ words, surroundings }: Question) => {
    process.send?.(await runCommandHere(words, surroundings, program))
  })
}

if (import.meta.main) await serve()
