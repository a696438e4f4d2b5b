/** Runs on one database: it is about files. */
import assert from 'node:assert/strict'
import { chmodSync, chownSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { findTool } from '../../../../scripts/kit/machine-tools.ts'
import { finish, openWorker, shell } from '../../../../test/support/agents/agent-worker.ts'
import { gitIn } from '../../../../test/support/agents/git-repositories.ts'
import { gitSettings } from '../../../runner/git/settings.ts'
import { sandboxUser } from '../../../runner/sandbox/folders.ts'
import { sandboxOpener } from './deps.ts'

findTool('bubblewrap')

test('SBX-3: runs of an account belong to its own user, below a folder that nobody else may enter', async (t) => {
  const folder = join(mkdtempSync(join(tmpdir(), 'turnpike-agents-')), 'agents')
  t.after(() => rmSync(join(folder, '..'), { recursive: true, force: true }))
  mkdirSync(folder)
  for (const path of [join(folder, '..'), folder]) chmodSync(path, 0o755)
  const turns = [
    shell('echo done > made; chmod u+s made; stat -c %u made'),
    finish('Made.'),
    shell('echo more >> made'),
    finish('More.'),
  ]
  const git = gitSettings({ allowLocalGit: true })
  const openSandbox = sandboxOpener({ backend: 'bubblewrap' }, 60_000)
  const worker = await openWorker(t, { turns, over: { folder, git, openSandbox } })
  const agent = await worker.create()
  await worker.work(agent.id)
  assert.equal((await worker.read(`/${agent.id}`)).status, 'completed')
  assert.equal(gitIn(worker.origin, ['show', `${agent.branch}:made`]), 'done\n')
  const [account = ''] = readdirSync(folder)
  const directory = join(folder, account, agent.id)
  for (const path of [folder, join(folder, account), directory]) assert.equal(statSync(path).mode & 0o777, 0o700, path)
  const uid = sandboxUser(account)?.uid ?? process.getuid?.()
  for (const path of ['git', 'git/index', 'workspace', 'workspace/.git', 'workspace/README.md', 'workspace/made']) {
    assert.equal(lstatSync(join(directory, path)).uid, uid, path)
  }
  assert.equal(lstatSync(join(directory, 'workspace/made')).mode & 0o7000, 0)
  // As runs of an earlier version left it, whose user was the same for all accounts.
  if (process.getuid?.() === 0) chownSync(join(directory, 'workspace'), 61_075, 61_075)
  await worker.api.ask('POST', `/${agent.id}/followup`, { body: { prompt: 'And more.' } })
  await worker.work(agent.id)
  assert.equal(gitIn(worker.origin, ['show', `${agent.branch}:made`]), 'done\nmore\n')
  assert.equal(lstatSync(join(directory, 'workspace')).uid, uid)
})
