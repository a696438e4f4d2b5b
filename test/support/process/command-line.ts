/** `turnpike …` as a process of its own, in a home of its own. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const PROGRAM = join(import.meta.dirname, '..', '..', '..', 'bin', 'turnpike.js')

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Running {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
  readonly stdout: () => string
  readonly stderr: () => string
}

export interface Home {
  /** Where profiles are. */
  readonly folder: string
  /** Empty, for programs of a test. */
  readonly bin: string
  /** `input`: what is piped in; without it there is nothing to read. */
  readonly start: (words: readonly string[], options?: RunOptions) => Running
  readonly run: (words: readonly string[], options?: RunOptions) => Promise<Ended>
  readonly remove: () => void
}

export interface RunOptions {
  readonly input?: string
  readonly env?: Readonly<Record<string, string>>
}

/** @param env Beside what a process needs; nothing else of the surroundings gets in. */
export function makeHome(env: Readonly<Record<string, string>> = {}): Home {
  const home = mkdtempSync(join(tmpdir(), 'turnpike-home-'))
  const bin = join(home, 'bin')
  mkdirSync(bin)
  const own = { PATH: process.env['PATH'] ?? '', HOME: home, XDG_CONFIG_HOME: join(home, 'config'), ...env }
  const start: Home['start'] = (words, { input = '', env: more = {} } = {}) => {
    const child = spawn(process.execPath, [PROGRAM, ...words], { cwd: home, env: { ...own, ...more } })
    const [stdout, stderr] = [gather(child.stdout), gather(child.stderr)]
    child.stdin.on('error', () => undefined).end(input)
    const ended = new Promise<Ended>((resolve) =>
      child.on('close', (code) => resolve({ code, stdout: stdout(), stderr: stderr() })),
    )
    return { child, ended, stdout, stderr }
  }
  return {
    folder: join(home, 'config', 'turnpike'),
    bin,
    start,
    run: (words, options) => start(words, options).ended,
    remove: () => rmSync(home, { recursive: true, force: true }),
  }
}

function gather(stream: NodeJS.ReadableStream): () => string {
  let text = ''
  stream.on('data', (piece: Buffer) => {
    text += piece.toString()
  })
  return () => text
}
