/**
 * Finds the external programs that tests need. As root on Debian it installs missing ones; otherwise the error names the
 * command that does.
 */
import { execFileSync } from 'node:child_process'
import { accessSync, constants, globSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'

interface Tool {
  /** Alternative names. */
  readonly programs: readonly string[]
  /** Slower programs that do as well. */
  readonly substitutes?: readonly string[]
  /** Patterns of folders in addition to `PATH`; the highest version wins. */
  readonly folders: readonly string[]
  /** Debian packages. */
  readonly packages: readonly string[]
}

export const TOOLS = {
  postgres: { programs: ['initdb'], folders: ['/usr/lib/postgresql/*/bin'], packages: ['postgresql'] },
  redis: { programs: ['redis-server', 'valkey-server'], folders: [], packages: ['redis-server'] },
  // The same browser without windows: it takes 40 % less processor time.
  chromium: {
    programs: ['chromium-headless-shell'],
    substitutes: ['chromium'],
    folders: [],
    packages: ['chromium-headless-shell', 'fonts-liberation'],
  },
  git: { programs: ['git'], folders: [], packages: ['git'] },
  bubblewrap: { programs: ['bwrap'], folders: [], packages: ['bubblewrap'] },
  curl: { programs: ['curl'], folders: [], packages: ['curl'] },
  openssl: { programs: ['openssl'], folders: [], packages: ['openssl'] },
  python: { programs: ['python3'], folders: [], packages: ['python3'] },
  // For the receivers of docs/webhooks.md.
  go: { programs: ['go'], folders: ['/usr/local/go/bin'], packages: ['golang-go'] },
  ruby: { programs: ['ruby'], folders: [], packages: ['ruby'] },
  nginx: { programs: ['nginx'], folders: ['/usr/sbin'], packages: ['nginx-light'] },
  haproxy: { programs: ['haproxy'], folders: ['/usr/sbin'], packages: ['haproxy'] },
  perl: { programs: ['perl'], folders: [], packages: ['perl'] },
  // For the unit of deploy/systemd; nothing is started.
  systemd: { programs: ['systemd-analyze'], folders: [], packages: ['systemd'] },
  // For the queries of deploy/grafana.
  prometheus: { programs: ['prometheus'], folders: [], packages: ['prometheus'] },
  messageBus: { programs: ['dbus-daemon'], folders: [], packages: ['dbus-daemon'] },
  keyring: { programs: ['gnome-keyring-daemon'], folders: [], packages: ['gnome-keyring'] },
} as const satisfies Readonly<Record<string, Tool>>

export type ToolName = keyof typeof TOOLS

export function toolNames(): readonly ToolName[] {
  return Object.keys(TOOLS) as ToolName[] // (`Object.keys` forgets whose keys they are)
}

/** Returns the path of a tool. Throws an error with the installation command if it is missing and cannot be installed. */
export function findTool(name: ToolName): string {
  const tool: Tool = TOOLS[name]
  const found = lookFor(tool)
  if (found !== undefined) return found
  const command = installation(tool)
  if (process.getuid?.() !== 0) throw new Error(`${tool.programs.join(' or ')} is not installed. Run: sudo ${command}`)
  install(command)
  const installed = lookFor(tool)
  if (installed === undefined) throw new Error(`${command} did not install ${tool.programs.join(' or ')}.`)
  return installed
}

/** Finds or installs a tool before many processes use it: root also replaces a substitute, where the package can be had. */
export function prepareTool(name: ToolName): void {
  const tool: Tool = TOOLS[name]
  findTool(name)
  if (tool.substitutes === undefined || process.getuid?.() !== 0) return
  if (lookFor({ ...tool, substitutes: [] }) !== undefined) return
  try {
    install(`${installation(tool)} --no-remove`)
  } catch {
    // the substitute does as well
  }
}

function installation({ packages }: Tool): string {
  return `apt-get install -y --no-install-recommends ${packages.join(' ')}`
}

function lookFor({ programs, substitutes = [], folders }: Tool): string | undefined {
  const paths = folders.flatMap((pattern) => newestFirst(globSync(pattern)))
  paths.push(...(process.env['PATH'] ?? '').split(delimiter))
  const inAll = (names: readonly string[]) => names.flatMap((name) => paths.map((folder) => join(folder, name)))
  return [...inAll(programs), ...inAll(substitutes)].find(isProgram)
}

/** `/usr/lib/postgresql/9/bin` is older than `…/15/bin`. */
function newestFirst(folders: readonly string[]): string[] {
  return [...folders].sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Serializes installers: test files run in parallel, and apt fails if its lists are locked. */
const TURN = join(tmpdir(), 'turnpike-install.lock')

/** Does not start the services of the packages: each test run starts its own. */
function install(command: string): void {
  const script = `printf '#!/bin/sh\\nexit 101\\n' > /tmp/policy-rc.d.$$ && chmod +x /tmp/policy-rc.d.$$
(test -e /usr/sbin/policy-rc.d || cp /tmp/policy-rc.d.$$ /usr/sbin/policy-rc.d); apt-get update -q && ${command} -o DPkg::Lock::Timeout=300; code=$?
cmp -s /tmp/policy-rc.d.$$ /usr/sbin/policy-rc.d && rm -f /usr/sbin/policy-rc.d; rm -f /tmp/policy-rc.d.$$; exit $code`
  try {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
    execFileSync('flock', [TURN, 'sh', '-c', script], { env, stdio: ['ignore', 'ignore', 'pipe'], timeout: 600_000 })
  } catch (error) {
    throw new Error(`'${command}' failed; run it by hand.`, { cause: error })
  }
}
