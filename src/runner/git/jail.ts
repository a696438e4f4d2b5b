/**
 * Starts git so that nothing in a repository, a work tree or this machine's settings makes it do more than requested: its
 * own environment, every setting off that could run a program or open a connection, limits on files and memory, and
 * bubblewrap: an unprivileged user, no capabilities, the seccomp filter of agents' commands, its own network namespace.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync } from 'node:fs'
import type { Duplex } from 'node:stream'
import type { SystemUser } from '../sandbox/folders.ts'
import { asUser, MEETING_FOLDER, openPath, type ReadOnlyPath, SHELL } from '../sandbox/launch.ts'
import { sandboxFilter } from '../sandbox/seccomp.ts'
import type { GitCredential } from './settings.ts'

/** The folders of a run's repository. Only git writes the git directory; the agent's commands see it read-only. */
export interface GitPaths {
  readonly gitDirectory: string
  readonly workspace: string
}

/** The remote of a call, and how to connect to it. */
export interface GitConnection {
  readonly transport: 'https' | 'http' | 'file'
  readonly url: string
  readonly config: readonly string[]
  /** Checked addresses of the server; none for a repository of this machine. */
  readonly addresses: readonly string[]
  readonly localPath: string | undefined
  readonly credential: GitCredential | undefined
  readonly isPush: boolean
}

const SEARCH_PATH = '/usr/local/bin:/usr/bin:/bin'
const NOWHERE = '/nonexistent'
/** Descriptor from which the helper reads the credential, which is never in arguments, environment or a file. */
export const CREDENTIAL_FD = 3

const SETTINGS: readonly string[] = [
  // Programs that a setting, a hook or an attribute could start.
  'core.hooksPath=/dev/null',
  'core.fsmonitor=false',
  'core.sshCommand=false',
  'core.pager=cat',
  'core.editor=false',
  'core.alternateRefsCommand=false',
  'core.attributesFile=/dev/null',
  'core.excludesFile=/dev/null',
  'credential.helper=',
  'gc.auto=0',
  'maintenance.auto=false',
  // Nested repositories.
  'safe.bareRepository=explicit',
  'submodule.recurse=false',
  'fetch.recurseSubmodules=false',
  'push.recurseSubmodules=no',
  'diff.ignoreSubmodules=all',
  'status.submoduleSummary=false',
  // Connections.
  'protocol.allow=never',
  'http.followRedirects=false',
  'http.sslVerify=true',
  'http.lowSpeedLimit=100',
  'http.lowSpeedTime=60',
  'transfer.bundleURI=false',
  // Received objects.
  'transfer.fsckObjects=true',
  'fetch.fsckObjects=true',
  'fetch.unpackLimit=1',
  // Harmless defects of old tools, in the history of well-known repositories.
  'fetch.fsck.zeroPaddedFilemode=ignore',
  'fetch.fsck.badTimezone=ignore',
  'fetch.fsck.missingSpaceBeforeDate=ignore',
  // Contents unchanged, symbolic links as links, no name that another system resolves to `.git`.
  'core.symlinks=true',
  'core.protectHFS=true',
  'core.protectNTFS=true',
  'core.autocrlf=false',
  'core.safecrlf=false',
  'core.quotePath=true',
  'core.checkStat=default',
  'core.untrackedCache=false',
  'core.splitIndex=false',
  // Memory and CPU.
  'core.bigFileThreshold=16m',
  'core.packedGitLimit=256m',
  'pack.windowMemory=64m',
  'pack.threads=1',
  'index.threads=1',
]

/** Arguments before git's command. */
export function settingArguments(connection: GitConnection | undefined, caFile: string | undefined): readonly string[] {
  const settings = [...SETTINGS, ...(connection === undefined ? [] : connectionSettings(connection, caFile))]
  return settings.flatMap((setting) => ['-c', setting])
}

function connectionSettings(connection: GitConnection, caFile: string | undefined): readonly string[] {
  const settings = [`protocol.${connection.transport}.allow=always`, ...connection.config]
  if (caFile !== undefined) settings.push(`http.sslCAInfo=${caFile}`)
  if (connection.credential === undefined) return settings
  // Git appends the word `get`, which becomes a shell comment. Limited to this server, so that no other receives it.
  const { origin } = new URL(connection.url)
  return [...settings, `credential.${origin}.helper=!cat <&${CREDENTIAL_FD} #`]
}

/** The whole environment of git. */
export function environmentOf(place: GitPaths, connection: GitConnection | undefined): Record<string, string> {
  return {
    ...CLEAN,
    GIT_DIR: place.gitDirectory,
    GIT_WORK_TREE: place.workspace,
    GIT_LITERAL_PATHSPECS: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_ALLOW_PROTOCOL: connection?.transport ?? 'none',
  }
}

/** Ignores the settings of this machine. */
const CLEAN = {
  PATH: SEARCH_PATH,
  HOME: NOWHERE, // curl reads `.netrc` there
  XDG_CONFIG_HOME: NOWHERE,
  LC_ALL: 'C',
  TZ: 'UTC',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_SYSTEM: '/dev/null',
  GIT_ATTR_NOSYSTEM: '1',
  GIT_TERMINAL_PROMPT: '0',
} as const

/** Environment of the git process that serves a repository of this machine. */
export const SERVER_ENVIRONMENT: Readonly<Record<string, string>> = { ...CLEAN, GIT_PROTOCOL: 'version=2' }

const FILE_BLOCK_BYTES = 512
const LIMITS = 'umask 022 && ulimit -c 0 && ulimit -f "$1" && ulimit -v "$2" && shift 2 && exec "$@"'

/** Arguments of a shell that sets the limits and executes the command, without a jail. */
export function limitArguments(limits: JailLimits): readonly string[] {
  const blocks = Math.ceil(limits.fileBytes / FILE_BLOCK_BYTES)
  return ['-c', LIMITS, 'git', String(blocks), String(Math.ceil(limits.memoryBytes / 1024))]
}

export interface JailLimits {
  /** Maximum size of a written file. */
  readonly fileBytes: number
  /** Maximum address space of a process. */
  readonly memoryBytes: number
}

export interface Jail {
  readonly argv: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  /** Undefined: the user of this process. */
  readonly user: SystemUser | undefined
  /** Writable folders of this machine, under the same paths. */
  readonly writable: readonly string[]
  readonly readOnly: readonly ReadOnlyPath[]
  /** Our own shell code, which runs in the jail before the command. */
  readonly prepare: string
  /** Whether it can connect to Unix sockets: that of its relay. */
  readonly unixSockets: boolean
  readonly hasCredential: boolean
  readonly hasPeer: boolean
  readonly limits: JailLimits
}

/** Descriptors in the jail, besides the standard ones. Others are closed before the command runs. */
const FD = { credential: CREDENTIAL_FD, fromPeer: 4, toPeer: 5, filter: 6, first: 7 } as const
/** Programs of the system, and its certificate authorities. */
const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/etc/ssl', '/etc/pki', '/etc/ca-certificates']
const SCRATCH_BYTES = 64 * 1024 * 1024

/**
 * Process 1 of the jail: when it ends, all others end. `$1`: the last descriptor to keep, `$2`: code to run before, `$3`,
 * `$4`: limits in KiB. Files of git are readable by others, as usual for a repository; parent folders deny access.
 */
const INNER_SCRIPT = `
last=$1; prepare=$2; files=$3; memory=$4; shift 4
for f in /proc/self/fd/*; do f=\${f##*/}; if ((f > last)); then eval "exec $f>&-"; fi; done
eval "$prepare"
umask 022; ulimit -c 0; ulimit -f "$files"; ulimit -v "$memory"
exec 9>&2 2>/dev/null
"$@" 2>&9 9>&-
exit $?`

/** Starts the command in its own process group. Descriptor 3 is the credential's pipe; 4 and 5 are those of the peer. */
export function startInJail(jail: Jail): ChildProcess {
  const shown = [...jail.writable.map((path) => ({ from: path, to: path })), ...jail.readOnly]
  const open: number[] = []
  try {
    for (const { from } of shown) open.push(openPath(from))
    const descriptors = open.map((_, index) => FD.first + index)
    const [program, ...args] = asUser(jail.user, descriptors, ['bwrap', ...bwrapArguments(jail, shown)])
    const child = spawn(program, args, {
      cwd: '/',
      env: jail.environment,
      detached: true, // a process group of its own, which can be killed as a whole
      stdio: [
        ...(['pipe', 'pipe', 'pipe'] as const),
        jail.hasCredential ? 'pipe' : 'ignore',
        ...(jail.hasPeer ? (['pipe', 'pipe'] as const) : (['ignore', 'ignore'] as const)),
        'pipe',
        ...open,
      ],
    })
    const filter = pipeOf(child, FD.filter)
    filter.on('error', () => undefined) // its end is reported separately
    filter.end(filterOf(jail))
    return child
  } finally {
    for (const fd of open) closeSync(fd)
  }
}

function filterOf({ unixSockets }: Jail): Buffer {
  return sandboxFilter({ arch: process.arch, unixSockets, hiddenMemory: false })
}

function bwrapArguments(jail: Jail, shown: readonly ReadOnlyPath[]): readonly string[] {
  const { limits, writable, hasPeer, hasCredential, prepare } = jail
  const last = hasPeer ? FD.toPeer : hasCredential ? FD.credential : 2
  const kibibytes = (bytes: number): string => String(Math.ceil(bytes / 1024))
  const inner = [last, prepare, kibibytes(limits.fileBytes), kibibytes(limits.memoryBytes)].map(String)
  return [
    ...['--unshare-all', '--unshare-user', '--disable-userns', '--new-session', '--die-with-parent', '--as-pid-1'],
    ...['--cap-drop', 'ALL', '--seccomp', String(FD.filter)],
    ...['--proc', '/proc', '--dev', '/dev', '--remount-ro', '/dev', '--size', String(SCRATCH_BYTES), '--tmpfs', '/tmp'],
    ...SYSTEM.flatMap((path) => ['--ro-bind-try', path, path]),
    ...shown.flatMap(({ to }, index) => bind(jail, FD.first + index, { to, isWritable: index < writable.length })),
    ...['--remount-ro', '/', '--chdir', '/', '--', ...SHELL, INNER_SCRIPT, 'jail', ...inner, ...jail.argv],
  ]
}

/** Another user cannot enter folders of the service: `asUser` mounts them elsewhere. */
function bind({ user }: Jail, fd: number, { to, isWritable }: { to: string; isWritable: boolean }): string[] {
  const flag = isWritable ? '--bind' : '--ro-bind'
  return user === undefined ? [`${flag}-fd`, String(fd), to] : [flag, `${MEETING_FOLDER}/${fd}`, to]
}

/** Shell code for the client: connects named pipes with the peer, so that each side notices the end of the other. */
export const PEER_PREPARE = `mkfifo /tmp/from-peer /tmp/to-peer
cat <&${FD.fromPeer} > /tmp/from-peer ${FD.toPeer}>&- &
cat < /tmp/to-peer >&${FD.toPeer} ${FD.fromPeer}<&- &
exec ${FD.fromPeer}<&- ${FD.toPeer}>&-`
/** The program that git runs instead of `upload-pack` or `receive-pack`. It ignores its argument, a path. */
export const PEER_PROGRAM = `sh -c 'exec 6<&0; cat <&6 > /tmp/to-peer & exec cat < /tmp/from-peer 6<&-' peer`

/** Connects the client in one jail with the server in another. */
export function connectPeers(client: ChildProcess, server: ChildProcess): void {
  const [toClient, fromClient] = [pipeOf(client, FD.fromPeer), pipeOf(client, FD.toPeer)]
  for (const stream of [toClient, fromClient, server.stdin, server.stdout]) stream?.on('error', () => undefined)
  server.stdout?.pipe(toClient)
  if (server.stdin !== null) fromClient.pipe(server.stdin)
}

function pipeOf(child: ChildProcess, fd: number): Duplex {
  return child.stdio[fd] as Duplex // Node makes every pipe duplex
}

/** Kills a process and its group; the processes of its jail end with it. */
export function endGroup({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {
    // The group has ended already.
  }
}
