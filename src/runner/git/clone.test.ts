import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { commitTo, gitIn } from '../../../test/support/agents/git-repositories.ts'
import { AUTHOR, cloneRun, gitRun, LOCAL, README } from '../../../test/support/agents/git-run.ts'
import { changedFiles, diff } from './artifacts.ts'
import { BASE, checkoutAt, commitAt, createBranch, isCheckout, sandboxView } from './checkout.ts'
import { commitAll } from './commit.ts'
import { checkGit, isEnough } from './self-test.ts'

test('a clone has the work tree of the default branch, and git directory and workspace apart', async (t) => {
  const run = gitRun(t, { commits: [[README], [README, { path: 'src/a.js', content: 'a\n' }]], branch: 'trunk' })
  const checkout = await cloneRun(run)
  assert.equal(readFileSync(join(checkout.workspace, 'src/a.js'), 'utf8'), 'a\n')
  assert.deepEqual(readdirSync(join(checkout.workspace, '.git')), [])
  assert.equal(await commitAt(checkout, BASE), gitIn(run.origin, ['rev-parse', 'trunk']).trim())
  const config = readFileSync(join(checkout.gitDirectory, 'config'), 'utf8')
  assert.doesNotMatch(config, /remote|url/)
  assert.equal(existsSync(join(checkout.gitDirectory, 'hooks')), false)
})

test('a branch may be asked for; one that does not exist, and an empty repository, say so', async (t) => {
  const run = gitRun(t)
  commitTo(run.origin, 'feature/x', [README, { path: 'x', content: 'x' }])
  const checkout = await cloneRun(run, { branch: 'feature/x' })
  assert.equal(readFileSync(join(checkout.workspace, 'x'), 'utf8'), 'x')
  await assert.rejects(cloneRun(run, { branch: 'nope', directory: `${run.directory}2` }), {
    reason: 'branch_not_found',
  })
  await assert.rejects(cloneRun(run, { branch: '--upload-pack=x' }), { reason: 'branch_not_found' })
  assert.equal(existsSync(join(`${run.directory}2`, 'workspace')), false)
  await assert.rejects(cloneRun(gitRun(t, { commits: [] })), { reason: 'empty', code: 'repository_unavailable' })
})

test('what the agent did becomes a commit on its branch, a diff, and a list of files', async (t) => {
  const run = gitRun(t, {
    commits: [[README, { path: 'old', content: 'old\n' }, { path: '.gitignore', content: 'junk\n' }]],
  })
  const checkout = await cloneRun(run)
  await createBranch(checkout, 'turnpike/agt_1')
  assert.equal(await commitAll(checkout, { message: 'Nothing', author: AUTHOR, at: 1e12 }), undefined)
  writeFileSync(join(checkout.workspace, 'README.md'), '# Tools\nBetter.\n')
  writeFileSync(join(checkout.workspace, 'new.bin'), Buffer.from([0, 1, 2]))
  writeFileSync(join(checkout.workspace, 'junk'), 'ignored')
  execFileSync('rm', [join(checkout.workspace, 'old')])
  const commit = await commitAll(checkout, { message: 'Better\n\nMuch.', author: AUTHOR, at: 1e12 })
  assert.deepEqual(commit?.skipped, [])
  assert.equal(await commitAt(checkout, 'refs/heads/turnpike/agt_1'), commit?.id)
  const { text, isTruncated } = await diff(checkout, { base: BASE })
  assert.match(
    text,
    /^diff --git a\/README.md b\/README.md\n[\s\S]*\+Better\.\n[\s\S]*Binary files[\s\S]*deleted file mode/,
  )
  assert.equal(isTruncated, false)
  assert.deepEqual((await changedFiles(checkout, { base: BASE })).files, [
    { path: 'README.md', change: 'modified', insertions: 1, deletions: 0 },
    { path: 'new.bin', change: 'added', insertions: undefined, deletions: undefined },
    { path: 'old', change: 'deleted', insertions: 0, deletions: 1 },
  ])
  const shown = gitIn(checkout.gitDirectory, ['log', '-1', '--format=%an|%ae|%cn|%ct|%B'])
  assert.equal(shown, 'Turnpike|agent@turnpike.example|Turnpike|1000000000|Better\n\nMuch.\n\n')
})

test('GIT-3: in the sandbox git shows status, diff and log, and can write neither settings nor hooks', async (t) => {
  const checkout = await cloneRun(gitRun(t))
  await createBranch(checkout, 'turnpike/agt_1')
  writeFileSync(join(checkout.workspace, 'README.md'), '# Changed\n')
  const { readOnly, environment } = sandboxView(checkout)
  const inside = (script: string): string => {
    const system = ['/usr', '/bin', '/lib', '/lib64'].flatMap((path) => ['--ro-bind-try', path, path])
    const view = [
      '--bind',
      checkout.workspace,
      '/workspace',
      ...readOnly.flatMap(({ from, to }) => ['--ro-bind', from, to]),
    ]
    const args = [
      '--unshare-all',
      '--unshare-user',
      '--uid',
      '1000',
      '--gid',
      '1000',
      '--dev',
      '/dev',
      '--proc',
      '/proc',
      ...system,
      ...view,
    ]
    const env = { PATH: '/usr/bin:/bin', HOME: '/workspace', ...environment }
    return execFileSync('bwrap', [...args, '--chdir', '/workspace', 'sh', '-c', script], { env, encoding: 'utf8' })
  }
  assert.equal(
    inside('git status --short && git log --format=%s && git branch'),
    ' M README.md\nA commit\n* turnpike/agt_1\n',
  )
  assert.match(inside('git diff'), /\+# Changed/)
  assert.match(
    inside('git config user.name x 2>&1; touch .git/hooks 2>&1; git commit -am x 2>&1; true'),
    /Read-only file system/,
  )
  assert.doesNotMatch(inside('git config user.name || true; ls .git'), /hooks/)
})

test('a git that was ended in the middle holds up no later commit, and a checkout that is whole is known', async (t) => {
  const run = gitRun(t)
  const before = checkoutAt(LOCAL, run.directory, AbortSignal.timeout(60_000))
  assert.equal(await isCheckout(before), false)
  const checkout = await cloneRun(run)
  assert.equal(await isCheckout(before), true)
  await createBranch(checkout, 'turnpike/agt_1')
  writeFileSync(join(checkout.workspace, 'new'), 'new')
  for (const name of ['index', 'HEAD', 'refs/heads/turnpike/agt_1']) {
    writeFileSync(join(checkout.gitDirectory, `${name}.lock`), '')
  }
  const commit = await commitAll(checkout, { message: 'Work', author: AUTHOR, at: 1e12 })
  assert.equal(await commitAt(checkout, 'turnpike/agt_1'), commit?.id)
  rmSync(join(checkout.gitDirectory, 'refs'), { recursive: true })
  assert.equal(await isCheckout(before), false)
})

test('a git that is too old is not used', async () => {
  const check = await checkGit(LOCAL, AbortSignal.timeout(60_000))
  assert.match(check.ok ? check.version : '', /^\d+\.\d+\.\d+$/)
  for (const version of [
    [2, 39, 4],
    [2, 39, 5],
    [2, 40, 0],
    [3, 0, 0],
  ])
    assert.equal(isEnough(version), true, `${version}`)
  for (const version of [[], [2, 39, 3], [2, 34, 1], [1, 99, 99]]) assert.equal(isEnough(version), false, `${version}`)
})
