import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { gitIn } from '../../../test/support/agents/git-repositories.ts'
import { AUTHOR, cloneRun, type GitRun, gitRun, LOCAL, NAME, README } from '../../../test/support/agents/git-run.ts'
import { type GitServer, type GitServerOptions, startGitServer } from '../../../test/support/agents/git-server.ts'
import { createTestAuthority } from '../../../test/support/identity/test-authority.ts'
import { type RepositoryAddress, repositoryUrl } from './address.ts'
import { bundle, restore } from './artifacts.ts'
import { BASE, type Checkout, commitAt, createBranch, sandboxView } from './checkout.ts'
import { commitAll } from './commit.ts'
import { push } from './remote.ts'
import { GIT_LIMITS, type GitSettings } from './settings.ts'

const TOKEN = 'tok-CANARY-5f0c2a'
const CREDENTIAL = { token: TOKEN }
const BRANCH = 'turnpike/agt_1'

async function serve(t: TestContext, options: GitServerOptions): Promise<GitServer> {
  const server = await startGitServer(options)
  t.after(() => server.close())
  return server
}

function at(server: GitServer): RepositoryAddress {
  return repositoryUrl(`${server.url}/{repository}.git`, NAME, LOCAL)
}

async function work(checkout: Checkout, name: string): Promise<string> {
  writeFileSync(join(checkout.workspace, name), `${name}\n`)
  const commit = await commitAll(checkout, { message: `Add ${name}`, author: AUTHOR, at: 1e12 })
  return commit?.id ?? assert.fail('nothing was committed')
}

/** Every file below a folder, as text. */
function contentsOf(folder: string): string {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const paths = names.map((name) => join(folder, name)).filter((path) => statSync(path).isFile())
  return paths.map((path) => readFileSync(path, 'latin1')).join('\n')
}

/** What anybody on this machine sees of all processes: arguments, and environments as their owner sees them. */
function processes(): string {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
  return pids
    .flatMap((pid) => [readOrNothing(`/proc/${pid}/cmdline`), readOrNothing(`/proc/${pid}/environ`)])
    .join('\n')
}

function readOrNothing(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return '' // it has ended
  }
}

/** What was killed can take longer to vanish than the two seconds that are waited for it: ask with `until`. */
function isAnybodyAt(directory: string): boolean {
  return processes().includes(directory)
}

test('GIT-3: clone and push with a token that is nowhere but in their connections', async (t) => {
  const run = gitRun(t)
  const server = await serve(t, { root: run.root, token: TOKEN })
  const checkout = await cloneRun(run, { address: at(server), credential: CREDENTIAL })
  await createBranch(checkout, BRANCH)
  const commit = await work(checkout, 'new')
  await push(checkout, { address: at(server), branch: BRANCH, credential: CREDENTIAL })
  assert.equal(gitIn(run.origin, ['rev-parse', BRANCH]).trim(), commit)
  const encoded = Buffer.from(`x-access-token:${TOKEN}`).toString('base64')
  assert.ok(server.requests.some(({ authorization }) => authorization === `Basic ${encoded}`))
  const left = contentsOf(run.directory) + JSON.stringify(sandboxView(checkout))
  assert.equal(left.includes(TOKEN) || left.includes(encoded) || left.includes(server.url), false)
})

test('GIT-3: while a push hangs, the token is in no argument and no environment', async (t) => {
  const run = gitRun(t)
  const checkout = await cloneRun(run)
  await createBranch(checkout, BRANCH)
  await work(checkout, 'new')
  for (const confine of [true, false]) {
    const server = await serve(t, { root: run.root, token: TOKEN, hangsOn: 'POST' })
    const ended = new AbortController()
    const settings = { ...LOCAL, confine }
    const hanging = { ...checkout, settings, signal: ended.signal }
    const pushing = push(hanging, { address: at(server), branch: BRANCH, credential: CREDENTIAL })
    const refusal = assert.rejects(pushing, { name: 'AbortError' })
    await until(() => server.requests.some(({ method }) => method === 'POST'))
    const seen = processes()
    assert.ok(seen.includes(server.url), 'the push is seen')
    assert.equal(seen.includes(TOKEN), false)
    assert.equal(seen.includes(Buffer.from(`x-access-token:${TOKEN}`).toString('base64')), false)
    ended.abort()
    await refusal
    await until(() => !isAnybodyAt(server.url))
  }
})

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 5))
}

test('a token that is wrong, or not given, is told as such and appears in no error', async (t) => {
  const run = gitRun(t)
  const server = await serve(t, { root: run.root, token: 'another' })
  for (const credential of [CREDENTIAL, undefined]) {
    const error = await failureOf(cloneRun(run, { address: at(server), credential }))
    assert.deepEqual([error.code, error.reason], ['repository_unavailable', 'not_found'])
    assert.equal(JSON.stringify([error.message, error.detail]).includes(TOKEN), false)
  }
  const missing = await failureOf(
    cloneRun(run, { address: repositoryUrl(`${server.url}/{repository}`, 'no/where', LOCAL) }),
  )
  assert.equal(missing.reason, 'not_found')
})

async function failureOf(
  work: Promise<unknown>,
): Promise<{ code: string; reason: string; message: string; detail: string }> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof Error && 'reason' in error && 'code' in error && 'detail' in error)
  return { code: `${error.code}`, reason: `${error.reason}`, message: error.message, detail: `${error.detail}` }
}

test('GIT-1: a redirect is not followed, neither by a fetch nor by a push, and its target sees nobody', async (t) => {
  const run = gitRun(t)
  const target = await serve(t, { root: run.root })
  const server = await serve(t, { root: run.root, redirectTo: target.url })
  const error = await failureOf(cloneRun(run, { address: at(server), credential: CREDENTIAL }))
  assert.equal(error.reason, 'redirected')
  const checkout = await cloneRun(run)
  await createBranch(checkout, BRANCH)
  await work(checkout, 'new')
  const pushing = push(checkout, { address: at(server), branch: BRANCH, credential: CREDENTIAL })
  assert.deepEqual([(await failureOf(pushing)).code, target.requests.length], ['push_failed', 0])
})

test('GIT-1: git connects to the address that was checked, whatever the name leads to by then', async (t) => {
  const run = gitRun(t)
  const authority = createTestAuthority((remove) => t.after(remove))
  const server = await serve(t, { root: run.root, certificate: authority.certify('DNS:git.example.com') })
  const caFile = join(run.root, 'ca.pem')
  writeFileSync(caFile, authority.ca)
  const answers = [['127.0.0.1'], ['127.0.0.2']]
  const resolve = async () => answers.shift() ?? []
  const address = repositoryUrl(`https://git.example.com:${server.port}/{repository}.git`, NAME, LOCAL)
  await cloneRun(run, { address }, { ...LOCAL, caFile, resolve })
  assert.deepEqual([...new Set(server.requests.map(({ host }) => host))], [`git.example.com:${server.port}`])
  assert.equal(answers.length, 1, 'it was resolved once')
  const untrusted = await failureOf(cloneRun(run, { address, directory: `${run.directory}2` }, { ...LOCAL, resolve }))
  assert.equal(untrusted.reason, 'unreachable')
})

test('GIT-1 TM10: names that lead to addresses that are not public are refused before git is started', async (t) => {
  const run = gitRun(t)
  const strict: GitSettings = { ...LOCAL, allowLocalGit: false }
  const address = repositoryUrl('https://git.example.com/{repository}.git', NAME, strict)
  for (const found of [['127.0.0.1'], ['8.8.8.8', '10.0.0.1'], ['169.254.169.254'], ['::1'], ['fd00:ec2::254']]) {
    const settings = { ...strict, resolve: async () => found }
    assert.equal((await failureOf(cloneRun(run, { address }, settings))).reason, 'address_refused')
  }
  const nobody = { ...strict, resolve: async () => [] }
  assert.equal((await failureOf(cloneRun(run, { address }, nobody))).reason, 'unreachable')
  assert.equal((await failureOf(cloneRun(run, {}, strict))).reason, 'address_refused')
  assert.equal(existsSync(run.directory), false)
})

test('a branch goes forward only, unless what is replaced is named', async (t) => {
  const run = gitRun(t)
  const address = repositoryUrl(`file://${run.root}/{repository}.git`, NAME, LOCAL)
  const first = await cloneRun(run)
  await createBranch(first, BRANCH)
  const theirs = await work(first, 'one')
  await push(first, { address, branch: BRANCH })
  const second = await cloneRun(run, { directory: `${run.directory}2` })
  await createBranch(second, BRANCH)
  const ours = await work(second, 'two')
  const refused = await failureOf(push(second, { address, branch: BRANCH }))
  assert.deepEqual([refused.code, refused.reason], ['push_failed', 'push_rejected'])
  await assert.rejects(push(second, { address, branch: BRANCH, replaces: '1'.repeat(40) }), { reason: 'push_rejected' })
  await push(second, { address, branch: BRANCH, replaces: theirs })
  assert.equal(gitIn(run.origin, ['rev-parse', BRANCH]).trim(), ours)
})

test('the work of a run is restored from its bundle and the commit that it began at', async (t) => {
  const run = gitRun(t)
  const server = await serve(t, { root: run.root })
  const checkout = await cloneRun(run, { address: at(server) })
  await createBranch(checkout, BRANCH)
  assert.equal(await bundle(checkout, BRANCH), undefined)
  await work(checkout, 'one')
  const tip = await work(checkout, 'two')
  const kept = (await bundle(checkout, BRANCH)) ?? assert.fail('there is no bundle')
  assert.ok(kept.length < 4_096)
  const base = await commitAt(checkout, BASE)
  moveOn(run)
  const again = await cloneRun(run, { address: at(server), commit: base, directory: `${run.directory}2` })
  await restore(again, { bundle: kept, branch: BRANCH })
  assert.deepEqual([await commitAt(again, BRANCH), await commitAt(again, BASE)], [tip, base])
  assert.deepEqual(readdirSync(again.workspace).sort(), ['.git', 'README.md', 'one', 'two'])
  const next = await work(again, 'three')
  await push(again, { address: at(server), branch: BRANCH })
  assert.equal(gitIn(run.origin, ['rev-parse', BRANCH]).trim(), next)
  assert.equal(await commitAll(again, { message: 'Nothing', author: AUTHOR, at: 1e12 }), undefined)
})

/** The repository's branch is another by now, and its old commit is on none. */
function moveOn(run: GitRun): void {
  const tree = gitIn(run.origin, ['rev-parse', 'main^{tree}']).trim()
  gitIn(run.origin, ['update-ref', 'refs/heads/main', gitIn(run.origin, ['commit-tree', tree, '-m', 'Other']).trim()])
}

test('a bundle has a largest size, and one for another beginning is refused [limit: git-bundle]', async (t) => {
  const run = gitRun(t, { commits: [[README], [README, { path: 'second', content: '2' }]] })
  const checkout = await cloneRun(run)
  await createBranch(checkout, BRANCH)
  await work(checkout, 'one')
  const small = { ...checkout, settings: { ...LOCAL, limits: { ...GIT_LIMITS, bundleBytes: 100 } } }
  await assert.rejects(bundle(small, BRANCH), { reason: 'bundle_too_large' })
  const kept = (await bundle(checkout, BRANCH)) ?? assert.fail('there is no bundle')
  const other = await cloneRun(gitRun(t), {})
  await assert.rejects(restore(other, { bundle: kept, branch: BRANCH }), { reason: 'base_gone' })
  await assert.rejects(restore(small, { bundle: kept, branch: BRANCH }), { reason: 'bundle_too_large' })
  const gone = cloneRun(run, { commit: '1'.repeat(40), directory: `${run.directory}2` })
  await assert.rejects(gone, { code: 'repository_unavailable', reason: 'base_gone' })
})

test('a server that is silent is left at the deadline, or when the run is cancelled, with no process behind', async (t) => {
  const run = gitRun(t)
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.after(() => silent.close())
  const port = (silent.address() as { port: number }).port // it listens on a port
  const address = repositoryUrl(`http://127.0.0.1:${port}/{repository}.git`, NAME, LOCAL)
  const hasty = { ...LOCAL, limits: { ...GIT_LIMITS, fetchTimeoutMs: 100 } }
  await assert.rejects(cloneRun(run, { address }, hasty), { code: 'repository_unavailable', reason: 'timeout' })
  await until(() => !isAnybodyAt(address.url))
  for (const confine of [true, false]) {
    const cancelled = new AbortController()
    const connected = once(silent, 'connection')
    const cloning = cloneRun(run, { address, signal: cancelled.signal }, { ...LOCAL, confine })
    const refusal = assert.rejects(cloning, /cancelled by its owner/)
    await connected
    assert.equal(isAnybodyAt(address.url), true)
    cancelled.abort(new Error('cancelled by its owner'))
    await refusal
    await until(() => !isAnybodyAt(address.url))
  }
})

test('F25: when the service is killed, git ends with it', async (t) => {
  const run = gitRun(t)
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.after(() => silent.close())
  const port = (silent.address() as { port: number }).port // it listens on a port
  const address = repositoryUrl(`http://127.0.0.1:${port}/{repository}.git`, NAME, LOCAL)
  const script = `import { clone } from ${JSON.stringify(import.meta.resolve('./remote.ts'))}
    import { gitSettings } from ${JSON.stringify(import.meta.resolve('./settings.ts'))}
    const signal = new AbortController().signal
    const request = { address: ${JSON.stringify(address)}, directory: ${JSON.stringify(run.directory)}, depth: 1, signal }
    await clone(gitSettings({ allowLocalGit: true }), request)`
  const connected = once(silent, 'connection')
  const victim = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'ignore' })
  await connected
  const marker = `--depth=1\0--\0${address.url}` // of git; the script has the address too
  assert.equal(isAnybodyAt(marker), true)
  victim.kill('SIGKILL')
  await once(victim, 'exit')
  await until(() => !isAnybodyAt(marker))
})
