/**
 * One run of git, bounded in time, output, and what it may write. When a call has settled, with or without success, none of
 * its processes is left.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { helperAnswer, secretsOf } from './credential.ts'
import { GitError, type GitErrorCode } from './error.ts'
import {
  CREDENTIAL_FD,
  confinementArguments,
  environmentOf,
  type GitConnection,
  type GitPlace,
  limitArguments,
  settingArguments,
} from './harden.ts'
import { plainText, withoutSecrets } from './plain-text.ts'
import { reasonOf } from './reason.ts'
import type { GitSettings } from './settings.ts'

export interface GitCall extends GitPlace {
  readonly settings: GitSettings
  readonly signal: AbortSignal
  readonly args: readonly string[]
  readonly connection?: GitConnection
  readonly input?: string | Uint8Array
  /** Beside what all calls have. */
  readonly environment?: Readonly<Record<string, string>>
  readonly timeoutMs?: number
  /** Of standard output. Beyond it git is ended, and the output says that it is cut. */
  readonly maxOutputBytes?: number
  /** Of a single file that git writes. */
  readonly maxFileBytes?: number
  /** What a failure of this call is to the run; `internal_error` unless said. */
  readonly code?: GitErrorCode
}

export interface GitOutput {
  readonly stdout: Buffer
  readonly isCut: boolean
}

const OUTPUT_BYTES = 1024 * 1024
const KEPT_STDERR_BYTES = 8 * 1024
const SHOWN_DETAIL_LENGTH = 2_000

type Interruption = 'aborted' | 'timeout' | 'output'

/**
 * @throws GitError when git fails, or is not done in time; the signal's reason once it is aborted.
 */
export async function git(call: GitCall): Promise<GitOutput> {
  call.signal.throwIfAborted()
  const child = start(call)
  const ending = watch(child, call)
  feed(child, call)
  const { exitCode, stdout, stderr, interruption } = await ending
  if (interruption === 'aborted') throw call.signal.reason
  if (exitCode === 0 || interruption === 'output') return { stdout, isCut: interruption === 'output' }
  throw failure(call, stderr, interruption)
}

/** @returns standard output without the white space around it. */
export async function gitText(call: GitCall): Promise<string> {
  const { stdout } = await git(call)
  return stdout.toString('utf8').trim()
}

function start(call: GitCall): ChildProcess {
  const { settings, connection, args } = call
  const { limits, caFile } = settings
  const commandLine = [
    ...limitArguments({ fileBytes: call.maxFileBytes ?? limits.packBytes, memoryBytes: limits.memoryBytes }),
    ...confinementArguments(call, connection, { ...settings, isConfined: settings.confine }),
    'git',
    ...settingArguments(connection, caFile),
    ...args,
  ]
  return spawn('/bin/sh', commandLine, {
    cwd: '/',
    env: { ...environmentOf(call, connection), ...call.environment },
    detached: true, // a group of its own, which can be ended as a whole
    stdio: ['pipe', 'pipe', 'pipe', ...(connection?.credential === undefined ? [] : ['pipe' as const])],
  })
}

function feed(child: ChildProcess, { input, connection }: GitCall): void {
  // Git may end before it has read everything; how it ends is told by its exit code.
  child.stdin?.on('error', ignore)
  child.stdin?.end(input)
  const pipe = child.stdio[CREDENTIAL_FD]
  if (connection?.credential === undefined || pipe === undefined || pipe === null || !('end' in pipe)) return
  pipe.on('error', ignore)
  pipe.end(helperAnswer(connection.credential))
}

function ignore(): void {}

interface Ending {
  readonly exitCode: number | null
  readonly stdout: Buffer
  readonly stderr: string
  readonly interruption: Interruption | undefined
}

/** Resolves when the process has ended and nobody holds its output any more, which is when all of its group are gone. */
function watch(child: ChildProcess, call: GitCall): Promise<Ending> {
  const { promise, resolve, reject } = Promise.withResolvers<Ending>()
  let interruption: Interruption | undefined
  const interrupt = (why: Interruption): void => {
    interruption ??= why
    endGroup(child)
  }
  const abort = (): void => interrupt('aborted')
  const timer = setTimeout(interrupt, call.timeoutMs ?? call.settings.limits.localTimeoutMs, 'timeout')
  call.signal.addEventListener('abort', abort, { once: true })
  const stdout = collect(child.stdout, call.maxOutputBytes ?? OUTPUT_BYTES, () => interrupt('output'))
  const stderr = collectEnd(child.stderr)
  const release = (): void => {
    clearTimeout(timer)
    call.signal.removeEventListener('abort', abort)
    endGroup(child)
  }
  child.once('error', (error) => {
    release()
    reject(new GitError({ code: 'internal_error', reason: 'failed', detail: error.message }))
  })
  child.once('close', (exitCode) => {
    release()
    resolve({ exitCode, stdout: stdout(), stderr: stderr(), interruption })
  })
  return promise
}

function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // Nobody of the group is left, which is what is wanted.
  }
}

function collect(stream: Readable | null, maxBytes: number, onTooMuch: () => void): () => Buffer {
  const chunks: Buffer[] = []
  let length = 0
  stream?.on('data', (chunk: Buffer) => {
    if (length > maxBytes) return
    length += chunk.length
    chunks.push(chunk)
    if (length > maxBytes) onTooMuch()
  })
  return () => Buffer.concat(chunks).subarray(0, maxBytes)
}

/** A server may send as much as it likes; the reason stands at the end. */
function collectEnd(stream: Readable | null): () => string {
  let kept = Buffer.alloc(0)
  stream?.on('data', (chunk: Buffer) => {
    kept = Buffer.concat([kept, chunk]).subarray(-KEPT_STDERR_BYTES)
  })
  return () => kept.toString('utf8')
}

function failure(call: GitCall, stderr: string, interruption: Interruption | undefined): GitError {
  const secrets = call.connection?.credential === undefined ? [] : secretsOf(call.connection.credential)
  const said = withoutSecrets(plainText(stderr), secrets)
  const detail = `git ${call.args[0]}: ${said.trim().slice(-SHOWN_DETAIL_LENGTH)}`
  const code = call.code ?? 'internal_error'
  if (interruption === 'timeout') return new GitError({ code, reason: 'timeout', detail })
  return new GitError({ ...reasonOf(said, code), detail })
}
