import assert from 'node:assert/strict'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gitIn, writeTreeObject } from '../../../test/support/agents/git-repositories.ts'
import { AUTHOR, cloneRun, gitRun, LOCAL, README } from '../../../test/support/agents/git-run.ts'
import { changedFiles, diff } from './artifacts.ts'
import { BASE, type Checkout, createBranch } from './checkout.ts'
import { type Commit, commitAll } from './commit.ts'
import { GIT_LIMITS, type GitLimits, type GitSettings } from './settings.ts'

/** Without bubblewrap: what is shown here holds by git's own settings and by what git is asked to do. */
const BARE: GitSettings = { ...LOCAL, confine: false }
const BRANCH = 'turnpike/agt_1'

function withLimits(limits: Partial<GitLimits>): GitSettings {
  return { ...BARE, limits: { ...GIT_LIMITS, ...limits } }
}

function commit(checkout: Checkout): Promise<Commit | undefined> {
  return commitAll(checkout, { message: 'Work', author: AUTHOR, at: 1e12 })
}

function committed(checkout: Checkout): string[] {
  return gitIn(checkout.gitDirectory, ['ls-tree', '-r', '-z', '--name-only', 'HEAD']).split('\0').slice(0, -1)
}

/** A program that leaves a mark when anybody runs it. */
function trap(folder: string): { readonly program: string; readonly mark: string } {
  const [program, mark] = [join(folder, 'trap'), join(folder, 'mark')]
  writeFileSync(program, `#!/bin/sh\ntouch '${mark}'\n`)
  chmodSync(program, 0o755)
  return { program, mark }
}

test('F29 GIT-2: hooks in the git directory are not run', async (t) => {
  const run = gitRun(t)
  const checkout = await cloneRun(run, {}, BARE)
  const { program, mark } = trap(run.root)
  mkdirSync(join(checkout.gitDirectory, 'hooks'))
  for (const hook of ['post-checkout', 'pre-commit', 'post-commit', 'reference-transaction', 'post-index-change']) {
    symlinkSync(program, join(checkout.gitDirectory, 'hooks', hook))
  }
  await createBranch(checkout, BRANCH)
  writeFileSync(join(checkout.workspace, 'new'), 'new')
  await commit(checkout)
  assert.deepEqual(committed(checkout), ['README.md', 'new'])
  assert.equal(existsSync(mark), false)
  gitIn(checkout.gitDirectory, ['-c', 'core.hooksPath=hooks', 'update-ref', 'refs/heads/x', 'HEAD'])
  assert.equal(existsSync(mark), true, 'the trap works')
})

test('F29 GIT-2: a submodule whose address is a command is left empty', async (t) => {
  const mark = join(gitRun(t).root, 'mark')
  const gitmodules = `[submodule "evil"]\n\tpath = evil\n\turl = ext::sh -c touch% ${mark}\n\tupdate = checkout\n`
  const link = { path: 'evil', content: '1'.repeat(40), mode: '160000' } as const
  const run = gitRun(t, { commits: [[README, { path: '.gitmodules', content: gitmodules }, link]] })
  const checkout = await cloneRun(run, {}, BARE)
  assert.deepEqual(readdirSync(join(checkout.workspace, 'evil')), [])
  writeFileSync(join(checkout.workspace, 'new'), 'new')
  await commit(checkout)
  assert.deepEqual(committed(checkout), ['.gitmodules', 'README.md', 'evil', 'new'])
  assert.equal(existsSync(mark), false)
})

/** A repository with changes, and settings that name a program. Its commit is always the same. @returns that commit. */
function nest(folder: string, program: string): string {
  mkdirSync(folder, { recursive: true })
  gitIn(folder, ['init', '--quiet'])
  writeFileSync(join(folder, 'file'), 'file')
  gitIn(folder, ['add', 'file'])
  gitIn(folder, ['commit', '--quiet', '-m', 'Nested'])
  gitIn(folder, ['config', 'core.fsmonitor', program])
  gitIn(folder, ['config', 'filter.evil.clean', program])
  writeFileSync(join(folder, '.gitattributes'), '* filter=evil\n')
  writeFileSync(join(folder, 'file'), 'four') // as long as before, so that it is looked into
  return gitIn(folder, ['rev-parse', 'HEAD']).trim()
}

test('F29: settings of repositories within the work tree run nothing, also where a submodule is expected', async (t) => {
  const { root } = gitRun(t)
  const { program, mark } = trap(root)
  const links = ['same', 'other'].map((path) => {
    const content = path === 'same' ? nest(join(root, 'nested'), program) : '1'.repeat(40)
    return { path, content, mode: '160000' } as const
  })
  const modules = links.map(({ path }) => `[submodule "${path}"]\n\tpath = ${path}\n\turl = ./x\n\tignore = none\n`)
  const run = gitRun(t, { commits: [[README, { path: '.gitmodules', content: modules.join('') }, ...links]] })
  const checkout = await cloneRun(run, {}, BARE)
  for (const name of ['same', 'other', 'fresh']) nest(join(checkout.workspace, name), program)
  writeFileSync(join(checkout.workspace, 'new'), 'new')
  const made = await commit(checkout)
  assert.deepEqual(made?.skipped, ['fresh/'])
  assert.deepEqual(committed(checkout), ['.gitmodules', 'README.md', 'new', 'other', 'same'])
  assert.match(gitIn(checkout.gitDirectory, ['ls-tree', 'HEAD', 'other']), /^160000 commit 1{40}/)
  await diff(checkout, { base: BASE })
  await changedFiles(checkout, { base: BASE })
  assert.equal(existsSync(mark), false)
  gitIn(join(checkout.workspace, 'same'), ['status'])
  assert.equal(existsSync(mark), true, 'the trap works')
})

test('F29: what lies at .git in the work tree is neither read nor committed', async (t) => {
  const run = gitRun(t)
  const checkout = await cloneRun(run, {}, BARE)
  const { program, mark } = trap(run.root)
  const fake = join(checkout.workspace, '.git')
  gitIn(checkout.workspace, ['init', '--quiet'])
  writeFileSync(join(fake, 'config'), `[core]\n\tbare = false\n\tworktree = /etc\n\tfsmonitor = ${program}\n`)
  writeFileSync(join(checkout.workspace, 'new'), 'new')
  await commit(checkout)
  assert.deepEqual(committed(checkout), ['README.md', 'new'])
  rmSync(fake, { recursive: true })
  writeFileSync(fake, 'gitdir: /etc\n')
  writeFileSync(join(checkout.workspace, 'newer'), 'newer')
  await commit(checkout)
  assert.deepEqual(committed(checkout), ['README.md', 'new', 'newer'])
  assert.equal(existsSync(mark), false)
})

test('F29: symbolic links stay links, and nothing behind them is read', async (t) => {
  const secret = join(gitRun(t).root, 'secret')
  mkdirSync(join(secret, 'folder'), { recursive: true })
  writeFileSync(join(secret, 'folder', 'inside'), 'CANARY')
  const links = [
    { path: 'out', content: join(secret, 'folder', 'inside'), mode: '120000' },
    { path: 'folder', content: join(secret, 'folder'), mode: '120000' },
  ] as const
  const run = gitRun(t, { commits: [[README, ...links, { path: 'real/inside', content: 'mine' }]] })
  const checkout = await cloneRun(run, {}, BARE)
  const inWorkspace = (name: string): string => join(checkout.workspace, name)
  assert.equal(readlinkSync(inWorkspace('out')), join(secret, 'folder', 'inside'))
  rmSync(inWorkspace('real'), { recursive: true })
  symlinkSync(join(secret, 'folder'), inWorkspace('real'))
  symlinkSync(join(secret, 'folder', 'inside'), inWorkspace('.gitignore'))
  symlinkSync(join(secret, 'folder', 'inside'), inWorkspace('.gitattributes'))
  const made = await commit(checkout)
  assert.deepEqual(made?.skipped, [])
  assert.deepEqual(committed(checkout).sort(), ['.gitattributes', '.gitignore', 'README.md', 'folder', 'out', 'real'])
  assert.doesNotMatch(gitIn(checkout.gitDirectory, ['cat-file', '--batch-all-objects', '--batch']), /CANARY/)
  assert.doesNotMatch((await diff(checkout, { base: BASE })).text, /CANARY/)
})

test('F29: attributes bring no filter, no encoding and no program of diffs; contents are kept byte by byte', async (t) => {
  const attributes = '* filter=evil diff=evil merge=evil text eol=crlf ident working-tree-encoding=UTF-16\n'
  const content = Buffer.from('$Id$\r\nmixed\n\xff', 'latin1')
  const run = gitRun(t, {
    commits: [
      [
        { path: '.gitattributes', content: attributes },
        { path: 'file', content },
      ],
    ],
  })
  const checkout = await cloneRun(run, {}, BARE)
  assert.deepEqual(readFileSync(join(checkout.workspace, 'file')), content)
  writeFileSync(join(checkout.workspace, 'pointer'), Buffer.from('odd\xfe\n', 'latin1'))
  const made = await commit(checkout)
  assert.deepEqual(made?.skipped, [])
  assert.equal(gitIn(checkout.gitDirectory, ['cat-file', '-s', 'HEAD:pointer']).trim(), '5')
  assert.deepEqual(
    (await changedFiles(checkout, { base: BASE })).files.map(({ path }) => path),
    ['pointer'],
  )
})

test('F29: names with line feeds, escapes, quotes and other bytes are kept, and shown without effect', async (t) => {
  const names = ['a\nb', 'esc\u001b[31mred', '-rf', '"quoted"', ':(top)x', '*', '.gitmodules\n', 'é', ' ']
  const run = gitRun(t, { commits: [[README, ...names.map((path) => ({ path, content: 'as it was\n' }))]] })
  const checkout = await cloneRun(run, {}, BARE)
  for (const name of names) writeFileSync(join(checkout.workspace, name), 'changed\n')
  writeFileSync(Buffer.concat([Buffer.from(`${checkout.workspace}/`), Buffer.from([0x66, 0xff])]), 'bytes')
  writeFileSync(join(checkout.workspace, 'new\nline\u001b]0;title\u0007'), 'new')
  const made = await commit(checkout)
  assert.deepEqual(made?.skipped, [])
  assert.equal(committed(checkout).length, names.length + 3)
  const { text } = await diff(checkout, { base: BASE })
  assert.doesNotMatch(text, /\u001b|\u0007/)
  assert.match(text, /"b\/new\\nline\\033\]0;title\\a"/)
  const { files } = await changedFiles(checkout, { base: BASE })
  assert.equal(files.length, names.length + 2)
  for (const { path } of files) assert.doesNotMatch(path, /[\u0000-\u001f]/)
})

test('F29: trees with the names of git directories, or of folders above, are refused', async (t) => {
  for (const name of ['.git', '.GIT', 'git~1', '.g\u200cit', '..', '.']) {
    const run = gitRun(t)
    const blob = gitIn(run.origin, ['hash-object', '-w', '--stdin'], 'x').trim()
    const tree = writeTreeObject(run.origin, [{ mode: '100644', name, id: blob }])
    const hostile = gitIn(run.origin, ['commit-tree', tree, '-m', 'Hostile']).trim()
    gitIn(run.origin, ['update-ref', 'refs/heads/main', hostile])
    await assert.rejects(cloneRun(run, {}, BARE), { reason: 'damaged', code: 'repository_unavailable' }, name)
  }
})

test('F29: names that differ in case alone are two files', async (t) => {
  const both = [
    { path: 'A', content: 'upper' },
    { path: 'a', content: 'lower' },
    { path: 'Sub/x', content: '1' },
    { path: 'sub', content: '/etc', mode: '120000' },
  ] as const
  const checkout = await cloneRun(gitRun(t, { commits: [both] }), {}, BARE)
  assert.equal(readFileSync(join(checkout.workspace, 'A'), 'utf8'), 'upper')
  assert.equal(readFileSync(join(checkout.workspace, 'a'), 'utf8'), 'lower')
  assert.equal(lstatSync(join(checkout.workspace, 'Sub')).isDirectory(), true)
})

test('F29: more files than are allowed are not laid out, be they ever so few objects [limit: git-files]', async (t) => {
  const many = Array.from({ length: 30 }, (_, index) => ({ path: `f${index}`, content: '' }))
  const settings = withLimits({ files: 20 })
  const refusal = { code: 'repository_too_large', reason: 'too_many_files' }
  await assert.rejects(cloneRun(gitRun(t, { commits: [many] }), {}, settings), refusal)
  const run = gitRun(t)
  let id = gitIn(run.origin, ['hash-object', '-w', '--stdin'], 'x').trim()
  let mode = '100644'
  for (let level = 0; level < 10; level++) {
    const entries = Array.from({ length: 10 }, (_, index) => ({ mode, name: String(index), id }))
    id = writeTreeObject(run.origin, entries)
    mode = '40000'
  }
  gitIn(run.origin, ['update-ref', 'refs/heads/main', gitIn(run.origin, ['commit-tree', id, '-m', 'Bomb']).trim()])
  await assert.rejects(cloneRun(run, {}, settings), refusal)
  assert.equal(existsSync(join(run.directory, 'workspace')), false)
})

test('F29: a pack, or contents, larger than allowed end the clone [limit: git-bytes]', async (t) => {
  const random = Buffer.alloc(400_000)
  for (let at = 0; at < random.length; at++) random[at] = (at * 2654435761) >>> (at % 23)
  const run = gitRun(t, { commits: [[README, { path: 'big', content: random }]] })
  const refusal = { code: 'repository_too_large', reason: 'too_large' }
  await assert.rejects(cloneRun(run, {}, withLimits({ packBytes: 65_536 })), refusal)
  await assert.rejects(cloneRun(run, {}, { ...withLimits({ packBytes: 65_536 }), confine: true }), refusal)
  const zeros = gitRun(t, { commits: [[{ path: 'zeros', content: Buffer.alloc(20_000_000) }]] })
  await assert.rejects(cloneRun(zeros, {}, withLimits({ workspaceBytes: 1_000_000, packBytes: 1_000_000 })), refusal)
  assert.deepEqual(readdirSync(run.directory), [])
})

test('F29: what the agent makes too much of is not committed; names that git refuses are left out', async (t) => {
  const checkout = await cloneRun(gitRun(t), {}, withLimits({ files: 50, workspaceBytes: 1_000_000 }))
  const inWorkspace = (name: string): string => join(checkout.workspace, name)
  writeFileSync(inWorkspace('git~1'), 'x')
  writeFileSync(inWorkspace('good'), 'good')
  const made = await commit(checkout)
  assert.deepEqual(made?.skipped, ['git~1'])
  assert.deepEqual(committed(checkout), ['README.md', 'good'])
  writeFileSync(inWorkspace('huge'), Buffer.alloc(1_000_001))
  await assert.rejects(commit(checkout), { code: 'workspace_too_large', reason: 'too_large' })
  rmSync(inWorkspace('huge'))
  for (let at = 0; at < 60; at++) writeFileSync(inWorkspace(`f${at}`), '')
  await assert.rejects(commit(checkout), { code: 'workspace_too_large', reason: 'too_many_files' })
})

test('a file turned folder, a folder turned file, and a mode are committed as they are', async (t) => {
  const before = [
    { path: 'file', content: 'f' },
    { path: 'folder/x', content: 'x' },
    { path: 'tool', content: '#!/bin/sh' },
  ]
  const checkout = await cloneRun(gitRun(t, { commits: [before] }), {}, BARE)
  const inWorkspace = (name: string): string => join(checkout.workspace, name)
  rmSync(inWorkspace('file'))
  mkdirSync(inWorkspace('file'))
  writeFileSync(inWorkspace('file/y'), 'y')
  rmSync(inWorkspace('folder'), { recursive: true })
  writeFileSync(inWorkspace('folder'), 'folder')
  chmodSync(inWorkspace('tool'), 0o755)
  await commit(checkout)
  assert.deepEqual(committed(checkout), ['file/y', 'folder', 'tool'])
  assert.match(gitIn(checkout.gitDirectory, ['ls-tree', 'HEAD', 'tool']), /^100755/)
})

test('a diff is cut at whole lines, and says so [limit: git-diff]', async (t) => {
  const checkout = await cloneRun(gitRun(t), {}, withLimits({ diffBytes: 1_000 }))
  writeFileSync(join(checkout.workspace, 'long'), 'äöü\n'.repeat(1_000))
  await commit(checkout)
  const { text, isTruncated } = await diff(checkout, { base: BASE })
  assert.equal(isTruncated, true)
  assert.ok(Buffer.byteLength(text) <= 1_000)
  assert.match(text, /\+äöü\n$/)
})

test('a file that may not be read is left out of the commit, and named', async (t) => {
  const run = gitRun(t, { commits: [[README, { path: 'closed', content: 'as it was' }]] })
  const checkout = await cloneRun(run, {}, LOCAL)
  for (const name of ['closed', 'new', 'open']) writeFileSync(join(checkout.workspace, name), 'changed')
  for (const name of ['closed', 'new']) chmodSync(join(checkout.workspace, name), 0)
  const made = await commit(checkout)
  assert.deepEqual([...(made?.skipped ?? [])].sort(), ['closed', 'new'])
  assert.equal(gitIn(checkout.gitDirectory, ['show', 'HEAD:closed']), 'as it was')
  assert.equal(gitIn(checkout.gitDirectory, ['show', 'HEAD:open']), 'changed')
})
