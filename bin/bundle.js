/**
 * The bundle: the program in a few files instead of 1,600, which a clone starts from while it matches the sources.
 * `scripts/bundle.ts` writes it.
 */
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
export const BUNDLE_FOLDER = join(ROOT, 'dist', 'src', 'bundle')
/** Lists the files that the bundle was made of, as `[path, size, mtimeMs]`. Written last. */
export const INPUTS_FILE = join(BUNDLE_FOLDER, 'inputs.json')

/** Flags of Node.js that share modules with the program, or look at them by path. */
const ABOUT_MODULES =
  /(?:^|\s)(?:-r\b|--(?:import|require|loader|experimental-loader|inspect|cpu-prof|heap-prof|watch))/

/** The URL of the bundle's entry; undefined when the sources are to run: they have changed, or this process needs them. */
export function freshBundle() {
  const flags = [...process.execArgv, process.env.NODE_OPTIONS ?? ''].join(' ')
  if (ABOUT_MODULES.test(flags) || process.env.WATCH_REPORT_DEPENDENCIES !== undefined) return undefined
  return isFresh() ? pathToFileURL(join(BUNDLE_FOLDER, 'turnpike.js')) : undefined
}

/** Whether there is a bundle of the sources and packages as they are now. */
export function isFresh() {
  try {
    const inputs = JSON.parse(readFileSync(INPUTS_FILE, 'utf8'))
    return inputs.every(([path, size, mtimeMs]) => {
      const found = statSync(join(ROOT, path))
      return found.size === size && found.mtimeMs === mtimeMs
    })
  } catch {
    return false
  }
}
