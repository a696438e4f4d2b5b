/** Which test files run on which databases, from what they import. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Whoever uses these, from a test or through other helpers, is about both databases. */
const BOTH = /\/test\/support\/(?:database|gateway)\.ts$/
/** Whoever uses this from a test itself is about SQLite alone. */
const SQLITE = /\/test\/support\/sqlite-file\.ts$/
const HELPER = /\/test\/support\/[^/]+\.ts$/
/** Types alone run nothing. */
const IMPORT = /(?:^|\n)\s*import\s(?!type\b)(?:[^'"`;]*?from\s*)?['"](\.[^'"]+)['"]/g

/** @returns Whether a test file, by its full path, is to run on PostgreSQL as well. */
export function createDialectScan(): (file: string) => boolean {
  const known = new Map<string, boolean>()
  const usesBoth = (file: string): boolean => {
    const answer = known.get(file)
    if (answer !== undefined) return answer
    known.set(file, false) // for imports in a circle
    const found = importsOf(file).some((path) => BOTH.test(path) || (HELPER.test(path) && usesBoth(path)))
    known.set(file, found)
    return found
  }
  return (file) => usesBoth(file) && !importsOf(file).some((path) => SQLITE.test(path))
}

function importsOf(file: string): readonly string[] {
  if (!existsSync(file)) return []
  const text = readFileSync(file, 'utf8')
  return [...text.matchAll(IMPORT)].map(([, specifier = '']) => join(dirname(file), specifier))
}
