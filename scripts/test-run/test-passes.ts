/** Which test files run when, and on which databases: from what they import and from the comment that they begin with. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Whoever uses these, from a test or through other helpers, is about both databases. */
const BOTH = /\/test\/support\/(?:database|gateway)\.ts$/
/** A test that imports this directly runs on SQLite only. */
const SQLITE = /\/test\/support\/sqlite-file\.ts$/
/** In the comment that a test file begins with: what it tests does not touch the database. */
const ONCE = /\bRuns on one database\b/
/** In the comment that a file of the fault tests begins with: it takes longer than `npm test` waits for. */
const SLOW = /\bslow\b/i
const OPENING_COMMENT = /^\/\*\*((?:(?!\*\/)[\s\S])*)\*\//
const FAULTS = /(?:^|\/)test\/faults\//
const HELPER = /\/test\/(?:support|faults\/kit)\/(?:[^/]+\/)*[^/]+\.ts$/
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
  return (file) =>
    usesBoth(file) && !ONCE.test(openingComment(file)) && !importsOf(file).some((path) => SQLITE.test(path))
}

/** Whether a test file, by its full path, is about faults. */
export function isFaultTest(file: string): boolean {
  return FAULTS.test(file)
}

/** Whether a test file, by its full path, is left to `npm run test:faults`. */
export function isSlowTest(file: string): boolean {
  return isFaultTest(file) && SLOW.test(openingComment(file))
}

/** The comment that a file, by its full path, begins with: in one line, empty if there is none. */
export function openingComment(file: string): string {
  const [, comment = ''] = OPENING_COMMENT.exec(textOf(file)) ?? []
  return comment.replace(/\s*\n\s*\*?\s*/g, ' ').trim()
}

function textOf(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}

function importsOf(file: string): readonly string[] {
  return [...textOf(file).matchAll(IMPORT)].map(([, specifier = '']) => join(dirname(file), specifier))
}
