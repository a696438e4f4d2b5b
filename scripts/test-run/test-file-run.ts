/** Runs test files in a process and reports how all their tests went, also when the process ended before they did. */
import { constants } from 'node:os'
import { join, relative } from 'node:path'
import { run } from 'node:test'
import { dot, spec } from 'node:test/reporters'
import { type Cost, readCost } from './process-cpu.ts'

export interface TestRun {
  /** Full paths. */
  readonly files: readonly string[]
  readonly root: string
  readonly env: NodeJS.ProcessEnv
  /** Of all files together. */
  readonly timeoutMs: number
  /** The report names every test, not only those that failed. */
  readonly namesAll: boolean
  /** Whether the file may have no test of its own on this database. */
  readonly mayBeEmpty: (file: string) => boolean
  /** Ends the process of the files. */
  readonly signal: AbortSignal
}

export interface SkippedTest {
  readonly name: string
  readonly reason: string
}

export interface FileResult extends Cost {
  /** Full path. */
  readonly file: string
  readonly passed: number
  readonly failed: number
  readonly skipped: readonly SkippedTest[]
}

export interface RunResult {
  readonly files: readonly FileResult[]
  /** For people: what failed and why; with `namesAll`, every test. */
  readonly report: string
  /** Lines about recordings that the files printed. */
  readonly notes: readonly string[]
}

const PROCESS = join(import.meta.dirname, 'test-group.ts')
const NOTE = /^recordings\b.*:/
/** The `dot` reporter's own heading, after which the failures come. */
const FAILURES = 'Failed tests:'
/** Characters that are shown of a process that ended early: its last error with its stack. */
const MOST_STDERR = 4_000

/** Returns a signal that aborts when SIGINT or SIGTERM ends this process, since processes of tests would outlive it. */
export function abortedAtEnd(): AbortSignal {
  const controller = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) {
    process.once(name, () => {
      controller.abort()
      process.exit(128 + constants.signals[name])
    })
  }
  return controller.signal
}

/**
 * Runs the files in one process, one after another. When it ends early, each file without a result runs again in a process
 * of its own, since the last results are lost: that shows which file is at fault.
 */
export async function runTestFiles(input: TestRun): Promise<RunResult> {
  const { unfinished, ending, ...result } = await runProcess(input)
  const missing = input.files.slice(result.files.length)
  const [first] = missing
  if (first === undefined) return result
  if (input.files.length === 1) {
    const ended = { ...unfinished, file: first, failed: unfinished.failed + 1 }
    return merge([result, { files: [ended], report: endedEarly(input, first, ending), notes: [] }])
  }
  const again: RunResult[] = []
  for (const file of missing) again.push(await runTestFiles({ ...input, files: [file] }))
  const all = merge([result, ...again])
  if (again.some(({ files }) => files.some(({ failed }) => failed > 0))) return all
  const files = all.files.map((one) => (one.file === first ? { ...one, failed: 1 } : one))
  return { ...all, files, report: `${all.report}${endedEarly(input, first, ending)}` }
}

function endedEarly({ root, files }: TestRun, file: string, { cause, stderr }: Ending): string {
  const others = files.length === 1 ? '' : `, or one after it did, but not alone, only after other files of its process`
  const said = stderr.trim() === '' ? 'nothing on stderr' : `the last of its stderr:\n${stderr.trimEnd()}`
  return `✖ ${relative(root, file)} ended before it reported all its tests${others}: ${cause}, ${said}\n`
}

function merge(results: readonly RunResult[]): RunResult {
  return {
    files: results.flatMap(({ files }) => files),
    report: results.map(({ report }) => report).join(''),
    notes: results.flatMap(({ notes }) => notes),
  }
}

interface Ending {
  /** `exit code 7`, `SIGKILL`. */
  readonly cause: string
  /** The last of what the process has written there. */
  readonly stderr: string
}

interface ProcessResult extends RunResult {
  readonly ending: Ending
  /** Of the file in which the process ended. */
  readonly unfinished: Omit<FileResult, 'file'>
}

async function runProcess(input: TestRun): Promise<ProcessResult> {
  const { files, root, env, timeoutMs, namesAll, mayBeEmpty, signal } = input
  const events = run({
    files: [PROCESS],
    argv: files,
    cwd: root,
    concurrency: 1,
    timeout: timeoutMs,
    // What a failed test has left open must not hold up all others for ever.
    execArgv: ['--test-force-exit'],
    env,
    signal,
  })
  const results: FileResult[] = []
  const notes: string[] = []
  let current = counter()
  let problems = ''
  let cause = 'exit code 0'
  let stderr = ''
  const end = (file: string, isFailed: boolean): void => {
    const hasNone = current.isEmpty() && !isFailed && !mayBeEmpty(file)
    if (hasNone) problems += `✖ ${relative(root, file)} has no tests\n`
    results.push({ file, ...current.result(isFailed || hasNone) })
    current = counter()
  }
  const count = (event: TestEvent, isFailed: boolean): void => {
    if (event.nesting > 0) current.add(event, isFailed)
    else if (event.name === files[results.length]) end(event.name, isFailed)
    else if (isFailed && results.length === files.length) failLast(results) // the process, after the last file
  }
  events.on('test:pass', (event) => count(event, false))
  events.on('test:fail', (event) => {
    cause = event.file === PROCESS && event.name === PROCESS ? causeOf(event.details.error) : cause
    count(event, true)
  })
  events.on('test:stderr', ({ message }) => {
    stderr = (stderr + message).slice(-MOST_STDERR)
  })
  events.on('test:diagnostic', ({ message, nesting }) => {
    const cost = nesting === 0 ? readCost(message) : undefined
    const last = cost === undefined ? undefined : results.pop()
    if (last !== undefined) results.push({ ...last, ...cost })
  })
  events.on('test:stdout', ({ message }) => void notes.push(...message.split('\n').filter((line) => NOTE.test(line))))
  let listing = ''
  for await (const piece of namesAll ? events.compose(spec()) : events.compose(dot)) listing += piece
  const report = (namesAll ? listing : failuresIn(listing)) + problems
  return { files: results, unfinished: current.result(false), ending: { cause, stderr }, report, notes }
}

/** @param error What `node:test` says of the process of a file: it has the code or signal that the process ended with. */
function causeOf(error: Error & { readonly exitCode?: number | null; readonly signal?: string | null }): string {
  return error.signal ?? (error.exitCode === undefined ? error.message : `exit code ${error.exitCode}`)
}

function failLast(results: FileResult[]): void {
  const last = results.pop()
  if (last !== undefined) results.push({ ...last, failed: last.failed + 1 })
}

/** What is read of the events of `node:test`. */
interface TestEvent {
  readonly name: string
  readonly nesting: number
  readonly details: { readonly type?: string | undefined }
  readonly skip?: string | boolean | undefined
  readonly todo?: string | boolean | undefined
}

/** Counts the tests of one file. */
function counter() {
  const startedAt = performance.now()
  const skipped: SkippedTest[] = []
  const counts = { passed: 0, failed: 0 }
  return {
    add({ name, details, skip, todo }: TestEvent, isFailed: boolean): void {
      if (details.type === 'suite') return
      if (skip !== undefined) skipped.push({ name, reason: String(skip) })
      else if (todo !== undefined) skipped.push({ name, reason: `todo ${todo}` })
      else counts[isFailed ? 'failed' : 'passed'] += 1
    },
    isEmpty: (): boolean => counts.passed + counts.failed + skipped.length === 0,
    /** @param isFailed The file itself failed, for instance because it cannot be imported. */
    result: (isFailed: boolean): Omit<FileResult, 'file'> => ({
      passed: counts.passed,
      failed: isFailed ? Math.max(counts.failed, 1) : counts.failed,
      skipped,
      seconds: (performance.now() - startedAt) / 1000,
      cpuSeconds: 0,
    }),
  }
}

function failuresIn(listing: string): string {
  const begin = listing.indexOf(FAILURES)
  return begin === -1 ? '' : `${listing.slice(begin + FAILURES.length).trim()}\n`
}
