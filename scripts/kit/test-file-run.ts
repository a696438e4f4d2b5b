/** Runs one test file in a process of its own and says how all its tests went, also when the process ended before it did. */
import { join, relative } from 'node:path'
import { run } from 'node:test'
import { dot, spec } from 'node:test/reporters'
import { pathToFileURL } from 'node:url'

export interface FileRun {
  /** Full path. */
  readonly file: string
  readonly root: string
  readonly env: NodeJS.ProcessEnv
  readonly timeoutMs: number
  /** The report names every test, not only those that failed. */
  readonly namesAll: boolean
  /** The file may have no test of its own on this database. */
  readonly mayBeEmpty: boolean
}

export interface SkippedTest {
  readonly name: string
  readonly reason: string
}

export interface FileResult {
  readonly passed: number
  readonly failed: number
  readonly skipped: readonly SkippedTest[]
  /** For people: what failed and why; with `namesAll`, every test. */
  readonly report: string
  /** Lines about recordings that the file printed. */
  readonly notes: readonly string[]
  readonly seconds: number
}

const WHOLE_OUTPUT = pathToFileURL(join(import.meta.dirname, 'whole-output.ts')).href
const NOTE = /^recordings\b.*:/
/** The `dot` reporter's own heading, after which the failures come. */
const FAILURES = 'Failed tests:'

export async function runTestFile(input: FileRun): Promise<FileResult> {
  const { file, root, env, timeoutMs, namesAll, mayBeEmpty } = input
  const startedAt = performance.now()
  const events = run({
    files: [file],
    cwd: root,
    concurrency: 1,
    timeout: timeoutMs,
    // What a failed test has left open must not hold up all others for ever.
    execArgv: ['--test-force-exit', `--import=${WHOLE_OUTPUT}`],
    env,
  })
  let counts = { passed: 0, failed: 0 }
  let isCut = true
  const skipped: SkippedTest[] = []
  const notes: string[] = []
  events.on('test:summary', ({ file: of, counts: { tests, passed, skipped, todo } }) => {
    if (of === undefined) counts = { passed, failed: tests - passed - skipped - todo }
    else isCut = false
  })
  events.on('test:pass', ({ name, skip, todo }) => {
    if (mayBeEmpty && name === file) isCut = false // it has no test on this database: then it is the file that passes
    if (skip !== undefined) skipped.push({ name, reason: String(skip) })
    else if (todo !== undefined) skipped.push({ name, reason: `todo ${todo}` })
  })
  events.on('test:stdout', ({ message }) => void notes.push(...message.split('\n').filter((line) => NOTE.test(line))))
  let listing = ''
  for await (const piece of namesAll ? events.compose(spec()) : events.compose(dot)) listing += piece
  const cut = isCut ? `✖ ${relative(root, file)} ended before it reported all its tests\n` : ''
  return {
    passed: counts.passed,
    failed: counts.failed + (isCut ? 1 : 0),
    skipped,
    report: (namesAll ? listing : failuresIn(listing)) + cut,
    notes,
    seconds: (performance.now() - startedAt) / 1000,
  }
}

function failuresIn(listing: string): string {
  const begin = listing.indexOf(FAILURES)
  return begin === -1 ? '' : `${listing.slice(begin + FAILURES.length).trim()}\n`
}
