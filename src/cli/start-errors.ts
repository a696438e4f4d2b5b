/** Says of a failed start what to do about it. */
import type { Config } from '../config/schema.ts'

type Place = Pick<Config, 'data_dir'> & { readonly server: Pick<Config['server'], 'host' | 'port'> }

/** The same error with a message for operators where the cause is one of the usual; the cause is kept. */
export function explainStartError(error: unknown, { data_dir: folder, server: { host, port } }: Place): unknown {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const message = error instanceof Error ? error.message : String(error)
  const advice =
    adviceFor(code, { folder, host, port }) ?? (/not a database/.test(message) ? NOT_A_DATABASE : undefined)
  return advice === undefined ? error : new Error(code === '' ? `${message} ${advice}` : advice, { cause: error })
}

const NOT_A_DATABASE = 'Put back a copy of it, or move it away to start with an empty one.'

interface Facts {
  readonly folder: string
  readonly host: string
  readonly port: number
}

function adviceFor(code: string, { folder, host, port }: Facts): string | undefined {
  switch (code) {
    case 'EADDRINUSE':
      return `Port ${port} of ${host} is in use. End that program, or set PORT to another one.`
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return `${host} is not an address of this machine. Set HOST to one, or to 0.0.0.0 for all.`
    case 'EACCES':
      return port < 1024
        ? `Port ${port} needs rights that this user does not have. Set PORT to one above 1023.`
        : `The data directory ${folder} cannot be written. Change its owner, or set TURNPIKE_DATA_DIR.`
    case 'EPERM':
    case 'EROFS':
      return `The data directory ${folder} cannot be written. Change its owner, or set TURNPIKE_DATA_DIR.`
    case 'EEXIST':
    case 'ENOTDIR':
      return `The data directory ${folder} is not a folder. Move that file away, or set TURNPIKE_DATA_DIR.`
    default:
      return undefined
  }
}
