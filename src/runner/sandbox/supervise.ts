/** Supervises the process of an agent's command until it has ended and its output is closed, with limits on time and output. */
import type { ChildProcess } from 'node:child_process'
import { constants } from 'node:os'
import type { SandboxLimits } from './limits.ts'

/** Why a command was ended before its time. */
export type EndReason = 'timeout' | 'output' | 'memory' | 'disk' | 'cancelled'

export interface CommandResult {
  /** As a shell says it: 128 and the signal's number for what a signal ended. Null when it was ended from outside. */
  readonly exitCode: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
  /** Something is left out of the middle of `stdout` or `stderr`, which say so. */
  readonly truncated: boolean
  readonly durationMs: number
  readonly reason?: EndReason
}

export interface Supervision {
  readonly limits: SandboxLimits
  readonly timeoutMs: number
  readonly stdin: string | undefined
  readonly signal: AbortSignal
  /** Ends every process of the command, however often it is called. */
  readonly kill: () => void
}

export interface Supervised {
  readonly result: Promise<CommandResult>
  /** Only the first reason counts. */
  readonly end: (reason: EndReason) => void
}

export function supervise(child: ChildProcess, supervision: Supervision): Supervised {
  const { limits, timeoutMs, signal, kill } = supervision
  const startedAt = performance.now()
  let reason: EndReason | undefined
  const end = (why: EndReason): void => {
    reason ??= why
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
  child.stdin?.on('error', () => undefined) // a command need not read what it is given
  child.stdin?.end(supervision.stdin)
  const timer = setTimeout(() => end('timeout'), timeoutMs)
  const cancel = (): void => end('cancelled')
  if (signal.aborted) cancel()
  else signal.addEventListener('abort', cancel, { once: true })
  const result = ended(child).then(([code, by]): CommandResult => {
    clearTimeout(timer)
    signal.removeEventListener('abort', cancel)
    return {
      ...(reason === undefined
        ? { exitCode: code, signal: by ?? signalOf(code) }
        : { exitCode: null, signal: 'SIGKILL' }),
      stdout: stdout.text(),
      stderr: stderr.text(),
      truncated: stdout.isTruncated() || stderr.isTruncated(),
      durationMs: Math.round(performance.now() - startedAt),
      ...(reason === undefined ? {} : { reason }),
    }
  })
  return { result, end }
}

/** Not before nobody can write to its output any more. */
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
  /** All that was written, kept or not. */
  readonly totalBytes: () => number
  readonly isTruncated: () => boolean
  /** With a line in place of what was left out. What is not UTF-8 is replaced; control characters are as they came. */
  readonly text: () => string
}

export function captureOutput(maxBytes: number): CapturedOutput {
  const headBytes = Math.ceil(maxBytes / 2)
  const tailBytes = maxBytes - headBytes
  const head = Buffer.alloc(headBytes)
  /** Written round and round. */
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
