import assert from 'node:assert/strict'
import { statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createSandbox } from '../../../src/runner/sandbox/sandbox.ts'
import { assertNoneLeft, SMALL, testSandbox } from '../../support/agents/sandbox-kit.ts'

const AT_LIMIT = /Resource temporarily unavailable/

test('SBX-4 F28: a fork bomb stops at the processes of its run, ends in time, and leaves nothing [limit: agent-processes]', async (t) => {
  const { sh } = await testSandbox(t)
  const marker = `bomb-${process.pid}`
  let said = ''
  // A busy machine may not let it come to its limit within a second.
  for (const timeoutMs of [1_000, 10_000, 30_000]) {
    const { killed, stderr, exitCode } = await sh(`: ${marker}; f() { f | f & }; f; sleep 60`, { timeoutMs })
    assert.equal(killed, 'timeout')
    assert.equal(exitCode, null)
    said = stderr
    if (AT_LIMIT.test(said)) break
  }
  assert.match(said, AT_LIMIT)
  await assertNoneLeft(marker)
})

test('SBX-4 F28: another run has all its processes while a fork bomb is at its limit', async (t) => {
  const [bomb, other] = [await testSandbox(t), await testSandbox(t)]
  const stop = new AbortController()
  const bombing = bomb.run({ run: { script: 'f() { f | f & }; f; sleep 30' } }, stop.signal)
  await sleep(300)
  const { stdout } = await other.sh('for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1 & done; wait; echo all')
  stop.abort()
  assert.equal(stdout, 'all\n')
  assert.equal((await bombing).killed, 'cancelled')
})

test('SBX-4 F28: one process receives no more memory than the run', async (t) => {
  const { sh } = await testSandbox(t)
  const { exitCode, stdout } = await sh(`perl -e '$x = "a" x (400 * 1024 * 1024); print "had it"'`)
  assert.notEqual(exitCode, 0)
  assert.equal(stdout, '')
})

test('SBX-4 F28: processes that together exceed the memory of the run are ended, which is reported [limit: agent-memory]', async (t) => {
  const { sh } = await testSandbox(t)
  const { killed } = await sh(`for i in 1 2 3 4; do perl -e '$x = "a" x (20 * 1024 * 1024); sleep 30' & done; wait`)
  assert.equal(killed, 'memory')
})

test('SBX-4: memory that processes share counts once', async (t) => {
  const { sh } = await testSandbox(t)
  const script =
    '$x = "a" x (16 * 1024 * 1024); for (1..4) { if (!fork) { sleep 1; exit } } 1 while wait != -1; print "done"'
  const { killed, stdout } = await sh(`perl -e '${script}'`)
  assert.deepEqual([killed, stdout], [undefined, 'done'])
})

test('SBX-4 F28: files in memory count as memory, and are bounded [limit: agent-scratch]', async (t) => {
  const { sh } = await testSandbox(t, { limits: { ...SMALL, memoryBytes: 40 * 1024 * 1024 } })
  const filled = await sh('head -c 100M /dev/zero > /tmp/f; stat -c %s /tmp/f')
  assert.ok(Number(filled.stdout) <= SMALL.scratchBytes)
  const { killed } = await sh(
    'head -c 15M /dev/zero > /tmp/f; head -c 15M /dev/zero > ~/f; head -c 15M /dev/zero > /dev/shm/f; sleep 30',
  )
  assert.equal(killed, 'memory')
})

test('SBX-4: memory that belongs to no process is not available', async (t) => {
  const { sh } = await testSandbox(t)
  const { stdout } = await sh(`perl -e 'print shmget(0, 1 << 20, 0600 | 01000) ? "had" : $!+0'`)
  assert.equal(stdout, '38')
})

test('SBX-4 F28: memory of sockets in the kernel counts, and their buffers cannot be enlarged [limit: agent-sockets]', async (t) => {
  const { sh } = await testSandbox(t)
  const pairs = `use Socket; for (1..9) { next if fork; my @kept; for (1..60) {
    socketpair(my $a, my $b, AF_UNIX, SOCK_STREAM, 0) or last; $a->blocking(0); 1 while syswrite($a, "x" x 65536); push @kept, $a, $b }
    sleep 30; exit } 1 while wait != -1`
  assert.equal((await sh(`perl -MIO::Handle -e '${pairs}'`)).killed, 'memory')
  const streams = `use IO::Socket::INET; my $l = IO::Socket::INET->new(Listen => 99, LocalAddr => "127.0.0.1") or die; my @kept;
    for (1..24) { my $c = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $l->sockport) or die; my $s = $l->accept;
      $c->blocking(0); 1 while syswrite($c, "x" x 65536); push @kept, $c, $s } sleep 30`
  assert.equal((await sh(`perl -e '${streams}'`)).killed, 'memory')
  const sizes = `use Socket; socket(my $s, PF_INET, SOCK_DGRAM, 0); my $before = unpack("I", getsockopt($s, SOL_SOCKET, SO_RCVBUF));
    setsockopt($s, SOL_SOCKET, SO_RCVBUF, 2 * $before) or print "refused"; print unpack("I", getsockopt($s, SOL_SOCKET, SO_RCVBUF)) == $before ? "same" : "other";
    print setsockopt($s, SOL_SOCKET, 33, 2 * $before) ? " forced" : " not forced"`
  assert.equal((await sh(`perl -e '${sizes}'`)).stdout, 'same not forced')
})

test('SBX-4 F28: a file larger than the workspace is not written', async (t) => {
  const { sh, workspace } = await testSandbox(t)
  await sh('exec head -c 100G /dev/zero > big') // ended by the kernel or by the watch, whichever is first
  assert.ok(statSync(join(workspace, 'big')).size <= SMALL.workspaceBytes)
})

test('SBX-4 F28: files that together fill the workspace end the run, and the next one may clean up [limit: agent-workspace]', async (t) => {
  const { sh, workspace } = await testSandbox(t)
  const before = statfsSync(workspace)
  const { killed } = await sh('for i in 1 2 3 4 5 6; do head -c 10M /dev/zero > f$i; done; sleep 30')
  assert.equal(killed, 'workspace')
  const after = statfsSync(workspace)
  assert.ok((before.bfree - after.bfree) * before.bsize < 2 ** 30)
  const { killed: none, stdout } = await sh('sleep 0.3; rm -f f*; ls | wc -l')
  assert.deepEqual([none, stdout], [undefined, '0\n'])
})

test('SBX-4 F28: files without a name count as long as they are open', async (t) => {
  const { sh } = await testSandbox(t)
  const { killed } = await sh(
    'for i in 1 2 3 4 5 6; do exec {fd}> h; rm h; head -c 10M /dev/zero >&$fd; done; sleep 30',
  )
  assert.equal(killed, 'workspace')
})

test('SBX-4 F28: a million files end the run, in the workspace and in memory [limit: agent-files]', async (t) => {
  const { sh } = await testSandbox(t)
  for (const folder of ['/workspace', '/tmp']) {
    const { killed } = await sh(`cd ${folder}; seq 1 1000000 | xargs touch; sleep 30`)
    assert.equal(killed, 'workspace')
  }
})

test('SBX-4 F28: endless output ends the run; its beginning and its end are kept [limit: agent-output]', async (t) => {
  const { sh } = await testSandbox(t)
  const { killed, stdout, truncated } = await sh('echo first; exec yes')
  assert.deepEqual([killed, truncated], ['output', true])
  assert.ok(stdout.startsWith('first\ny\n') && stdout.length < SMALL.outputBytes)
  assert.match(stdout, /\n\[\d+ bytes left out\]\n/)
  const long = await sh('seq 1 20000; echo last')
  assert.deepEqual([long.killed, long.truncated, long.exitCode], [undefined, true, 0])
  assert.ok(long.stdout.startsWith('1\n2\n') && long.stdout.endsWith('20000\nlast\n'))
})

test('SBX-4 F28: a command that stops itself ends in time', async (t) => {
  const { sh } = await testSandbox(t)
  const { killed } = await sh('kill -STOP $$; kill -STOP -1', { timeoutMs: 300 })
  assert.equal(killed, 'timeout')
})

test('SBX-4 F28: a command that kills everything kills only itself', async (t) => {
  const { sh } = await testSandbox(t)
  const { exitCode, signal } = await sh(`sleep 30 & perl -e 'kill 9, -1'; kill -9 1; kill -9 $$`)
  assert.deepEqual([exitCode, signal], [137, 'SIGKILL'])
  assert.equal((await sh('echo next')).stdout, 'next\n')
})

test('SBX-4: it goes behind all other work of the machine, with bounds that it cannot raise [limit: agent-bounds]', async (t) => {
  const { sh } = await testSandbox(t)
  const { stdout } = await sh(
    'nice; nice -n -5 nice 2>/dev/null; ulimit -c; ulimit -Hu; (ulimit -u 100) 2>/dev/null || echo fixed',
  )
  assert.equal(stdout, '10\n10\n0\n32\nfixed\n')
})

test('a command that cannot be run is refused before anything runs [limit: agent-command]', async (t) => {
  const { sh, run } = await testSandbox(t)
  await assert.rejects(sh('x'.repeat(200_000)), RangeError)
  await assert.rejects(sh('a\0b'), RangeError)
  await assert.rejects(run({ run: { argv: [] } }, t.signal), RangeError)
  assert.throws(() => createSandbox({ backend: 'bubblewrap', workspace: 'relative' }), RangeError)
  const { exitCode, stderr } = await run({ run: { argv: ['no-such-program', '--x'] } }, t.signal)
  assert.equal(exitCode, 127)
  assert.match(stderr, /no-such-program: command not found\n$/)
})
