import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { findTool } from '../../../scripts/kit/machine-tools.ts'
import { cloneRun, gitRun, LOCAL, NAME } from '../../../test/support/agents/git-run.ts'
import { repositoryUrl } from './address.ts'
import { type Checkout, callIn, createBranch } from './checkout.ts'
import type { GitConnection } from './jail.ts'
import { gitText } from './process.ts'
import { push } from './remote.ts'

for (const tool of ['bubblewrap', 'perl'] as const) findTool(tool)

/** System calls by their numbers: `name_to_handle_at` and `open_by_handle_at`. */
const [TO_HANDLE, BY_HANDLE] = process.arch === 'arm64' ? [264, 265] : [303, 304]
/** Prints the handle of a file (open_by_handle_at(2)) in hexadecimal, or `none` where its file system has no handles. */
const HANDLE_OF = `my $h = pack("LL", 128, 0) . "\\0" x 128; my $m = "\\0" x 8;
if (syscall(${TO_HANDLE}, -100, $ARGV[0], $h, $m, 0) != 0) { print "none"; exit }
my ($n) = unpack("L", $h); print unpack("H*", substr($h, 0, 8 + $n))`
/** Reads a file by its handle, in the file system of a folder. */
const OPEN = `opendir(my $d, $ARGV[1]) or die; my $h = pack("H*", $ARGV[0]);
my $f = syscall(${BY_HANDLE}, fileno($d), $h, 0); if ($f < 0) { print "error ", $!+0; exit }
open(my $s, "<&=", $f); print <$s>`
const CONNECT = `use IO::Socket::INET; my $s = IO::Socket::INET->new(PeerAddr => $ARGV[0], Timeout => 5);
print $s ? "connected" : "not connected"`
const EPERM = 1

interface Attack {
  readonly checkout: Checkout
  readonly secret: string
  readonly folder: string
}

async function attack(t: TestContext): Promise<Attack> {
  const run = gitRun(t)
  const checkout = await cloneRun(run)
  const secret = join(run.root, 'secret')
  writeFileSync(secret, 'CANARY', { mode: 0o600 })
  return { checkout, secret, folder: run.root }
}

/** What a git that others have taken over could do: it runs a script by an alias, with a connection or without. */
function asGit(checkout: Checkout, script: string, connection?: GitConnection): Promise<string> {
  const args = ['-c', `alias.probe=!f() { ${script}\n}; f`, 'probe']
  return gitText(callIn(checkout, args, connection === undefined ? {} : { connection }))
}

function perl(program: string, ...args: readonly string[]): string {
  return ['perl', '-e', program, ...args].map((word) => `'${word.replaceAll("'", `'\\''`)}'`).join(' ')
}

const REMOTE: GitConnection = {
  transport: 'https',
  url: 'https://git.example.com/x/y.git',
  config: [],
  addresses: ['203.0.113.1'],
  localPath: undefined,
  credential: undefined,
  isPush: false,
}

test('SBX-3: git cannot open a file by its handle, nor by its path, be it the secret of the installation', async (t) => {
  const { checkout, secret } = await attack(t)
  const handle = execFileSync('perl', ['-e', HANDLE_OF, secret], { encoding: 'utf8' })
  if (process.getuid?.() === 0 && handle !== 'none') {
    const read = execFileSync('perl', ['-e', OPEN, handle, checkout.gitDirectory], { encoding: 'utf8' })
    assert.equal(read, 'CANARY', 'the attack works outside')
  }
  const used = handle === 'none' ? '08000000010000000200000000000000' : handle
  for (const connection of [undefined, REMOTE]) {
    const script = `${perl(OPEN, used, checkout.gitDirectory)}; echo; cat ${secret} /etc/shadow 2>&1; ls -d /root /etc/shadow 2>&1; true`
    const found = await asGit(checkout, script, connection)
    assert.equal(found.split('\n')[0], `error ${EPERM}`)
    assert.doesNotMatch(found, /CANARY|root:/)
    assert.doesNotMatch(found, /^\/(?:root|etc\/shadow)$/m)
  }
})

test('SBX-3: git has no capabilities, the filter of the sandbox, and is not root, process 1 included', async (t) => {
  const { checkout } = await attack(t)
  const look = `cat /proc/[0-9]*/status | grep -E '^(Uid|Gid|Cap...|NoNewPrivs|Seccomp):' | sort -u; unshare -Ur true 2>/dev/null && echo namespaces; true`
  for (const connection of [undefined, REMOTE]) {
    const lines = (await asGit(checkout, look, connection)).split('\n')
    const { uid } = statSync(checkout.gitDirectory)
    assert.deepEqual(
      lines.filter((line) => !line.startsWith('Cap')),
      [`Gid:${`\t${uid}`.repeat(4)}`, 'NoNewPrivs:\t1', 'Seccomp:\t2', `Uid:${`\t${uid}`.repeat(4)}`],
    )
    assert.notEqual(uid, 0)
    for (const line of lines.filter((text) => text.startsWith('Cap'))) assert.match(line, /:\t0{16}$/)
  }
})

test('SBX-5: git reaches no service of this machine, and through its relay nothing but its server', async (t) => {
  const { checkout } = await attack(t)
  const service = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1')
  await once(service, 'listening')
  t.after(() => service.close())
  let hits = 0
  service.on('connection', () => hits++)
  const { port } = service.address() as AddressInfo // it listens on a port
  const ask = (target: string): string =>
    `exec 7<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT ${target} HTTP/1.1\\r\\nhost: x\\r\\n\\r\\n' >&7; head -n 1 <&7; exec 7>&-`
  const relayed = ['127.0.0.1', 'localhost', 'other.example'].map((host) => ask(`${host}:${port}`)).join('; ')
  const passed = `printf 'GET http://127.0.0.1:${port}/ HTTP/1.1\\r\\nhost: x\\r\\n\\r\\n' >&7; head -n 1 <&7`
  const script = `${perl(CONNECT, `127.0.0.1:${port}`)}; echo; bash -c "${relayed}; exec 7<>/dev/tcp/127.0.0.1/3128; ${passed}"`
  const found = await asGit(checkout, script.replaceAll('\\', '\\\\'), REMOTE)
  assert.match(found, /^not connected$/m)
  assert.equal(found.match(/^HTTP\/1\.1 403 /gm)?.length, 4, found)
  assert.equal(await asGit(checkout, perl(CONNECT, `127.0.0.1:${port}`)), 'not connected')
  assert.equal(hits, 0)
})

test('a git server that answers with nonsense fails the call, not the service', async (t) => {
  const run = gitRun(t)
  const heads = [
    'HTTP/1.1 099 Low',
    'HTTP/1.1 999 High',
    'HTTP/1.1 101 Other\r\nupgrade: x\r\nconnection: upgrade',
    'x\0',
  ]
  for (const head of heads) {
    const server = createServer((socket) => socket.on('error', () => undefined).end(`${head}\r\ntrailer: x\r\n\r\n`))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    t.after(() => server.close())
    const { port } = server.address() as AddressInfo // it listens on a port
    const address = repositoryUrl(`http://127.0.0.1:${port}/{repository}.git`, NAME, LOCAL)
    await assert.rejects(cloneRun(run, { address }), { code: 'repository_unavailable', reason: 'unreachable' }, head)
  }
})

test('git makes no file with set-id bits, and no device', async (t) => {
  const { checkout } = await attack(t)
  const script = `: > f; for mode in u+s g+s 4755 2755; do chmod $mode f 2>/dev/null && echo $mode; done; mknod d c 1 3 2>/dev/null && echo device; true`
  assert.equal(await asGit(checkout, `cd ${checkout.workspace}; ${script}`), '')
})

/** Nobody's number on any machine. */
const USER = 61_076
const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
/** Shows the sources, which may be root's alone where they are, at a path that another user can reach; then runs there. */
const AS_USER = `mount --bind "$1" "$2" && cd "$2" && shift 2 &&
  exec setpriv --reuid=${USER} --regid=${USER} --clear-groups "$@"`

// Where the tests do not run as root, this file itself has shown it.
if (process.getuid?.() === 0) {
  test('SBX-3 SBX-5: the same holds for a service that is not root', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'turnpike-user-'))
    t.after(() => rmSync(folder, { recursive: true, force: true }))
    chmodSync(folder, 0o755)
    const [tree, home] = [join(folder, 'tree'), join(folder, 'home')]
    for (const each of [tree, home]) mkdirSync(each)
    chownSync(home, USER, USER)
    const node = realpathSync(process.execPath)
    const program = node.startsWith(ROOT) ? join(tree, relative(ROOT, node)) : node
    const suites = [
      relative(ROOT, fileURLToPath(import.meta.url)),
      'src/runner/git/self-test.test.ts',
      'src/runner/sandbox/self-test.test.ts',
      'src/runner/sandbox/folders.test.ts',
    ]
    const words = ['sh', ROOT, tree, program, '--test', '--test-reporter=tap', ...suites]
    const env = { PATH: process.env['PATH'], TMPDIR: home, HOME: home }
    const { stdout } = await promisify(execFile)('unshare', ['--mount', 'sh', '-c', AS_USER, ...words], {
      env,
      cwd: '/',
    })
    assert.match(stdout, /^# fail 0$/m)
    assert.match(stdout, /^# pass 1[1-9]$/m)
  })

  test('the repository of this machine is served by its owner, who sees nothing else', async (t) => {
    const run = gitRun(t)
    execFileSync('chown', ['-R', `${USER}:${USER}`, run.origin])
    const secret = join(run.root, 'secret')
    for (const path of [secret, join(run.origin, 'seen')]) writeFileSync(path, '')
    chownSync(join(run.origin, 'seen'), USER, USER)
    const hook = `#!/bin/sh\n{ id -u; grep Seccomp: /proc/self/status; ls -d ${secret} ${run.directory}; } > seen 2> /dev/null\n`
    writeFileSync(join(run.origin, 'hooks', 'post-receive'), hook, { mode: 0o755 })
    const checkout = await cloneRun(run)
    await createBranch(checkout, 'work')
    const address = repositoryUrl(`file://${run.root}/{repository}.git`, NAME, LOCAL)
    await push(checkout, { address, branch: 'work' })
    assert.equal(readFileSync(join(run.origin, 'seen'), 'utf8'), `${USER}\nSeccomp:\t2\n`)
    assert.equal(statSync(checkout.gitDirectory).uid, LOCAL.user?.uid)
  })
}
