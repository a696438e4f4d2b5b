/**
 * What a reader of README.md or docs/quick-start.md does first: `npm ci` in a clean clone, with the Node.js and npm of
 * this machine (20 or newer) and, dry, with the bundled Node.js, and then `npm start`. Packages come from npm's cache where
 * that has them. The commands of CONTRIBUTING.md, docs/dashboard.md and docs/providers.md that change the project run there
 * as well. `.ci/run` has just run `npm ci` in such a clone, in which this runs: what it printed is read instead.
 */
import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { eventually } from '../support/client.ts'
import { MACHINE_PATH } from '../support/http/documentation.ts'
import { blockOf } from '../support/http/reader.ts'
import { freePort } from '../support/process/free-port.ts'

const ROOT = join(import.meta.dirname, '..', '..')
const MAX_LINES = 10
/** Bounded by what is not in the cache. */
const WITHIN_MS = 540_000

/** Set by `.ci/run`. */
const INSTALL_LOG = process.env['TURNPIKE_INSTALL_LOG']
/** What `npm ci` makes in a clone. */
const INSTALLED = ['node_modules', 'dashboard/node_modules', 'dashboard/dist', 'site/dist', 'packages/*/dist']

const folder = mkdtempSync(join(tmpdir(), 'turnpike-clone-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** The files that are, or would be, in the repository, as they are now. */
function makeClone(): void {
  const listed = ['ls-files', '-z', '--cached', '--others', '--exclude-standard']
  const names = execFileSync('git', listed, { cwd: ROOT, encoding: 'utf8' }).split('\0')
  for (const name of names) {
    if (name !== '' && existsSync(join(ROOT, name))) cpSync(join(ROOT, name), join(folder, name))
  }
}

/** Of a shell: without what `npm test` sets for its scripts. */
const env = Object.fromEntries(
  Object.entries({ ...process.env, PATH: MACHINE_PATH, NODE_OPTIONS: undefined, NODE_TEST_CONTEXT: undefined }).filter(
    ([name, value]) => value !== undefined && !name.startsWith('npm_'),
  ),
)

makeClone()
const npmRoot = execFileSync('npm', ['root', '--global'], { env, encoding: 'utf8' }).trim()
const machineNode = execFileSync('node', ['--version'], { env, encoding: 'utf8' }).trim()

function printedByInstall(): string {
  if (INSTALL_LOG === undefined) return printedBy('npm', ['ci'])
  for (const name of globSync(INSTALLED, { cwd: ROOT })) {
    const from = join(ROOT, name)
    const entries = readdirSync(from).filter((entry) => entry !== '.cache') // others write there meanwhile
    mkdirSync(join(folder, name))
    execFileSync('cp', ['-a', '--link', ...entries.map((entry) => join(from, entry)), join(folder, name)])
  }
  return readFileSync(INSTALL_LOG, 'utf8')
}

function printedBy(program: string, words: readonly string[]): string {
  const options = { cwd: folder, env, encoding: 'utf8', timeout: WITHIN_MS } as const
  const { status, stdout, stderr } = spawnSync(program, [...words, '--prefer-offline'], options)
  assert.equal(status, 0, stdout + stderr)
  return stdout + stderr
}

const bundledNpm = join(npmRoot, 'npm', 'bin', 'npm-cli.js')

for (const { version, install } of [
  { version: machineNode, install: printedByInstall },
  // It reads the lock and checks engines. The files are there already, and npm runs scripts with the bundled Node.js always.
  {
    version: process.version,
    install: () => printedBy(process.execPath, [bundledNpm, 'ci', '--dry-run', '--ignore-scripts']),
  },
]) {
  test(`npm ci in a clean clone prints at most ${MAX_LINES} lines on Node.js ${version}`, () => {
    const output = install()
    const lines = output.split('\n').filter((line) => line.trim() !== '')
    console.log(`${lines.length} lines`)
    assert.ok(lines.length <= MAX_LINES, output)
    assert.doesNotMatch(output, /EBADENGINE/)
  })
}

test('then npm start serves, until SIGTERM', async () => {
  const port = await freePort()
  const own = { ...env, PORT: String(port), TURNPIKE_DATA_DIR: join(folder, 'data') }
  const child = spawn('npm', ['start'], { cwd: folder, env: own, detached: true })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (piece: Buffer) => {
      output += piece.toString()
    })
  }
  const exited = new Promise<number | null>((resolve) => child.on('exit', resolve))
  try {
    const isReady = () =>
      fetch(`http://127.0.0.1:${port}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      )
    await eventually(async () => child.exitCode !== null || (await isReady()), Boolean, 180_000)
    assert.equal(child.exitCode, null, output)
    const guide = await fetch(`http://127.0.0.1:${port}/docs/quick-start`)
    assert.deepEqual([guide.status, /Quick start/.test(await guide.text())], [200, true])
    child.kill('SIGTERM')
    await exited
    assert.equal(await isReady(), false, 'the server has ended with npm')
  } finally {
    killGroup(child.pid)
  }
})

function shell(text: string): void {
  const { status, stdout, stderr } = spawnSync('sh', ['-e', '-c', text], { cwd: folder, env, encoding: 'utf8' })
  assert.equal(status, 0, `${text}: ${stdout}${stderr}`)
}

test('docs/dashboard.md: the dashboard is built, its client generated, and served while one works on it', async () => {
  const [build = '', generate = '', screenshots = '', pictures = '', serve = ''] = blockOf(
    'docs/dashboard.md',
    'npm run build:dashboard',
  ).text.split('\n')
  assert.match(build, /^npm run build:dashboard +#/)
  const { scripts } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  assert.ok(scripts.prepare.startsWith(`${scripts['build:dashboard']} `), 'npm ci has just run it')
  assert.ok(existsSync(join(folder, 'dashboard', 'dist', 'index.html')))
  shell(generate)
  const unrun = [screenshots, pictures]
  assert.ok(
    unrun.every((line) => /^npm run screenshots /.test(line)),
    'not run: they take minutes, and a browser',
  )
  const port = await freePort()
  const child = spawn('sh', ['-c', serve.replace('npx vite', `npx vite --port ${port} `)], {
    cwd: folder,
    env,
    detached: true,
  })
  try {
    const isServed = () =>
      fetch(`http://localhost:${port}/app/`).then(
        ({ ok }) => ok,
        () => false,
      )
    await eventually(async () => child.exitCode !== null || (await isServed()), Boolean, 180_000)
    assert.equal(child.exitCode, null, 'it serves until it is ended')
  } finally {
    killGroup(child.pid)
  }
})

test('CONTRIBUTING.md and docs/providers.md: a host is added, and the catalogue checked', () => {
  shell('git init -q')
  const [add = '', record = '', check = ''] = blockOf('CONTRIBUTING.md', 'npm run new:provider').text.split('\n')
  shell(add)
  assert.ok(existsSync(join(folder, 'src', 'providers', 'acme.ts')))
  assert.match(record, /^npm run record /, "the one that is not run: it needs the host's key")
  shell(check)
  shell(blockOf('docs/providers.md', 'npm run -s new:provider').text)
  assert.ok(existsSync(join(folder, 'src', 'providers', 'examplehost.ts')))
})

/** A server must not outlive npm. @param pid Of the leader of the group. */
function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  } catch {} // all have ended
}
