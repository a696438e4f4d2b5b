/** Jobs of runs with real git and sandboxes. Runs on one database: `run.test.ts` and the tests of routes are about queries. */
import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { finish, openWorker, shell, type Turn, withTransactions } from '../../../../test/support/agents/agent-worker.ts'
import { gitIn } from '../../../../test/support/agents/git-repositories.ts'
import { startGitServer } from '../../../../test/support/agents/git-server.ts'
import { testIds } from '../../../../test/support/database.ts'
import { comesTrue } from '../../../../test/support/limits.ts'
import { GatewayError } from '../../../domain/errors.ts'
import { JobInterrupted, TryAgainIn } from '../../../jobs/job.ts'
import { createJobRunner, JOB_LEASE_MS } from '../../../jobs/runner.ts'
import { SandboxFailedError } from '../../../runner/sandbox/confined.ts'
import { RUN_JOB } from '../lifecycle.ts'
import { RUN_LIMITS } from './deps.ts'
import { ABANDONED_MS, endDisobeyed, endOverdueRuns, OVERDUE_EVERY_MS, runKind } from './jobs.ts'
import { tidyWorkspaces } from './workspace.ts'

const LEASE_MS = 2_000

const never: Turn = (_, signal) =>
  new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason)
    signal.addEventListener('abort', () => reject(signal.reason))
  })

test('a message that comes while the run ends is read by it: it goes on instead', async (t) => {
  const worker = await openWorker(t, {
    turns: [shell('echo one > one.txt'), finish('One.'), shell('echo two > two.txt'), finish('Two.')],
  })
  const { id, branch } = await worker.create()
  let isSaid = false
  // Its last look for messages is over when it commits.
  const db = withTransactions(worker.deps.db, async (work) => {
    if (!isSaid && (await worker.read(`/${id}/runs`)).data[0].phase === 'committing') {
      isSaid = true
      await worker.api.ask('POST', `/${id}/followup`, { body: { prompt: 'And two.' } })
    }
    return work()
  })
  Object.assign(worker.deps, { db })
  await worker.work(id)
  const agent = await worker.read(`/${id}`)
  assert.deepEqual([isSaid, agent.status, agent.summary, agent.runs], [true, 'completed', 'Two.', 1])
  assert.equal(gitIn(worker.origin, ['show', `${branch}:two.txt`]), 'two\n')
})

test('a run that stands still is ended as stalled, one that takes too long as run_timeout; the work is kept [limit: run-time]', async (t) => {
  for (const [code, clock, waitedMs] of [
    ['stalled', 'clock', RUN_LIMITS.stalledMs],
    ['run_timeout', 'now', RUN_LIMITS.wallMs],
  ] as const) {
    let aheadMs = 0
    const wait: Turn = (request, signal) => {
      aheadMs = waitedMs
      return never(request, signal)
    }
    const worker = await openWorker(t, { turns: [shell('echo kept > kept.txt'), wait] })
    const usual = worker.deps[clock]
    Object.assign(worker.deps, { [clock]: () => usual() + aheadMs })
    const { id } = await worker.create()
    await worker.work(id)
    const agent = await worker.read(`/${id}`)
    assert.deepEqual([agent.status, agent.error.code], ['failed', code])
    assert.match((await worker.api.ask('GET', `/${id}/diff`)).text, /kept\.txt/)
  }
})

test('a run that names no number of steps has that of all [limit: run-steps]', async (t) => {
  assert.equal(RUN_LIMITS.maxSteps, 100)
  const turns = ['a', 'b', 'c'].map((name) => shell(`echo ${name} > ${name}`))
  const worker = await openWorker(t, { turns, limits: { maxSteps: 2 } })
  const { id } = await worker.create()
  await worker.work(id)
  assert.equal((await worker.read(`/${id}`)).error.code, 'max_steps')
  const own = await worker.create({ max_steps: 1 })
  await worker.work(own.id)
  const [run] = (await worker.read(`/${own.id}/runs`)).data
  assert.deepEqual([run.error.code, run.steps], ['max_steps', 1])
})

test('JOB-1: a worker that lost its run writes nothing more, and the run is the other’s', async (t) => {
  const lost = new AbortController()
  const worker = await openWorker(t, {
    turns: [
      shell('true'),
      (request, signal) => {
        lost.abort(new JobInterrupted('lost'))
        return never(request, signal)
      },
    ],
  })
  const { id } = await worker.create()
  await assert.rejects(worker.work(id, { signal: lost.signal }), TryAgainIn)
  assert.equal((await worker.read(`/${id}`)).status, 'running')
  await worker.work(id, { attempt: 2 })
  const agent = await worker.read(`/${id}`)
  assert.deepEqual([agent.status, agent.error.code], ['failed', 'worker_lost'])
})

test('F17: a run that is handed over keeps its work, and the next start goes on with it', async (t) => {
  const stopping = new AbortController()
  const worker = await openWorker(t, {
    turns: [
      shell('echo one > one.txt'),
      (request, signal) => {
        stopping.abort(new JobInterrupted('stopping'))
        return never(request, signal)
      },
      shell('cp one.txt two.txt'),
      finish('Both.'),
    ],
  })
  const { id, branch } = await worker.create()
  await assert.rejects(worker.work(id, { signal: stopping.signal }), TryAgainIn)
  assert.equal((await worker.read(`/${id}`)).status, 'running')
  await worker.work(id, { attempt: 2 })
  assert.equal((await worker.read(`/${id}`)).status, 'completed')
  assert.equal(gitIn(worker.origin, ['show', `${branch}:two.txt`]), 'one\n')
  const [run] = (await worker.read(`/${id}/runs`)).data
  assert.equal(run.steps, 3)
})

test('a sandbox that cannot be made ends the run as agents_unavailable', async (t) => {
  const openSandbox = () => ({
    run: () => Promise.reject(new SandboxFailedError('bwrap: no')),
    close: async () => undefined,
  })
  const worker = await openWorker(t, { turns: [shell('true')], over: { openSandbox } })
  const { id } = await worker.create()
  await worker.work(id)
  assert.equal((await worker.read(`/${id}`)).error.code, 'agents_unavailable')
})

test('a database that is away for a moment costs no run, and nothing is written twice', async (t) => {
  const worker = await openWorker(t, { turns: [shell('echo one > one.txt'), finish('Done.')] })
  const { id } = await worker.create()
  let left = 6
  const flaky = withTransactions(worker.deps.db, async (work) => {
    if (left === 0) return work()
    left -= 1
    if (left === 5) return work() // the start of the run
    if (left % 2 === 0) await work() // every other time the answer is lost, not the transaction
    throw new GatewayError('database_unavailable', 'The database does not answer.')
  })
  Object.assign(worker.deps, { db: flaky })
  await worker.work(id)
  assert.equal(left, 0)
  const agent = await worker.read(`/${id}`)
  assert.equal(agent.status, 'completed', JSON.stringify(agent))
  const kinds = (await worker.read(`/${id}/messages?order=asc`)).data.map(({ kind }: { kind: string }) => kind)
  assert.deepEqual(kinds, ['user', 'assistant', 'tool', 'assistant', 'tool'])
})

test('GIT-3: without a credential for both account and repository nothing is pushed', async (t) => {
  const worker = await openWorker(t, { turns: [shell('echo one > one.txt'), finish('Done.')] })
  const server = await startGitServer({ root: worker.root })
  t.after(() => server.close())
  const credentials = [
    { accounts: ['acc_another'], repositories: ['*'], token: 'secret' },
    { accounts: [worker.api.accountId], repositories: ['other/*'], token: 'secret' },
  ]
  Object.assign(worker.deps, { repositories: { url: `${server.url}/{repository}.git`, credentials } })
  const { id } = await worker.create()
  await worker.work(id)
  const [run] = (await worker.read(`/${id}/runs`)).data
  assert.deepEqual([run.status, run.pushed], ['completed', false])
  assert.notEqual(run.commit, null)
  assert.ok(server.requests.every(({ authorization }) => authorization === undefined))
})

test('a run that nobody starts in time is failed, and one that lost its job as well', async (t) => {
  const worker = await openWorker(t)
  const [waiting, silent] = [await worker.create(), await worker.create()]
  await worker.api.start(silent.id)
  const deps = { ...worker.deps, now: () => Date.now() + 3_600_000 }
  await endOverdueRuns(deps)
  assert.equal((await worker.read(`/${waiting.id}`)).error.code, 'start_timeout')
  assert.equal((await worker.read(`/${silent.id}`)).error.code, 'worker_lost')
})

test('JOB-2: a run whose job nobody takes over after the lease is failed, by whatever process looks', async (t) => {
  const worker = await openWorker(t)
  const [left, held] = [await worker.create(), await worker.create()]
  for (const { id } of [left, held]) await worker.api.start(id)
  const [{ id: leftRun }] = (await worker.read(`/${left.id}/runs`)).data
  const [{ id: heldRun }] = (await worker.read(`/${held.id}/runs`)).data
  const lease = (name: string, until: number) =>
    worker.deps.db.updateTable('job').set({ owner: 'ins_gone', lease_until: until }).where('name', '=', name).execute()
  const now = Date.now()
  await lease(leftRun, now - ABANDONED_MS - 1_000)
  await lease(heldRun, now - ABANDONED_MS + 1_000)
  await endOverdueRuns({ ...worker.deps, now: () => now })
  assert.equal((await worker.read(`/${left.id}`)).error.code, 'worker_lost')
  assert.equal((await worker.read(`/${held.id}`)).status, 'running')
})

test('JOB-2: a run that has lost its process ends within 90 s, also if the process that ends such runs dies with it', () => {
  const longestMs = JOB_LEASE_MS + ABANDONED_MS + OVERDUE_EVERY_MS
  assert.ok(longestMs + JOB_LEASE_MS <= 90_000, `${longestMs} ms, and ${JOB_LEASE_MS} ms for another process`)
})

test('JOB-2: a run whose process stood still for longer than its lease ends within seconds of its return', async (t) => {
  const stall: Turn = (request, signal) => {
    // As SIGSTOP does: nothing of this process goes on meanwhile.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3 * LEASE_MS)
    return never(request, signal)
  }
  const worker = await openWorker(t, { turns: [shell('true'), stall] })
  const { db, clock, log } = worker.deps
  const runs = runKind(worker.deps)
  const kinds = { [RUN_JOB]: { ...runs, concurrency: 1 } }
  const runner = createJobRunner({ db, kinds, ids: testIds, owner: 'here', clock, log, pollMs: 50, leaseMs: LEASE_MS })
  const { id } = await worker.create()
  t.after(() => runner.stop())
  runner.start()
  await comesTrue(async () => (await worker.read(`/${id}`)).status === 'failed')
  const agent = await worker.read(`/${id}`)
  assert.equal(agent.error.code, 'worker_lost')
  await comesTrue(() => runner.running() === 0)
  const job = await db.selectFrom('job').select(['ended_at', 'attempt']).where('kind', '=', RUN_JOB).executeTakeFirst()
  assert.notEqual(job?.ended_at, null)
  assert.ok((job?.attempt ?? 0) >= 2, 'it was taken again')
})

test('JOB-2: a run that goes on though its job has ended is failed by whatever process looks', async (t) => {
  const worker = await openWorker(t)
  const [orphan, other] = [await worker.create(), await worker.create()]
  for (const { id } of [orphan, other]) await worker.api.start(id)
  const [{ id: run }] = (await worker.read(`/${orphan.id}/runs`)).data
  const ended = { ended_at: Date.now(), outcome: 'done' } as const
  await worker.deps.db.updateTable('job').set(ended).where('name', '=', run).execute()
  await endOverdueRuns(worker.deps)
  assert.equal((await worker.read(`/${orphan.id}`)).error.code, 'worker_lost')
  assert.equal((await worker.read(`/${other.id}`)).status, 'running')
})

test('JOB-3: a run that was cancelled ends within 10 s, whatever its worker does', async (t) => {
  const worker = await openWorker(t)
  const agent = await worker.create()
  await worker.api.start(agent.id)
  await worker.api.ask('POST', `/${agent.id}/cancel`)
  const run = await worker.deps.db.selectFrom('run').select('cancel_requested_at').executeTakeFirstOrThrow()
  const statusAfter = async (ms: number) => {
    await endDisobeyed({ ...worker.deps, now: () => (run.cancel_requested_at ?? 0) + ms })
    return (await worker.read(`/${agent.id}`)).status
  }
  assert.deepEqual([await statusAfter(8_000), await statusAfter(9_000)], ['running', 'cancelled'])
})

test('workspaces go a day after the end of their agents, sooner where they are too large, at once for deleted agents [limit: workspaces]', async (t) => {
  const worker = await openWorker(t, {
    turns: [finish('One.'), shell('head -c 4000000 /dev/zero > large'), finish('Two.'), finish('Three.')],
  })
  const agents = [await worker.create(), await worker.create(), await worker.create()]
  for (const { id } of agents) await worker.work(id)
  const [first, second, third] = agents.map(({ id }) => id)
  const there = () => readdirSync(join(worker.deps.folder, worker.api.accountId)).toSorted()
  assert.deepEqual(there(), [first, second, third].toSorted()) // ids of one millisecond are in no order
  await worker.api.ask('DELETE', `/${first}`)
  await tidyWorkspaces(worker.deps)
  assert.deepEqual(there(), [second, third].toSorted())
  await tidyWorkspaces({ ...worker.deps, limits: { ...worker.deps.limits, workspacesBytes: 3_000_000 } })
  assert.deepEqual(there(), [third])
  await tidyWorkspaces({ ...worker.deps, now: () => Date.now() + 86_400_000 })
  assert.deepEqual(there(), [])
})
