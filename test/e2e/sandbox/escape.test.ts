import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  closeSync,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type Server } from 'node:net'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type ProcessResult, SandboxFailedError } from '../../../src/runner/sandbox/confined.ts'
import { testSandbox } from '../../support/agents/sandbox-kit.ts'

/** All that is said to be readable by a command, in one stream. */
const DUMP = `
env; cat /proc/*/environ /proc/*/cmdline /proc/*/maps
for f in /proc/*/fd/*; do [ -p "$f" ] || head -c 100000 "$f"; done
find / -xdev -not -path '/usr/*' -type f -size -200k -exec cat {} +
ls -laR /workspace /home /tmp /root /var /work /etc /run /dev
cat /etc/shadow /etc/../root/.*/* /proc/kcore /proc/kmsg /dev/mem /proc/1/root/etc/shadow /proc/self/root/../etc/shadow`

async function dump(t: TestContext, canary: string, folder?: string): Promise<ProcessResult> {
  const { sh } = await testSandbox(t, { limits: { outputBytes: 8_000_000, outputReadBytes: 64_000_000 } })
  const result = await sh(`{ ${DUMP} ${folder === undefined ? '' : `; cat ${folder}/*`}; } 2>/dev/null; echo dumped`)
  assert.match(result.stdout, /dumped\n$/)
  assert.equal(result.stdout.includes(canary), false, 'the canary was read')
  return result
}

function makeCanary(): string {
  return `canary-${randomBytes(16).toString('hex')}`
}

test('SBX-2 F26: neither the environment of the service nor that of the command’s parent is visible', async (t) => {
  const canary = makeCanary()
  process.env['SANDBOX_CANARY'] = canary
  t.after(() => delete process.env['SANDBOX_CANARY'])
  await dump(t, canary)
})

test('SBX-2 F26: files that the service may read are not there', async (t) => {
  const canary = makeCanary()
  const { folder } = await testSandbox(t)
  writeFileSync(join(folder, 'turnpike.db'), canary, { mode: 0o644 })
  writeFileSync(join(folder, 'secret'), canary, { mode: 0o600 })
  await dump(t, canary, folder)
})

test('SBX-2 SBX-3 F26: open files that the service inherited or opened are closed', async (t) => {
  const canary = makeCanary()
  const { folder } = await testSandbox(t)
  const path = join(folder, 'secret')
  writeFileSync(path, canary)
  const opened = openSync(path, 'r')
  t.after(() => closeSync(opened))
  // One service that has inherited descriptors from whoever started it.
  const program = fileURLToPath(new URL('../../support/agents/sandbox-victim.ts', import.meta.url))
  const script = `exec 7<"$1" 200<"$1"; exec "$2" "$3" "$4" 'ls -l /proc/*/fd; ${'cat <&7; cat <&200; cat /proc/*/fd/{7,200}'}'`
  const victim = spawn('bash', ['-c', script, 'bash', path, process.execPath, program, join(folder, 'victim')])
  let output = ''
  victim.stdout.on('data', (chunk) => {
    output += chunk
  })
  assert.deepEqual(await once(victim, 'close'), [0, null])
  assert.match(output, /ended/)
  assert.equal(output.includes(canary), false)
  assert.equal(/ (7|200) -> /.test(output), false)
  await dump(t, canary)
})

test('SBX-3 F26: of accounts and homes of this machine nothing is there', async (t) => {
  const { sh } = await testSandbox(t)
  const { stdout } = await sh(
    `ls -d /root /var /opt /srv /mnt /boot /sys ${homedir()} /etc/shadow 2>/dev/null; cat /etc/passwd`,
  )
  assert.equal(stdout, 'agent:x:1000:1000:agent:/home/agent:/bin/bash\nnobody:x:65534:65534:nobody:/:/bin/false\n')
})

test('SBX-3 F26: workspaces of other runs are not there', async (t) => {
  const canary = makeCanary()
  const other = await testSandbox(t)
  await other.sh(`echo ${canary} > theirs`)
  assert.match(readFileSync(join(other.workspace, 'theirs'), 'latin1'), /^canary/)
  await dump(t, canary, other.workspace)
})

test('SBX-3: only processes of the run are seen, and they have no rights', async (t) => {
  const { sh } = await testSandbox(t)
  const { stdout } = await sh(
    `grep -hE '^(Cap|NoNewPrivs|Seccomp:)' /proc/[0-9]*/status | sort -u; ls -d /proc/[0-9]* | wc -l; id -u`,
  )
  const lines = stdout.trim().split('\n')
  for (const line of lines.filter((text) => text.startsWith('Cap'))) assert.match(line, /:\t0{16}$/)
  assert.ok(lines.includes('NoNewPrivs:\t1') && lines.includes('Seccomp:\t2'))
  assert.ok(!lines.includes('Seccomp:\t0'), 'one of them has no filter')
  assert.ok(Number(lines.at(-2)) < 8)
  assert.equal(lines.at(-1), '1000')
})

test('SBX-3: nothing can be written but the workspace, the home and /tmp', async (t) => {
  const { sh, workspace } = await testSandbox(t)
  const { stdout } = await sh(
    `for d in / /usr /usr/bin /etc /dev /bin /lib /run /proc /proc/sys/kernel /workspace ~ /tmp /dev/shm; do (: > $d/probe) 2>/dev/null && echo $d; done
     (echo x > /proc/sys/kernel/hostname) 2>/dev/null && echo hostname; (echo 1 > /proc/sysrq-trigger) 2>/dev/null && echo sysrq`,
  )
  assert.equal(stdout, '/workspace\n/home/agent\n/tmp\n/dev/shm\n')
  assert.ok(existsSync(join(workspace, 'probe')))
})

async function listen(
  t: TestContext,
  where: { host: string; port: number } | { path: string },
): Promise<Server & { hits: number }> {
  const server = Object.assign(
    createServer((socket) => socket.destroy()),
    { hits: 0 },
  )
  server.on('connection', () => server.hits++)
  server.listen(where)
  await once(server, 'listening')
  t.after(() => server.close())
  return server
}

test('SBX-3 SBX-5 F27: neither loopback, nor metadata, nor name servers are reached', async (t) => {
  const canary = await listen(t, { host: '127.0.0.1', port: 0 })
  const address = canary.address()
  assert.ok(typeof address === 'object' && address !== null)
  const { sh } = await testSandbox(t)
  const targets = [
    `127.0.0.1/${address.port}`,
    '169.254.169.254/80',
    '::1/22',
    'fd00:ec2::254/80',
    '1.1.1.1/53',
    '10.0.0.1/5432',
  ]
  const attempts = targets.map((target) => `(exec 3<>/dev/tcp/${target}) 2>/dev/null && echo reached ${target}`)
  const { stdout } = await sh(
    `${attempts.join('\n')}
     (echo > /dev/udp/1.1.1.1/53) 2>/dev/null && echo udp
     getent hosts example.com && echo resolved; tail -n +3 /proc/net/dev | wc -l`,
  )
  assert.equal(stdout, '1\n')
  assert.equal(canary.hits, 0)
})

/** The numbers of system calls are those of this machine. */
const testOnX64: typeof test | (() => void) = process.arch === 'x64' ? test : () => {}

test('SBX-3: sockets of the machine are unreachable, by name or abstract', async (t) => {
  const name = `turnpike-${randomBytes(8).toString('hex')}`
  const abstract = await listen(t, { path: `\0${name}` })
  const { sh, workspace } = await testSandbox(t)
  const named = await listen(t, { path: join(workspace, 'named.sock') })
  const script = `use Socket; for my $n ("\\0${name}", "/workspace/named.sock") {
    socket(my $s, PF_UNIX, SOCK_STREAM, 0) or print("refused\\n"), next; connect($s, pack_sockaddr_un($n)) and print "reached\\n" }`
  const { stdout } = await sh(`perl -e '${script}'`)
  assert.equal(stdout, 'refused\nrefused\n')
  assert.deepEqual([abstract.hits, named.hits], [0, 0])
})

testOnX64('SBX-3: calls for namespaces, tracing and the kernel are refused by number', async (t) => {
  const { sh } = await testSandbox(t)
  // EPERM is 1, ENOSYS 38; the arguments would fail otherwise where they are wrong.
  const calls = {
    'unshare(NEWUSER)': [272, 0x10000000, 1],
    'unshare(NEWNS)': [272, 0x20000, 1],
    'clone(NEWUSER)': [56, 0x10000011, 1],
    'clone(NEWNET)': [56, 0x40000011, 1],
    clone3: [435, 0, 38],
    setns: [308, 0, 1],
    mount: [165, 0, 1],
    fsopen: [430, 0, 1],
    pivot_root: [155, 0, 1],
    ptrace: [101, 0, 1],
    process_vm_readv: [310, 1, 1],
    process_vm_writev: [311, 1, 1],
    bpf: [321, 0, 1],
    perf_event_open: [298, 0, 1],
    keyctl: [250, 0, 1],
    add_key: [248, 0, 1],
    io_uring_setup: [425, 1, 1],
    userfaultfd: [323, 0, 1],
    kexec_load: [246, 0, 1],
    init_module: [175, 0, 1],
    finit_module: [313, 0, 1],
    reboot: [169, 0, 1],
    swapon: [167, 0, 1],
    open_by_handle_at: [304, 0, 1],
    memfd_create: [319, 0, 38],
    'socket(AF_UNIX)': [41, 1, 1],
    'socket(AF_NETLINK)': [41, 16, 1],
    'socket(AF_PACKET)': [41, 17, 1],
    'socket(AF_VSOCK)': [41, 40, 1],
    'socket(AF_ALG)': [41, 38, 1],
    unknown: [500, 0, 38],
  } as const
  const script = Object.entries(calls).map(
    ([name, [number, argument]]) => `print "${name} ", syscall(${number}, ${argument}, 0, 0, 0, 0), " ", $!+0, "\\n";`,
  )
  const { stdout } = await sh(`perl -e '${script.join(' ')}'`)
  assert.equal(
    stdout,
    Object.entries(calls)
      .map(([name, [, , error]]) => `${name} -1 ${error}\n`)
      .join(''),
  )
})

testOnX64('SBX-3: calls of the x32 and the 32-bit kind end the process', async (t) => {
  const { sh } = await testSandbox(t)
  const { stdout } = await sh(`perl -e 'syscall(0x40000000 | 39); print "survived"'; echo $?`)
  assert.equal(stdout, '159\n') // SIGSYS
})

testOnX64(
  'SBX-3: what programs need is there: threads, pipes, child processes, pairs of sockets, their own files',
  async (t) => {
    const { sh } = await testSandbox(t)
    const { stdout, stderr, exitCode } = await sh(
      `perl -e 'use Socket; socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, 0) or die; socket(my $s, PF_INET, SOCK_STREAM, 0) or die'
     echo one | cat > f; echo two > /dev/stderr; cat < /dev/stdin > /dev/stdout; diff <(cat f) f && ln -s f g && mv g h && cat h && date > /dev/null && exit 7`,
      { stdin: 'three\n' },
    )
    assert.deepEqual({ stdout, stderr, exitCode }, { stdout: 'three\none\n', stderr: 'two\n', exitCode: 7 })
  },
)

test('SBX-3: no file with set-id bits is left, and no device, however it is made', async (t) => {
  const { sh, workspace } = await testSandbox(t)
  const { stdout } = await sh(
    `: > f; mkdir d; for mode in u+s g+s 4755 2755; do chmod $mode f d 2>/dev/null && echo $mode; done
     mknod device c 1 3 2>/dev/null && echo device; cp -p /usr/bin/passwd . 2>/dev/null
     perl -e 'use Fcntl; umask 0; sysopen(my $f, "opened", O_CREAT | O_WRONLY, 04755) and print "opened\n"; print "usual" if sysopen($f, "usual", O_CREAT | O_WRONLY, 0755)'
     chmod 1777 d; mkfifo pipe`,
  )
  assert.equal(stdout, 'usual')
  for (const name of readdirSync(workspace)) assert.equal(lstatSync(join(workspace, name)).mode & 0o6000, 0, name)
  assert.equal(lstatSync(join(workspace, 'd')).mode & 0o7777, 0o1777)
})

testOnX64('SBX-3: no characters are put into a terminal, and there is none', async (t) => {
  const { sh } = await testSandbox(t)
  const { stdout } = await sh(
    `perl -e 'my $x = "x"; for my $r (0x5412, 0x541c) { for my $f (0..2) { print syscall(16, $f, $r, $x), $!+0, " " } }'; (: < /dev/tty) 2>/dev/null || echo none`,
  )
  assert.equal(stdout, `${'-11 '.repeat(6)}none\n`)
})

test('SBX-3: the memory of process 1 offers no escape: it has the same filter', async (t) => {
  const { sh } = await testSandbox(t)
  const { stdout } = await sh('grep ^Seccomp: /proc/1/status; unshare -U true 2>/dev/null || echo refused')
  assert.equal(stdout, 'Seccomp:\t2\nrefused\n')
})

test('SBX-6: a link out of the workspace leads nowhere, from inside and in its artifacts', async (t) => {
  const canary = makeCanary()
  const { sh, workspace, folder } = await testSandbox(t)
  mkdirSync(join(folder, 'data'))
  writeFileSync(join(folder, 'data', 'secret'), canary)
  symlinkSync(join(folder, 'data'), join(workspace, 'out'))
  symlinkSync('/etc/shadow', join(workspace, 'shadow'))
  const { stdout } = await sh('cat out/secret shadow ../../data/secret 2>&1; rm -rf out/ out; echo gone', { cwd: '.' })
  assert.equal(stdout.includes(canary), false)
  assert.equal(readFileSync(join(folder, 'data', 'secret'), 'latin1'), canary)
  await assert.rejects(sh('true', { cwd: '../data' }), RangeError)
  await assert.rejects(sh('true', { cwd: '/etc' }), RangeError)
  symlinkSync(join(folder, 'data'), join(workspace, 'again'))
  assert.equal((await sh('pwd', { cwd: 'again' })).exitCode, 126)
})

test('SBX-6: a workspace that was replaced by a link is not followed', async (t) => {
  const { folder } = await testSandbox(t)
  mkdirSync(join(folder, 'data'))
  symlinkSync(join(folder, 'data'), join(folder, 'linked'))
  const { sh } = await testSandbox(t, { workspace: join(folder, 'linked') })
  await assert.rejects(sh('true'), SandboxFailedError)
})

test('read-only data can be read and not written', async (t) => {
  const { folder } = await testSandbox(t)
  mkdirSync(join(folder, 'git'))
  writeFileSync(join(folder, 'git', 'HEAD'), 'ref\n', { mode: 0o644 })
  const { sh } = await testSandbox(t, {
    readOnly: [{ from: join(folder, 'git'), to: '/workspace/.git' }],
    environment: { GIT_X: 'yes' },
  })
  const { stdout } = await sh(
    'cat .git/HEAD; (: > .git/HEAD) 2>/dev/null || echo kept; rm -rf .git 2>/dev/null || echo there; echo $GIT_X',
  )
  assert.equal(stdout, 'ref\nkept\nthere\nyes\n')
})
