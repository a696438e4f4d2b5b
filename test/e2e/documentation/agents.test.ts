/** The commands of docs/agents.md, on a gateway with a repository. Runs on one database. */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { ENDED, employerAt, QUICK_FIX, REPOSITORY, startAgentSite } from '../../support/agents/agent-site.ts'
import { blockOf, makeReader } from '../../support/http/reader.ts'

const PULL = { html_url: 'https://github.com/example/website/pull/7', number: 7, base: { ref: 'main' } }
const site = await startAgentSite({
  agents: { git_provider: 'github' },
  // GitHub before and after a pull request is opened, as far as that asks.
  api({ method, url = '' }, response) {
    const found = url.includes('/pulls?') ? [] : { default_branch: 'main' }
    const isMade = method === 'POST'
    response.writeHead(isMade ? 201 : 200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(isMade ? { ...PULL, head: { ref: 'turnpike/agt_00000000exampleexample' } } : found))
  },
})
const { gateway } = site
const employer = employerAt(() => gateway, await gateway.key())
const ids: Record<string, string> = { 'example/website': REPOSITORY }
let reader = makeReader({ gateway, key: employer.key, words: ids })
after(async () => {
  reader.remove()
  await gateway.stop()
  await site.close()
})

test('docs/agents.md: an agent is created, followed to its end, and sent a follow-up', async () => {
  const made = await reader.sh(blockOf('docs/agents.md', 'curl http://localhost:7575/v1/agents ').text)
  assert.equal(made.code, 0, made.output)
  const { id, repository } = JSON.parse(made.output)
  assert.equal(repository, REPOSITORY)
  reader.remove()
  reader = makeReader({ gateway, key: employer.key, words: { ...ids, agt_00000000exampleexample: id } })

  const followed = await reader.sh(blockOf('docs/agents.md', 'curl -N').text)
  assert.equal(followed.code, 0, followed.output)
  assert.match(followed.output, /^event: status\ndata: \{.*"running"/m)
  assert.ok(ENDED.includes((await employer.agent(id)).status))

  const more = await reader.sh(blockOf('docs/agents.md', 'curl http://localhost:7575/v1/agents/').text)
  assert.equal(more.code, 0, more.output)
  await employer.until(id, ...ENDED)
  assert.ok((await employer.messages(id)).some(({ content }) => JSON.stringify(content).includes('leap years')))
})

test('docs/agents.md: a pull request is opened', async () => {
  const { id } = await employer.create(QUICK_FIX)
  await employer.until(id, 'completed')
  reader.remove()
  reader = makeReader({ gateway, key: employer.key, words: { agt_00000000exampleexample: id } })
  const { code, output } = await reader.sh(blockOf('docs/agents.md', 'curl -X POST').text)
  assert.equal(code, 0, output)
  assert.deepEqual(JSON.parse(output), JSON.parse(blockOf('docs/agents.md', '{\n  "object": "pull_request"').text))
})
