/**
 * Runs that are handed over from process to process. Runs on one database: `src/features/agents/worker/run-job.test.ts` hands
 * one over on both.
 */
import assert from 'node:assert/strict'
import { cpSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { RUN_LIMITS } from '../../src/features/agents/worker/deps.ts'
import { calls, ENDED, employerAt, pushedFile, script, startAgentSite } from '../support/agents/agent-site.ts'
import { eventually } from '../support/client.ts'

const site = await startAgentSite()
let gateway = site.gateway
after(async () => {
  await gateway.stop()
  await site.close()
})
const employer = employerAt(() => gateway, await gateway.key())

const before = script(
  calls('shell', { command: 'echo before > before.txt' }),
  calls('shell', { command: 'sleep 600' }),
  calls('shell', { command: 'cat before.txt > after.txt' }),
  calls('finish', { summary: 'Done in two processes.' }),
)
const workspaces = () => join(gateway.dataDir, 'agents')

/**
 * Ends the process in the second command of the agent's last run. Saving the work has a deadline, which a machine that is
 * kept busy may miss. @returns whether it was saved.
 */
async function stopInTheMiddle(id: string, answersBefore = 0): Promise<boolean> {
  const answers = async () => (await employer.messages(id)).filter(({ kind }) => kind === 'assistant').length
  assert.equal(await eventually(answers, (count) => count === answersBefore + 2), answersBefore + 2)
  const begun = performance.now()
  gateway.signal('SIGTERM')
  assert.equal(await gateway.exited, 0, gateway.output())
  const tookMs = performance.now() - begun
  console.log(`the process ended ${Math.round(tookMs)} ms after SIGTERM`)
  const isSaved = !gateway.output().includes('the work of a run could not be kept')
  assert.ok(isSaved || tookMs > RUN_LIMITS.keepCancelledMs, gateway.output())
  return isSaved
}

test('F17: SIGTERM hands a run over with its work; the next process continues the same run', async () => {
  const made = await employer.create(before)
  await stopInTheMiddle(made.id)
  gateway = await site.start()
  const agent = await employer.until(made.id, ...ENDED)
  assert.deepEqual([agent.status, agent.summary, agent.runs], ['completed', 'Done in two processes.', 1])
  assert.equal(pushedFile(site.origin, agent.branch, 'after.txt'), 'before\n')
  const statuses = (await employer.events(made.id)).filter(({ type }) => type === 'status')
  assert.deepEqual(
    statuses.map(({ data }) => data.status),
    ['queued', 'running', 'completed'],
  )
  const [run] = await employer.runs(made.id)
  assert.equal(run.steps, 4)
})

test('F17: another machine without the files still has the work', async () => {
  const made = await employer.create(before)
  const isSaved = await stopInTheMiddle(made.id)
  rmSync(workspaces(), { recursive: true })
  gateway = await site.start()
  const agent = await employer.until(made.id, ...ENDED)
  assert.deepEqual([agent.status, agent.runs], ['completed', 1])
  assert.equal(pushedFile(site.origin, agent.branch, 'after.txt'), isSaved ? 'before\n' : '')
})

test('F17: a machine with an older state of the work continues with the newer one', async () => {
  const made = await employer.create(
    script(calls('shell', { command: 'echo 1 > first.txt' }), calls('finish', { summary: '1' })),
  )
  await employer.until(made.id, ...ENDED)
  const older = `${workspaces()}-older`
  cpSync(workspaces(), older, { recursive: true, preserveTimestamps: true, verbatimSymlinks: true })
  const answered = (await employer.messages(made.id)).filter(({ kind }) => kind === 'assistant').length
  await employer.ask('POST', `/v1/agents/${made.id}/followup`, { prompt: before })
  const isSaved = await stopInTheMiddle(made.id, answered)
  rmSync(workspaces(), { recursive: true })
  renameSync(older, workspaces())
  gateway = await site.start()
  const agent = await employer.until(made.id, ...ENDED)
  assert.deepEqual([agent.status, agent.runs], ['completed', 2])
  assert.equal(pushedFile(site.origin, agent.branch, 'after.txt'), isSaved ? 'before\n' : '')
  assert.equal(pushedFile(site.origin, agent.branch, 'first.txt'), '1\n')
})
