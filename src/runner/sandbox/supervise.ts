/** Supervises the process of an agent's command until it has ended and its output is closed, with limits on time and output. */
import type { ChildProcess } from 'node:child_process'
import { constants } from 'node:os'
import type { CommandResult, KillReason } from '../ports.ts'
import type { SandboxLimits } from './limits.ts'

/** Its exit code is a shell's: 128 plus the number of the signal that ended the process. */
export interface ProcessResult extends CommandResult {
  readonly signal: NodeJS.Signals | null
}

export interface Supervision {
  readonly limits: SandboxLimits
  readonly timeoutMs: number
  readonly stdin: string | undefined
  readonly signal: AbortSignal
  /** Kills every process of the command. Idempotent. */
  readonly kill: () => void
}

export interface Supervised {
  readonly result: Promise<ProcessResult>
  /** Kills the command. The first reason is the one that is reported. */
  readonly end: (reason: KillReason) => void
}

export function supervise(child: ChildProcess, supervision: Supervision): Supervised {
  const { limits, timeoutMs, signal, kill } = supervision
  const startedAt = performance.now()
  let killed: KillReason | undefined
  const end = (reason: KillReason): void => {
    killed ??= reason
    kill()
  }
  const stdout = captureOutput(limits.outputBytes / 2)
  const stderr = captureOutput(limits.outputBytes / 2)
  for (const [stream, output] of [[child.stdout, stdout] as const, [child.stderr, stderr] as const]) {
    stream?.on('data', (chunk: Buffer) => {
      output.push(chunk)
      if (stdout.totalBytes() + stderr.totalBytes() > limits.outputReadBytes) end('output')
    })
  }
  child.stdin?.on('error', () => undefined) // a command need not read its input
  child.stdin?.end(supervision.stdin)
  const timer = setTimeout(() => end('timeout'), timeoutMs)
  const cancel = (): void => end('cancelled')
  if (signal.aborted) cancel()
  else signal.addEventListener('abort', cancel, { once: true })
  const result = ended(child).then(([code, by]): ProcessResult => {
    clearTimeout(timer)
    signal.removeEventListener('abort', cancel)
    return {
      ...(killed === undefined
        ? { exitCode: code, signal: by ?? signalOf(code) }
        : { exitCode: null, signal: 'SIGKILL' }),
      stdout: stdout.text(),
      stderr: stderr.text(),
      truncated: stdout.isTruncated() || stderr.isTruncated(),
      durationMs: Math.round(performance.now() - startedAt),
      ...(killed === undefined ? {} : { killed }),
    }
  })
  return { result, end }
}

/** Resolves when the process has ended and no other process holds its output. */
async function ended(child: ChildProcess): Promise<readonly [number | null, NodeJS.Signals | null]> {
  const { promise, resolve, reject } = Promise.withResolvers<readonly [number | null, NodeJS.Signals | null]>()
  child.once('error', reject)
  child.once('close', (code, signal) => resolve([code, signal]))
  return await promise
}

const SIGNALS = new Map(Object.entries(constants.signals).map(([name, value]) => [value, name] as const))

function signalOf(code: number | null): NodeJS.Signals | null {
  const name = code === null ? undefined : SIGNALS.get(code - 128)
  return name === undefined ? null : (name as NodeJS.Signals) // the names of `os.constants` are these
}

interface CapturedOutput {
  readonly push: (chunk: Buffer) => void
  /** Bytes written, including omitted ones. */
  readonly totalBytes: () => number
  readonly isTruncated: () => boolean
  /** A line replaces the omitted middle. Invalid UTF-8 is replaced; control characters are unchanged. */
  readonly text: () => string
}

export function captureOutput(maxBytes: number): CapturedOutput {
  const headBytes = Math.ceil(maxBytes / 2)
  const tailBytes = maxBytes - headBytes
  const head = Buffer.alloc(headBytes)
  /** A ring buffer. */
  const tail = Buffer.alloc(tailBytes)
  let total = 0
  const push = (chunk: Buffer): void => {
    const toHead = Math.max(0, Math.min(chunk.length, headBytes - total))
    if (toHead > 0) chunk.copy(head, total, 0, toHead)
    if (tailBytes > 0) {
      const rest = chunk.subarray(Math.max(toHead, chunk.length - tailBytes))
      const at = (Math.max(total + chunk.length - rest.length, headBytes) - headBytes) % tailBytes
      const first = rest.copy(tail, at)
      rest.copy(tail, 0, first)
    }
    total += chunk.length
  }
  const text = (): string => {
    if (total <= headBytes) return head.toString('utf8', 0, total)
    const written = total - headBytes
    const end = written % Math.max(1, tailBytes)
    if (written <= tailBytes) return Buffer.concat([head, tail.subarray(0, written)]).toString('utf8')
    const kept = Buffer.concat([tail.subarray(end), tail.subarray(0, end)])
    return `${head.toString('utf8')}\n[${written - tailBytes} bytes left out]\n${kept.toString('utf8')}`
  }
  return { push, totalBytes: () => total, isTruncated: () => total > maxBytes, text }
}
