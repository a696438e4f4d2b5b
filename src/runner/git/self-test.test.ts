import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { findTool } from '../../../scripts/kit/machine-tools.ts'
import { testGitJail } from './self-test.ts'
import { gitSettings } from './settings.ts'

for (const tool of ['bubblewrap', 'perl'] as const) findTool(tool)

test('SBX-1: a jail of git that holds is found to, and nothing of the test is left', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-git-test-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  assert.deepEqual(await testGitJail(gitSettings(), { folder }), { ok: true })
  assert.deepEqual(readdirSync(folder), [])
})

test('SBX-1: a git without a jail, and a secret within its reach, are found out', async () => {
  const open = await testGitJail(gitSettings({ confine: false }))
  assert.ok(!open.ok)
  assert.match(open.reason, /it is user 0|Cap|NoNewPrivs|Seccomp|reached a service/)
  const seen = await testGitJail(gitSettings(), { secrets: ['/usr/bin/env'] })
  assert.ok(!seen.ok)
  assert.match(seen.reason, /files is '\/usr\/bin\/env'/)
})
