/**
 * A reader of the documentation: a folder, a key, and the programs that the pages name, with the Node.js and npm of this
 * machine (20 or newer). Blocks run as they stand, but for the reader's own address, key and IDs.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { eventually } from '../client.ts'
import type { Gateway } from '../gateway.ts'
import { type Block, documentedBlocks, MACHINE_PATH } from './documentation.ts'

export const ROOT = join(import.meta.dirname, '..', '..', '..')
const TIMEOUT_MS = 240_000

export interface Ended {
  readonly code: number
  readonly output: string
}

/** A command that does not end by itself. */
export interface Started {
  readonly output: () => string
  /** Resolves when it has printed this; rejects with all that it printed when it ends before, or does not in time. */
  printed(part: RegExp): Promise<RegExpExecArray>
  /** Resolves with its exit code. */
  readonly exited: Promise<number | null>
  /** Ends it and what it has started. */
  stop(signal?: NodeJS.Signals): Promise<void>
}

export interface Reader {
  readonly folder: string
  /** The whole environment of a command. */
  environment(more?: Readonly<Record<string, string>>): Readonly<Record<string, string>>
  /** What the page says, in the reader's words. */
  own(text: string): string
  run(command: string, words: readonly string[], env?: Readonly<Record<string, string>>): Promise<Ended>
  /** Runs shell, to its first error. */
  sh(text: string, env?: Readonly<Record<string, string>>): Promise<Ended>
  /** @param input What is typed; without it nothing ever is. */
  start(text: string, env?: Readonly<Record<string, string>>, input?: string): Started
  remove(): void
}

export interface ReaderInput {
  readonly gateway: Pick<Gateway, 'url' | 'dataDir'>
  readonly key: string
  /** The configuration file; JSON is YAML. */
  readonly config?: object
  /** What stands in the pages for something of the reader's, such as `acc_…`. */
  readonly words?: Readonly<Record<string, string>>
}

export function makeReader({ gateway, key, config = {}, words = {} }: ReaderInput): Reader {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-documentation-'))
  makeTools(folder)
  writeFileSync(join(folder, 'turnpike.yaml'), JSON.stringify(config))
  const environment = (more: Readonly<Record<string, string>> = {}): Record<string, string> => ({
    PATH: [join(folder, 'bin'), MACHINE_PATH].join(delimiter),
    HOME: folder,
    NO_COLOR: '1',
    TURNPIKE_API_KEY: key,
    TURNPIKE_URL: gateway.url,
    TURNPIKE_DATA_DIR: gateway.dataDir,
    TURNPIKE_CONFIG: join(folder, 'turnpike.yaml'),
    ROOT,
    ...more,
  })
  const replacements = {
    'http://localhost:7575': gateway.url,
    'tp_…': key,
    'tp_...': key,
    'npm run -s turnpike': `npm --prefix "$ROOT" run -s turnpike`,
    ...words,
  }
  const own = (text: string): string =>
    Object.entries(replacements).reduce((all, [from, to]) => all.replaceAll(from, to), text)
  const run: Reader['run'] = (command, rest, env = {}) =>
    new Promise((resolve) => {
      const options = { cwd: folder, env: environment(env), timeout: TIMEOUT_MS, maxBuffer: 64 * 1024 * 1024 }
      execFile(command, rest, options, (error, out, errors) =>
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), output: out + errors }),
      )
    })
  return {
    folder,
    environment,
    own,
    run,
    sh: (text, env) => run('sh', ['-e', '-c', own(text)], env),
    start(text, env = {}, input) {
      const options = { cwd: folder, env: environment(env), detached: true }
      const child = spawn('sh', ['-e', '-c', own(text)], options)
      if (input !== undefined) child.stdin.end(input)
      return started(child)
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** The program by its name, a curl that fails where the answer is an error, and the packages of the project. */
function makeTools(folder: string): void {
  mkdirSync(join(folder, 'bin'))
  const programs = {
    turnpike: `exec "$ROOT/node_modules/.bin/node" "$ROOT/bin/turnpike.js" "$@"`,
    curl: `PATH=$(echo "$PATH" | sed 's|^[^:]*:||') exec curl --silent --show-error --fail-with-body "$@"`,
  }
  for (const [name, line] of Object.entries(programs)) {
    writeFileSync(join(folder, 'bin', name), `#!/bin/sh\n${line}\n`)
    chmodSync(join(folder, 'bin', name), 0o755)
  }
  symlinkSync(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'body.json'), '{}')
  writeFileSync(join(folder, 'models.json'), '[]')
  writeFileSync(join(folder, 'service-account.json'), '{}')
}

function started(child: ChildProcess): Started {
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (piece: Buffer) => {
      output += piece.toString()
    })
  }
  const exited = new Promise<number | null>((resolve) => child.on('close', resolve))
  return {
    output: () => output,
    exited,
    async printed(part) {
      const isOver = () => part.test(output) || child.exitCode !== null
      await eventually(async () => output, isOver, TIMEOUT_MS)
      const found = part.exec(output)
      if (found === null) throw new Error(`It ended with ${child.exitCode} before it printed ${part}: ${output}`)
      return found
    },
    async stop(signal = 'SIGTERM') {
      const killer = setTimeout(() => signalGroup(child, 'SIGKILL'), TIMEOUT_MS)
      signalGroup(child, signal)
      await exited
      clearTimeout(killer)
    },
  }
}

function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch {} // all have ended
}

/** The block of a document that begins like this, and has this part. Throws unless there is exactly one. */
export function blockOf(file: string, begins: string, part = ''): Block {
  const isWanted = (block: Block) => block.file === file && block.text.startsWith(begins) && block.text.includes(part)
  const [block, ...others] = documentedBlocks().filter(isWanted)
  if (block === undefined || others.length > 0) throw new Error(`Not exactly one block of ${file} begins so: ${begins}`)
  return block
}
