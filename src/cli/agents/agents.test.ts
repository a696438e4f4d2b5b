/** The commands against what the contract says a server answers; `test/e2e/agents-cli.test.ts` has the real one. */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import { AGENT_ID, type AgentServer, error, startAgentServer } from '../../../test/support/agents/agent-server.ts'
import { eventually } from '../../../test/support/client.ts'
import { type Home, makeHome, type RunOptions } from '../../../test/support/process/command-line.ts'

const PROMPT = 'Fix the date\u001b[31m.\nIt is wrong in December.'
const AGENT = {
  ...{ id: AGENT_ID, object: 'agent', name: 'Fix\u001b the date', status: 'queued', repository: 'acme/website' },
  ...{ model: 'm1', base_branch: null, branch: 'turnpike/agt_1', summary: null as string | null, error: null },
  ...{ usage: { tokens: 1234, cost_usd: 0.0012 }, runs: 1, created_at: '2026-11-20T16:29:58.000Z' },
  ...{ started_at: null, ended_at: null },
}
const COMPLETED = { ...AGENT, status: 'completed', summary: 'It was the\u001b]0;x\u0007 month.\nFixed.' }
const FAILED = { ...AGENT, status: 'failed', error: { code: 'max_steps', message: 'It reached `max_steps`.' } }

let server: AgentServer
let home: Home
beforeEach(async () => {
  server = await startAgentServer()
  home = makeHome({ TURNPIKE_URL: server.url, TURNPIKE_API_KEY: 'tp_key', TZ: 'UTC' })
})
afterEach(async () => {
  home.remove()
  await server.close()
})

const run = (words: readonly string[], options?: RunOptions) => home.run(['agents', ...words], options)
const page = (data: readonly object[], next: string | null = null) => ({
  body: { data, has_more: next !== null, next_cursor: next },
})
const git = (...words: readonly string[]) => execFileSync('git', words, { cwd: join(home.folder, '..', '..') })
const saw = (text: () => string, part: string) =>
  eventually(
    async () => text(),
    (all) => all.includes(part),
  )

test('create uses the repository of origin and a name from the prompt, and prints only the ID', async () => {
  git('init', '-q')
  git('remote', 'add', 'origin', 'https://user:secret@example.com/acme/website.git')
  server.answers.set('POST /v1/agents', [{ status: 201, body: AGENT }])
  const { code, stdout, stderr } = await run(['create'], { input: `${PROMPT}\n` })
  assert.deepEqual([code, stdout], [0, 'agt_1\n'])
  assert.equal(
    stderr,
    "Repository: acme/website (from the remote 'origin').\nThe agent is queued. Run 'turnpike agents logs -f agt_1' to follow it.\n",
  )
  const [asked] = server.asked
  assert.deepEqual(asked?.body, { name: 'Fix the date[31m.', repository: 'acme/website', prompt: PROMPT })
  assert.match(String(asked?.key), /^[0-9a-f-]{36}$/)
})

test('create sends every option; --json prints the agent', async () => {
  server.answers.set('POST /v1/agents', [{ status: 201, body: AGENT }])
  const flags = ['--repository', 'acme/app', '--name', 'Mine', '--model', 'm1', '--branch', 'next']
  const { stdout, stderr } = await run([
    ...['create', 'Do it.', ...flags, '--max-cost', '2.50', '--max-steps', '9', '--json'],
  ])
  assert.deepEqual(JSON.parse(stdout), AGENT)
  assert.equal(stderr, '')
  assert.deepEqual(server.asked[0]?.body, {
    ...{ name: 'Mine', repository: 'acme/app', prompt: 'Do it.', model: 'm1', branch: 'next' },
    ...{ max_cost_usd: 2.5, max_steps: 9 },
  })
})

test('IDEM-4: a lost response is requested again with the same key, so that only one agent exists', async () => {
  const busy = { status: 503, body: error('overloaded', 'Not now.') }
  server.answers.set('POST /v1/agents', [{ isLost: true }, busy, { status: 201, body: AGENT }])
  server.answers.set('POST /v1/agents/agt_1/followup', [{ isLost: true }, { status: 202, body: AGENT }])
  const create = ['create', 'Do it.', '--repository', 'acme/app']
  const [made, told] = await Promise.all([run(create), run(['follow-up', AGENT_ID, 'More.'])])
  assert.deepEqual([made.stdout, told.stdout], ['agt_1\n', 'Agent agt_1 is queued.\n'])
  const keysOf = (path: string) => server.asked.filter(({ what }) => what === path).map(({ key }) => key)
  const [first, second] = [keysOf('POST /v1/agents'), keysOf('POST /v1/agents/agt_1/followup')]
  assert.deepEqual([first.length, second.length], [3, 2])
  assert.deepEqual([new Set(first).size, new Set(second).size, new Set([...first, ...second]).size], [1, 1, 2])
})

test('create fails at once if agents are disabled', async () => {
  const off = { status: 503, body: error('agents_unavailable', 'No sandbox.') }
  server.answers.set('POST /v1/agents', [off])
  const { code, stderr } = await run(['create', 'Do it.', '--repository', 'acme/app'])
  assert.deepEqual([code, stderr], [1, `turnpike: ${server.url}: No sandbox. (agents_unavailable)\n`])
  assert.equal(server.asked.length, 1)
})

test('--wait prints the summary to standard output, and the diff command to standard error', async () => {
  server.answers.set('POST /v1/agents', [{ status: 201, body: AGENT }])
  server.answers.set('GET /v1/agents/agt_1', [{ body: COMPLETED }])
  server.tell('status', { status: 'running' })
  const command = home.start(['agents', 'create', 'Do it.', '--repository', 'acme/app', '--wait'])
  await saw(command.stderr, 'running')
  server.refuseStreams(429)
  server.cut()
  await saw(command.stderr, 'Connection lost')
  server.tell('message', { role: 'assistant', content: 'not shown' })
  server.tell('phase', { phase: 'committing' })
  server.finish()
  server.refuseStreams(undefined)
  const { code, stdout, stderr } = await command.ended
  assert.deepEqual([code, stdout], [0, 'It was the]0;x month.\nFixed.\n'])
  assert.match(
    stderr,
    /^Agent agt_1 is queued\.\n16:30:00 {2}running\nConnection lost: .*\nReconnected .*\n16:30:00 {2}committing\nRun 'turnpike agents diff agt_1' to see the changes\.\n$/,
  )
  const places = server.asked.filter(({ what }) => what.endsWith('/events')).map(({ lastEventId }) => lastEventId)
  assert.deepEqual([places[0], new Set(places.slice(1))], [undefined, new Set(['1'])])
})

test('--wait exits with 1 for a failed or cancelled agent; --json prints it anyway', async () => {
  server.answers.set('POST /v1/agents/agt_1/followup', [{ status: 202, body: { ...AGENT, status: 'running' } }])
  server.answers.set('GET /v1/agents/agt_1', [{ body: FAILED }, { body: { ...AGENT, status: 'cancelled' } }])
  server.tell('status', { status: 'running' })
  server.finish()
  const failed = await run(['follow-up', AGENT_ID, 'More.', '--wait'])
  assert.deepEqual([failed.code, failed.stdout], [1, ''])
  assert.equal(
    failed.stderr,
    'Agent agt_1 reads the follow-up before its next step.\nturnpike: agt_1: failed: It reached `max_steps`. (max_steps)\n',
  )
  const cancelled = await run(['follow-up', AGENT_ID, 'More.', '--wait', '--json'])
  assert.deepEqual([cancelled.code, JSON.parse(cancelled.stdout).status], [1, 'cancelled'])
  assert.match(cancelled.stderr, /turnpike: agt_1: cancelled\n$/)
})

test('--wait continues across a busy server and follow-ups', async () => {
  server.answers.set('POST /v1/agents', [{ status: 201, body: AGENT }])
  const busy = { status: 503, body: error('overloaded', 'Not now.') }
  server.answers.set('GET /v1/agents/agt_1', [busy, { body: AGENT }, { body: COMPLETED }])
  server.finish()
  const { code, stdout } = await run(['create', 'Do it.', '--repository', 'acme/app', '--wait', '--json'])
  assert.deepEqual([code, JSON.parse(stdout)], [0, COMPLETED])
})

test('--wait retries the first connection; Ctrl-C ends the wait, not the agent, and prints how to continue', async () => {
  server.answers.set('POST /v1/agents', [{ status: 201, body: AGENT }])
  server.refuseStreams(429)
  const command = home.start(['agents', 'create', 'Do it.', '--repository', 'acme/app', '--wait'])
  await saw(command.stderr, 'Not now. (overloaded). Reconnecting.\n')
  command.child.kill('SIGINT')
  const { code, stdout, stderr } = await command.ended
  assert.deepEqual([code, stdout], [1, ''])
  assert.match(stderr, /Stopped waiting\. The agent is still running: 'turnpike agents logs -f agt_1' follows it/)
})

test('list prints a table, with --json the page, with --all every page', async () => {
  const other = { ...FAILED, id: 'agt_2', name: `A ${'very '.repeat(20)}long name` }
  server.answers.set('GET /v1/agents', [page([AGENT], 'more'), page([AGENT], 'more'), page([other])])
  const { stdout, stderr } = await run(['list', '--status', 'queued', '--repository', 'acme/website'])
  assert.match(stdout, /\nagt_1 +queued +acme\/website +Fix the date +\$0\.0012 +2026-11-20 16:29\n$/)
  assert.equal(stderr, 'More agents exist: pass --all to list them.\n')
  assert.equal(server.asked.at(-1)?.what, 'GET /v1/agents?status=queued&repository=acme%2Fwebsite')
  const all = await run(['list', '--all', '--json'])
  assert.deepEqual(JSON.parse(all.stdout), { data: [AGENT, other], has_more: false, next_cursor: null })
  assert.equal(server.asked.at(-1)?.what, 'GET /v1/agents?limit=100&cursor=more')
  const { stdout: shown } = await run(['list'])
  assert.match(shown, /\nagt_2 +failed \(max_steps\) +acme\/website +A very .{20,40}… +\$/)
})

test('show prints status, cost, branch and summary', async () => {
  server.answers.set('GET /v1/agents/agt_1', [{ body: { ...COMPLETED, ended_at: '2026-11-20T16:40:00.000Z' } }])
  server.answers.set('GET /v1/agents/agt_1/runs', [page([{ steps: 7, commit: 'c0ffee'.repeat(7), pushed: true }])])
  const { stdout } = await run(['show', AGENT_ID])
  assert.match(stdout, /^agent +agt_1\nname +Fix the date\nstatus +completed\n/)
  assert.match(stdout, /\nrepository +acme\/website, from its default branch\n/)
  assert.match(stdout, /\nbranch +turnpike\/agt_1, commit c0ffeec0ffee, pushed\n/)
  assert.match(stdout, /\nused +1,234 tokens, \$0\.0012\nruns +1, the last of 7 steps\n/)
  assert.match(stdout, /\nended +2026-11-20 16:40\n\nIt was the\]0;x month\.\nFixed\.\n$/)
  assert.deepEqual(JSON.parse((await run(['show', AGENT_ID, '--json'])).stdout).id, AGENT_ID)
  const url = 'https://github.com/acme/website/pull/7'
  server.answers.set('GET /v1/agents/agt_1', [{ body: { ...COMPLETED, pull_request_url: url } }])
  assert.ok((await run(['show', AGENT_ID])).stdout.includes(`, pushed\npull request ${url}\nmodel `))
  const { code, stderr } = await run(['show', 'agt_2'])
  assert.deepEqual([code, stderr], [1, `turnpike: ${server.url}: There is nothing here. (not_found)\n`])
})

test('cancel prints whether the agent has ended', async () => {
  const cancelled = { ...AGENT, status: 'cancelled' }
  server.answers.set('POST /v1/agents/agt_1/cancel', [
    ...[
      { status: 202, body: { ...AGENT, status: 'running' } },
      { status: 202, body: cancelled },
    ],
    { status: 409, body: error('conflict', 'It has completed.') },
  ])
  assert.equal((await run(['cancel', AGENT_ID])).stdout, 'Agent agt_1 stops within 10 seconds.\n')
  assert.equal((await run(['cancel', AGENT_ID])).stdout, 'Agent agt_1 is cancelled.\n')
  const { code, stderr } = await run(['cancel', AGENT_ID])
  assert.deepEqual([code, /It has completed\. \(conflict\)/.test(stderr)], [1, true])
})

test('pull-request sends what was named and prints the address; a refusal has its reason', async () => {
  const url = 'https://github.com/acme/website/pull/7'
  const opened = { object: 'pull_request', url, number: 7, base: 'next', head: 'turnpike/agt_1', provider: 'github' }
  const refused = { status: 422, body: error('pull_request_refused', 'There is no credential.') }
  server.answers.set('POST /v1/agents/agt_1/pull-request', [{ status: 201, body: opened }, { body: opened }, refused])
  const flags = ['--title', 'Fix the date', '--base', 'next', '--draft']
  assert.equal((await run(['pull-request', AGENT_ID, ...flags])).stdout, `${url}\n`)
  assert.deepEqual(JSON.parse((await run(['pull-request', AGENT_ID, '--json'])).stdout), opened)
  assert.deepEqual(
    server.asked.map(({ body }) => body),
    [{ title: 'Fix the date', base: 'next', draft: true }, {}],
  )
  const { code, stderr } = await run(['pull-request', AGENT_ID])
  assert.deepEqual([code, /There is no credential\. \(pull_request_refused\)/.test(stderr)], [1, true])
})

test('SBX-6: diff prints unchanged bytes for programs; a truncated diff is a failure', async () => {
  const diff = 'diff --git a/x b/x\n@@ -1 +1 @@\n-a\r\n+b\u001b[31m\u2028\n'
  const headers = { 'x-turnpike-truncated': 'true' }
  server.answers.set('GET /v1/agents/agt_1/diff', [{ body: diff }, { body: diff, headers }, { body: {} }])
  assert.deepEqual(await run(['diff', AGENT_ID]), { code: 0, stdout: diff, stderr: '' })
  const cut = await run(['diff', AGENT_ID])
  assert.deepEqual([cut.code, cut.stdout], [1, diff])
  assert.match(cut.stderr, /was truncated/)
  const { code, stderr } = await run(['diff', AGENT_ID])
  assert.deepEqual([code, /is not a Turnpike server/.test(stderr)], [1, true])
})

test('wrong usage exits with 2 without a request; an address with a password is not shown', async () => {
  const order = ['create', 'Do it.', '--repository', 'acme/app']
  const wrong: readonly (readonly [words: readonly string[], complaint: RegExp])[] = [
    [['create', 'Do it.'], /no git remote 'origin'; pass --repository/],
    [['create', '-'], /the prompt from standard input is empty/],
    [['create', ' ', '--repository', 'a/b'], /the prompt is empty\./],
    [['create', 'Do it.', '--repository', 'website'], /organisation\/repository/],
    [[...order, '--max-cost', '0'], /dollars above 0/],
    [[...order, '--max-steps', '1.5'], /a whole number above 0/],
    [['show', '../keys'], /the ID of an agent/],
    [['list', '--status', 'done'], /Allowed choices are queued, running/],
  ]
  const check = async ([words, complaint]: (typeof wrong)[number]) => {
    const { code, stdout, stderr } = await run(words)
    assert.deepEqual([code, stdout], [2, ''], words.join(' '))
    assert.match(stderr, complaint)
  }
  await Promise.all(wrong.map(check))
  git('init', '-q')
  git('remote', 'add', 'origin', 'https://user:secret@example.com/a/b/c.git')
  const { code, stderr } = await run(['create', 'Do it.'])
  assert.deepEqual([code, /secret/.test(stderr)], [2, false])
  assert.deepEqual(server.asked, [])
})
