import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../test/support/client.ts'
import type { RunResult } from './test-file-run.ts'

const RUNNER = new URL('./test-file-run.ts', import.meta.url).href

/** A program that prints what `npm test` learns of files of these lines: tests do not run tests in their own process. */
function programOf(t: TestContext, files: readonly (readonly string[])[]): string {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'turnpike-file-run-')))
  t.after(() => rmSync(root, { recursive: true }))
  const paths = files.map((lines, at) => {
    const path = join(root, `${at}.test.mjs`)
    writeFileSync(path, [`import { after, before, beforeEach, test } from 'node:test'`, ...lines].join('\n'))
    return path
  })
  const input = { files: paths, root, timeoutMs: 60_000, namesAll: false }
  const script = join(root, 'run.mjs')
  const code = `const { abortedAtEnd, runTestFiles } = await import(${JSON.stringify(RUNNER)})
    const own = { env: process.env, mayBeEmpty: () => false, signal: abortedAtEnd() }
    const input = { ...${JSON.stringify(input)}, ...own }
    console.log(JSON.stringify(await runTestFiles(input)))`
  writeFileSync(script, code)
  return script
}

const env = { ...process.env, NODE_TEST_CONTEXT: undefined, NO_COLOR: '1' }

function resultOf(t: TestContext, ...files: readonly (readonly string[])[]): RunResult {
  return JSON.parse(execFileSync(process.execPath, [programOf(t, files)], { encoding: 'utf8', env })) as RunResult
}

const countsOf = ({ files }: RunResult) => files.map(({ passed, failed }) => [passed, failed])

test('passed, failed and skipped tests are counted, with names and reasons', (t) => {
  const { files, report, notes } = resultOf(t, [
    "test('good', () => console.log('recordings: 3 of 3 run'))",
    "test('bad', () => { throw new Error('broken') })",
    "test('absent', (t) => t.skip('no manifest.json'))",
  ])
  const [{ seconds, cpuSeconds, file, ...counts } = { seconds: 0, cpuSeconds: 0, file: '' }] = files
  assert.deepEqual(counts, { passed: 1, failed: 1, skipped: [{ name: 'absent', reason: 'no manifest.json' }] })
  assert.deepEqual(notes, ['recordings: 3 of 3 run'])
  assert.match(report, /bad[\s\S]*broken/)
  assert.match(report, /0\.test\.mjs/)
  assert.doesNotMatch(report, /good/)
})

test('a file whose process ends before its tests fails, and so does one without tests', (t) => {
  const cut = resultOf(t, ["test('good', () => {})", "test('cut', () => process.kill(process.pid, 'SIGKILL'))"])
  assert.ok((cut.files[0]?.failed ?? 0) >= 1)
  assert.match(cut.report, /0\.test\.mjs ended before it reported all its tests: SIGKILL, nothing on stderr/)
  const empty = resultOf(t, [])
  assert.deepEqual(countsOf(empty), [[0, 1]])
  assert.match(empty.report, /0\.test\.mjs has no tests/)
})

test('files of a process run one after another, each with the hooks that it has itself', (t) => {
  const hooks = [
    'globalThis.log ??= []',
    'const name = import.meta.url.slice(-10, -9)',
    'before(() => log.push("before " + name))',
    'beforeEach(() => log.push("each " + name))',
    `after(() => { log.push("after " + name); console.log("recordings: " + log) })`,
    "test('one', () => {})",
  ]
  const { files, notes } = resultOf(t, hooks, hooks)
  assert.deepEqual(countsOf({ files, notes, report: '' }), [
    [1, 0],
    [1, 0],
  ])
  assert.equal(notes.at(-1), 'recordings: before 0,each 0,after 0,before 1,each 1,after 1')
})

test('the tests of a file begin when all of it has been read', (t) => {
  const result = resultOf(t, ["test('good', () => { later.toString() })", 'await 0', 'const later = 1'])
  assert.deepEqual(countsOf(result), [[1, 0]])
})

test('a file that cannot be imported, or ends the process, does not hide the others', (t) => {
  const good = ["test('good', () => {})"]
  const broken = ["import './nothing.mjs'", ...good]
  const result = resultOf(t, good, broken, good, ["console.error('at the end')", 'process.exit(7)'], good)
  assert.deepEqual(countsOf(result), [
    [1, 0],
    [0, 1],
    [1, 0],
    [0, 1],
    [1, 0],
  ])
  assert.match(result.report, /nothing\.mjs/)
  assert.match(result.report, /3\.test\.mjs ended before it reported all its tests: exit code 7, .*stderr:\nat the end/)
})

test('an uncaught error fails the file, and is reported with its stack', (t) => {
  const good = ["test('good', () => {})"]
  for (const uncaught of ["setTimeout(() => { throw new Error('lost') })", "Promise.reject(new Error('lost'))"]) {
    const wait = 'await new Promise((resolve) => setTimeout(resolve, 1000))'
    const lines = [...good, `test('bad', async () => { ${uncaught}; ${wait} })`]
    const result = resultOf(t, good, lines, good)
    assert.deepEqual(countsOf(result), [
      [1, 0],
      [1, 1],
      [1, 0],
    ])
    assert.match(result.report, /1\.test\.mjs ended .*: exit code 7, .*stderr:\nError: lost\n +at /)
  }
})

test('tests that a file registers after an await, in suites and in tests, belong to it', (t) => {
  const lines = [
    "import { suite } from 'node:test'",
    'await new Promise((resolve) => setTimeout(resolve, 20))',
    "suite('late', { concurrency: true }, () => { test('one', () => {}); test('two', async () => { await 0 }) })",
    "test('parent', async (t) => { await t.test('child', async () => { await 0 }); await t.test('other', () => {}) })",
    "test('alone', () => {})",
  ]
  assert.deepEqual(countsOf(resultOf(t, lines, lines)), [
    [6, 0],
    [6, 0],
  ])
})

test('promises of tests are not tracked', (t) => {
  const lines = [
    "import { executionAsyncId } from 'node:async_hooks'",
    // Only what an async hook tracks has an ID.
    "test('untracked', async () => { await 0; if (executionAsyncId() !== 0) throw new Error('tracked') })",
  ]
  assert.deepEqual(countsOf(resultOf(t, lines, lines)), [
    [1, 0],
    [1, 0],
  ])
})

test('an error after the last test of a process fails its last file', (t) => {
  const late = ["test('good', () => {})", "process.on('exit', () => { process.exitCode = 3 })"]
  assert.deepEqual(countsOf(resultOf(t, ["test('good', () => {})"], late)), [
    [1, 0],
    [1, 1],
  ])
})

test('what a process reports arrives when its output is non-blocking and full as it ends', (t) => {
  const lines = [
    "import { spawn, spawnSync } from 'node:child_process'",
    "import { writeSync } from 'node:fs'",
    "test('good', () => {",
    // A process that ends by itself would restore the mode.
    '  const code = \'process.stdout; process.kill(process.pid, "SIGKILL")\'',
    "  spawnSync(process.execPath, ['-e', code], { stdio: 'inherit' })",
    "  spawn('sh', ['-c', 'sleep 1; kill -CONT ' + process.ppid], { detached: true, stdio: 'ignore' })",
    "  process.kill(process.ppid, 'SIGSTOP')",
    // Large pieces first: it is full long before its reader goes on.
    "  for (const piece of ['x'.repeat(4096), 'x'])",
    "    try { for (;;) writeSync(1, piece) } catch ({ code }) { if (code !== 'EAGAIN') throw code }",
    '})',
  ]
  assert.deepEqual(countsOf(resultOf(t, lines)), [[1, 0]])
})

test('a process that ends early only after other files says how it ended', (t) => {
  const first = ["test('good', () => { globalThis.isShared = true })"]
  const second = ["if (globalThis.isShared) { console.error('not alone'); process.exit(0) }", "test('good', () => {})"]
  const { report, files } = resultOf(t, first, second)
  assert.deepEqual(
    files.map(({ passed }) => passed),
    [1, 1],
  )
  assert.equal(files.filter(({ failed }) => failed === 1).length, 1)
  assert.match(report, /\d\.test\.mjs ended .*, but not alone, .*: exit code 0, the last of its stderr:\nnot alone/)
})

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  test(`${signal} ends the processes of tests and what they have started`, async (t) => {
    const script = programOf(t, [
      [
        "import { spawn } from 'node:child_process'",
        "import { writeFileSync } from 'node:fs'",
        "test('endless', async () => {",
        "  const server = spawn('sleep', ['600'])",
        '  const parent = process.ppid',
        // By then nobody reads what it prints.
        `  process.prependListener('SIGTERM', () => { while (process.ppid === parent); })`,
        "  process.once('exit', () => { process.stdout.write('ends'); server.kill() })",
        "  writeFileSync('pids', [process.pid, server.pid].join())",
        '  await new Promise((resolve) => setTimeout(resolve, 600_000))',
        '})',
      ],
    ])
    const pids = join(dirname(script), 'pids')
    const run = spawn(process.execPath, [script], { env, stdio: 'ignore' })
    const text = await eventually(
      async () => (existsSync(pids) ? readFileSync(pids, 'utf8') : ''),
      (content) => /\d,\d/.test(content),
    )
    run.kill(signal)
    await eventually(
      async () => text.split(',').filter(isAlive),
      (alive) => alive.length === 0,
    )
  })
}

function isAlive(pid: string): boolean {
  try {
    return process.kill(Number(pid), 0)
  } catch {
    return false
  }
}

const BUSY_LOOP = 'while (process.cpuUsage().user < 1_000_000);'
/** The last ends when its input does, with the process of the file. */
const IN_SHELL = ['-c', '"$0" -e "$1"; echo; read end', process.execPath, BUSY_LOOP]
const ON_LINUX = [
  `execFileSync(process.execPath, ['-e', ${JSON.stringify(BUSY_LOOP)}])`,
  `await once(spawn('sh', ${JSON.stringify(IN_SHELL)}).stdout, 'data')`,
]

test('the CPU time of a file is its own, on Linux with that of its processes, even those that outlive it', (t) => {
  for (const run of process.platform === 'linux' ? ON_LINUX : [BUSY_LOOP]) {
    const imports = "import { execFileSync, spawn } from 'node:child_process'; import { once } from 'node:events'"
    const { files } = resultOf(t, [imports, `test('busy', async () => { ${run} })`], ["test('idle', () => {})"])
    const [first = 0, second = 0] = files.map(({ cpuSeconds }) => cpuSeconds)
    assert.ok(first >= 0.9 && second < first, `${run}: ${first} s, ${second} s`)
  }
})
