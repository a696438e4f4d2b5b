/**
 * Tests on this machine whether the sandbox isolates: a probe runs in one and reports what it can access. Agents are off
 * unless the test passes. Every service runs it at its start, and `turnpike doctor` runs it on request.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ProcessResult, SandboxFailedError } from './confined.ts'
import { makeWorkspace } from './folders.ts'
import type { Cgroups } from './limits.ts'
import { createSandbox } from './sandbox.ts'

export type SelfTestResult =
  | { readonly ok: true }
  | { readonly ok: false; readonly reason: string; readonly fix: string }

export interface SelfTestOptions {
  readonly cgroups?: Cgroups | undefined
  /** Parent of the test's folder, to test the file system of the workspaces too. */
  readonly folder?: string
  /** Search path for bubblewrap. */
  readonly searchPath?: string
}

const TIMEOUT_MS = 20_000
const MOST_PROCESSES = 8

/** Prints the state of a process that must have no rights, one finding per line, as `name=value`. */
export const PROBE = `
while read -r name value; do
  case $name in Uid:|CapEff:|CapPrm:|CapBnd:|NoNewPrivs:|Seccomp:) echo "\${name%:}=$value";; esac
done < /proc/self/status
echo "links=$(tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' ' | tr '\\n' ' ')"
unshare -U true 2>/dev/null && echo namespaces=allowed || echo namespaces=refused`

/** The findings of `PROBE` without any right. */
export const EXPECTED: Readonly<Record<string, RegExp>> = {
  CapEff: /^0+$/,
  CapPrm: /^0+$/,
  CapBnd: /^0+$/,
  NoNewPrivs: /^1$/,
  Seccomp: /^2$/,
  links: /^lo $/,
  namespaces: /^refused$/,
}

export function parseFindings(output: string): ReadonlyMap<string, string> {
  return new Map(output.split('\n').map((line) => [line.split('=', 1)[0] ?? '', line.replace(/^[^=]*=/, '')]))
}

/** Describes the first finding that is missing or not as expected; undefined: none. */
export function unexpectedFinding(
  found: ReadonlyMap<string, string>,
  expected: Readonly<Record<string, RegExp>>,
): string | undefined {
  for (const [name, pattern] of Object.entries(expected)) {
    const value = found.get(name)
    if (value === undefined || !pattern.test(value)) return `${name} is '${value ?? 'missing'}'`
  }
  return undefined
}

const SANDBOX_PROBE = `${PROBE}
echo "variables=$(compgen -e | sort | tr '\\n' ' ')"
(: > /usr/turnpike-probe) 2>/dev/null && echo usr=writable || echo usr=read-only
(: > /turnpike-probe) 2>/dev/null && echo root=writable || echo root=read-only
(: > /workspace/probe) 2>/dev/null && echo workspace=writable || echo workspace=read-only
[ -e /etc/shadow ] && echo shadow=there || echo shadow=hidden
[ -e "$1" ] && echo outside=there || echo outside=hidden
set -- /proc/[0-9]*; echo "processes=$#"
set -- /proc/self/fd/*; echo "descriptors=$#"`

const EXPECTED_IN_SANDBOX: Readonly<Record<string, RegExp>> = {
  ...EXPECTED,
  variables: /^(?:(?:HOME|LANG|LOGNAME|PATH|PWD|SHELL|SHLVL|TERM|TMPDIR|USER|_|OLDPWD) )+$/,
  usr: /^read-only$/,
  root: /^read-only$/,
  workspace: /^writable$/,
  shadow: /^hidden$/,
  outside: /^hidden$/,
  processes: new RegExp(`^[1-${MOST_PROCESSES}]$`),
  descriptors: /^[1-4]$/,
}

/** Error messages of bubblewrap and the shell, with their fixes. The first match applies. */
const FIXES: readonly (readonly [RegExp, string])[] = [
  [/bwrap: (?:command )?not found|execute bwrap/, 'Install bubblewrap: apt-get install bubblewrap'],
  [
    /unshare ENOENT|execute setpriv|(?:mount|setpriv): command not found/,
    'Install util-linux: apt-get install util-linux mount',
  ],
  [/ENOENT/, 'Install bash as /usr/bin/bash: apt-get install bash'],
  [/Unknown option/, 'Install bubblewrap 0.8.0 or newer, with the security updates of the distribution.'],
  [
    /RTM_NEWADDR|uid map|apparmor/i,
    'Let bubblewrap make user namespaces: an AppArmor profile for /usr/bin/bwrap with `userns,`, or sysctl kernel.apparmor_restrict_unprivileged_userns=0',
  ],
  [
    /namespace|Operation not permitted|No space left/,
    'Let users make namespaces: sysctl kernel.unprivileged_userns_clone=1 and user.max_user_namespaces above 0; in a container, run it with --security-opt seccomp=unconfined --security-opt apparmor=unconfined',
  ],
  [/Can't mount proc/, 'In a container, run it with --security-opt systempaths=unconfined'],
  [/no filter of system calls/, 'Run agents on a machine with an x86-64 or arm64 processor.'],
]
const LAST_FIX = 'Run `turnpike doctor` as the user of the service on a Linux machine outside of containers.'

/** Never throws. Takes about a tenth of a second. */
export async function selfTest(options: SelfTestOptions = {}): Promise<SelfTestResult> {
  if (process.platform !== 'linux') return failed('The sandbox requires Linux.', 'Run agents on a Linux machine.')
  const folder = mkdtempSync(join(options.folder ?? tmpdir(), 'sandbox-test-'))
  try {
    return await probe(folder, options)
  } catch (error) {
    const reason = reasonOf(error)
    return failed(reason, FIXES.find(([pattern]) => pattern.test(reason))?.[1] ?? LAST_FIX)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function probe(folder: string, { cgroups, searchPath }: SelfTestOptions): Promise<SelfTestResult> {
  const workspace = join(folder, 'workspace')
  makeWorkspace(workspace)
  const sandbox = createSandbox({
    backend: 'bubblewrap',
    workspace,
    cgroups,
    ...(searchPath === undefined ? {} : { searchPath }),
  })
  const argv = ['/bin/bash', '-c', SANDBOX_PROBE, 'probe', folder]
  const result = await sandbox.run({ run: { argv }, timeoutMs: TIMEOUT_MS }, AbortSignal.timeout(TIMEOUT_MS))
  return judge(result)
}

function judge({ stdout, stderr, killed }: ProcessResult): SelfTestResult {
  if (killed !== undefined) return failed(`The test was killed (${killed}). ${stderr}`.trim(), LAST_FIX)
  const unexpected = unexpectedFinding(parseFindings(stdout), EXPECTED_IN_SANDBOX)
  return unexpected === undefined ? { ok: true } : failed(`In the sandbox, ${unexpected}.`, LAST_FIX)
}

function failed(reason: string, fix: string): SelfTestResult {
  return { ok: false, reason, fix }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const cause = error instanceof SandboxFailedError && error.cause !== undefined ? ` ${reasonOf(error.cause)}` : ''
  return `${error.message}${cause}`
}
