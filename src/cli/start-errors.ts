/** Explains why a start failed, what to do, and which setting to change. */
import type { Config } from '../config/schema.ts'
import { DatabaseError } from '../db/failure.ts'

type Settings = Pick<Config, 'data_dir'> & { readonly server: Pick<Config['server'], 'host' | 'port'> }

/** Adds advice to errors with a known cause; the original error becomes the cause. */
export function explainStartError(error: unknown, { data_dir: folder, server: { host, port } }: Settings): unknown {
  const message = error instanceof Error ? error.message : String(error)
  if (/^The database .* cannot be (?:opened|used):/s.test(message))
    return new Error(`${message.replace(/\.$/, '')}. ${databaseAdvice(error)}`, { cause: error })
  const wanted = portOf(error) ?? port
  const setting = wanted === port ? 'PORT' : 'server.metrics_port'
  const advice = adviceFor(codeOf(error), { folder, host, port: wanted, setting })
  return advice === undefined ? error : new Error(advice, { cause: error })
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

function portOf(error: unknown): number | undefined {
  return error instanceof Error && 'port' in error ? Number(error.port) : undefined
}

function databaseAdvice(error: unknown): string {
  const causes = causesOf(error)
  const state = causes.find((cause) => cause instanceof DatabaseError)?.sqlState ?? ''
  const text = causes.map(({ message }) => message).join(' ')
  if (/not a database/.test(text)) return 'Restore a backup, or move the file away to start with an empty database.'
  if (/database is locked/.test(text)) return 'Another program holds a lock on it: stop that program.'
  if (state.startsWith('28')) return 'Set the correct user and password in DATABASE_URL.'
  if (state === '3D000') return 'Create the database, or set another one in DATABASE_URL.'
  if (/ENOTFOUND|EAI_AGAIN/.test(text)) return 'Host not found: check DATABASE_URL.'
  if (/ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|timeout|terminated/i.test(text)) return UNREACHABLE
  return "Run 'turnpike doctor' for details."
}

const UNREACHABLE = 'Check that the server runs and is reachable, and that DATABASE_URL is correct.'

function causesOf(error: unknown): readonly Error[] {
  const causes: Error[] = []
  for (let cause = error; cause instanceof Error && causes.length < 10; cause = cause.cause) causes.push(cause)
  return causes
}

interface Facts {
  readonly folder: string
  readonly host: string
  readonly port: number
  /** The setting of the port. */
  readonly setting: string
}

function adviceFor(code: string, { folder, host, port, setting }: Facts): string | undefined {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} of ${host} is in use. Stop that program, or set ${setting} to another port.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${host} is not an address of this machine. Set HOST to one of its addresses, or to 0.0.0.0 for all.`
    case 'EACCES':
      return port > 0 && port < 1024
        ? `Port ${port} requires privileges that this user does not have. Set ${setting} to a port above 1023.`
        : `The data directory ${folder} is not writable. Change its owner, or set TURNPIKE_DATA_DIR.`
    case 'ENOENT':
    case 'EPERM':
    case 'EROFS':
      return `The data directory ${folder} is not writable. Change its owner, or set TURNPIKE_DATA_DIR.`
    case 'ENOSPC':
      return `The disk of the data directory ${folder} is full. Free disk space, or set TURNPIKE_DATA_DIR.`
    case 'EEXIST':
    case 'ENOTDIR':
      return `The data directory ${folder} is not a folder. Move that file away, or set TURNPIKE_DATA_DIR.`
    default:
      return undefined
  }
}
