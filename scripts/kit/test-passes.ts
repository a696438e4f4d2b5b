/** Which test files run on which databases, from what they import. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Whoever uses these, from a test or through other helpers, is about both databases. */
const BOTH = /\/test\/support\/(?:database|gateway)\.ts$/
/** Whoever uses this from a test itself is about SQLite alone. */
const SQLITE = /\/test\/support\/sqlite-file\.ts$/
/** In the comment that a test file begins with: what it tests does not touch the database. */
const ONCE = /^\/\*\*[\s\S]*?\bRuns on one database\b[\s\S]*?\*\//
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
  return (file) => usesBoth(file) && !ONCE.test(textOf(file)) && !importsOf(file).some((path) => SQLITE.test(path))
}

function textOf(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}

function importsOf(file: string): readonly string[] {
  return [...textOf(file).matchAll(IMPORT)].map(([, specifier = '']) => join(dirname(file), specifier))
}
