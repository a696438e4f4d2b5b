/**
 * slow: each case waits for the lease of a job to run out. A worker of agents that stands still for longer than its lease
 * (SIGSTOP), and then continues: alone, and after another worker has taken its run over.
 * Runs on one database: it is about processes.
 */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CrashPoint } from '../../src/lib/crash-point.ts'
import { calls, ENDED, employerAt, QUICK_FIX, script, startAgentSite } from '../support/agents/agent-site.ts'
import { billsOf, mountsIn, sleepersOf } from '../support/agents/leftovers.ts'
import { eventually } from '../support/client.ts'
import { openLocation } from '../support/database.ts'
import type { Gateway } from '../support/gateway.ts'
import { stopAt } from './kit/crash.ts'

/** From the return of the worker, or from the loss of its lease where it does not return, to the end of the run. */
const ENDS_WITHIN_MS = 90_000
const WITHIN_MS = 180_000
/** Seconds that nobody else on this machine sleeps. */
const SLEEP = String(2_000_000 + process.pid)

const site = await startAgentSite({ args: ['--role', 'api'] })
const { gateway } = site
const database = await openLocation(gateway.database)
after(async () => {
  await database.close()
  await gateway.stop()
  await site.close()
})
const employer = employerAt(() => gateway, await gateway.key())
const assistants = async (id: string) => (await employer.messages(id)).filter(({ kind }) => kind === 'assistant').length

interface Phase {
  readonly title: string
  readonly prompt: string
  /** Where it stops by itself; otherwise it is stopped when `isThere`. */
  readonly point?: CrashPoint
  readonly isThere?: (id: string) => Promise<boolean>
}

const IN_A_COMMAND: Phase = {
  title: 'in a command',
  prompt: script(calls('shell', { command: 'echo done > done.txt' }), calls('shell', { command: `sleep ${SLEEP}` })),
  isThere: async (id) => (await assistants(id)) === 2 && sleepersOf(SLEEP).length > 0,
}
const IN_A_CALL: Phase = {
  title: 'in a call of the model',
  prompt: script('simulate: delay 50000', calls('finish', { summary: 'Late.' })),
  isThere: () => employer.asks(),
}
const BEFORE_THE_END: Phase = { title: 'before the end is written', prompt: QUICK_FIX, point: 'agent_ending' }

for (const phase of [IN_A_COMMAND, BEFORE_THE_END]) {
  test(`JOB-2: a worker that stalls ${phase.title} past its lease, alone: the run ends on its return`, async (t) => {
    const { id, worker } = await stall(t, phase)
    worker.signal('SIGCONT')
    // Nobody has taken the run: an end that was decided is written.
    const returnedAt = performance.now()
    await assertEnded(id, 'on its return', phase === BEFORE_THE_END ? 'completed' : 'failed')
    assertInTime(returnedAt)
    await assertContinues(id)
  })
}

for (const phase of [IN_A_COMMAND, IN_A_CALL, BEFORE_THE_END]) {
  test(`JOB-2: a worker that stalls ${phase.title} while another takes its run over: one end, also on its return`, async (t) => {
    const { id, worker } = await stall(t, phase)
    const lostAt = performance.now()
    const next = await site.start({ args: ['--role', 'worker'] })
    t.after(() => next.stop())
    await employer.until(id, ...ENDED)
    assertInTime(lostAt)
    worker.signal('SIGCONT')
    await assertEnded(id, 'by the other worker')
    worker.signal('SIGTERM')
    assert.equal(await worker.exited, 0, worker.output())
    await assertEnded(id, 'and it stays so')
    await assertContinues(id)
  })
}

/** Stops a worker within a run, and waits until the lease of its job has expired. */
async function stall(t: TestContext, { prompt, point, isThere }: Phase) {
  const worker = await site.start({ args: ['--role', 'worker'], ...(point && { env: stopAt(point) }) })
  t.after(() => {
    worker.signal('SIGCONT')
    return worker.stop()
  })
  const { id } = await employer.create(prompt)
  if (isThere !== undefined) {
    assert.ok(await eventually(() => isThere(id), Boolean, WITHIN_MS), 'the run came to where it is to stop')
    await stopBetweenWrites(worker)
  }
  await eventually(async () => isStopped(worker), Boolean, WITHIN_MS)
  await eventually(leaseOfRun, (until) => until !== undefined && until <= Date.now(), WITHIN_MS)
  assert.equal((await employer.agent(id)).status, 'running')
  return { id: id as string, worker }
}

/** One end, nothing left behind, and every call charged once. */
async function assertEnded(id: string, message: string, becomes: 'completed' | 'failed' = 'failed'): Promise<void> {
  const agent = await employer.until(id, ...ENDED)
  assert.deepEqual(
    [agent.status, agent.error?.code],
    [becomes, becomes === 'failed' ? 'worker_lost' : undefined],
    message,
  )
  const events = (await employer.events(id)).filter(({ type, data }) => type === 'status' && data.status !== 'queued')
  assert.deepEqual(
    events.map(({ data }) => data.status),
    ['running', becomes],
    message,
  )
  await eventually(
    async () => sleepersOf(SLEEP),
    ({ length }) => length === 0,
    WITHIN_MS,
  )
  await eventually(
    async () => mountsIn(gateway.dataDir),
    ({ length }) => length === 0,
    WITHIN_MS,
  )
  await eventually(
    () => billsOf(employer, id),
    ([charged, counted]) => charged === counted && charged > 0,
    WITHIN_MS,
  )
}

function assertInTime(since: number): void {
  const tookMs = performance.now() - since
  assert.ok(tookMs < ENDS_WITHIN_MS, `ended after ${tookMs} ms`)
}

async function assertContinues(id: string): Promise<void> {
  const prompt = script(calls('finish', { summary: 'Went on.' }))
  await employer.ask('POST', `/v1/agents/${id}/followup`, { prompt })
  const agent = await employer.until(id, ...ENDED)
  assert.deepEqual([agent.status, agent.summary], ['completed', 'Went on.'])
}

/** A process that is stopped within a transaction keeps the file locked, so that no other process starts. */
async function stopBetweenWrites(worker: Gateway): Promise<void> {
  worker.signal('SIGSTOP')
  await eventually(async () => isStopped(worker), Boolean, WITHIN_MS)
  if (!isLocked()) return
  worker.signal('SIGCONT')
  await sleep(50)
  await stopBetweenWrites(worker)
}

function isLocked(): boolean {
  const file = new DatabaseSync(join(gateway.dataDir, 'turnpike.db'), { timeout: 500 })
  try {
    file.exec('begin immediate; rollback')
    return false
  } catch {
    return true
  } finally {
    file.close()
  }
}

function isStopped({ pid }: Gateway): boolean {
  return /^\d+ \(.*\) [Tt] /s.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
}

/** When the lease of the run under way ends, Unix milliseconds; undefined: none is under way. */
async function leaseOfRun(): Promise<number | undefined> {
  const jobs = database.db.selectFrom('job').select('lease_until').where('kind', '=', 'agents.run')
  const row = await jobs.where('ended_at', 'is', null).executeTakeFirst()
  return row?.lease_until === null || row === undefined ? undefined : Number(row.lease_until)
}
