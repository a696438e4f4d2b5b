/**
 * How a command gets into its sandbox: a shell outside closes what this process inherited and waits until it has been
 * bounded, bubblewrap builds the sandbox, a shell inside bounds itself and is process 1 of everything that follows. Its
 * end is the end of all of it. Process 1 has the filter of system calls like all others: bubblewrap's own would not, and
 * whoever may write to its memory would be rid of the filter.
 */
import { constants, lstatSync, openSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { SystemUser } from './folders.ts'
import type { SandboxLimits } from './limits.ts'

/** Descriptors of the shell outside beyond the standard ones, in the order of `stdio`. */
export const FD = { go: 3, status: 4, info: 5, life: 6, first: 7 } as const

const WORKSPACE = '/workspace'
export const HOME = '/home/agent'
export const EGRESS_FOLDER = '/run/turnpike/egress'
export const FORWARDER_NODE = '/run/turnpike/node'
const BASH = '/usr/bin/bash'
/** A folder of all machines in which nobody keeps anything. What is there for others stays. */
export const MEETING_FOLDER = '/sys'
/** Of the only user inside; outside it is whoever starts the sandbox. */
const INNER_ID = '1000'
/** Opens a file for nothing but to say which one it is. Node does not name it; the same on both machines. */
const O_PATH = 0x200000

/** What comes to bubblewrap through a descriptor: the text of a file, or an open file or folder. */
export type Handed = { readonly data: string | Buffer } | { readonly fd: number }

export interface Launch {
  readonly args: readonly string[]
  /** In the order of their descriptors, from `FD.first`. Open files are the caller's to close. */
  readonly handed: readonly Handed[]
}

export interface ReadOnlyPath {
  /** On this machine; a file or a folder. */
  readonly from: string
  /** In the sandbox; absolute. */
  readonly to: string
}

export interface LaunchOptions {
  /** An open folder. */
  readonly workspaceFd: number
  /** Whoever builds the sandbox, if not the user of this process. */
  readonly user: SystemUser | undefined
  readonly readOnly: readonly ReadOnlyPath[]
  readonly environment: Readonly<Record<string, string>>
  readonly filter: Buffer
  readonly limits: SandboxLimits
  /** Put in front of the command, which it starts. */
  readonly inner: readonly string[]
}

/** Whether a machine has it or not, it is not missed: certificates, and where Debian's commands and libraries lead. */
const FROM_ETC = [
  '/etc/alternatives',
  '/etc/ld.so.cache',
  '/etc/ld.so.conf',
  '/etc/ld.so.conf.d',
  '/etc/ssl/certs',
  '/etc/ssl/openssl.cnf',
  '/etc/pki/tls/certs',
  '/etc/pki/ca-trust/extracted',
  '/etc/localtime',
]
const OF_OUR_OWN: Readonly<Record<string, string>> = {
  '/etc/passwd': `agent:x:${INNER_ID}:${INNER_ID}:agent:${HOME}:/bin/bash\nnobody:x:65534:65534:nobody:/:/bin/false\n`,
  '/etc/group': `agent:x:${INNER_ID}:\nnogroup:x:65534:\n`,
  '/etc/hosts': '127.0.0.1 localhost sandbox\n::1 localhost\n',
  '/etc/nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
  '/etc/resolv.conf': '',
}
const SHARED_MEMORY_BYTES = 64 * 1024 * 1024

const ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: '/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin',
  HOME,
  USER: 'agent',
  LOGNAME: 'agent',
  SHELL: '/bin/bash',
  LANG: 'C.UTF-8',
  TERM: 'dumb',
  TMPDIR: '/tmp',
}

/** @throws what opening a read-only path throws; then nothing is left open. */
export function launch(options: LaunchOptions): Launch {
  const { limits, environment } = options
  const handed: Handed[] = []
  const hand = (what: Handed): string => String(FD.first + handed.push(what) - 1)
  const bind = (flag: string, fd: number, to: string): string[] => {
    const number = hand({ fd })
    return options.user === undefined ? [`${flag}-fd`, number, to] : [flag, `${MEETING_FOLDER}/${number}`, to]
  }
  const args = [
    ...['--unshare-all', '--unshare-user', '--disable-userns', '--new-session', '--die-with-parent', '--as-pid-1'],
    ...['--cap-drop', 'ALL', '--clearenv', '--uid', INNER_ID, '--gid', INNER_ID, '--hostname', 'sandbox'],
    ...['--info-fd', String(FD.info), '--seccomp', hand({ data: options.filter })],
    ...systemPaths(),
    ...FROM_ETC.flatMap((path) => ['--ro-bind-try', path, path]),
    ...Object.entries(OF_OUR_OWN).flatMap(([path, data]) => ['--ro-bind-data', hand({ data }), path]),
    ...['--proc', '/proc', '--dev', '/dev', '--remount-ro', '/dev'],
    ...tmpfs('/dev/shm', SHARED_MEMORY_BYTES),
    ...tmpfs('/tmp', limits.scratchBytes),
    ...tmpfs(HOME, limits.scratchBytes),
    ...bind('--bind', options.workspaceFd, WORKSPACE),
    ...options.readOnly.flatMap(({ from, to }) => bind('--ro-bind', openPath(from), to)),
    ...['--remount-ro', '/'],
    ...Object.entries({ ...ENVIRONMENT, ...environment }).flatMap(([name, value]) => ['--setenv', name, value]),
    ...['--chdir', WORKSPACE, '--', ...options.inner],
  ]
  return { args, handed }
}

function tmpfs(path: string, bytes: number): string[] {
  return ['--size', String(bytes), '--tmpfs', path]
}

/** `/usr`, and what leads there; machines that have not merged the two have folders of their own. */
function systemPaths(): string[] {
  const others = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'].flatMap((path) => {
    const stats = lstatSync(path, { throwIfNoEntry: false })
    if (stats === undefined) return []
    return stats.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path]
  })
  return ['--ro-bind', '/usr', '/usr', ...others]
}

/** What is opened here stays what it is, also when its path leads elsewhere later, or only this process may follow it. */
export function openPath(path: string): number {
  return openSync(path, O_PATH)
}

/** @throws where the folder itself is a link. */
export function openFolder(path: string): number {
  return openSync(path, O_PATH | constants.O_NOFOLLOW | constants.O_DIRECTORY)
}

/**
 * The shell outside. `$1`: the last descriptor that bubblewrap is to have. Node closes few of those that were open when it
 * was started itself. Its own ends of standard input and output are sockets, which `/dev/stdout` cannot be opened on:
 * `cat` puts pipes in between, which belong to whoever is to open them. A guard ends the group when this process is gone
 * without a word: bubblewrap, whose parent may die while it starts, would wait for it for ever.
 */
const OUTER_SCRIPT = `
last=$1; shift
close_above() { local f; for f in /proc/self/fd/*; do f=\${f##*/}; if ((f > $1)); then eval "exec $f>&-"; fi; done; }
close_above "$last"
read -r _ <&${FD.go} || exit 125
(exec ${FD.go}<&- ${FD.status}>&- ${FD.info}>&- > /dev/null 2>&1 < /dev/null; close_above ${FD.life}; read -r _ <&${FD.life} || kill -9 -- -$$) &
exec 0< <(close_above 2; exec cat) 1> >(close_above 2; exec cat) 2> >(close_above 2; exec cat >&2)
close_above "$last"
exec "$@"`

/**
 * Before it, where bubblewrap is to be another user. That one may not walk to folders that are root's alone, though it may
 * have what is in them: it finds them in a place of its own, in mounts that nobody else sees and that end with it. What
 * was opened belongs to the mounts of others, so it is found by its path as the kernel knows it. `$1`: descriptors.
 */
const MOUNTS_SCRIPT = `
mounts=$1; shift
mount -t tmpfs -o size=1m,mode=711 tmpfs ${MEETING_FOLDER} || exit 125
for n in $mounts; do
  at=${MEETING_FOLDER}/$n
  if [ -d "/proc/self/fd/$n" ]; then mkdir "$at"; else : > "$at"; fi
  mount --no-canonicalize --bind -- "$(readlink "/proc/self/fd/$n")" "$at" || exit 125
done
exec "$@"`

/** Without the files that a shell reads when it takes a socket for somebody who has come over the network. */
export const SHELL = [BASH, '--norc', '--noprofile', '-c'] as const

export function outerCommand({ args, handed }: Launch, user: SystemUser | undefined): readonly [string, ...string[]] {
  const shell = [...SHELL, OUTER_SCRIPT, 'outer', String(FD.first + handed.length - 1), 'bwrap', ...args] as const
  const descriptors = handed.flatMap((what, index) => ('fd' in what ? [FD.first + index] : []))
  return asUser(user, descriptors, shell)
}

/** Puts before a command what makes it another user's, who finds open files at `MEETING_FOLDER/<descriptor>`. */
export function asUser(
  user: SystemUser | undefined,
  descriptors: readonly number[],
  command: readonly [string, ...string[]],
): readonly [string, ...string[]] {
  if (user === undefined) return command
  const become = ['setpriv', `--reuid=${user.uid}`, `--regid=${user.gid}`, '--clear-groups', '--no-new-privs']
  const apart = ['unshare', '--mount', '--propagation', 'private'] as const
  return [...apart, ...SHELL, MOUNTS_SCRIPT, 'mounts', descriptors.join(' '), ...become, ...command]
}

/**
 * The shell inside. It says when the sandbox stands, and begins only if whoever started it is still there to be asked:
 * from then on bubblewrap dies with it. `$1`: folder to begin in; `$2`: shell code to run before, of our own.
 */
const INNER_SCRIPT = `
folder=$1; prepare=$2; shift 2
for f in /proc/self/fd/*; do f=\${f##*/}; if ((f > ${FD.status})); then eval "exec $f>&-"; fi; done
echo ready >&${FD.status}
read -r _ <&${FD.go} || exit 125
exec ${FD.go}<&- ${FD.status}>&-
eval "$prepare"
cd -- "$folder" || exit 126
unset OLDPWD f folder prepare
exec 9>&2 2>/dev/null
"$@" 2>&9 9>&-
exit $?`

export function innerShell(prepare: string, folder: string, argv: readonly string[]): string[] {
  return [...SHELL, INNER_SCRIPT, 'sandbox', folder, prepare, ...argv]
}

/** A bound that is stricter already stays; `ulimit` refuses to raise it. Processes count from within this sandbox. */
export function boundsScript(limits: SandboxLimits, timeoutMs: number): string {
  const kibibytes = (bytes: number): number => Math.ceil(bytes / 1024)
  const bounds: Readonly<Record<string, number>> = {
    c: 0,
    n: limits.openFiles,
    f: kibibytes(limits.workspaceBytes),
    d: kibibytes(limits.memoryBytes),
    t: Math.ceil(timeoutMs / 1000) * limits.cpus + 1,
    u: limits.processes,
  }
  return Object.entries(bounds)
    .map(([flag, value]) => `ulimit -${flag} ${value} 2>/dev/null`)
    .join('\n')
}

/** Starts the forwarder to the egress proxy, and waits until it listens. */
export function forwarderScript(source: string): string {
  const node = [
    FORWARDER_NODE,
    '--max-old-space-size=64',
    '--v8-pool-size=1',
    '-e',
    `'${source.replaceAll("'", `'\\''`)}'`,
  ]
  return `exec 5< <(exec ${node.join(' ')} 3<&-)\nread -r _ <&5 || { echo 'The way to the network did not open.' >&2; exit 125; }\nexec 5<&-`
}

export function folderInside(cwd: string | undefined): string {
  return join(WORKSPACE, cwd ?? '')
}
