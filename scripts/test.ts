/**
 * `npm test`: every test of the project, each file in a process of its own, with totals at the end.
 * Arguments are parts of paths: `npm test -- gateway sse` runs the files that contain one of them; `--spec` names every test.
 */
import { existsSync, globSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { run } from 'node:test'
import { dot, spec } from 'node:test/reporters'
import { ROOT } from './source-files.ts'

const PATTERNS = [
  'src/**/*.test.ts',
  'test/**/*.test.ts',
  'catalogue/**/*.test.ts',
  'scripts/**/*.test.ts',
  'bench/**/*.test.ts',
]
const CONCURRENCY = 2
/** Of one file. The longest kills a gateway a hundred times over and waits for what is swept half a minute later. */
const FILE_TIMEOUT_MS = 600_000

function testFiles(filters: readonly string[]): string[] {
  const files = PATTERNS.flatMap((pattern) => globSync(pattern, { cwd: ROOT })).sort()
  const wanted = files.filter((file) => filters.length === 0 || filters.some((filter) => file.includes(filter)))
  return slowestFirst(wanted).map((file) => join(ROOT, file))
}

/** Whole-app tests take longest: begun first, they do not hold up the end. */
function slowestFirst(files: readonly string[]): string[] {
  return [...files].sort((a, b) => Number(b.startsWith('test')) - Number(a.startsWith('test')))
}

function sayRecordings(): void {
  const folder = resolve(ROOT, process.env['TURNPIKE_RECORDINGS'] ?? '../shared/fixtures')
  const found = existsSync(join(folder, 'manifest.json'))
  console.log(`recordings: ${found ? folder : `not found in ${folder}`}`)
}

const options = process.argv.slice(2)
const files = testFiles(options.filter((option) => !option.startsWith('--')))
if (files.length === 0) {
  console.error('No test file matches.')
  process.exit(1)
}
sayRecordings()
process.env['NODE_COMPILE_CACHE'] ??= join(tmpdir(), 'turnpike-test-cache')

const totals = { passed: 0, failed: 0, cancelled: 0, skipped: 0 }
const events = run({ files, cwd: ROOT, concurrency: CONCURRENCY, timeout: FILE_TIMEOUT_MS })
events.on('test:summary', ({ file, counts }) => {
  if (file !== undefined) return
  Object.assign(totals, { passed: counts.passed, failed: counts.tests - counts.passed - counts.skipped - counts.todo })
  Object.assign(totals, { cancelled: counts.cancelled, skipped: counts.skipped + counts.todo })
})
const said: string[] = []
events.on('test:stdout', ({ message }) => {
  for (const line of message.split('\n')) if (/^recordings\b.*:/.test(line)) said.push(line)
})

const listing = options.includes('--spec') ? events.compose(spec()) : events.compose(dot)
for await (const piece of listing) process.stdout.write(piece)
if (said.length > 0) console.log(`\n${said.join('\n')}`)
const notPassed = totals.failed + totals.skipped
console.log(`\ntests: ${totals.passed} passed, ${notPassed} failed (${totals.skipped} skipped), ${files.length} files`)
process.exitCode = notPassed === 0 && totals.passed > 0 ? 0 : 1
