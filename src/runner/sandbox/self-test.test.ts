import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { findTool } from '../../../scripts/kit/machine-tools.ts'
import { selfTest } from './self-test.ts'

findTool('bubblewrap')

/** All programs of the machine but bubblewrap, which is `script` or not there. */
function programsWith(t: TestContext, script?: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-programs-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  chmodSync(folder, 0o755)
  for (const name of ['cat', 'mount', 'mkdir', 'readlink', 'setpriv', 'unshare'])
    symlinkSync(`/usr/bin/${name}`, join(folder, name))
  if (script !== undefined) writeFileSync(join(folder, 'bwrap'), `#!/bin/bash\n${script}`, { mode: 0o755 })
  return folder
}

test('SBX-1: a sandbox that holds is found to, and nothing of the test is left', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-self-test-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  assert.deepEqual(await selfTest({ folder }), { ok: true })
  assert.deepEqual(readdirSync(folder), [])
})

test('SBX-1: without bubblewrap it is said what to install', async (t) => {
  const result = await selfTest({ searchPath: programsWith(t) })
  assert.ok(!result.ok)
  assert.equal(result.fix, 'Install bubblewrap: apt-get install bubblewrap')
})

if (process.getuid?.() === 0) {
  test('SBX-1: without what root needs to become another user, it is said what to install', async () => {
    const result = await selfTest({ searchPath: '/nowhere' })
    assert.ok(!result.ok)
    assert.match(result.fix, /^Install util-linux/)
  })
}

test('SBX-1: a sandbox that only seems to be one is found out', async (t) => {
  const script = `echo '{ "child-pid": '$$' }' >&5; cd /tmp; while [ "$1" != -- ]; do shift; done; shift; exec "$@"`
  const result = await selfTest({ searchPath: programsWith(t, script) })
  assert.ok(!result.ok)
  assert.notEqual(result.fix, '')
})

test('SBX-1: a sandbox without a filter, or with the network of the machine, is found out', async (t) => {
  for (const [without, reason] of [
    ['--seccomp 7', /Seccomp/],
    ['--unshare-all', /links|processes/],
    ['--clearenv', /variables/],
  ] as const) {
    const words = without.split(' ')
    const script = `args=(); while (($#)); do
      if [ "$1" = ${words[0]} ]; then shift ${words.length}; ${without === '--unshare-all' ? 'args+=(--unshare-pid --unshare-uts);' : ''}
      else args+=("$1"); shift; fi; done; ${without === '--clearenv' ? 'export LEAKED=1;' : ''} exec /usr/bin/bwrap "\${args[@]}"`
    const result = await selfTest({ searchPath: programsWith(t, script) })
    assert.ok(!result.ok, without)
    assert.match(result.reason, reason)
  }
})

test('SBX-1: what the machine does not allow is told with what allows it', async (t) => {
  for (const [words, fix] of [
    [
      'bwrap: No permissions to create new namespace, likely because the kernel does not allow it',
      /unprivileged_userns_clone=1/,
    ],
    ['bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted', /AppArmor profile/],
    ['bwrap: setting up uid map: Permission denied', /AppArmor profile/],
    ['bwrap: Unknown option --disable-userns', /bubblewrap 0\.8\.0 or newer/],
    ['bwrap: Creating new namespace failed: Resource temporarily unavailable', /max_user_namespaces/],
    ['something else', /doctor/],
  ] as const) {
    const result = await selfTest({ searchPath: programsWith(t, `echo "${words}" >&2; exit 1`) })
    assert.ok(!result.ok)
    assert.equal(result.reason, words)
    assert.match(result.fix, fix)
  }
})
