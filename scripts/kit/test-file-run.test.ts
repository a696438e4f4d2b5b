import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import type { FileResult } from './test-file-run.ts'

const RUNNER = new URL('./test-file-run.ts', import.meta.url).href

/** What `npm test` learns of a file of these lines; in a process of its own, since tests do not run tests. */
function resultOf(t: TestContext, lines: readonly string[]): FileResult {
  const root = mkdtempSync(join(tmpdir(), 'turnpike-file-run-'))
  t.after(() => rmSync(root, { recursive: true }))
  const file = join(root, 'some.test.mjs')
  writeFileSync(file, ["import { test } from 'node:test'", ...lines].join('\n'))
  const input = { file, root, timeoutMs: 60_000, namesAll: false, mayBeEmpty: false }
  const script = join(root, 'run.mjs')
  const code = `const { runTestFile } = await import(${JSON.stringify(RUNNER)})
    console.log(JSON.stringify(await runTestFile({ ...${JSON.stringify(input)}, env: process.env })))`
  writeFileSync(script, code)
  const env = { ...process.env, NODE_TEST_CONTEXT: undefined, NO_COLOR: '1' }
  const output = execFileSync(process.execPath, [script], { encoding: 'utf8', env })
  return JSON.parse(output) as FileResult
}

test('passed, failed and skipped tests are counted, with names and reasons', (t) => {
  const { seconds, report, ...counts } = resultOf(t, [
    "test('good', () => console.log('recordings: 3 of 3 run'))",
    "test('bad', () => { throw new Error('broken') })",
    "test('absent', (t) => t.skip('no manifest.json'))",
  ])
  assert.deepEqual(counts, {
    passed: 1,
    failed: 1,
    skipped: [{ name: 'absent', reason: 'no manifest.json' }],
    notes: ['recordings: 3 of 3 run'],
  })
  assert.match(report, /bad[\s\S]*broken/)
  assert.doesNotMatch(report, /good/)
})

test('a file whose process ends before its tests fails, and so does one without tests', (t) => {
  const cut = resultOf(t, ["test('good', () => {})", "test('cut', () => process.kill(process.pid, 'SIGKILL'))"])
  assert.ok(cut.failed >= 1)
  assert.match(cut.report, /some\.test\.mjs ended before it reported all its tests/)
  assert.equal(resultOf(t, []).failed, 1)
})
