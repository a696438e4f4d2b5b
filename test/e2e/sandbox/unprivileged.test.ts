import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

/** Nobody's number on any machine, and not the one that root's sandboxes have. */
const USER = 61_076
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const SUITE = 'test/e2e/sandbox/escape.test.ts'

/** Shows the sources, which may be root's alone where they are, at a place that another user can reach; then runs there. */
const AS_USER = `mount --bind "$1" "$2" && cd "$2" && shift 2 &&
  exec setpriv --reuid=${USER} --regid=${USER} --clear-groups "$@"`

// Where the tests do not run as root, the suite itself has shown it.
if (process.getuid?.() === 0) {
  test('SBX-3 F26 F27: the same holds for a service that is not root', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'turnpike-user-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    chmodSync(folder, 0o755)
    const [tree, home] = [join(folder, 'tree'), join(folder, 'home')]
    for (const each of [tree, home]) mkdirSync(each)
    chownSync(home, USER, USER)
    const node = realpathSync(process.execPath)
    const program = node.startsWith(ROOT) ? join(tree, relative(ROOT, node)) : node
    const words = [program, '--test', '--test-reporter=tap', SUITE]
    const env = { PATH: process.env['PATH'], TMPDIR: home, HOME: home }
    const { stdout } = await promisify(execFile)(
      'unshare',
      ['--mount', 'sh', '-c', AS_USER, 'sh', ROOT, tree, ...words],
      { env, cwd: '/' },
    )
    assert.match(stdout, /^# fail 0$/m)
    assert.match(stdout, /^# pass 1[0-9]$/m)
  })
}
