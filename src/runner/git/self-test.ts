/**
 * Tests on this machine whether git's jail isolates: a probe runs in it as git does, with the route of a remote. Agents are
 * off if it has a capability, an incomplete seccomp filter, or access to files of the service by path or handle, or to
 * services on loopback.
 */
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FORWARDER_PORT } from '../sandbox/egress.ts'
import { makeWorkspace } from '../sandbox/folders.ts'
import {
  PROBE as COMMON_PROBE,
  EXPECTED,
  parseFindings,
  type SelfTestResult,
  unexpectedFinding,
} from '../sandbox/self-test.ts'
import { GitError } from './error.ts'
import { gitText } from './process.ts'
import type { GitSettings } from './settings.ts'

export interface GitSelfTestOptions {
  /** Files of the service that git must not see, such as the secret of the installation. */
  readonly secrets?: readonly string[]
  readonly folder?: string
}

const TIMEOUT_MS = 20_000
/** Number of `open_by_handle_at`, by `process.arch`. */
const BY_HANDLE: Readonly<Record<string, number>> = { x64: 304, arm64: 265 }
/** Opens a handle in the form of ext4, of the file system's root folder. Without the right the call fails before it reads it. */
const HANDLE_CALL = `my $h = pack("LLLL", 8, 1, 2, 0); opendir(my $d, $ARGV[1]) or exit; my $f = syscall($ARGV[0], fileno($d), $h, 0);
print $f >= 0 ? "opened" : $! + 0`

/** Arguments: port of a service, number of a system call, files to look for. */
const PROBE = `port=$1; call=$2; shift 2
${COMMON_PROBE}
echo "first=$(grep -h ^Seccomp: /proc/1/status | tr -d '\\t')"
files=hidden; for f in /etc/shadow "$@"; do if [ -e "$f" ]; then files="$f"; fi; done; echo "files=$files"
(exec 5<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && echo loopback=reached || echo loopback=refused
exec 5<>/dev/tcp/127.0.0.1/${FORWARDER_PORT}
printf 'CONNECT 127.0.0.1:%s HTTP/1.1\\r\\nhost: x\\r\\n\\r\\n' "$port" >&5; read -r _ answer _ <&5; echo "relay=$answer"
: > "$GIT_WORK_TREE/probe"; chmod u+s "$GIT_WORK_TREE/probe" 2>/dev/null && echo bits=allowed || echo bits=refused
if command -v perl > /dev/null; then echo "handle=$(perl -e '${HANDLE_CALL}' "$call" "$GIT_DIR")"; else echo handle=untried; fi`

const EXPECTED_IN_JAIL: Readonly<Record<string, RegExp>> = {
  ...EXPECTED,
  first: /^Seccomp:2$/,
  files: /^hidden$/,
  loopback: /^refused$/,
  relay: /^403$/,
  bits: /^refused$/,
  handle: /^(?:1|untried)$/, // EPERM; without perl, the other findings decide
}
const FIX = 'Run `turnpike doctor` as the user of the service on a Linux machine outside of containers.'

/** Never throws. Takes about a third of a second. */
export async function testGitJail(settings: GitSettings, options: GitSelfTestOptions = {}): Promise<SelfTestResult> {
  const folder = mkdtempSync(join(options.folder ?? tmpdir(), 'git-test-'))
  let hits = 0
  const service = createServer((socket) => socket.destroy()).on('connection', () => hits++)
  try {
    service.listen(0, '127.0.0.1')
    await once(service, 'listening')
    const { port } = service.address() as AddressInfo // it listens on a port
    const found = await probe(settings, { folder, port, secrets: options.secrets ?? [] })
    return hits === 0 ? judge(found, settings) : failed('git reached a service of this machine')
  } catch (error) {
    return failed(error instanceof GitError ? error.detail : String(error))
  } finally {
    service.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Probe {
  readonly folder: string
  readonly port: number
  readonly secrets: readonly string[]
}

async function probe(settings: GitSettings, { folder, port, secrets }: Probe): Promise<string> {
  const [gitDirectory, workspace, secret] = [join(folder, 'git'), join(folder, 'workspace'), join(folder, 'secret')]
  writeFileSync(secret, 'canary', { mode: 0o600 })
  for (const path of [gitDirectory, workspace]) makeWorkspace(path, settings.user)
  return await gitText({
    ...{ settings, gitDirectory, workspace, program: '/bin/bash', timeoutMs: TIMEOUT_MS },
    signal: AbortSignal.timeout(TIMEOUT_MS),
    args: ['-c', PROBE, 'probe', String(port), String(BY_HANDLE[process.arch]), secret, ...secrets],
    connection: {
      ...{ transport: 'https', url: 'https://git.invalid/', config: [], addresses: [] },
      ...{ localPath: undefined, credential: undefined, isPush: false },
    },
  })
}

function judge(output: string, { user }: GitSettings): SelfTestResult {
  const found = parseFindings(output)
  const uid = user?.uid ?? process.getuid?.()
  if (uid === 0 || found.get('Uid')?.split('\t')[0] !== String(uid)) return failed(`it is user ${found.get('Uid')}`)
  const unexpected = unexpectedFinding(found, EXPECTED_IN_JAIL)
  return unexpected === undefined ? { ok: true } : failed(unexpected)
}

function failed(reason: string): SelfTestResult {
  return { ok: false, reason: `The jail of git does not isolate: ${reason}`, fix: FIX }
}

/** Oldest supported version: with fixed addresses, sizes in lists of files, and the security fixes of May 2024. */
const OLDEST: readonly [number, number, number] = [2, 39, 4]

type GitCheck =
  | { readonly ok: true; readonly version: string }
  | { readonly ok: false; readonly reason: string; readonly fix: string }

/** Checks the version of git: an older one would ignore settings that it does not know. */
export async function checkGit(settings: GitSettings, signal: AbortSignal): Promise<GitCheck> {
  const place = { gitDirectory: '/nonexistent', workspace: '/nonexistent' }
  const call = { ...place, settings: { ...settings, confine: false }, signal, args: ['--version'] }
  try {
    const version = /(\d+)\.(\d+)\.(\d+)/.exec(await gitText(call))
    const [name = 'of unknown version', ...parts] = version ?? []
    if (isEnough(parts.map(Number))) return { ok: true, version: name }
    return { ok: false, reason: `git is ${name}`, fix: `install git ${OLDEST.join('.')} or newer` }
  } catch (error) {
    if (!(error instanceof GitError)) throw error
    return { ok: false, reason: 'git is not installed', fix: 'install git: apt-get install git' }
  }
}

export function isEnough(version: readonly number[]): boolean {
  const differing = OLDEST.findIndex((part, index) => part !== version[index])
  return differing === -1 || (version[differing] ?? -1) > (OLDEST[differing] ?? 0)
}
