/** Command-line clients that are published on npm: pinned, and installed once per machine. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
/** Of npm: bounded by what it downloads. */
const TIMEOUT_MS = 540_000

/**
 * @param pinned With its exact version: `@scope/name@1.2.3`. Its install scripts do not run.
 * @returns the folder of the installation, in the temporary folder. Throws with the command that installs it by hand.
 */
export async function npmClient(pinned: string): Promise<string> {
  const folder = join(tmpdir(), `turnpike-npm-${pinned.replace(/[^\w.]+/g, '-')}`)
  if (existsSync(folder)) return folder
  const draft = await mkdtemp(join(tmpdir(), 'turnpike-npm-'))
  const install = ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--prefix']
  try {
    await run('npm', [...install, draft, pinned], { timeout: TIMEOUT_MS })
  } catch (error) {
    await rm(draft, { recursive: true, force: true })
    throw new Error(`A client of this test is not installed. Run: npm ${install.join(' ')} ${folder} ${pinned}`, {
      cause: error,
    })
  }
  await rename(draft, folder).catch(() => rm(draft, { recursive: true, force: true })) // another run was first
  return folder
}
