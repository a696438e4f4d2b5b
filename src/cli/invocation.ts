/** How this installation is called, so that printed commands work as they are printed. */
import { processEnvironment } from '../config/environment.ts'

/** Scripts of this package's own `package.json` that run the command line. */
const OWN_SCRIPTS: ReadonlySet<string | undefined> = new Set(['start', 'dev', 'turnpike'])

type Environment = Readonly<Record<string, string | undefined>>

/** `npm run -s turnpike --` in a clone, `npx turnpike` where npm started it, else `turnpike`. */
export function invocation(env: Environment = processEnvironment): string {
  const { npm_command: command, npm_package_name: name, npm_lifecycle_event: script } = env
  if (command === undefined) return 'turnpike'
  if (command !== 'exec' && name === 'turnpike') return OWN_SCRIPTS.has(script) ? 'npm run -s turnpike --' : 'turnpike'
  return 'npx turnpike'
}

/** Messages name commands as `'turnpike …'`: returns them as they are to be typed. */
export function asTyped(message: string, typed: string = invocation()): string {
  return message.replaceAll(/(['`]|^\s*)turnpike (?=[a-z])/gm, `$1${typed} `)
}
