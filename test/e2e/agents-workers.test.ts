import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { calls, ENDED, employerAt, pushedFile, script, startAgentSite } from '../support/agents/agent-site.ts'

const AGENTS = 12
const site = await startAgentSite({ agents: { concurrency: 4 }, args: ['--role', 'api'] })
const { gateway } = site
const workers = await Promise.all([1, 2].map(() => site.start({ args: ['--role', 'worker'] })))
after(async () => {
  await Promise.all([gateway, ...workers].map((each) => each.stop()))
  await site.close()
})

test(`JOB-1: two workers run ${AGENTS} agents, each run once`, { timeout: 600_000 }, async () => {
  const employer = employerAt(() => gateway, await gateway.key())
  const prompt = (at: number) =>
    script(calls('shell', { command: `echo ${at} >> once.txt` }), calls('finish', { summary: `Agent ${at}.` }))
  const made = await Promise.all(Array.from({ length: AGENTS }, (_, at) => employer.create(prompt(at))))
  const ended = await Promise.all(made.map(({ id }) => employer.until(id, ...ENDED)))
  for (const [at, agent] of ended.entries()) {
    assert.deepEqual([agent.status, agent.summary, agent.runs], ['completed', `Agent ${at}.`, 1], JSON.stringify(agent))
    assert.equal(pushedFile(site.origin, agent.branch, 'once.txt'), `${at}\n`)
    const [run] = await employer.runs(agent.id)
    assert.equal(run.steps, 2)
    const statuses = (await employer.events(agent.id)).filter(({ type }) => type === 'status')
    assert.deepEqual(
      statuses.map(({ data }) => data.status),
      ['queued', 'running', 'completed'],
    )
  }
})
