/**
 * `turnpike agents` against the real server, where the test itself is the worker.
 * Runs on one database: it is about what is said and shown.
 */
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import type { OpenedDatabase } from '../../src/db/database.ts'
import { type AccountId, type AgentId, createIdSource } from '../../src/domain/ids.ts'
import {
  endRun,
  failure,
  type Progress,
  type RunClaim,
  type RunEnding,
  recordProgress,
  saveArtifact,
  startRun,
} from '../../src/features/agents/run.ts'
import { findAgent, lastRunOf } from '../../src/features/agents/store.ts'
import { eventRecorder } from '../../src/features/webhooks/events.ts'
import { type FaultProxy, startFaultProxy } from '../faults/kit/fault-proxy.ts'
import { eventually } from '../support/client.ts'
import { openLocation } from '../support/database.ts'
import { type Gateway, startGateway } from '../support/gateway.ts'
import { type Home, makeHome, type Running } from '../support/process/command-line.ts'

let gateway: Gateway
let proxy: FaultProxy
let database: OpenedDatabase
let accountId: AccountId
let home: Home

const ids = createIdSource(Date.now, randomBytes)
const deps = { now: Date.now, ids, recordEvent: eventRecorder({ now: Date.now, ids }) }

before(async () => {
  gateway = await startGateway({ args: ['--role', 'api'], config: { agents: { model: 'turnpike-simulator' } } })
  proxy = await startFaultProxy({ port: gateway.port })
  accountId = (await gateway.cli('accounts', 'create', '--name', 'Example')) as AccountId // of our own making
  const key = await gateway.key('--account', accountId, '--scopes', 'agents:read,agents:write')
  database = await openLocation(gateway.database)
  home = makeHome({ TURNPIKE_URL: gateway.url, TURNPIKE_API_KEY: key, TZ: 'UTC' })
  const folder = join(home.folder, '..', '..')
  execFileSync('git', ['init', '-q'], { cwd: folder })
  execFileSync('git', ['remote', 'add', 'origin', 'git@example.com:acme/website.git'], { cwd: folder })
})
after(async () => {
  home?.remove()
  await database?.close()
  await proxy?.close()
  await gateway?.stop()
})

const running = new Set<Running>()
afterEach(() => {
  for (const { child } of running) child.kill('SIGKILL')
  running.clear()
})

async function run(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await home.run(['agents', ...words])
  assert.equal(code, 0, stderr)
  return stdout
}

function start(...words: string[]): Running {
  const command = home.start(['agents', ...words])
  running.add(command)
  return command
}

const saw = (text: () => string, part: string) =>
  eventually(
    async () => text(),
    (all) => all.includes(part),
  )

const create = async (prompt: string) => (await run('create', prompt)).trim()

/** As a worker does. */
async function begin(id: string): Promise<RunClaim> {
  const agentId = id as AgentId
  const agent = await findAgent(database.db, { accountId, agentId })
  assert.ok(agent)
  const claim = { accountId, agentId, runId: (await lastRunOf(database.db, agent)).id, attempt: 1 }
  assert.ok(await startRun(database.db, claim, deps))
  return claim
}
const work = (claim: RunClaim, progress: Progress) => recordProgress(database.db, claim, { progress, now: Date.now() })
const finish = (claim: RunClaim, ending: RunEnding) => endRun(database.db, claim, { ...deps, ending })
const completed = (summary: string, seen = 1): RunEnding => ({ status: 'completed', summary, seen })

const CALL = { call_id: '1', name: 'shell' }
const STEP: Progress = {
  phase: 'working',
  events: [
    { type: 'tool_call', data: { ...CALL, arguments: '{"command":"npm test"}' } },
    { type: 'tool_result', data: { ...CALL, output: 'not ok\u001b[2J', exit_code: 1, truncated: false } },
  ],
}
const withoutTimes = (text: string) => text.replaceAll(/^\d\d:\d\d:\d\d {2}/gm, '')

test('an agent is created for the repository of this folder, and watched to its end', async () => {
  const id = await create('Fix the date.\nIt is wrong.')
  assert.match(id, /^agt_\w+$/)
  const logs = start('logs', '-f', id)
  await saw(logs.stdout, 'Fix the date.')
  const claim = await begin(id)
  await work(claim, STEP)
  await finish(claim, completed('Done.'))
  const { code, stdout } = await logs.ended
  assert.equal(code, 0)
  const lines = ['queued', 'user        Fix the date.', '                      It is wrong.', 'running', 'working']
  assert.equal(
    withoutTimes(stdout),
    [...lines, '> shell     npm test', 'exit 1      not ok[2J', 'completed', ''].join('\n'),
  )
  assert.equal(await run('logs', id), stdout)
})

test('an agent is listed, and its work is shown', async () => {
  const id = await create('Show it.')
  const claim = await begin(id)
  await work(claim, STEP)
  const soFar = run('logs', id)
  assert.match(await run('list', '--status', 'running'), new RegExp(`\\n${id} +running +acme/website +Show it\\. +\\$`))
  assert.match(await soFar, /working\n.*> shell .*npm test\n.*exit 1 +not ok\[2J\n$/)
  const diff = 'diff --git a/x b/x\n@@ -1 +1 @@\n-a\n+b\u001b[31m\n'
  const artifact = { kind: 'diff', content: Buffer.from(diff), isTruncated: false } as const
  await saveArtifact(database.db, claim, { artifact, now: Date.now() })
  await finish(claim, completed('It was the month.'))
  const [changed, shown] = await Promise.all([run('diff', id), run('show', id)])
  assert.equal(changed, diff)
  assert.match(
    shown,
    new RegExp(`\\nstatus +completed\\n.*\\nbranch +turnpike/${id}, .*\\n\\nIt was the month\\.\\n$`, 's'),
  )
})

test('--wait ends with the run that a follow-up began, by how that ended', async () => {
  const waiting = start('create', 'Fix it.', '--wait')
  await saw(waiting.stderr, 'queued\n')
  const [id = ''] = /agt_\w+/.exec(waiting.stderr()) ?? []
  await finish(await begin(id), completed('Done.'))
  assert.deepEqual((await waiting.ended).stdout, 'Done.\n')
  const more = start('follow-up', id, 'More.', '--wait')
  await saw(more.stderr, 'is queued')
  await finish(await begin(id), failure('max_steps'))
  const { code, stdout, stderr } = await more.ended
  assert.deepEqual([code, stdout], [1, ''])
  assert.match(stderr, /turnpike: agt_\w+: failed: .*\(max_steps\)\n$/)
})

test('logs -f continues where a lost connection ended', async () => {
  const id = await create('Fix it.')
  const logs = start('logs', '-f', id, '--json', '--url', proxy.url)
  await saw(logs.stdout, '"message"')
  await proxy.down()
  await saw(logs.stderr, 'Connection lost')
  const claim = await begin(id)
  await proxy.up()
  await saw(logs.stdout, '"running"')
  await finish(claim, completed('Done.'))
  const { code, stdout, stderr } = await logs.ended
  assert.equal(code, 0)
  assert.match(stderr, /Reconnected after/)
  const sequences = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).sequence)
  assert.deepEqual(sequences, [1, 2, 3, 4])
})

test('an agent is cancelled; one that has ended is not', async () => {
  const id = await create('Fix it.')
  assert.equal(await run('cancel', id), `Agent ${id} is cancelled.\n`)
  assert.equal(JSON.parse(await run('show', id, '--json')).status, 'cancelled')
  const other = await create('Fix it, too.')
  const claim = await begin(other)
  assert.equal(await run('cancel', other), `Agent ${other} stops within 10 seconds.\n`)
  await finish(claim, { status: 'cancelled' })
  assert.equal(await run('follow-up', other, 'Go on.'), `Agent ${other} is queued.\n`)
  await finish(await begin(other), completed('Done.', 2))
  const refused = await home.run(['agents', 'cancel', other])
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /\(\w+, req_\w+\)\n$/)
})

test('errors are shown in the server’s words', async () => {
  const unknown = await home.run(['agents', 'create', 'Fix it.', '--model', 'no-such-model'])
  assert.deepEqual([unknown.code, unknown.stdout], [1, ''])
  assert.match(unknown.stderr, /\(model_not_found, req_\w+\)\n$/)
  const steps = await home.run(['agents', 'create', 'Fix it.', '--max-steps', '501'])
  assert.deepEqual([steps.code, /max_steps/.test(steps.stderr)], [1, true])
  const none = await home.run(['agents', 'diff', await create('Fix it.')])
  assert.match(none.stderr, /no diff yet.* \(not_found, req_\w+\)\n$/)
})
