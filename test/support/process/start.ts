/** Starts of the program that are not expected to go well: what they print, and how they end. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const PROGRAM = join(ROOT, 'bin', 'turnpike.js')
/** A start that would wait for ever is told from one on a machine where a process needs seconds to begin. */
const ENDS_WITHIN_MS = 45_000
const KILLED_AFTER_MS = 120_000

/** For data directories; removed after the tests of the file. */
export const folder = mkdtempSync(join(tmpdir(), 'turnpike-start-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** The port of a server that takes connections and never says a word. */
export async function startBlackHole(): Promise<number> {
  const server = createServer((socket) => socket.on('error', () => {}))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  server.unref()
  return (server.address() as AddressInfo).port
}

export interface Start {
  readonly child: ChildProcess
  /** Everything it has printed. */
  readonly output: () => string
  /** Resolves with the exit code; null: a signal killed it. */
  readonly exited: Promise<number | null>
  /** `performance.now()`. */
  readonly startedAt: number
}

let starts = 0

/** Each on a data directory of its own, unless `env` says otherwise. */
export function start(env: Readonly<Record<string, string>>, command: readonly string[] = SERVE): Start {
  const [program = '', ...words] = command
  const own = { PATH: process.env['PATH'] ?? '', HOME: folder, NO_COLOR: '1', LOG_LEVEL: 'warn', PORT: '0' }
  const TURNPIKE_DATA_DIR = join(folder, `data-${starts++}`)
  const startedAt = performance.now()
  const child = spawn(program, words, { cwd: ROOT, env: { ...own, TURNPIKE_DATA_DIR, ...env } })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (piece) => {
      output += String(piece)
    })
  }
  const killer = setTimeout(() => child.kill('SIGKILL'), KILLED_AFTER_MS)
  const exited = new Promise<number | null>((resolve) => {
    child.once('close', (code) => {
      clearTimeout(killer)
      resolve(code)
    })
  })
  return { child, output: () => output, exited, startedAt }
}

const SERVE = [process.execPath, PROGRAM, 'serve']

/** It ends by itself, in time, with 1 and one line that says what to do. */
export async function assertRefused(env: Readonly<Record<string, string>>, message: RegExp): Promise<void> {
  const { output, exited, startedAt } = start(env)
  assert.equal(await exited, 1, output())
  assert.ok(performance.now() - startedAt < ENDS_WITHIN_MS, `ended after ${performance.now() - startedAt} ms`)
  assert.match(output(), message)
  assert.match(output(), /^turnpike: [^\n]*\n$/)
}

/** Resolves when it answers with success. */
export async function answers(url: string): Promise<void> {
  const until = performance.now() + KILLED_AFTER_MS
  while (performance.now() < until) {
    const response = await fetch(url).catch(() => undefined)
    await response?.body?.cancel()
    if (response?.ok) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  assert.fail(`${url} does not answer`)
}
