/**
 * Runs git once, with limits on time, output and written files. When a call settles, none of its processes is left.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable } from 'node:stream'
import { GitError, type GitErrorCode, plainText, reasonOf, withoutSecrets } from './error.ts'
import {
  CREDENTIAL_FD,
  endGroup,
  environmentOf,
  type GitConnection,
  type GitPaths,
  limitArguments,
  settingArguments,
  startInJail,
} from './jail.ts'
import { DIRECT, openRoute, type Route } from './route.ts'
import { type GitSettings, helperAnswer, secretsOf } from './settings.ts'

export interface GitCall extends GitPaths {
  readonly settings: GitSettings
  readonly signal: AbortSignal
  readonly args: readonly string[]
  /** Another program of the system instead of git, with the same limits; `args` are all of its arguments. */
  readonly program?: string
  /** Paths of this machine that it can read. */
  readonly reads?: readonly string[]
  readonly connection?: GitConnection
  readonly input?: string | Uint8Array
  /** In addition to the environment of all calls. */
  readonly environment?: Readonly<Record<string, string>>
  readonly timeoutMs?: number
  /** Maximum standard output: beyond it git is killed, and `isCut` is set. */
  readonly maxOutputBytes?: number
  /** Maximum size of a file that git writes. */
  readonly maxFileBytes?: number
  /** Error code of a failed call. Default: `internal_error`. */
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

/** @throws GitError if git fails or exceeds its time limit; the signal's reason once it is aborted. */
export async function git(call: GitCall): Promise<GitOutput> {
  call.signal.throwIfAborted()
  const route = call.settings.confine ? await openRoute(call) : DIRECT
  try {
    const child = start(call, route)
    const ending = watch(child, call)
    // Without a file for its pipes it has not started, which `ending` reports.
    if (child.pid !== undefined) {
      feed(child, call)
      route.connect(child)
    }
    const { exitCode, stdout, stderr, interruption } = await ending
    if (interruption === 'aborted') throw call.signal.reason
    if (exitCode === 0 || interruption === 'output') return { stdout, isCut: interruption === 'output' }
    throw failure(call, `${stderr}\n${route.stderr()}`, interruption)
  } finally {
    await route.close()
  }
}

/** Returns standard output, trimmed. */
export async function gitText(call: GitCall): Promise<string> {
  const { stdout } = await git(call)
  return stdout.toString('utf8').trim()
}

function start(call: GitCall, route: Route): ChildProcess {
  const { settings, connection, args, reads = [] } = call
  const { limits, caFile, confine, user } = settings
  const bounds = { fileBytes: call.maxFileBytes ?? limits.packBytes, memoryBytes: limits.memoryBytes }
  const environment = { ...environmentOf(call, connection), ...call.environment }
  const argv =
    call.program === undefined
      ? ['git', ...settingArguments(connection, caFile), ...route.settings, ...route.routedArguments(args)]
      : [call.program, ...args]
  const hasCredential = connection?.credential !== undefined
  if (!confine) {
    return spawn('/bin/sh', [...limitArguments(bounds), ...argv], {
      cwd: '/',
      env: environment,
      detached: true, // a process group of its own, which can be killed as a whole
      stdio: ['pipe', 'pipe', 'pipe', ...(hasCredential ? ['pipe' as const] : [])],
    })
  }
  const files = connection === undefined || caFile === undefined ? reads : [...reads, caFile]
  return startInJail({
    ...{ argv, environment, user, limits: bounds, hasCredential },
    ...{ prepare: route.prepare, unixSockets: route.unixSockets, hasPeer: route.hasPeer },
    writable: [call.gitDirectory, call.workspace],
    readOnly: [...files.map((path) => ({ from: path, to: path })), ...route.readOnly],
  })
}

function feed(child: ChildProcess, { input, connection }: GitCall): void {
  // Git may end before it has read everything; its exit code reports how.
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

/** Resolves when the process has ended and its output is closed, that is, when its whole group has ended. */
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

/** Keeps the end of the output, which contains the reason. */
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
  const detail = `${call.program ?? `git ${call.args[0]}`}: ${said.trim().slice(-SHOWN_DETAIL_LENGTH)}`
  const code = call.code ?? 'internal_error'
  if (interruption === 'timeout') return new GitError({ code, reason: 'timeout', detail })
  return new GitError({ ...reasonOf(said, code), detail })
}
