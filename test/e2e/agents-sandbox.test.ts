/** Runs on one database: it is about the sandbox. */
import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import {
  calls,
  ENDED,
  employerAt,
  pushedFile,
  type SiteOptions,
  script,
  startAgentSite,
} from '../support/agents/agent-site.ts'
import { errorOf, eventually, send } from '../support/client.ts'

async function siteWith(t: TestContext, options: SiteOptions) {
  const site = await startAgentSite(options)
  t.after(async () => {
    await site.gateway.stop()
    await site.close()
  })
  return { ...site, key: await site.gateway.key() }
}

const ORDER = { name: 'Fix it', repository: 'acme/adder', prompt: 'Fix it.' }

test('SBX-1: without an effective sandbox agents are off, and API and log say what to do', async (t) => {
  // A machine without bubblewrap, as this process sees it.
  const hidden = 'mount --bind /dev/null /usr/bin/bwrap && exec "$@"'
  const { gateway, key } = await siteWith(t, { under: ['unshare', '-rm', 'sh', '-c', hidden, 'sh'] })
  const create = () => send(gateway, '/v1/agents', { key, body: ORDER })
  await eventually(
    async () => gateway.output(),
    (output) => output.includes('agents are off'),
  )
  assert.match(gateway.output(), /agents are off/)
  const answer = await create()
  assert.equal(answer.status, 503, answer.text)
  const { code, type, message } = errorOf(answer)
  assert.deepEqual([code, type], ['agents_unavailable', 'service_unavailable'])
  assert.match(message, /bwrap|bubblewrap|sandbox/i)
})

test('backend none runs without a sandbox because the operator configured it, with a prominent warning', async (t) => {
  const { gateway, key, origin } = await siteWith(t, { agents: { sandbox: { backend: 'none' } } })
  const employer = employerAt(() => gateway, key)
  const prompt = script(calls('shell', { command: 'echo open > open.txt' }), calls('finish', { summary: 'Done.' }))
  const made = await employer.create(prompt)
  const agent = await employer.until(made.id, ...ENDED)
  assert.equal(agent.status, 'completed', JSON.stringify(agent))
  assert.equal(pushedFile(origin, agent.branch, 'open.txt'), 'open\n')
  assert.match(gateway.output(), /AGENTS RUN WITHOUT A SANDBOX/)
})

test('GIT-3, SBX-2: a command finds neither the credential nor a route to the git server', async (t) => {
  const { gateway, key, server } = await siteWith(t, {})
  const employer = employerAt(() => gateway, key)
  const look = `env; cat /proc/*/environ /proc/*/cmdline .git/config 2>/dev/null | tr '\\0' '\\n'; git ls-remote ${server.url}/acme/adder.git; ls -R / 2>/dev/null | head -c 100000`
  const prompt = script(calls('shell', { command: look }), calls('finish', { summary: 'Looked.' }))
  const made = await employer.create(prompt)
  const agent = await employer.until(made.id, ...ENDED)
  assert.equal(agent.status, 'completed', JSON.stringify(agent))
  const before = server.requests.length
  const said = JSON.stringify(await employer.messages(made.id))
  assert.doesNotMatch(said, /git-token-of-the-operator/)
  assert.match(said, /unable to access|Could not resolve|Failed to connect|Couldn't connect/i)
  assert.equal(server.requests.length, before)
})
