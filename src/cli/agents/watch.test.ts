import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { afterEach, beforeEach, test } from 'node:test'
import { AGENT_ID, type AgentServer, startAgentServer } from '../../../test/support/agents/agent-server.ts'
import { eventually } from '../../../test/support/client.ts'
import { type Home, makeHome, type Running } from '../../../test/support/process/command-line.ts'
import { colouredDiff } from './agents.ts'
import { agentLogLine } from './events.ts'

let server: AgentServer
let home: Home
const running = new Set<Running>()
beforeEach(async () => {
  server = await startAgentServer()
  home = makeHome({ TURNPIKE_URL: server.url, TURNPIKE_API_KEY: 'tp_key', TZ: 'UTC' })
})
afterEach(async () => {
  for (const { child } of running) child.kill('SIGKILL')
  running.clear()
  home.remove()
  await server.close()
})

function logs(...words: string[]): Running {
  const command = home.start(['agents', 'logs', AGENT_ID, ...words])
  running.add(command)
  return command
}
const saw = (text: () => string, part: string) =>
  eventually(
    async () => text(),
    (all) => all.includes(part),
  )
const isA = (status: string) => server.answers.set('GET /v1/agents/agt_1', [{ body: { id: AGENT_ID, status } }])
const said = (content: string) => server.tell('message', { role: 'assistant', content })

test('logs of an ended agent print all events', async () => {
  isA('completed')
  server.tell('status', { status: 'queued' })
  said('Done.')
  server.tell('status', { status: 'completed' })
  server.finish()
  const { code, stdout, stderr } = await logs().ended
  const lines = ['16:30:00  queued', '16:30:00  model       Done.', '16:30:00  completed', '']
  assert.deepEqual([code, stdout, stderr], [0, lines.join('\n'), ''])
})

test('logs of a running agent print the past events only', async () => {
  isA('running')
  server.tell('status', { status: 'running' })
  server.finish()
  const { code, stdout, stderr } = await logs().ended
  assert.deepEqual([code, stdout], [0, '16:30:00  running\n'])
  assert.equal(stderr, 'Agent agt_1 is still running; pass -f to follow it.\n')
  assert.equal(server.asked.at(-1)?.what, 'GET /v1/agents/agt_1/events?follow=false')
})

test('an incomplete log is a failure', async () => {
  isA('completed')
  said('one')
  const command = logs()
  await saw(command.stdout, 'one')
  server.cut()
  const { code, stderr } = await command.ended
  assert.deepEqual([code, stderr], [1, 'turnpike: The connection was lost: connection reset.\n'])
})

test('-f follows an agent to its end across lost connections, without gaps and repeats', async () => {
  said('one')
  const command = logs('-f', '--json')
  await saw(command.stdout, 'one')
  server.refuseStreams(503)
  server.cut()
  await saw(command.stderr, 'Connection lost: connection reset. Reconnecting.\n')
  said('two\u001b]0;x\u0007')
  server.refuseStreams(undefined)
  await saw(command.stdout, 'two')
  server.tell('status', { status: 'completed' })
  server.finish()
  const { code, stdout, stderr } = await command.ended
  assert.equal(code, 0)
  assert.match(stderr, /\nReconnected after \d+\.\d s\.\n$/)
  assert.doesNotMatch(stdout, /[\u001b\u0007]/)
  const events = stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.deepEqual(
    events.map(({ sequence, type }) => [sequence, type]),
    [
      [1, 'message'],
      [2, 'message'],
      [3, 'status'],
    ],
  )
  assert.equal(events[1].data.content, 'two\u001b]0;x\u0007')
  const places = server.asked.map(({ lastEventId }) => lastEventId)
  assert.deepEqual([places[0], new Set(places.slice(1))], [undefined, new Set(['1'])])
})

test('Ctrl-C ends -f with success', async () => {
  said('one')
  const command = logs('-f')
  await saw(command.stdout, 'one')
  command.child.kill('SIGINT')
  assert.deepEqual((await command.ended).code, 0)
})

test('an unknown agent is a failure with the server’s message', async () => {
  const { code, stderr } = await logs().ended
  assert.deepEqual([code, stderr], [1, `turnpike: ${server.url}: There is nothing here. (not_found)\n`])
})

const plain = new PassThrough()
const terminal = Object.assign(new PassThrough(), { isTTY: true })
const line = (type: string, data: Record<string, unknown>, stream: NodeJS.WritableStream = plain) =>
  agentLogLine({ type, data, createdAt: 'never', whole: {} }, stream).replace('--:--:--  ', '')
const MARGIN = ' '.repeat(22)

test('every type of event has a line', () => {
  assert.equal(line('status', { status: 'running' }), 'running\n')
  const error = { code: 'max_steps', message: 'Too many.' }
  assert.equal(line('status', { status: 'failed', error }), 'failed      Too many. (max_steps)\n')
  assert.equal(line('phase', { phase: 'committing' }), 'committing\n')
  assert.equal(line('message', { role: 'user', content: 'a\n\n  b\n' }), `user        a\n\n${MARGIN}  b\n`)
  const called = (given: unknown) => line('tool_call', { name: 'shell', arguments: given })
  assert.equal(called('{"command":"npm\\n test","timeout_seconds":9}'), '> shell     npm test\n')
  assert.equal(called('{"summary":"All\\nof it"}'), '> shell     All of it\n')
  assert.equal(called('{"pattern":"x+","path":"src"}'), '> shell     x+ src\n')
  assert.equal(called('{"path":'), '> shell     {"path":\n')
  assert.equal(called(`{"command":"${'x'.repeat(500)}"}`), `> shell     ${'x'.repeat(119)}…\n`)
  const result = (data: object) => line('tool_result', { output: 'out\n', ...data })
  assert.equal(result({ exit_code: 0 }), 'exit 0      out\n')
  assert.equal(result({ exit_code: null }), 'killed      out\n')
  assert.equal(result({ output: '' }), 'result\n')
  const cost = { tokens: 12, cost_usd: 0.5, total_cost_usd: 1 }
  assert.equal(line('usage', cost), 'usage       12 tokens, $0.50; $1.00 so far\n')
  assert.equal(line('diff', { files: 1, insertions: 3, deletions: 2 }), 'diff        1 file, +3 -2\n')
  assert.equal(line('weather', { it: 'rains' }), 'weather     {"it":"rains"}\n')
  for (const type of ['status', 'phase', 'message', 'tool_call', 'tool_result', 'usage', 'diff', '']) line(type, {})
})

test('a long output is shortened to its start and end', () => {
  const output = Array.from({ length: 40 }, (_, index) => `line ${index + 1}`).join('\n')
  const shown = line('tool_result', { exit_code: 1, output: `${output}\n` }).split(`\n${MARGIN}`)
  assert.deepEqual(shown.slice(3, 6), ['line 4', '… 28 lines', 'line 33'])
  assert.equal(shown.length, 13)
  const wide = line('tool_result', { output: '\u{1f600}'.repeat(5_000) })
  assert.match(wide, /^result {6}(\u{1f600}){99}…\n$/u)
})

test('SBX-6: text of models and repositories can neither control the terminal nor imitate a line', () => {
  const evil = 'a\u001b[2J\u009b1m\u202eb\r16:30:00  completed\u0007'
  const all = [
    line('message', { role: 'assistant', content: evil }, terminal),
    line('tool_call', { name: `completed${evil}`, arguments: JSON.stringify({ command: evil }) }, terminal),
    line('tool_call', { name: 'x', arguments: JSON.stringify({ [evil]: { [evil]: evil } }) }, terminal),
    line('tool_result', { exit_code: evil, output: evil }, terminal),
    line('status', { status: 'failed', error: { code: evil, message: evil } }, terminal),
    line(evil, { evil }, terminal),
  ].join('')
  const own = all.replaceAll(/\u001b\[(?:1|2|22|31|32|36|39)m/g, '')
  assert.doesNotMatch(own, /[\u001b\u009b\u202e\r\u0007]/)
  assert.doesNotMatch(own, /^(16|completed)/m)
})

test('adversarial text is rendered in linear time', () => {
  const slow = `${' '.repeat(1_000_000)}x`
  const from = process.cpuUsage().user
  line('message', { role: 'assistant', content: slow })
  line('tool_result', { output: slow })
  line('tool_call', { name: slow, arguments: slow })
  assert.ok(process.cpuUsage().user - from < 1_000_000)
})

test('SBX-6: a diff on a terminal has only the colours of the command', () => {
  const diff =
    'diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n--- a\r\n+b\u001b[5m\n c\n\\ No newline\ndiff --git a/y b/y\n'
  const shown = colouredDiff(diff, terminal)
    .replaceAll('\u001b[1m', '<b>')
    .replaceAll('\u001b[31m', '<red>')
    .replaceAll('\u001b[32m', '<green>')
    .replaceAll(/\u001b\[(22|39|36|2)m/g, '')
  assert.deepEqual(shown.split('\n'), [
    ...['<b>diff --git a/x b/x', '<b>--- a/x', '<b>+++ b/x', '@@ -1,2 +1 @@', '<red>--- a', '<green>+b[5m'],
    ...[' c', '\\ No newline', '<b>diff --git a/y b/y', ''],
  ])
  assert.equal(colouredDiff(diff, plain), diff.replace('\r', '').replace('\u001b', ''))
  assert.equal(colouredDiff('', plain), '')
})
