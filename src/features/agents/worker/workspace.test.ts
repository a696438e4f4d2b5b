/** Runs on one database: it is about files. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
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

test('C13, SBX-3: runs of two accounts belong to two users, neither of which reads what the other has', async (t) => {
  const folder = join(mkdtempSync(join(tmpdir(), 'turnpike-agents-')), 'agents')
  t.after(() => rmSync(join(folder, '..'), { recursive: true, force: true }))
  const git = gitSettings({ allowLocalGit: true })
  const openSandbox = sandboxOpener({ backend: 'bubblewrap' }, 60_000)
  const run = async (command: string) => {
    const worker = await openWorker(t, { turns: [shell(command), finish('Done.')], over: { folder, git, openSandbox } })
    const agent = await worker.create()
    await worker.work(agent.id)
    const directory = join(folder, worker.api.accountId, agent.id)
    const messages = JSON.stringify(await worker.read(`/${agent.id}/messages`))
    return { messages, file: join(directory, 'workspace', 'own'), uid: lstatSync(join(directory, 'workspace')).uid }
  }
  const one = await run('echo of the first > own; chmod 644 own; stat -c %u own')
  const other = await run(
    `echo of the second > own; cat ${one.file} || echo nothing there; ls -R ${folder} /proc/*/root`,
  )
  assert.match(other.messages, /nothing there/)
  assert.doesNotMatch(other.messages, /of the first/)
  const own = process.getuid?.()
  // Documented for a service that is not root: namespaces alone keep accounts apart.
  if (own !== 0) return assert.deepEqual([one.uid, other.uid], [own, own])
  assert.equal(new Set([one.uid, other.uid, own]).size, 3)
  const as = (uid: number, ...command: readonly [string, ...string[]]) =>
    spawnSync('setpriv', [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups', ...command], { encoding: 'utf8' })
  const assertRefused = (uid: number, ...command: readonly [string, ...string[]]) => {
    const { status, stdout, stderr } = as(uid, ...command)
    assert.deepEqual([status === 0, stdout], [false, ''])
    assert.match(stderr, /Permission denied/)
  }
  // The folder around, which is this test's own, hides nothing.
  chmodSync(join(folder, '..'), 0o755)
  for (const { uid } of [one, other]) for (const { file } of [one, other]) assertRefused(uid, 'cat', file)
  // With the service's own folders opened, too, the users alone keep one from changing what the other has.
  for (const { file } of [one, other]) {
    for (const path of [folder, join(file, '../../..'), join(file, '../..')]) chmodSync(path, 0o755)
  }
  for (const [{ uid }, { file }] of [
    [one, other],
    [other, one],
  ] as const) {
    assertRefused(uid, 'tee', '-a', file, file)
    assertRefused(uid, 'rm', '-f', file)
  }
  assert.equal(as(one.uid, 'rm', one.file).status, 0)
})
