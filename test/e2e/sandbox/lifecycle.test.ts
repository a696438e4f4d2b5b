import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { assertNoneLeft, processesWith, SMALL, testSandbox } from '../../support/agents/sandbox-kit.ts'

/** Others come and go with other tests. */
const mountsOf = (folder: string): readonly string[] =>
  readFileSync('/proc/self/mountinfo', 'latin1')
    .split('\n')
    .filter((line) => line.includes(folder))

async function until(holds: () => boolean): Promise<void> {
  for (let tries = 0; tries < 3_000; tries++) {
    if (holds()) return
    await sleep(20)
  }
  assert.fail(`never: ${holds}`)
}

test('SBX-4: background processes of a command end with it', async (t) => {
  const { sh } = await testSandbox(t)
  const marker = `left-${process.pid}`
  const { stdout, exitCode } = await sh(
    `export MARK=${marker}; setsid nohup sleep 1000 > /dev/null 2>&1 & disown
     (trap '' TERM HUP INT; exec setsid bash -c 'sleep 1000; : ${marker}') & (sleep 1000 &) ; echo started`,
  )
  assert.deepEqual([stdout, exitCode], ['started\n', 0])
  await assertNoneLeft(marker)
})

test('JOB-3: a cancelled command ends with all its processes, and its output is reported', async (t) => {
  const { run, workspace } = await testSandbox(t)
  const marker = `cancelled-${process.pid}`
  const stop = new AbortController()
  const running = run(
    { run: { script: `: ${marker}; trap '' TERM; setsid sleep 1000 & echo begun; touch begun; wait` } },
    stop.signal,
  )
  await until(() => processesWith(marker).length > 0 && readable(join(workspace, 'begun')))
  const at = performance.now()
  stop.abort()
  const result = await running
  assert.ok(performance.now() - at < SMALL.wallMs / 2)
  assert.deepEqual([result.killed, result.exitCode, result.stdout], ['cancelled', null, 'begun\n'])
  await assertNoneLeft(marker)
})

function readable(path: string): boolean {
  try {
    readFileSync(path)
    return true
  } catch {
    return false
  }
}

test('JOB-3: one that was cancelled before it began does not begin', async (t) => {
  const { run, workspace } = await testSandbox(t)
  const result = await run({ run: { script: 'touch begun' } }, AbortSignal.abort())
  assert.equal(result.killed, 'cancelled')
  assert.equal(readable(join(workspace, 'begun')), false)
})

test('JOB-3: a command that is cancelled while its sandbox is built ends then, at any moment', async (t) => {
  const { run } = await testSandbox(t)
  const marker = `early-${process.pid}`
  for (let delayMs = 0; delayMs < 48; delayMs += 2) {
    const stop = new AbortController()
    const running = run({ run: { script: `: ${marker}; sleep 1000` } }, stop.signal)
    await sleep(delayMs)
    stop.abort()
    assert.equal((await running).killed, 'cancelled')
  }
  await assertNoneLeft(marker)
})

test('F25: nothing of a run is left when its service is killed, at any moment', async (t) => {
  const { folder } = await testSandbox(t)
  const program = fileURLToPath(new URL('../../support/agents/sandbox-victim.ts', import.meta.url))
  for (const delayMs of [0, 15, 30, undefined]) {
    const marker = `orphan-${process.pid}-${delayMs}`
    const workspace = join(folder, `victim-${delayMs}`)
    const victim = spawn(
      process.execPath,
      [program, workspace, `: ${marker}; setsid sleep 1000 & touch begun; sleep 1000`],
      {
        stdio: 'ignore',
      },
    )
    const isVictim = (pid: number): boolean => pid === victim.pid
    // Its own arguments have the marker as well.
    await until(() => processesWith(marker).some((pid) => !isVictim(pid)))
    if (delayMs === undefined) await until(() => readable(join(workspace, 'begun')))
    else await sleep(delayMs)
    victim.kill('SIGKILL')
    await once(victim, 'exit')
    await assertNoneLeft(marker)
  }
  assert.deepEqual(mountsOf(folder), [])
})

test('a command’s timeout is the requested one, and at most its own limit [limit: agent-command-time]', async (t) => {
  const { sh } = await testSandbox(t, { limits: { wallMs: 400 } })
  assert.equal((await sh('sleep 30', { timeoutMs: 100 })).killed, 'timeout')
  assert.equal((await sh('sleep 30', { timeoutMs: 60_000 })).killed, 'timeout')
})

test('concurrent commands share nothing but the workspace', async (t) => {
  const { sh } = await testSandbox(t)
  const results = await Promise.all(
    Array.from({ length: 6 }, (_, index) => sh(`echo ${index} > /tmp/x; sleep 0.1; cat /tmp/x; ls /tmp | wc -l`)),
  )
  assert.deepEqual(
    results.map(({ stdout }) => stdout),
    Array.from({ length: 6 }, (_, index) => `${index}\n1\n`),
  )
})

test('backend none: the same interface without isolation', async (t) => {
  const { sh, workspace } = await testSandbox(t, { backend: 'none' })
  process.env['SANDBOX_CANARY'] = 'canary'
  t.after(() => delete process.env['SANDBOX_CANARY'])
  assert.equal((await sh('pwd; echo $SANDBOX_CANARY; cat', { stdin: 'in\n' })).stdout, `${workspace}\n\nin\n`)
  assert.deepEqual([(await sh('exit 3')).exitCode, (await sh('kill -9 $$')).signal], [3, 'SIGKILL'])
  assert.equal((await sh('sleep 30', { timeoutMs: 100 })).killed, 'timeout')
  assert.equal((await sh('yes')).killed, 'output')
  const marker = `plain-${process.pid}`
  assert.equal((await sh(`(: ${marker}; sleep 1000; : ${marker}) & echo started`)).stdout, 'started\n')
  await assertNoneLeft(marker)
  await assert.rejects(sh('true', { cwd: '..' }), RangeError)
})
