/**
 * Runs `turnpike …` in the test's own process: starting a process costs ten times as much CPU time as a command on the
 * database. Tests of what a process does (signals, several at once, its start) run `bin/turnpike.js` instead.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { main } from '../../../src/cli/main.ts'

export interface CommandResult {
  readonly code: number
  readonly out: string
  readonly error: string
}

export interface CommandSurroundings {
  readonly cwd: string
  /** The whole environment of the command. */
  readonly env: Readonly<Record<string, string>>
}

interface Capture {
  out: string
  error: string
}

/** Thrown where the command ends its process. */
class ProcessExit extends Error {
  readonly code: number
  constructor(code: number) {
    super(`exit ${code}`)
    this.code = code
  }
}

const captures = new AsyncLocalStorage<Capture>()
/** Environment and working directory belong to the whole process: one command runs at a time. */
let last: Promise<unknown> = Promise.resolve()

/** The program from its command line on. */
export type Program = typeof main

/**
 * Resolves with what the command printed and its exit code. Commands that are started together run one by one.
 * @param program By default that of the sources.
 */
export function runCommandHere(
  words: readonly string[],
  surroundings: CommandSurroundings,
  program?: Program,
): Promise<CommandResult> {
  const result = last.then(async () => run(words, surroundings, program ?? (await sources())))
  last = result.catch(() => undefined)
  return result
}

async function sources(): Promise<Program> {
  return (await import('../../../src/cli/main.ts')).main
}

async function run(
  words: readonly string[],
  { cwd, env }: CommandSurroundings,
  program: Program,
): Promise<CommandResult> {
  const restore = [replaceEnvironment(env), enter(cwd), captureOutput(), catchExit()]
  const capture: Capture = { out: '', error: '' }
  try {
    const code = await captures.run(capture, () => exitCodeOf(words, program))
    return { ...capture, code }
  } finally {
    for (const undo of restore.reverse()) undo()
  }
}

async function exitCodeOf(words: readonly string[], program: Program): Promise<number> {
  const before = process.exitCode
  try {
    process.exitCode = undefined
    await program({ arguments: words, version: '0.0.0' })
    return Number(process.exitCode ?? 0)
  } catch (error) {
    if (error instanceof ProcessExit) return error.code
    throw error
  } finally {
    process.exitCode = before
  }
}

type Undo = () => void

function replaceEnvironment(env: Readonly<Record<string, string>>): Undo {
  const before = { ...process.env }
  const become = (variables: NodeJS.ProcessEnv): void => {
    for (const name of Object.keys(process.env)) delete process.env[name]
    Object.assign(process.env, variables)
  }
  become(env)
  return () => become(before)
}

function enter(folder: string): Undo {
  const before = process.cwd()
  process.chdir(folder)
  return () => process.chdir(before)
}

/** Output of the test runner, which is written meanwhile, is not the command's. */
function captureOutput(): Undo {
  const undo = [patchWrite(process.stdout, 'out'), patchWrite(process.stderr, 'error')]
  const listeners = process.stdout.listeners('error')
  return () => {
    for (const one of undo) one()
    for (const added of process.stdout.listeners('error')) {
      if (!listeners.includes(added)) process.stdout.off('error', added as (error: Error) => void)
    }
  }
}

function patchWrite(stream: NodeJS.WriteStream, name: keyof Capture): Undo {
  const original = stream.write
  const write = (chunk: string | Uint8Array, ...rest: unknown[]): boolean => {
    const capture = captures.getStore()
    if (capture === undefined) return Reflect.apply(original, stream, [chunk, ...rest])
    capture[name] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()
    const written = rest.find((argument) => typeof argument === 'function')
    if (written !== undefined) queueMicrotask(() => written())
    return true
  }
  stream.write = write
  return () => {
    stream.write = original
  }
}

function catchExit(): Undo {
  const original = process.exit
  process.exit = (code) => {
    if (captures.getStore() === undefined) return original(code)
    throw new ProcessExit(Number(code ?? process.exitCode ?? 0))
  }
  return () => {
    process.exit = original
  }
}
