/** Where and with what a bench ran: figures of two machines, or of two versions, are not the same figures. */
import { execFileSync } from 'node:child_process'
import { arch, cpus, release, totalmem, type } from 'node:os'

const GIB = 1024 ** 3

/** @param nginx Its version; undefined: it is not installed. */
export function machineText(nginx: string | undefined): string {
  const [processor] = cpus()
  const memory = `${(totalmem() / GIB).toFixed(0)} GiB`
  const versions = [
    `Turnpike ${commit()}`,
    `Node.js ${process.versions.node}`,
    nginx === undefined ? 'no nginx' : `nginx ${nginx}`,
  ]
  return `${cpus().length} × ${processor?.model.trim()}, ${memory}, ${type()} ${release()} ${arch()}; ${versions.join(', ')}`
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
