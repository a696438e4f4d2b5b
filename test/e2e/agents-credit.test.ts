import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { calls, ENDED, employerAt, script, startAgentSite } from '../support/agents/agent-site.ts'
import { send } from '../support/client.ts'

const prepaid = { plans: { small: { billing: 'prepaid' } }, accounts: { default_plan: 'small' } }
const site = await startAgentSite({ over: prepaid })
const { gateway } = site
after(async () => {
  await gateway.stop()
  await site.close()
})

test('credit that is exhausted during a run ends it with insufficient_credit; its work is kept', async () => {
  const key = await gateway.key()
  const { id: account } = JSON.parse((await send(gateway, '/v1/account', { key })).text)
  // Enough to hold the first calls, and less each time: a call holds about 0.002 USD at worst.
  await gateway.cli('credits', 'grant', '--account', account, '--usd', '0.0026')
  const employer = employerAt(() => gateway, key)
  const steps = Array.from({ length: 40 }, (_, at) =>
    calls('shell', { command: `echo ${at} > step${at}.txt; seq 1 2000` }),
  )
  const made = await employer.create(script(...steps))
  const agent = await employer.until(made.id, ...ENDED)
  assert.deepEqual([agent.status, agent.error.code], ['failed', 'insufficient_credit'], JSON.stringify(agent))
  const [run] = await employer.runs(made.id)
  console.log(`${run.steps} steps for ${run.usage.cost_usd} USD`)
  assert.ok(run.steps > 0 && run.steps < 40, `${run.steps} steps`)
  assert.match(await employer.ask('GET', `/v1/agents/${made.id}/diff`), /step0\.txt/)
  assert.equal((await employer.messages(made.id)).filter(({ kind }) => kind === 'assistant').length, run.steps)
  const report = JSON.parse((await send(gateway, '/v1/usage/reconcile', { key })).text)
  assert.equal(report.ok, true)
})
