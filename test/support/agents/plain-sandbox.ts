/** A sandbox in all but name: a shell in a directory of its own. For tests of what runs in one, not of what keeps it in. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CommandResult, KillReason, Sandbox } from '../../../src/runner/ports.ts'

export interface PlainSandbox extends Sandbox {
  readonly directory: string
}

export function plainSandbox(): PlainSandbox {
  const directory = mkdtempSync(join(tmpdir(), 'turnpike-plain-sandbox-'))
  return {
    directory,
    run: (command, signal) =>
      new Promise((resolve, reject) => {
        const started = performance.now()
        const cwd = join(directory, command.cwd ?? '.')
        const env = { PATH: '/usr/bin:/bin', HOME: directory }
        const child = spawn('sh', ['-c', command.script], { cwd, env, detached: true })
        let killed: CommandResult['killed']
        const kill = (reason: KillReason): void => {
          killed ??= reason
          if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
        }
        const cancel = (): void => kill('cancelled')
        const timer = setTimeout(() => kill('timeout'), command.timeoutMs)
        signal.addEventListener('abort', cancel, { once: true })
        const output = { stdout: '', stderr: '', truncated: false }
        const keep = (name: 'stdout' | 'stderr') => (piece: string) => {
          const max = 1_048_576
          output.truncated ||= output[name].length + piece.length > max
          output[name] = (output[name] + piece).slice(0, max)
        }
        child.stdout.setEncoding('utf8').on('data', keep('stdout'))
        child.stderr.setEncoding('utf8').on('data', keep('stderr'))
        child.stdin.on('error', () => {}) // it may end without reading
        child.stdin.end(command.stdin ?? '')
        child.on('error', reject)
        child.on('close', (code) => {
          clearTimeout(timer)
          signal.removeEventListener('abort', cancel)
          const exitCode = killed === undefined ? code : null
          resolve({ ...output, exitCode, durationMs: performance.now() - started, ...(killed ? { killed } : {}) })
        })
      }),
    close: async () => rmSync(directory, { recursive: true, force: true }),
  }
}
