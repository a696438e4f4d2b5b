/**
 * `npm test`: every test of the project but the slow ones among the fault tests, with progress and totals;
 * `npm test -- --help` lists its options.
 * Neighbouring files share a process. Files that use a database run twice: on SQLite, and on a PostgreSQL server that is
 * started here.
 * What they need of the machine is looked for, and installed where that is possible.
 */
import { execFileSync } from 'node:child_process'
import { globSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Command } from 'commander'
import { type PostgresServer, startPostgres } from '../test/support/process/postgres-server.ts'
import { areRecordingsHere, NO_RECORDINGS, RECORDINGS_FOLDER } from '../test/support/providers/recordings-folder.ts'
import { prepareTool, toolNames } from './kit/machine-tools.ts'
import { ROOT } from './source-files.ts'
import { makeMemoryFolder } from './test-run/memory-folder.ts'
import { cpuSeconds } from './test-run/process-cpu.ts'
import { startStalls } from './test-run/stalls.ts'
import { abortedAtEnd, type FileResult, type RunResult, runTestFiles } from './test-run/test-file-run.ts'
import { formGroups, runsAlone } from './test-run/test-groups.ts'
import { createDialectScan, isFaultTest, isSlowTest } from './test-run/test-passes.ts'
import {
  keyOf,
  nextGroup,
  planTasks,
  progressLine,
  readDurations,
  type TestGroup,
  type TestTask,
  writeDurations,
} from './test-run/test-progress.ts'

const PATTERNS = [
  'src/**/*.test.ts',
  'test/**/*.test.ts',
  'packages/**/*.test.ts',
  'catalogue/**/*.test.ts',
  'scripts/**/*.test.ts',
  'bench/**/*.test.ts',
  'dashboard/src/**/*.test.ts',
]
/** For processes at once: more than there are cores, since tests wait, too. */
const PLACES = 2 * availableParallelism() + 2
/**
 * Of a process. On two slow cores beside five others, the check of the API's description takes ten minutes, which are two
 * where it runs alone; the money simulator runs for so many `MINUTES` besides.
 */
const PROCESS_TIMEOUT_MS = 1_200_000 + 60_000 * Number(process.env['MINUTES'] ?? 0)
const DURATIONS = join(ROOT, 'node_modules', '.cache', 'turnpike-test-durations.json')
/** Between lines of progress where they are not written over each other. */
const LINE_EVERY_MS = 20_000
/** Of the files that took longest, so that it is seen where the time goes. */
const SHOWN_DURATIONS = 8

type Flag = 'sqlite' | 'postgres' | 'faults' | 'all' | 'spec' | 'cpu' | 'stalls'

interface Done {
  readonly task: TestTask
  readonly result: FileResult
}

const command = new Command('npm test --')
  .argument('[parts...]', 'run only the files whose path contains one of these')
  .option('--sqlite', 'run on SQLite alone')
  .option('--postgres', 'run on PostgreSQL alone, and only the files that use a database')
  .option('--faults', 'run the slow fault tests; with parts of paths, whatever of the fault tests has them')
  .option('--all', 'run both in less time than one after the other, since the slow ones mostly wait')
  .option('--spec', 'name every test')
  .option('--cpu', 'list the CPU time of every file')
  .option('--stalls', 'suspend processes at random')
  .parse()
const options: Readonly<Partial<Record<Flag, true>>> = command.opts()
const filters = command.args
const files = testFiles()
if (files.length === 0) {
  console.error(
    options.faults ? 'No fault test matches.' : 'No test file matches; slow ones are in npm run test:faults.',
  )
  process.exit(1)
}
const usesBoth = createDialectScan()
const known = readDurations(DURATIONS)
const tasks = planTasks(
  files.flatMap((file) => {
    const path = join(ROOT, file)
    const task = { file, waits: isSlowTest(path) }
    return [
      ...(options.postgres ? [] : [{ ...task, dialect: 'sqlite' as const }]),
      ...(options.sqlite || !usesBoth(path) ? [] : [{ ...task, dialect: 'postgres' as const }]),
    ]
  }),
  known,
)
console.log(`recordings: ${areRecordingsHere() ? RECORDINGS_FOLDER : `not found in ${RECORDINGS_FOLDER}`}`)
// Before any test waits for it. Where only some files run, each brings what it needs.
if (filters.length === 0) {
  for (const name of toolNames()) prepareTool(name)
  // Hundreds of gateways start; one after a change of the sources starts from them.
  execFileSync(process.execPath, [join(ROOT, 'scripts', 'bundle.ts')], { stdio: 'inherit' })
}
const { TURNPIKE_TEST_DATABASE_URL: _, ...surroundings } = process.env
const memory = makeMemoryFolder()
const env = {
  NODE_COMPILE_CACHE: join(tmpdir(), 'turnpike-test-cache'),
  ...surroundings,
  ...(memory !== undefined && { TURNPIKE_TEST_DATA: memory }),
}

const startedAt = performance.now()
let lastLineAt: number | undefined
const done: Done[] = []
/** Of the PostgreSQL server. */
let databaseCpuSeconds = 0
const notes = new Set<string>()
const total = (count: (result: FileResult) => number) => done.reduce((sum, { result }) => sum + count(result), 0)
const secondsOf = (some: Iterable<TestTask>) => [...some].reduce((sum, { seconds }) => sum + seconds, 0)
const endStalls = options.stalls ? startStalls() : undefined
const signal = abortedAtEnd()
process.once('exit', () => {
  endStalls?.()
  if (memory !== undefined) rmSync(memory, { recursive: true, force: true, maxRetries: 5 })
})
const failedFiles = await runAll()
endStalls?.()
if (filters.length === 0) writeDurations(DURATIONS, durations())
finish()

function testFiles(): readonly string[] {
  const all = PATTERNS.flatMap((pattern) => globSync(pattern, { cwd: ROOT })).sort()
  return all.filter((file) => {
    if (filters.length > 0 && !filters.some((filter) => file.includes(filter))) return false
    if (options.all) return true
    const path = join(ROOT, file)
    return options.faults ? isFaultTest(path) && (filters.length > 0 || isSlowTest(path)) : !isSlowTest(path)
  })
}

/** @returns The files that failed, with their database. */
async function runAll(): Promise<readonly string[]> {
  const waiting = [...formGroups(tasks, ({ file }) => runsAlone(join(ROOT, file)))]
  const running = new Map<TestGroup, Promise<void>>()
  const failed: string[] = []
  let server: Promise<PostgresServer> | undefined
  const begin = async (group: TestGroup): Promise<void> => {
    if (group.dialect === 'postgres') server ??= startPostgres()
    const result = await runGroup(group, (await (group.dialect === 'postgres' ? server : undefined))?.url)
    running.delete(group)
    failed.push(...finishGroup(group, result))
  }
  try {
    while (waiting.length + running.size > 0) {
      const next = nextGroup(waiting, running.keys(), PLACES)
      const group = next === -1 ? undefined : waiting.splice(next, 1)[0]
      if (group === undefined) await Promise.race(running.values())
      else running.set(group, begin(group))
    }
  } finally {
    databaseCpuSeconds = cpuSeconds((await server)?.pid() ?? 0)
    await (await server)?.stop()
  }
  return failed
}

/** @returns The files that failed, with their database. */
function finishGroup(
  { tasks: members, dialect }: TestGroup,
  { files, report, notes: lines }: RunResult,
): readonly string[] {
  const ended = files.flatMap((result, at) => (members[at] === undefined ? [] : [{ task: members[at], result }]))
  done.push(...ended)
  for (const line of lines) notes.add(line)
  const failed = ended.filter(({ result }) => result.failed > 0).map(({ task }) => `${task.file} (${dialect})`)
  const titles = failed.length > 0 ? failed : ended.map(({ task }) => `${task.file} (${dialect})`)
  show(report === '' ? '' : `\n── ${titles.join(', ')}\n${report}`)
  return failed
}

function runGroup({ tasks: members, dialect }: TestGroup, server: string | undefined): Promise<RunResult> {
  return runTestFiles({
    files: members.map(({ file }) => join(ROOT, file)),
    root: ROOT,
    env: server === undefined ? env : { ...env, TURNPIKE_TEST_DATABASE_URL: server },
    timeoutMs: PROCESS_TIMEOUT_MS,
    namesAll: options.spec === true,
    mayBeEmpty: (path) => dialect === 'postgres' || usesBoth(path),
    signal,
  })
}

/** Writes what a group reported and how far the run is: on a terminal in one line that is written over. */
function show(report: string): void {
  const line = progressLine({
    files: tasks.length,
    filesDone: done.length,
    passed: total(({ passed }) => passed),
    failed: total(({ failed }) => failed),
    skipped: total(({ skipped }) => skipped.length),
    secondsOfAll: secondsOf(tasks),
    secondsDone: secondsOf(done.map(({ task }) => task)),
    elapsedSeconds: (performance.now() - startedAt) / 1000,
  })
  if (process.stdout.isTTY) return void process.stdout.write(`\r\x1b[K${report}${line}`)
  process.stdout.write(report)
  const now = performance.now()
  if (now - (lastLineAt ?? startedAt) < LINE_EVERY_MS && done.length < tasks.length) return
  lastLineAt = now
  console.log(line)
}

function durations(): Readonly<Record<string, number>> {
  const measured = done.map(({ task, result }) => [keyOf(task), Math.round(result.seconds * 10) / 10])
  return { ...known, ...Object.fromEntries(measured) }
}

function finish(): void {
  if (process.stdout.isTTY) console.log()
  if (notes.size > 0) console.log(`\n${[...notes].join('\n')}`)
  const skips = done.flatMap(({ task, result }) => result.skipped.map((skip) => ({ ...skip, file: task.file })))
  if (skips.length > 0) console.log(`\nskipped:`)
  for (const { file, name, reason } of skips) console.log(`  ${file}: ${name}: ${reason}`)
  const slowest = done.toSorted((one, other) => other.result.seconds - one.result.seconds).slice(0, SHOWN_DURATIONS)
  const shown = slowest.map(({ task, result }) => `${task.file} ${Math.round(result.seconds)} s`)
  console.log(`\nslowest: ${shown.join(', ')}`)
  console.log(`\nCPU: ${cpuLine()}`)
  if (options.cpu) for (const line of cpuOfFiles()) console.log(line)
  if (failedFiles.length > 0) console.log(`\nfailed:\n${failedFiles.map((file) => `  ${file}`).join('\n')}`)
  const passed = total((result) => result.passed)
  // Only recordings, which are not part of the project, may be absent: any other test that is not run counts as failed.
  const unexplained = skips.filter(({ reason }) => !reason.startsWith(NO_RECORDINGS)).length
  const failed = total((result) => result.failed) + unexplained
  const passes = (['sqlite', 'postgres'] as const).map((dialect) => passOf(dialect)).join(', ')
  console.log(`\ntests: ${passed} passed, ${failed} failed, ${skips.length} skipped; ${passes}`)
  process.exitCode = failed === 0 && passed > 0 ? 0 : 1
}

function passOf(dialect: TestTask['dialect']): string {
  const those = done.filter(({ task }) => task.dialect === dialect)
  return `${dialect}: ${those.filter(({ result }) => result.failed === 0).length} of ${those.length} files`
}

/** `840 s: test/e2e 400, src/features 120, …, PostgreSQL 60`, the most first. */
function cpuLine(): string {
  const { user, system } = process.cpuUsage()
  const folders = new Map([
    ['PostgreSQL', databaseCpuSeconds],
    ['this run', (user + system) / 1e6],
  ])
  for (const { task, result } of done) {
    const folder = dirname(task.file).split('/').slice(0, 2).join('/')
    folders.set(folder, (folders.get(folder) ?? 0) + result.cpuSeconds)
  }
  const parts = [...folders].sort(([, one], [, other]) => other - one)
  const shown = parts.map(([name, seconds]) => `${name} ${Math.round(seconds)}`)
  const total = parts.reduce((sum, [, seconds]) => sum + seconds, 0)
  return `${Math.round(total)} s: ${shown.join(', ')}`
}

function cpuOfFiles(): readonly string[] {
  const most = done.toSorted((one, other) => other.result.cpuSeconds - one.result.cpuSeconds)
  return most.map(({ task, result: { cpuSeconds, seconds } }) =>
    [cpuSeconds.toFixed(1).padStart(7), seconds.toFixed(1).padStart(7), task.dialect, task.file].join('  '),
  )
}
