import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { openCgroups, SANDBOX_LIMITS } from './limits.ts'
import { selfTest } from './self-test.ts'

/** What the kernel shows of a group that was given to this service, as files; it makes some of its own in new groups. */
function givenGroup(t: TestContext): string {
  const own = mkdtempSync(join(tmpdir(), 'turnpike-cgroup-'))
  t.after(() => rmSync(own, { recursive: true, force: true }))
  for (const group of [own, join(own, 'turnpike-runs')]) {
    mkdirSync(group, { recursive: true })
    writeFileSync(join(group, 'cgroup.controllers'), 'cpu io memory pids\n')
    writeFileSync(join(group, 'cgroup.subtree_control'), '')
    writeFileSync(join(group, 'cgroup.procs'), `${process.pid}\n`)
  }
  return own
}

test('SBX-4: where groups may be made, a run has its bounds of memory without swap, of processes and of time', (t) => {
  const own = givenGroup(t)
  // The kernel answers `+memory` with `memory`, also below; these files keep what was written.
  assert.ok(openCgroups(own) !== undefined)
  assert.equal(readFileSync(join(own, 'cgroup.subtree_control'), 'utf8'), '+cpu +memory +pids')
  const runs = join(own, 'turnpike-runs')
  writeFileSync(join(runs, 'cgroup.controllers'), '')
  writeFileSync(join(runs, 'cgroup.subtree_control'), 'cpu memory pids\n')
  const cgroups = openCgroups(own)
  assert.deepEqual(cgroups?.controllers, new Set(['cpu', 'memory', 'pids']))
  const cgroup = cgroups.make('run', SANDBOX_LIMITS)
  const bound = (file: string): string => readFileSync(join(runs, 'run', file), 'utf8')
  assert.deepEqual(['memory.max', 'memory.swap.max', 'memory.oom.group', 'pids.max', 'cpu.max'].map(bound), [
    '2147483648',
    '0',
    '1',
    '264',
    '200000 100000',
  ])
  writeFileSync(join(runs, 'run', 'memory.events'), 'low 0\noom 1\noom_kill 0\noom_group_kill 0\n')
  assert.equal(cgroup.ranOutOfMemory(), false)
  writeFileSync(join(runs, 'run', 'memory.events'), 'low 0\noom 1\noom_kill 3\noom_group_kill 1\n')
  assert.equal(cgroup.ranOutOfMemory(), true)
})

test('without a group of its own, a service has none to make', () => {
  assert.equal(openCgroups('/nowhere'), undefined)
})

const UNIFIED = ['/sys/fs/cgroup/unified', '/sys/fs/cgroup'].find((path) =>
  existsSync(join(path, 'cgroup.controllers')),
)
const skip = UNIFIED === undefined || process.getuid?.() !== 0 ? 'needs root and cgroup v2' : false

function realGroup(t: TestContext): string {
  const own = mkdtempSync(join(UNIFIED ?? '', 'turnpike-test-'))
  t.after(() => {
    for (const name of ['turnpike-runs', 'turnpike-service', '']) {
      if (existsSync(join(own, name))) rmdirSync(join(own, name))
    }
  })
  return own
}

test('SBX-4 JOB-2: all processes of a group end at once, and the group is removed', { skip }, async (t) => {
  const own = realGroup(t)
  const cgroups = openCgroups(own)
  assert.ok(cgroups !== undefined)
  const cgroup = cgroups.make('run', SANDBOX_LIMITS)
  // All three are there before it says so.
  const child = spawn('sh', ['-c', 'read x; setsid sleep 1000 & sleep 1000 & echo begun; wait'], {
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  assert.ok(child.pid !== undefined)
  cgroup.join(child.pid)
  child.stdin.end('\n')
  await once(child.stdout, 'data')
  assert.equal(readFileSync(join(own, 'turnpike-runs/run/cgroup.procs'), 'utf8').trim().split('\n').length, 3)
  cgroup.killAll()
  assert.deepEqual(await once(child, 'exit'), [null, 'SIGKILL'])
  await cgroup.remove()
  assert.equal(readdirSync(join(own, 'turnpike-runs')).includes('run'), false)
})

test('SBX-1 SBX-4: a sandbox holds in a group too, and leaves none', { skip }, async (t) => {
  const own = realGroup(t)
  const cgroups = openCgroups(own)
  assert.ok(cgroups !== undefined)
  assert.deepEqual(await selfTest({ cgroups }), { ok: true })
  const folders = readdirSync(join(own, 'turnpike-runs'), { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  )
  assert.deepEqual(folders, [])
})
