/** Says of a failed start what to do about it, with the setting named. */
import type { Config } from '../config/schema.ts'
import { DatabaseError } from '../db/failure.ts'

type Place = Pick<Config, 'data_dir'> & { readonly server: Pick<Config['server'], 'host' | 'port'> }

/** The same error with a message for operators where the cause is one of the usual; the cause is kept. */
export function explainStartError(error: unknown, { data_dir: folder, server: { host, port } }: Place): unknown {
  const message = error instanceof Error ? error.message : String(error)
  if (/^The database .* cannot be (?:opened|used):/s.test(message))
    return new Error(`${message.replace(/\.$/, '')}. ${databaseAdvice(error)}`, { cause: error })
  const asked = portOf(error) ?? port
  const setting = asked === port ? 'PORT' : 'server.metrics_port'
  const advice = adviceFor(codeOf(error), { folder, host, port: asked, setting })
  return advice === undefined ? error : new Error(advice, { cause: error })
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

function portOf(error: unknown): number | undefined {
  return error instanceof Error && 'port' in error ? Number(error.port) : undefined
}

/** The message names the place already. */
function databaseAdvice(error: unknown): string {
  const causes = causesOf(error)
  const state = causes.find((cause) => cause instanceof DatabaseError)?.sqlState ?? ''
  const text = causes.map(({ message }) => message).join(' ')
  if (/not a database/.test(text)) return 'Put back a copy of it, or move it away to start with an empty one.'
  if (/database is locked/.test(text)) return 'Another program has it open and locked: end that one.'
  if (state.startsWith('28')) return 'Put the right user and password into DATABASE_URL.'
  if (state === '3D000') return 'Create the database, or put the name of another one into DATABASE_URL.'
  if (/ENOTFOUND|EAI_AGAIN/.test(text)) return 'No name server knows this host: check DATABASE_URL.'
  if (/ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|timeout|terminated/i.test(text)) return UNREACHABLE
  return "'turnpike doctor' looks closer."
}

const UNREACHABLE = 'Check that the server runs and can be reached from here, and that DATABASE_URL is right.'

function causesOf(error: unknown): readonly Error[] {
  const causes: Error[] = []
  for (let cause = error; cause instanceof Error && causes.length < 10; cause = cause.cause) causes.push(cause)
  return causes
}

interface Facts {
  readonly folder: string
  readonly host: string
  readonly port: number
  /** Where that port is set. */
  readonly setting: string
}

function adviceFor(code: string, { folder, host, port, setting }: Facts): string | undefined {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} of ${host} is in use. End that program, or set ${setting} to another one.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${host} is not an address of this machine. Set HOST to one, or to 0.0.0.0 for all.`
    case 'EACCES':
      return port > 0 && port < 1024
        ? `Port ${port} needs rights that this user does not have. Set ${setting} to one above 1023.`
        : `The data directory ${folder} cannot be written. Change its owner, or set TURNPIKE_DATA_DIR.`
    case 'ENOENT':
    case 'EPERM':
    case 'EROFS':
      return `The data directory ${folder} cannot be written. Change its owner, or set TURNPIKE_DATA_DIR.`
    case 'ENOSPC':
      return `The disk of the data directory ${folder} is full. Make room there, or set TURNPIKE_DATA_DIR.`
    case 'EEXIST':
    case 'ENOTDIR':
      return `The data directory ${folder} is not a folder. Move that file away, or set TURNPIKE_DATA_DIR.`
    default:
      return undefined
  }
}
