import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { findTool } from '../../../scripts/kit/machine-tools.ts'
import { plainSandbox } from '../../../test/support/agents/plain-sandbox.ts'
import { simulatorTransport } from '../../providers/simulator.ts'
import type { AskModel, LoopEntry, LoopInput, ModelAnswer, Sandbox } from '../ports.ts'
import { makeWorkspace } from '../sandbox/folders.ts'
import { createSandbox } from '../sandbox/sandbox.ts'
import { selfTest } from '../sandbox/self-test.ts'
import { runLoop } from './run-loop.ts'

/** The simulator, by its bytes. */
const askSimulator: AskModel = async ({ messages, tools, maxTokens }) => {
  const given = tools.length > 0 ? { tools } : {}
  const body = JSON.stringify({ model: 'turnpike-simulator', messages, max_tokens: maxTokens, ...given })
  const exchange = simulatorTransport({ url: 'simulator://built-in/chat/completions', headers: {}, body })
  const { status } = await exchange.head
  let text = ''
  for (let piece = await exchange.read(); piece !== undefined; piece = await exchange.read()) text += piece.toString()
  assert.equal(status, 200, text)
  const { id, choices, usage } = JSON.parse(text) as {
    id: string
    choices: [{ message: ModelAnswer['message']; finish_reason: string }]
    usage: { prompt_tokens: number; completion_tokens: number }
  }
  return {
    message: choices[0].message,
    finishReason: choices[0].finish_reason,
    promptTokens: usage.prompt_tokens,
    completionTokens: usage.completion_tokens,
    costNanoUsd: 1n,
    completionId: id,
  }
}

async function work(sandbox: Sandbox, prompt: string, more: Partial<LoopInput> = {}) {
  const entries: LoopEntry[] = []
  const ending = await runLoop({
    ask: askSimulator,
    sandbox,
    model: { contextWindow: 128_000 },
    conversation: [{ role: 'user', content: prompt }],
    followUps: async () => [],
    record: async (entry) => void entries.push(entry),
    limits: { maxSteps: 100 },
    signal: AbortSignal.timeout(60_000),
    clock: () => performance.now(),
    random: () => 0,
    sleep: async () => {},
    ...more,
  })
  const results = entries.flatMap((entry) => (entry.type === 'tool_result' ? [entry] : []))
  return { ending, entries, results }
}

const then = (name: string, given: object): string => `simulate: then tool ${name} ${JSON.stringify(given)}`

const FIX = [
  'The test fails. Fix it.',
  'simulate: pace 0',
  then('view', {}),
  then('search', { pattern: 'function add' }),
  then('view', { path: 'add.sh' }),
  then('edit', { path: 'add.sh', old: '$1 - $2', new: '$1 * $2' }),
  then('shell', { command: 'sh test.sh' }),
  then('edit', { path: 'add.sh', old: '$1 * $2', new: '$1 + $2' }),
  then('shell', { command: 'sh test.sh' }),
  then('create', { path: 'notes/why.md', content: 'It was a minus.\n' }),
  then('finish', { summary: 'add() subtracted. Now it adds, and the test passes.' }),
].join('\n')

function repositoryIn(directory: string): void {
  writeFileSync(join(directory, 'add.sh'), '# function add\necho $(($1 - $2))\n')
  writeFileSync(join(directory, 'test.sh'), 'test "$(sh add.sh 2 3)" = 5 && echo passed || { echo failed; exit 1; }\n')
}

/** The product's sandbox behind the loop's port. */
function confined(workspace: string): Sandbox {
  const sandbox = createSandbox({ backend: 'bubblewrap', workspace })
  return {
    run: ({ script, ...command }, signal) => sandbox.run({ ...command, run: { script } }, signal),
    close: () => sandbox.close(),
  }
}

async function assertFixed(sandbox: Sandbox, directory: string): Promise<void> {
  const { ending, results } = await work(sandbox, FIX)
  assert.deepEqual(ending, { kind: 'completed', summary: 'add() subtracted. Now it adds, and the test passes.' })
  assert.deepEqual(
    results.flatMap(({ exitCode }) => (exitCode === undefined ? [] : [exitCode])),
    [1, 0],
  )
  assert.match(results[0]?.output ?? '', /add\.sh\ntest\.sh/)
  assert.match(results[1]?.output ?? '', /^add\.sh:1:# function add$/)
  assert.equal(execFileSync('sh', ['test.sh'], { cwd: directory, encoding: 'utf8' }), 'passed\n')
  assert.equal(readFileSync(join(directory, 'notes/why.md'), 'utf8'), 'It was a minus.\n')
}

function opened(t: TestContext) {
  const sandbox = plainSandbox()
  t.after(() => sandbox.close())
  return sandbox
}

test('a simulated model explores, edits, runs the test, fixes and finishes', async (t) => {
  const sandbox = opened(t)
  repositoryIn(sandbox.directory)
  await assertFixed(sandbox, sandbox.directory)
})

test('the same in the sandbox of the product', async (t) => {
  findTool('bubblewrap')
  assert.deepEqual(await selfTest(), { ok: true })
  const root = mkdtempSync(join(tmpdir(), 'turnpike-loop-'))
  t.after(() => rmSync(root, { recursive: true, force: true }))
  const workspace = join(root, 'workspace')
  makeWorkspace(workspace)
  repositoryIn(workspace)
  execFileSync('chmod', ['-R', 'a+rwX', workspace])
  const sandbox = confined(workspace)
  t.after(() => sandbox.close())
  await assertFixed(sandbox, workspace)
})

for (const contextWindow of [8_192, 16_384])
  test(`a script goes on after summaries in a window of ${contextWindow} tokens, no turn twice and none left out`, async (t) => {
    const sandbox = opened(t)
    const steps = Array.from({ length: 30 }, (_, at) => then('shell', { command: `sh n ${at}` }))
    writeFileSync(join(sandbox.directory, 'n'), 'echo $1 >> log; seq 1 300\n')
    const prompt = ['Count.', 'simulate: pace 0', ...steps, then('finish', { summary: 'Counted.' })].join('\n')
    const { ending, entries } = await work(sandbox, prompt, { model: { contextWindow } })
    assert.deepEqual(ending, { kind: 'completed', summary: 'Counted.' })
    assert.ok(entries.filter(({ type }) => type === 'summary').length >= 1)
    const counted = readFileSync(join(sandbox.directory, 'log'), 'utf8').trim().split('\n').map(Number)
    assert.deepEqual(
      counted,
      Array.from({ length: 30 }, (_, at) => at),
    )
  })

test('follow-ups: a plain one leaves the script as it is, one with a script takes over', async (t) => {
  const sandbox = opened(t)
  const pending = [[], ['Hurry up.'], [], [`simulate: pace 0\n${then('finish', { summary: 'Changed my mind.' })}`]]
  const { ending } = await work(sandbox, FIX, { followUps: async () => pending.shift() ?? [] })
  assert.deepEqual(ending, { kind: 'completed', summary: 'Changed my mind.' })
})

test('a simulated model that calls no tool says its text, and that is the summary', async (t) => {
  const prompt = 'simulate: pace 0\nsimulate: then say I looked.\nsimulate: then say I looked at it all.'
  const { ending, entries } = await work(opened(t), prompt)
  assert.deepEqual(ending, { kind: 'completed', summary: 'I looked at it all.' })
  assert.equal(entries.filter(({ type }) => type === 'answer').length, 2)
})
