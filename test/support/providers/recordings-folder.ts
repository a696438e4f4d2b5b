/** Where the recorded answers of real providers are: beside the project, or where `TURNPIKE_RECORDINGS` says. */
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'

const ROOT = join(import.meta.dirname, '..', '..', '..')
const NAMED = process.env['TURNPIKE_RECORDINGS']

export const RECORDINGS_FOLDER = resolve(ROOT, NAMED ?? '../shared/fixtures')
/** Why tests are skipped without them. The only reason that `npm test` accepts. */
export const NO_RECORDINGS = `no manifest.json in ${RECORDINGS_FOLDER}`

/** Throws where they are not in the folder that was named for them: whoever names it wants them tested. */
export function areRecordingsHere(): boolean {
  if (existsSync(join(RECORDINGS_FOLDER, 'manifest.json'))) return true
  if (NAMED !== undefined) throw new Error(`TURNPIKE_RECORDINGS: ${NO_RECORDINGS}.`)
  return false
}
