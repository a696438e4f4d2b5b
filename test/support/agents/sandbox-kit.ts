/** A sandbox in a temporary folder for one test, small enough that nothing that gets out of hand hurts this machine. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { findTool } from '../../../scripts/kit/machine-tools.ts'
import type { ProcessResult } from '../../../src/runner/sandbox/confined.ts'
import { makeWorkspace } from '../../../src/runner/sandbox/folders.ts'
import type { SandboxLimits } from '../../../src/runner/sandbox/limits.ts'
import { type Command, createSandbox, type Sandbox, type SandboxOptions } from '../../../src/runner/sandbox/sandbox.ts'

for (const tool of ['bubblewrap', 'perl'] as const) findTool(tool)

const MEBIBYTE = 1024 * 1024

export const SMALL: SandboxLimits = {
  processes: 32,
  memoryBytes: 96 * MEBIBYTE,
  cpus: 1,
  openFiles: 128,
  workspaceBytes: 24 * MEBIBYTE,
  workspaceFiles: 2_000,
  scratchBytes: 16 * MEBIBYTE,
  scratchFiles: 2_000,
  outputBytes: 16 * 1024,
  outputReadBytes: 2 * MEBIBYTE,
  wallMs: 60_000,
}

export interface TestSandbox extends Sandbox {
  /** On this machine. */
  readonly workspace: string
  readonly folder: string
  readonly sh: (script: string, command?: Partial<Command>) => Promise<ProcessResult>
}

export async function testSandbox(t: TestContext, options: Partial<SandboxOptions> = {}): Promise<TestSandbox> {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-sandbox-'))
  const workspace = join(folder, 'workspace')
  makeWorkspace(workspace)
  const sandbox = createSandbox({ backend: 'bubblewrap', workspace, limits: SMALL, ...options })
  t.after(async () => {
    await sandbox.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const sh = (script: string, command: Partial<Command> = {}): Promise<ProcessResult> =>
    sandbox.run({ run: { script }, ...command }, t.signal)
  return { ...sandbox, workspace, folder, sh }
}

/** Processes of this machine with `marker` in their arguments or environment, this one and its parents aside. */
export function processesWith(marker: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid && Number(name) !== process.ppid)
    .filter((name) =>
      `${readOrNothing(`/proc/${name}/cmdline`)}${readOrNothing(`/proc/${name}/environ`)}`.includes(marker),
    )
    .map(Number)
}

const LOOK_EVERY_MS = 20
const MOST_LOOKS = 1_000
/** A process that is just becoming another program has no arguments for a moment. */
const QUIET_LOOKS = 20

/** Those that have just been told to end need a moment to be gone: none is left when none is seen for a while. */
export async function assertNoneLeft(marker: string): Promise<void> {
  let left = processesWith(marker)
  for (let looks = 0, quiet = 0; looks < MOST_LOOKS && quiet < QUIET_LOOKS; looks++) {
    await sleep(LOOK_EVERY_MS)
    left = processesWith(marker)
    quiet = left.length === 0 ? quiet + 1 : 0
  }
  assert.deepEqual(left, [])
}

function readOrNothing(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return ''
  }
}
