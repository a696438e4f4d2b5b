/** The sandbox of the product, as the loop of an agent knows one. */
import type { CommandResult, Sandbox } from '../../../runner/ports.ts'
import {
  type CommandResult as ConfinedResult,
  createSandbox,
  type EndReason,
  type SandboxOptions,
} from '../../../runner/sandbox/sandbox.ts'
import type { SandboxPlace } from './deps.ts'

/** What is the same for all agents of this machine. */
export type SandboxKind = Pick<SandboxOptions, 'backend' | 'network' | 'cgroups'>

/** @param longestMs Of a command: one that takes longer would look like a standstill. */
export function sandboxOpener(kind: SandboxKind, longestMs: number): (place: SandboxPlace) => Sandbox {
  return (place) => {
    const sandbox = createSandbox({ ...kind, ...place })
    return {
      async run({ script, cwd, stdin, timeoutMs }, signal) {
        const given = {
          ...(cwd === undefined ? {} : { cwd }),
          ...(stdin === undefined ? {} : { stdin: typeof stdin === 'string' ? stdin : Buffer.from(stdin).toString() }),
        }
        const command = { run: { script }, timeoutMs: Math.min(timeoutMs, longestMs), ...given }
        return resultOf(await sandbox.run(command, signal))
      },
      close: sandbox.close,
    }
  }
}

const KILLED: Readonly<Record<EndReason, NonNullable<CommandResult['killed']>>> = {
  timeout: 'timeout',
  output: 'output',
  memory: 'memory',
  disk: 'workspace',
  cancelled: 'cancelled',
}

function resultOf({ exitCode, stdout, stderr, truncated, durationMs, reason }: ConfinedResult): CommandResult {
  const result = { exitCode, stdout, stderr, truncated, durationMs }
  return reason === undefined ? result : { ...result, exitCode: null, killed: KILLED[reason] }
}
