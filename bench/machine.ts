/** Where and with what a bench ran: figures of two machines, or of two versions, are not the same figures. */
import { execFileSync } from 'node:child_process'
import { arch, cpus, loadavg, release, totalmem, type } from 'node:os'
import { findTool } from '../scripts/kit/machine-tools.ts'
import { nginxVersion } from './nginx.ts'
import { PEER_VERSIONS } from './peers.ts'
import { TURNPIKE_POSTGRES } from './targets.ts'

const GIB = 1024 ** 3
/** Of others: the bench has not begun. */
const [loadAtStart = 0] = loadavg()

/** @param names Of the targets that were measured. */
export function machineText(names: readonly string[]): string {
  const [processor] = cpus()
  const memory = `${(totalmem() / GIB).toFixed(0)} GiB`
  const versions = names.map(versionOf).filter((version) => version !== undefined)
  const programs = [`Turnpike ${commit()}`, `Node.js ${process.versions.node}`, ...versions]
  const machine = [`${cpus().length} × ${processor?.model.trim()}`, memory, `${type()} ${release()} ${arch()}`]
  const load = `load average ${loadAtStart.toFixed(1)} before the start`
  return `${[...machine, load].join(', ')}; ${programs.join(', ')}`
}

/** Undefined: the version is that of Turnpike, or unknown. */
function versionOf(name: string): string | undefined {
  if (name === 'nginx') return `nginx ${nginxVersion()}`
  if (name === TURNPIKE_POSTGRES) {
    const version = execFileSync(findTool('postgres'), ['--version'], { encoding: 'utf8' })
    return /PostgreSQL\)? [\d.]+/.exec(version)?.[0].replace(')', '')
  }
  const peer = Object.entries(PEER_VERSIONS).find(([known]) => known === name)
  return peer?.join(' ')
}

function commit(): string {
  try {
    return execFileSync('git', ['describe', '--always', '--dirty'], {
      cwd: import.meta.dirname,
      encoding: 'utf8',
    }).trim()
  } catch {
    return 'outside of a repository'
  }
}
