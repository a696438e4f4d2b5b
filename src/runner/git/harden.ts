/**
 * How git is started so that nothing in a repository, a work tree, or this machine's settings makes it do more than asked:
 * an environment of its own, every setting that could run a program or open a connection off, limits on what it may write
 * and hold in memory, and, where bubblewrap holds, a view of the machine with nothing in it but git and the run.
 */
import type { GitCredential } from './credential.ts'

/** What a repository of a run consists of. The git directory is for git alone: the agent's commands see it read-only. */
export interface GitPlace {
  readonly gitDirectory: string
  readonly workspace: string
}

/** Where a call goes over the network, and with what. */
export interface GitConnection {
  readonly transport: 'https' | 'http' | 'file'
  readonly url: string
  readonly config: readonly string[]
  readonly localPath: string | undefined
  readonly credential: GitCredential | undefined
  readonly isPush: boolean
}

export interface Confinement {
  readonly isConfined: boolean
  readonly isSystemRoot: boolean
  /** PEM file of the authorities to trust instead of the usual ones. */
  readonly caFile: string | undefined
}

const SEARCH_PATH = '/usr/local/bin:/usr/bin:/bin'
const NOWHERE = '/nonexistent'
/** Where the helper reads the credential. It is never in arguments, environment or a file. */
export const CREDENTIAL_FD = 3

const SETTINGS: readonly string[] = [
  // Programs that a setting, a hook or an attribute could name.
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
  // Repositories within the repository.
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
  // What comes in.
  'transfer.fsckObjects=true',
  'fetch.fsckObjects=true',
  'fetch.unpackLimit=1',
  // Old mistakes of honest tools, harmless, and in the history of well-known repositories.
  'fetch.fsck.zeroPaddedFilemode=ignore',
  'fetch.fsck.badTimezone=ignore',
  'fetch.fsck.missingSpaceBeforeDate=ignore',
  // Paths and bytes: as they are, symbolic links as links, no name that another system takes for `.git`.
  'core.symlinks=true',
  'core.protectHFS=true',
  'core.protectNTFS=true',
  'core.autocrlf=false',
  'core.safecrlf=false',
  'core.quotePath=true',
  'core.checkStat=default',
  'core.untrackedCache=false',
  'core.splitIndex=false',
  // Memory and processors.
  'core.bigFileThreshold=16m',
  'core.packedGitLimit=256m',
  'pack.windowMemory=64m',
  'pack.threads=1',
  'index.threads=1',
]

/** In the order of `git [settings] command`. */
export function settingArguments(connection: GitConnection | undefined, caFile: string | undefined): readonly string[] {
  const settings = [...SETTINGS, ...(connection === undefined ? [] : connectionSettings(connection, caFile))]
  return settings.flatMap((setting) => ['-c', setting])
}

function connectionSettings(connection: GitConnection, caFile: string | undefined): readonly string[] {
  const settings = [`protocol.${connection.transport}.allow=always`, ...connection.config]
  if (caFile !== undefined) settings.push(`http.sslCAInfo=${caFile}`)
  if (connection.credential === undefined) return settings
  // Git adds the word `get` to it, which the shell takes as a comment. Of this server, so that no other is ever told.
  const { origin } = new URL(connection.url)
  return [...settings, `credential.${origin}.helper=!cat <&${CREDENTIAL_FD} #`]
}

/** Everything that git finds in its environment. */
export function environmentOf(place: GitPlace, connection: GitConnection | undefined): Record<string, string> {
  return {
    PATH: SEARCH_PATH,
    HOME: NOWHERE, // where curl would look for `.netrc`
    XDG_CONFIG_HOME: NOWHERE,
    LC_ALL: 'C',
    TZ: 'UTC',
    GIT_DIR: place.gitDirectory,
    GIT_WORK_TREE: place.workspace,
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_CONFIG_SYSTEM: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_LITERAL_PATHSPECS: '1',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_ALLOW_PROTOCOL: connection?.transport ?? 'none',
  }
}

/** The programs of the system, and of its settings the authorities of certificates alone. */
const SYSTEM = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/etc/ssl', '/etc/pki', '/etc/ca-certificates']

/**
 * Commands of a service that is root run as another user, whose files root alone can read where they are closed to others:
 * in the system's own space of users, and with this right alone. Anybody else is their user, in a space of its own.
 */
const READ_ALL = ['--cap-add', 'CAP_DAC_READ_SEARCH']

/**
 * What stands before `git` in the command. Its processes are in a space of their own, which ends with the first of them,
 * and that one with us; there is no name server and, for what needs no connection, no network.
 */
export function confinementArguments(
  place: GitPlace,
  connection: GitConnection | undefined,
  { isConfined, isSystemRoot, caFile }: Confinement,
): readonly string[] {
  if (!isConfined) return []
  const needsNetwork = connection !== undefined && connection.transport !== 'file'
  const system = caFile === undefined ? SYSTEM : [...SYSTEM, caFile]
  return [
    ...['bwrap', '--unshare-ipc', '--unshare-pid', '--unshare-uts', '--unshare-cgroup-try'],
    ...['--die-with-parent', '--new-session', '--cap-drop', 'ALL', ...(isSystemRoot ? READ_ALL : ['--unshare-user'])],
    ...(needsNetwork ? [] : ['--unshare-net']),
    ...['--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp'],
    ...system.flatMap((path) => ['--ro-bind-try', path, path]),
    ...localBinding(connection),
    ...['--bind', place.gitDirectory, place.gitDirectory, '--bind', place.workspace, place.workspace],
    ...['--chdir', '/', '--'],
  ]
}

function localBinding(connection: GitConnection | undefined): readonly string[] {
  if (connection?.localPath === undefined) return []
  return [connection.isPush ? '--bind-try' : '--ro-bind-try', connection.localPath, connection.localPath]
}

const FILE_BLOCK_BYTES = 512
const LIMITS = 'umask 022 && ulimit -c 0 && ulimit -f "$1" && ulimit -v "$2" && shift 2 && exec "$@"'

/**
 * A shell, which sets the limits and becomes the command: a pack or an object beyond them ends git, not this machine. What
 * git writes may be read by others, since the agent's commands may be another user's; folders above keep all else out.
 */
export function limitArguments(limits: {
  readonly fileBytes: number
  readonly memoryBytes: number
}): readonly string[] {
  const blocks = Math.ceil(limits.fileBytes / FILE_BLOCK_BYTES)
  return ['-c', LIMITS, 'git', String(blocks), String(Math.ceil(limits.memoryBytes / 1024))]
}
