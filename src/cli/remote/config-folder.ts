/** Where the command line keeps what belongs to a person, not to a server: by the conventions of each system. */
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import { type Environment, processEnvironment } from '../../config/environment.ts'

export interface Machine {
  readonly env: Environment
  readonly platform: NodeJS.Platform
  readonly home: string
}

const THIS_MACHINE: Machine = { env: processEnvironment, platform: process.platform, home: homedir() }

export function configFolder({ env, platform, home }: Machine = THIS_MACHINE): string {
  const own = env['XDG_CONFIG_HOME']
  // a relative path is to be ignored (XDG Base Directory Specification)
  if (own !== undefined && isAbsolute(own)) return join(own, 'turnpike')
  if (platform === 'darwin') return join(home, 'Library', 'Application Support', 'turnpike')
  if (platform === 'win32') return join(env['APPDATA'] ?? join(home, 'AppData', 'Roaming'), 'turnpike')
  return join(home, '.config', 'turnpike')
}
