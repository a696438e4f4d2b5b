/**
 * Starts commands in a sandbox: an outer shell closes inherited descriptors and waits until its limits are set, bubblewrap
 * builds the sandbox, and an inner shell sets its own limits and is process 1: when it ends, all processes end. It has the
 * seccomp filter like all others. Bubblewrap's own process 1 has none, and could be used to escape the filter.
 */
import { constants, lstatSync, openSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { SystemUser } from './folders.ts'
import type { SandboxLimits } from './limits.ts'

/** Descriptors of the outer shell besides the standard ones, in the order of `stdio`. */
export const FD = { go: 3, status: 4, info: 5, life: 6, first: 7 } as const

const WORKSPACE = '/workspace'
export const HOME = '/home/agent'
export const EGRESS_FOLDER = '/run/turnpike/egress'
export const FORWARDER_NODE = '/run/turnpike/node'
const BASH = '/usr/bin/bash'
/** A folder that exists on every machine; the mount over it is private. */
export const MEETING_FOLDER = '/sys'
/** ID of the only user in the sandbox; outside it is the user who starts the sandbox. */
const INNER_ID = '1000'
/** Opens a file only as a reference. Node has no constant for it; the value is the same on both architectures. */
const O_PATH = 0x200000

/** What bubblewrap receives through a descriptor: the content of a file, or an open file or folder. */
export type Handed = { readonly data: string | Buffer } | { readonly fd: number }

export interface Launch {
  readonly args: readonly string[]
  /** In the order of their descriptors, from `FD.first`. The caller closes open files. */
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
  /** User who builds the sandbox; undefined: the user of this process. */
  readonly user: SystemUser | undefined
  readonly readOnly: readonly ReadOnlyPath[]
  readonly environment: Readonly<Record<string, string>>
  readonly filter: Buffer
  readonly limits: SandboxLimits
  /** The command line in the sandbox. */
  readonly inner: readonly string[]
}

/** Optional: certificates, and the targets of Debian's links to commands and libraries. */
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
const GENERATED: Readonly<Record<string, string>> = {
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

/** @throws if a read-only path cannot be opened; no descriptor stays open then. */
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
    ...Object.entries(GENERATED).flatMap(([path, data]) => ['--ro-bind-data', hand({ data }), path]),
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

/** `/usr`, and links to it; machines without a merged `/usr` have separate folders. */
function systemPaths(): string[] {
  const others = ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'].flatMap((path) => {
    const stats = lstatSync(path, { throwIfNoEntry: false })
    if (stats === undefined) return []
    return stats.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path]
  })
  return ['--ro-bind', '/usr', '/usr', ...others]
}

/** The descriptor stays valid when the path changes later, and for users who cannot enter its folders. */
export function openPath(path: string): number {
  return openSync(path, O_PATH)
}

/** @throws if the folder is a symbolic link. */
export function openFolder(path: string): number {
  return openSync(path, O_PATH | constants.O_NOFOLLOW | constants.O_DIRECTORY)
}

/**
 * The outer shell. `$1`: the last descriptor for bubblewrap. Node does not close all descriptors that it inherited. Node's
 * standard streams are sockets, on which `/dev/stdout` cannot be opened, so `cat` inserts pipes that belong to the user of
 * the sandbox. A guard kills the group if this process dies: bubblewrap would wait forever if its parent dies at its start.
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
 * Runs before bubblewrap as another user, who cannot enter folders of root but may access their contents: it mounts them in
 * a private mount namespace. The descriptors belong to another namespace, so `readlink` finds their paths. `$1`:
 * descriptors.
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

/** Ignores startup files, which bash reads if its standard input is a socket. */
export const SHELL = [BASH, '--norc', '--noprofile', '-c'] as const

export function outerCommand({ args, handed }: Launch, user: SystemUser | undefined): readonly [string, ...string[]] {
  const shell = [...SHELL, OUTER_SCRIPT, 'outer', String(FD.first + handed.length - 1), 'bwrap', ...args] as const
  const descriptors = handed.flatMap((what, index) => ('fd' in what ? [FD.first + index] : []))
  return asUser(user, descriptors, shell)
}

/** Prefixes a command so that it runs as another user, with open files mounted at `MEETING_FOLDER/<descriptor>`. */
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
 * The inner shell. It reports that the sandbox is ready, and continues only after a confirmation: from then on bubblewrap
 * dies with the process that started it. `$1`: working directory; `$2`: our own shell code, which runs before.
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

/** Stricter limits stay: `ulimit` cannot raise them. Processes are counted within this sandbox. */
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
  return `exec 5< <(exec ${node.join(' ')} 3<&-)\nread -r _ <&5 || { echo 'The network proxy did not start.' >&2; exit 125; }\nexec 5<&-`
}

export function folderInside(cwd: string | undefined): string {
  return join(WORKSPACE, cwd ?? '')
}
