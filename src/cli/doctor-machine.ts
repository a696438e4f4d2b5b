/** What the doctor looks at on this machine. Nothing here makes or changes anything that was not there. */
import { constants, existsSync } from 'node:fs'
import { access, stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Config } from '../config/schema.ts'
import type { OpenOptions } from '../db/open.ts'
import { placeOf } from '../db/place.ts'

/** One line of the report. `fix` is null when there is nothing to mend. */
export interface Check {
  readonly name: string
  readonly ok: boolean
  readonly message: string
  readonly fix: string | null
}

const OLDEST_NODE_MAJOR = 24
const LEAST_FREE_BYTES = 256 * 1024 * 1024
const MEBIBYTE = 1024 * 1024
const EARLIEST_YEAR = 2026
const LATEST_YEAR = 2100

export function passed(name: string, message: string): Check {
  return { name, ok: true, message, fix: null }
}

export function failed(name: string, message: string, fix: string): Check {
  return { name, ok: false, message, fix }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** @param version As in `process.versions.node`. */
export function checkNode(version: string): Check {
  if (Number.parseInt(version, 10) >= OLDEST_NODE_MAJOR) return passed('node', version)
  return failed(
    'node',
    `${version}, but ${OLDEST_NODE_MAJOR} or newer is needed`,
    'Run `npm ci` in the clone, or install a newer Node.js.',
  )
}

/** @param now Unix milliseconds; `clock` monotonic milliseconds. */
export function checkClock(now: () => number = Date.now, clock: () => number = () => performance.now()): Check {
  const year = new Date(now()).getUTCFullYear()
  const fix = 'Set the clock of this machine, and keep it set (NTP).'
  if (year < EARLIEST_YEAR || year > LATEST_YEAR) return failed('clock', `it says the year ${year}`, fix)
  const readings = Array.from({ length: 100 }, clock)
  const isMonotonic = readings.every((reading, index) => reading >= (readings[index - 1] ?? reading))
  if (!isMonotonic) return failed('clock', 'the monotonic clock runs backwards', 'Restart this machine.')
  return passed('clock', new Date(now()).toISOString())
}

export async function checkDataDirectory(folder: string): Promise<Check> {
  const name = 'data_directory'
  const fix = `Make ${folder} a folder that this user can write, or set TURNPIKE_DATA_DIR.`
  try {
    const nearest = nearestExisting(folder)
    if (!(await stat(nearest)).isDirectory()) return failed(name, `${nearest} is not a folder`, fix)
    await access(nearest, constants.W_OK | constants.X_OK)
    const { bavail, bsize } = await statfs(nearest)
    const free = `${Math.floor((bavail * bsize) / MEBIBYTE)} MiB free`
    if (bavail * bsize < LEAST_FREE_BYTES) return failed(name, `${folder}: only ${free}`, 'Free some space there.')
    return passed(name, `${folder}: ${nearest === folder ? 'writable' : 'will be made on first start'}, ${free}`)
  } catch (error) {
    return failed(name, `${folder}: ${messageOf(error)}`, fix)
  }
}

export async function checkDatabase(config: Config): Promise<Check> {
  const name = 'database'
  const place = placeOf(config)
  if ('path' in place && !existsSync(place.path)) return passed(name, `${place.path}: will be made on first start`)
  const what = 'path' in place ? place.path : 'DATABASE_URL'
  try {
    const pending = await pendingAt(place)
    if (pending.length === 0) return passed(name, `${what}: opens, schema current`)
    const start = 'path' in place ? 'start the service' : 'start the service with `--migrate`'
    return failed(name, `${what}: the schema lacks ${pending.join(', ')}`, `Run \`turnpike migrate\`, or ${start}.`)
  } catch (error) {
    if ('path' in place)
      return failed(name, `${what}: ${messageOf(error)}`, 'Check who owns the file, or restore a backup.')
    return failed(name, messageOf(error), 'Mend that, or set DATABASE_URL to a server that is well.')
  }
}

async function pendingAt(place: OpenOptions): Promise<readonly string[]> {
  const [{ openDatabase }, { pendingMigrations }] = await Promise.all([
    import('../db/open.ts'),
    import('../db/migrate.ts'),
  ])
  const database = await openDatabase(place)
  try {
    await database.ping()
    return await pendingMigrations(database.db)
  } finally {
    await database.close()
  }
}

function nearestExisting(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : nearestExisting(dirname(folder))
}
