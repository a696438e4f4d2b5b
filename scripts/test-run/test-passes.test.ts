import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { createDialectScan, isFaultTest, isSlowTest } from './test-passes.ts'

/** A project of these files. @returns the full path of each. */
function project(t: TestContext, files: Readonly<Record<string, string>>): (path: string) => string {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-passes-'))
  t.after(() => rmSync(folder, { recursive: true }))
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return (path) => join(folder, path)
}

test('a fault test is slow when the comment that it begins with says so', (t) => {
  const at = project(t, {
    'test/faults/kills.test.ts': '/** Kills, so it is slow. */\n',
    'test/faults/quick.test.ts': '/** Quick. */\n/** A slow reader. */\n',
    'test/faults/plain.test.ts': "import 'node:test'\n/** slow */\n",
    'test/e2e/other.test.ts': '/** As slow as it may be. */\n',
  })
  const files = ['test/faults/kills.test.ts', 'test/faults/quick.test.ts', 'test/faults/plain.test.ts']
  assert.deepEqual(files.map(at).map(isSlowTest), [true, false, false])
  assert.equal(isSlowTest(at('test/e2e/other.test.ts')), false, 'npm test has all of what is no fault')
  assert.deepEqual(files.map(at).map(isFaultTest), [true, true, true])
})

test('what uses a gateway, also through helpers, runs on both databases, unless it says that one will do', (t) => {
  const gateway = "import { startGateway } from '../support/gateway.ts'\n"
  const at = project(t, {
    'test/support/gateway.ts': '',
    'test/support/sqlite-file.ts': '',
    'test/faults/kit/helper.ts': "import { startGateway } from '../../support/gateway.ts'\n",
    'test/faults/a.test.ts': gateway,
    'test/faults/b.test.ts': "import { help } from './kit/helper.ts'\n",
    'test/faults/c.test.ts': `/** Runs on one database. */\n${gateway}`,
    'test/faults/wrapped.test.ts': `/**\n * It is about the wire. Runs on one\n * database.\n */\n${gateway}`,
    'test/faults/later.test.ts': `/** First. */\n/** Runs on one database. */\n${gateway}`,
    'test/faults/d.test.ts': `${gateway}import '../support/sqlite-file.ts'\n`,
    'test/faults/e.test.ts': "import type { Gateway } from '../support/gateway.ts'\n",
  })
  const runsTwice = createDialectScan()
  const files = ['a', 'b', 'c', 'wrapped', 'later', 'd', 'e'].map((name) => at(`test/faults/${name}.test.ts`))
  assert.deepEqual(files.map(runsTwice), [true, true, false, false, true, false, false])
})

test('npm test explains its options and refuses unknown ones, instead of running everything', () => {
  const run = (option: string) =>
    spawnSync(process.execPath, [join(import.meta.dirname, '..', 'test.ts'), option], { encoding: 'utf8' })
  const [help, unknown] = [run('--help'), run('--nonsense')]
  assert.equal(help.status, 0)
  assert.match(help.stdout, /^Usage: npm test -- .*--sqlite/s)
  assert.equal(unknown.status, 1)
  assert.match(unknown.stderr, /unknown option '--nonsense'/)
  assert.equal(unknown.stdout, '')
})
