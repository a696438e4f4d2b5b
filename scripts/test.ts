/**
 * `npm test`: every test of the project but the slow ones among the fault tests, each file in a process of its own, with
 * totals at the end. Files that use a database run twice: on SQLite, and on a PostgreSQL server that is started here. What
 * they need of the machine is looked for, and installed where that is possible.
 * `npm run test:faults` (`--faults`): those slow ones; with parts of paths, whatever of the fault tests has them.
 * Arguments are parts of paths: `npm test -- gateway sse` runs the files that contain one of them; `--spec` names every
 * test, `--sqlite` and `--postgres` run one of the passes alone, `--stalls` runs all on a machine that stands still at times.
 */
import { existsSync, globSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative, resolve } from 'node:path'
import { run } from 'node:test'
import { dot, spec } from 'node:test/reporters'
import { pathToFileURL } from 'node:url'
import { startPostgres } from '../test/support/postgres-server.ts'
import { findTool, toolNames } from './kit/machine-tools.ts'
import { startStalls } from './kit/stalls.ts'
import { createDialectScan, isFaultTest, isSlowTest } from './kit/test-passes.ts'
import { ROOT } from './source-files.ts'

const PATTERNS = [
  'src/**/*.test.ts',
  'test/**/*.test.ts',
  'catalogue/**/*.test.ts',
  'scripts/**/*.test.ts',
  'bench/**/*.test.ts',
  'dashboard/src/**/*.test.ts',
]
const WHOLE_OUTPUT = pathToFileURL(join(import.meta.dirname, 'kit', 'whole-output.ts')).href
const BROWSER = /^test\/browser\//
/** Files at once. More than the cores of a small machine, since tests wait, too; those of faults most, so both passes go on at once. */
const CONCURRENCY = { tests: 5, faults: 3 }
/** Of one file. The longest kills a gateway dozens of times over and waits for what is swept half a minute later. */
const FILE_TIMEOUT_MS = 600_000

function testFiles(filters: readonly string[]): string[] {
  const files = PATTERNS.flatMap((pattern) => globSync(pattern, { cwd: ROOT })).sort()
  const wanted = files.filter((file) => filters.length === 0 || filters.some((filter) => file.includes(filter)))
  return slowestFirst(wanted)
    .map((file) => join(ROOT, file))
    .filter((file) => (isFaults ? isFaultTest(file) && (filters.length > 0 || isSlowTest(file)) : !isSlowTest(file)))
}

/**
 * Whole-app tests take longest: begun first, they do not hold up the end. Browsers fill every core they get: those tests are
 * spread out, so that they run beside such as wait.
 */
function slowestFirst(files: readonly string[]): string[] {
  const [whole, others] = [
    files.filter((file) => file.startsWith('test')),
    files.filter((file) => !file.startsWith('test')),
  ]
  const [browsers, rest] = [whole.filter((file) => BROWSER.test(file)), whole.filter((file) => !BROWSER.test(file))]
  const share = Math.ceil(rest.length / Math.max(1, browsers.length))
  const spread = browsers.flatMap((file, index) => [file, ...rest.slice(index * share, (index + 1) * share)])
  return [...spread, ...rest.slice(browsers.length * share), ...others]
}

function sayRecordings(): void {
  const folder = resolve(ROOT, process.env['TURNPIKE_RECORDINGS'] ?? '../shared/fixtures')
  const found = existsSync(join(folder, 'manifest.json'))
  console.log(`recordings: ${found ? folder : `not found in ${folder}`}`)
}

interface Counts {
  readonly passed: number
  readonly failed: number
  readonly skipped: number
}

const NOTHING: Counts = { passed: 0, failed: 0, skipped: 0 }
const said = new Set<string>()
const durations: { readonly file: string; readonly seconds: number }[] = []
/** Of the files that took longest, so that it is seen where the time goes. */
const SHOWN_DURATIONS = 8

async function runPass(files: readonly string[], env: NodeJS.ProcessEnv): Promise<Counts> {
  if (files.length === 0) return NOTHING
  let counts = NOTHING
  const events = run({
    files: [...files],
    cwd: ROOT,
    concurrency: isFaults ? CONCURRENCY.faults : CONCURRENCY.tests,
    timeout: FILE_TIMEOUT_MS,
    // What a failed test has left open must not hold up all others for ever.
    execArgv: ['--test-force-exit', `--import=${WHOLE_OUTPUT}`],
    env,
  })
  /** Those that have not said how all their tests went. */
  const cut = new Set(files)
  events.on('test:summary', ({ file, duration_ms: ms, counts: { tests, passed, skipped, todo } }) => {
    if (file === undefined) {
      counts = { passed, failed: tests - passed - skipped - todo, skipped: skipped + todo }
      return
    }
    cut.delete(file)
    durations.push({ file: relative(ROOT, file), seconds: Math.round(ms / 1000) })
  })
  // One whose tests are all about PostgreSQL has none on SQLite: then it is the file that passes.
  events.on('test:pass', ({ name }) => void (again.includes(name) && cut.delete(name)))
  events.on('test:stdout', ({ message }) => {
    for (const line of message.split('\n')) if (/^recordings\b.*:/.test(line)) said.add(line)
  })
  const listing = isSpec ? events.compose(spec()) : events.compose(dot)
  for await (const piece of listing) process.stdout.write(piece)
  for (const file of cut) console.log(`✖ ${relative(ROOT, file)} ended before it had said how all its tests went`)
  return { ...counts, failed: counts.failed + cut.size }
}

async function runOnPostgres(files: readonly string[], env: NodeJS.ProcessEnv): Promise<Counts> {
  if (files.length === 0) return NOTHING
  const server = await startPostgres()
  console.log(`\npostgres: ${files.length} files again, on ${server.url}`)
  try {
    return await runPass(files, { ...env, TURNPIKE_TEST_DATABASE_URL: server.url })
  } finally {
    await server.stop()
  }
}

/** Before any test waits for it. Where only some files run, each brings what it needs. */
function bringTools(): void {
  for (const name of toolNames()) findTool(name)
}

const options = process.argv.slice(2)
const isSpec = options.includes('--spec')
const isFaults = options.includes('--faults')
const files = testFiles(options.filter((option) => !option.startsWith('--')))
const again = files.filter(createDialectScan())
if (files.length === 0) {
  console.error(isFaults ? 'No fault test matches.' : 'No test file matches; slow ones are in npm run test:faults.')
  process.exit(1)
}
sayRecordings()
if (options.every((option) => option.startsWith('--'))) bringTools()
const { TURNPIKE_TEST_DATABASE_URL: _, ...surroundings } = process.env
const env = { NODE_COMPILE_CACHE: join(tmpdir(), 'turnpike-test-cache'), ...surroundings }
const goOn = options.includes('--stalls') ? startStalls() : undefined
const onSqlite = async () => (options.includes('--postgres') ? NOTHING : runPass(files, env))
const onPostgres = async () => (options.includes('--sqlite') ? NOTHING : runOnPostgres(again, env))
const [sqlite, postgres] = isFaults
  ? await Promise.all([onSqlite(), onPostgres()])
  : [await onSqlite(), await onPostgres()]
goOn?.()
if (said.size > 0) console.log(`\n${[...said].join('\n')}`)
const slowest = durations.toSorted((one, other) => other.seconds - one.seconds).slice(0, SHOWN_DURATIONS)
console.log(`\nslowest: ${slowest.map(({ file, seconds }) => `${file} ${seconds} s`).join(', ')}`)
const passed = sqlite.passed + postgres.passed
const skipped = sqlite.skipped + postgres.skipped
const notPassed = sqlite.failed + postgres.failed + skipped
const passes = `sqlite: ${sqlite.passed} of ${files.length} files, postgres: ${postgres.passed} of ${again.length} files`
console.log(`\ntests: ${passed} passed, ${notPassed} failed (${skipped} skipped); ${passes}`)
process.exitCode = notPassed === 0 && passed > 0 ? 0 : 1
